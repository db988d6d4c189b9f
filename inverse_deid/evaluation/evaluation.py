"""From gold documents and masks to an evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Counts, Range, WordTest, count_document
from inverse_deid.evaluation.figures import FIGURES, GroupFigures, Share, group_figures
from inverse_deid.evaluation.groups import GroupKind, group_number
from inverse_deid.evaluation.harmless import HarmlessTokens, read_harmless

_MAX_IDS_SHOWN = 10


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What a masking did to some documents.

    Args:
        ids: The documents, in the order of the gold.
        counts: One row a document, in this order.
        missing: Documents without masks that were counted as unmasked.
        harmless: The list behind the corrected recall.
        has_clinical: Whether clinical words were told apart.
    """

    ids: tuple[str, ...]
    counts: Counts
    missing: tuple[str, ...] = ()
    harmless: HarmlessTokens = field(default_factory=lambda: HarmlessTokens({}))
    has_clinical: bool = False

    def figure(self, name: str) -> Share:
        """One of `FIGURES`, exact."""
        return FIGURES[name](self.counts)

    def value(self, name: str) -> float | None:
        """One of `FIGURES` as a number in [0, 1]; None if it is undefined."""
        return self.figure(name).value

    def group(self, kind: GroupKind, name: str | None = None) -> GroupFigures:
        """The figures of one group, as `group(GroupKind.HYPER, "NAME")`."""
        return group_figures(self.counts, group_number(kind, name))


def evaluate_masks(
    gold: Sequence[Document],
    masks: Mapping[str, Sequence[Range]],
    *,
    harmless: HarmlessTokens | None = None,
    clinical: WordTest | None = None,
    allow_missing: bool = False,
) -> Evaluation:
    """Hold masks against gold documents.

    Args:
        gold: Annotated documents with distinct ids.
        masks: For each id half-open ranges of the original text, in any order.
        harmless: Which missed tokens the corrected recall forgives; None: the packaged list.
        clinical: Tells clinical words apart among those masked too much; None: nothing does.
        allow_missing: Count documents without masks as unmasked instead of refusing.

    Raises:
        AnnotationError: An id is there twice, without masks or without gold, or a mask
            is empty, reversed or leaves the text.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> from inverse_deid.core.values import PhiSpan
        >>> doc = Document("a", "Mr Li-Wu left", (PhiSpan(3, 8, PhiType.PATIENT),))
        >>> evaluate_masks([doc], {"a": [(3, 5)]}).figure("recall_all")
        Share(part=1, whole=2)
    """
    ids = tuple(doc.id for doc in gold)
    missing = _check_ids(ids, masks, allow_missing=allow_missing)
    harmless = read_harmless() if harmless is None else harmless
    rows = [count_document(doc, masks.get(doc.id, ()), harmless, clinical) for doc in gold]
    return Evaluation(ids, Counts.stack(rows), missing, harmless, clinical is not None)


def _check_ids(ids: Sequence[str], masks: Mapping[str, object], *, allow_missing: bool) -> tuple[str, ...]:
    """The ids without masks, if they are allowed."""
    if twice := repeated(ids):
        raise AnnotationError(f"more than once in the gold: {named(twice)}; give every document its own id")
    if surplus := sorted(set(masks) - set(ids)):
        raise AnnotationError(
            f"masked but not in the gold: {named(surplus)}; give the gold of all, or the masks of these alone"
        )
    missing = tuple(doc_id for doc_id in ids if doc_id not in masks)
    if missing and not allow_missing:
        raise AnnotationError(
            f"in the gold but not masked: {named(missing)}; mask them too, or count them as unmasked "
            "with --allow-missing"
        )
    return missing


def repeated(ids: Iterable[str]) -> list[str]:
    """The ids that stand there more than once, sorted."""
    return sorted(doc_id for doc_id, n in Counter(ids).items() if n > 1)


def named(ids: Sequence[str]) -> str:
    r"""Ids for a message: printable, and only the first of many.

    Example:
        >>> named(["a", "b\n"]), named([str(i) for i in range(12)])
        ('documents a, b?', 'documents 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    first = ", ".join(
        "".join(sign if sign.isprintable() else "?" for sign in doc_id) for doc_id in ids[:_MAX_IDS_SHOWN]
    )
    more = f" and {len(ids) - _MAX_IDS_SHOWN:,} more" if len(ids) > _MAX_IDS_SHOWN else ""
    return f"document{'s' if len(ids) > 1 else ''} {first}{more}"
