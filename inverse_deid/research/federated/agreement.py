"""What sites must have in common before they train together, checked before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inverse_deid.core.errors import ConfigurationError

PROTOCOL = 1
"""Raised with every change of what is exchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a site says of itself: hashes and counts, nothing of its documents.

    Args:
        site: Its name.
        version: Of this program.
        network: Hash of the network's configuration and of the layout of its weights.
        training: Hash of how an epoch is trained.
        lexicon: Hash of the dictionaries behind the features.
        word_vectors: Hash of the public vocabulary and its vectors.
        n_tokens: Training tokens at the site.
        protocol: Of the exchange.
    """

    site: str
    version: str
    network: str
    training: str
    lexicon: str
    word_vectors: str
    n_tokens: int
    protocol: int = PROTOCOL


_COMMON = {
    "protocol": "another protocol of exchange; install the same version everywhere",
    "version": "another version of inverse-deid; install the same one everywhere",
    "network": "another network; give every site the same [network]",
    "training": "other settings of training; give every site the same [training]",
    "lexicon": "another lexicon; use the packaged one everywhere, or the same built one",
    "word_vectors": "other word vectors; give every site the same file",
}


def problem_with(declaration: Declaration, wanted: Declaration) -> str | None:
    """Why a site cannot take part with the others, in one line; None if it can."""
    if declaration.n_tokens < 1:
        return "has no training document; give it annotated documents"
    for name, problem in _COMMON.items():
        if getattr(declaration, name) != getattr(wanted, name):
            return f"has {problem}"
    return None


def check_agreement(declarations: Sequence[Declaration]) -> None:
    """Refuse sites that cannot train together; the first one sets what is common.

    Raises:
        ConfigurationError: Names the site and what differs, or a name given twice.
    """
    names = [declaration.site for declaration in declarations]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"site {twice[0]}: named twice; give every site its own name")
    for declaration in declarations:
        problem = problem_with(declaration, declarations[0])
        if problem:
            raise ConfigurationError(f"site {declaration.site}: {problem}")
