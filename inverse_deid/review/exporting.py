"""What leaves a store: released masked text in the formats it came in, annotated documents for training.

A case leaves only if it is released and every token of it is decided by the policy; whatever does not fit
(a missing approval, a token too few) stops it and is listed. Annotated documents hold the ORIGINAL text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from inverse_deid.core.values import Document
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import Edited, Place


class AnnotationFormat(StrEnum):
    """How annotated documents are written."""

    JSON_LINES = "jsonl"
    I2B2 = "i2b2"
    BRAT = "brat"


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Args:
        n_cases: Cases in the files.
        n_left_out: Cases that are not released.
        problems: Cases that are released and could not be written, one sentence each.
        files: What was written.
    """

    n_cases: int
    n_left_out: int
    problems: tuple[str, ...]
    files: tuple[Path, ...]


def export_released(store: ReviewStore, folder: Path, *, force: bool = False) -> Exported:
    """Write the masked text of all released cases, each file in the format that it came in.

    Raises:
        OutputExistsError: A file is there and `force` is False.
        OutputError: A file cannot be written.
    """
    raise NotImplementedError


def annotated_documents(store: ReviewStore) -> Sequence[Document]:
    """The original texts of all released cases with what the reviewers masked as spans."""
    raise NotImplementedError


def export_annotated(
    store: ReviewStore, path: Path, form: AnnotationFormat, *, force: bool = False
) -> Exported:
    """Write `annotated_documents`: one JSON Lines file, or a folder of XML or brat files (mode 600).

    `inverse-deid fine-tune --gold` reads the first two as they are.

    Raises:
        OutputExistsError: The file is there, or the folder is not empty, and `force` is False.
        OutputError: It cannot be written.
    """
    raise NotImplementedError


def adopt_annotations(store: ReviewStore, place: Place, doc: Document) -> Edited:
    """Take over the spans of an annotated document (corrected elsewhere) as one action in the user's layer.

    Raises:
        ReviewError: The document has another text than the case; also fails as `act`.
    """
    raise NotImplementedError
