"""From files to a store: every case is masked and kept with the model's decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inverse_deid.cases.masker import CaseMasker
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FormatName
from inverse_deid.review.keys import ReviewKey
from inverse_deid.review.store import MaskingFacts, ReviewStore
from inverse_deid.review.values import ReviewPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """How a store is made.

    Args:
        policy: How cases come to their release.
        facts: What they are masked with.
        read_options: How files are read.
        format_name: Of all files; None = by suffix.
    """

    policy: ReviewPolicy = field(default_factory=ReviewPolicy)
    facts: MaskingFacts
    read_options: ReadOptions = field(default_factory=ReadOptions)
    format_name: FormatName | None = None


def create_store(
    address: str | Path, key: ReviewKey, inputs: Sequence[Path], masker: CaseMasker, settings: LoadSettings
) -> tuple[ReviewStore, Tally]:
    """Make a store of all cases that the files hold.

    The store appears only when it is complete. A case that cannot be read is left out and listed in
    the tally; one that the model fails on is masked as a whole and comes first in the work list.

    Raises:
        OutputExistsError: There is a store at the address.
        InputError: No case could be read.
    """
    raise NotImplementedError
