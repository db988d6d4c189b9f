"""Why a word was kept or masked, in words that a reader without knowledge of models understands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from inverse_deid.choices.names import CLASS_NAMES
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import MaskedDocument, Reason, Tokens
from inverse_deid.core.wording import N_, _, current_language

_CLASSES = tuple(HyperClass)
_MAX_TITLE_GAP = 2
_TITLES = frozenset(
    {"dr", "drs", "prof", "professor", "mr", "mrs", "ms", "miss", "mx", "sr", "sister", "nurse", "rev", "sir"}
)
"""Titles that an explanation names. They decide nothing."""

HIDDEN_GAP = N_("Masked: a sign between words that could hide something.")
"""Why a place without a word is masked."""

REASONS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.KEPT_SAFE_WORD: N_("is in the lists of ordinary and medical words"),
        Reason.KEPT_BY_NETWORK: N_("is used like a word that identifies nobody"),
        Reason.BELOW_THRESHOLD: N_("may identify a person"),
        Reason.NEVER_SAFE_WORD: N_(
            "is always masked, as a day, month, street, holiday or written-out number"
        ),
        Reason.VETO_PATTERN: N_("is written like an identifier: a date, a number, a contact or a name"),
        Reason.NAME_WITH_TITLE: N_("has a title such as Mr. or Dr. elsewhere in the text"),
        Reason.OTHER_MENTION: N_("is a name elsewhere in the text"),
        Reason.KNOWN_IDENTIFIER: N_("is one of the identifiers that were given for this text"),
        Reason.DENY_LIST: N_("is in the list of words to mask"),
        Reason.FAILED_CLOSED: N_("could not be checked, so the whole text is masked"),
        Reason.KEPT_ALLOW_LIST: N_("is in the list of words to keep"),
        Reason.RULES_ONLY_UNSAFE: N_("is not in the lists of ordinary and medical words"),
        Reason.JOINED_TO_MASKED: N_("is joined to a masked word"),
        Reason.NAME_ONLY_WORD: N_("is known only as the name of a person or place"),
        Reason.KEPT_CATEGORY: N_("is of a category that is not masked here"),
        Reason.KEPT_CLINICAL_FACT: N_(
            "is in a clinical expression of a fixed form, as a test with its value"
        ),
        Reason.HARD_TO_READ: N_("was hard to read in the picture, so it may be another word"),
        Reason.CHOSEN_CATEGORY: N_("tells an origin: a nationality, a religion or a language"),
    }
)
"""Why a word is kept or masked, to be read after the word."""


@dataclass(frozen=True, slots=True, repr=False)
class WordReason:
    """Why one word of the original was kept or masked. Confidential: it tells about the original."""

    start: int  # in the original
    end: int
    keep: bool
    reason: Reason
    why: str  # one line without the word
    category: HyperClass | None  # what a masked word seems to be, None = unknown, or it is kept
    p_safe: float | None  # how sure it is that it identifies nobody, in [0, 1]; None = unknown


def explain_document(masked: MaskedDocument) -> Iterator[WordReason]:
    """Yield the reason of every word of the original, in text order."""
    tokens, decisions = masked.tokens, masked.decisions
    columns = zip(
        tokens.starts.tolist(),
        tokens.ends.tolist(),
        decisions.keep.tolist(),
        decisions.reasons.tolist(),
        decisions.p_safe.tolist(),
        decisions.categories.tolist(),
        strict=True,
    )
    for i, (start, end, keep, number, p_safe, code) in enumerate(columns):
        reason = Reason(number)
        category = None if keep or not code else _CLASSES[code]
        p_known = p_safe if 0 <= p_safe <= 1 else None
        after_title = not keep and _follows_title(tokens, i)
        why = describe_reason(reason, p_known, category, follows_title=after_title)
        yield WordReason(start, end, keep, reason, why, category, p_known)


def describe_reason(
    reason: Reason,
    p_safe: float | None,
    category: HyperClass | None = None,
    *,
    follows_title: bool = False,
) -> str:
    """Return in one line why a word was kept or masked.

    Args:
        reason: Of the decision.
        p_safe: Probability of *safe*, None = unknown.
        category: What the word seems to be, None = unknown.
        follows_title: Whether a title such as Dr. comes before it.

    Example:
        >>> describe_reason(Reason.KEPT_SAFE_WORD, 0.9995)
        'Kept: is in the lists of ordinary and medical words. 99.9 % sure that this is not an identifier.'
        >>> describe_reason(Reason.BELOW_THRESHOLD, None, HyperClass.NAME, follows_title=True)
        'Masked: may identify a person, follows a title. Seems to be a name.'
    """
    sureness = "" if p_safe is None else describe_sureness(p_safe)
    return _write_reason(reason, sureness, category, follows_title, current_language())


@lru_cache(maxsize=4096)
def _write_reason(
    reason: Reason,
    sureness: str,
    category: HyperClass | None,
    follows_title: bool,
    language: str,  # on which the text depends
) -> str:
    parts = [_(REASONS[reason])]
    if follows_title and reason is not Reason.NAME_WITH_TITLE:
        parts.append(_("follows a title"))
    why = ", ".join(parts)
    sentences = [_("Kept: {why}.", why=why) if reason.keeps else _("Masked: {why}.", why=why)]
    if category is not None and reason is not Reason.FAILED_CLOSED:
        sentences.append(_("Seems to be {category}.", category=_(CLASS_NAMES[category].one)))
    if sureness:
        sentences.append(_("{sureness} sure that this is not an identifier.", sureness=sureness.capitalize()))
    return " ".join(sentences)


def describe_sureness(p_safe: float) -> str:
    """Return a probability as a percentage that never rounds to certainty.

    Example:
        >>> [describe_sureness(p) for p in (0.0, 0.004, 0.4321, 0.9049, 0.98765, 0.99999)]
        ['less than 1 %', 'less than 1 %', '43 %', '90 %', '98.7 %', 'more than 99.9 %']
    """
    if p_safe < 0.01:
        return _("less than 1 %")
    if p_safe > 0.9995:
        return _("more than 99.9 %")
    if p_safe >= 0.95:
        return f"{math.floor(1000 * p_safe) / 10:.1f} %"
    return f"{math.floor(100 * p_safe)} %"


def _follows_title(tokens: Tokens, i: int) -> bool:
    """Tell whether the word before a token is a title such as `Dr.`."""
    if i == 0 or tokens.words[i - 1].casefold() not in _TITLES:
        return False
    return int(tokens.starts[i]) - int(tokens.ends[i - 1]) <= _MAX_TITLE_GAP
