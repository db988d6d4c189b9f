"""The values that travel through the pipeline.

A document's tokens, features, verdicts and decisions are kept as parallel
arrays (one entry a token) instead of one object a token: that is what makes a
hundred thousand tokens a second possible in Python. All are immutable by
convention and none shows narrative text in its `repr`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import AnnotationError, StageError
from inverse_deid.core.phi import HyperClass, PhiType

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int32]

_CLASSES = tuple(HyperClass)

MAX_KNOWN_VALUES = 2_000
MAX_KNOWN_CHARS = 1_000
MAX_KNOWN_WORDS = 100
MAX_KNOWN_TOTAL_CHARS = 20_000
"""What the known values of one document may be: how many, how long each in characters and words, and all."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, order=True)
class PhiSpan:
    """A marked identifier: half-open code-point offsets into the original text.

    Example:
        >>> PhiSpan(3, 8, PhiType.PATIENT)
        PhiSpan(start=3, end=8, type=<PhiType.PATIENT: 'PATIENT'>)
    """

    start: int
    end: int
    type: PhiType

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise AnnotationError(
                f"span {self.start}-{self.end} ({self.type}) is empty or negative; "
                "offsets are half-open and count code points"
            )


class KnownSort(StrEnum):
    """What sort of identifier a known value is; it says how else the value may be written."""

    NAME = "name"
    INITIALS = "initials"
    DATE = "date"
    NUMBER = "number"
    ORGANISATION = "organisation"
    ADDRESS = "address"
    PHONE = "phone"
    EMAIL = "email"
    OTHER = "other"


@dataclass(frozen=True, slots=True, order=True)
class KnownIdentifier:
    """A value that is known to identify somebody in a case.

    Args:
        value: As it is written; dates as `CCYYMMDD`.
        sort: What it is; OTHER = what it looks like.
    """

    value: str = field(repr=False)
    sort: KnownSort = KnownSort.OTHER


def known_problem(known: Sequence[str | KnownIdentifier]) -> str:
    """Why known values cannot be looked for, "" = they can; says no value.

    Example:
        >>> known_problem(["Amara Okonkwo"])
        ''
    """
    values = [one if isinstance(one, str) else one.value for one in known]
    if len(values) > MAX_KNOWN_VALUES:
        return f"has {len(values):,} known values; the limit is {MAX_KNOWN_VALUES:,}, so split the document"
    longest = max(map(len, values), default=0)
    if longest > MAX_KNOWN_CHARS:
        return (
            f"has a known value of {longest:,} characters; the limit is {MAX_KNOWN_CHARS:,}, "
            "so give names and numbers alone, one a value"
        )
    n_words = max((len(_WORD.findall(value)) for value in values), default=0)
    if n_words > MAX_KNOWN_WORDS:
        return (
            f"has a known value of {n_words:,} words; the limit is {MAX_KNOWN_WORDS}, so give several values"
        )
    total = sum(map(len, values))
    if total > MAX_KNOWN_TOTAL_CHARS:
        return (
            f"has known values of {total:,} characters together; the limit is {MAX_KNOWN_TOTAL_CHARS:,}, "
            "so give names and numbers alone"
        )
    return ""


@dataclass(frozen=True, slots=True)
class Document:
    """A narrative and, if it was annotated, its PHI spans.

    Args:
        id: Names the document in outputs and error messages; must hold no PHI.
        text: The untouched original.
        spans: Sorted, not overlapping, inside the text.
        known: Identifiers that are known to belong to the case (names, record
            numbers); every mention of them is masked, in other spellings too.
        meta: Whatever the reader wants to carry along.

    Raises:
        AnnotationError: Spans overlap, are unsorted or leave the text.
    """

    id: str
    text: str = field(repr=False)
    spans: tuple[PhiSpan, ...] = field(default=(), repr=False)
    known: tuple[str | KnownIdentifier, ...] = field(default=(), repr=False)
    meta: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        previous_end = 0
        for span in self.spans:
            if span.start < previous_end:
                raise AnnotationError(
                    f"document {self.id}: span {span.start}-{span.end} overlaps the one before it "
                    "or is out of order; sort the spans and merge overlaps"
                )
            if span.end > len(self.text):
                raise AnnotationError(
                    f"document {self.id}: span {span.start}-{span.end} ends after the text "
                    f"({len(self.text)} characters); check that offsets count code points"
                )
            previous_end = span.end


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of one text: maximal runs of letters and digits.

    Args:
        text: The original text.
        words: The tokens as they stand in the text, `n_tokens` strings.
        starts: int32 (n_tokens,), code-point offset of the first character.
        ends: int32 (n_tokens,), offset behind the last character.
    """

    text: str = field(repr=False)
    words: list[str] = field(repr=False)
    starts: IntArray = field(repr=False)
    ends: IntArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.words)


class Reason(IntEnum):
    """Why a token was kept or masked. The order is part of the output format."""

    KEPT_SAFE_WORD = 0
    KEPT_BY_NETWORK = 1
    BELOW_THRESHOLD = 2
    NEVER_SAFE_WORD = 3
    VETO_PATTERN = 4
    NAME_WITH_TITLE = 5
    OTHER_MENTION = 6
    KNOWN_IDENTIFIER = 7
    DENY_LIST = 8
    FAILED_CLOSED = 9
    KEPT_ALLOW_LIST = 10
    RULES_ONLY_UNSAFE = 11
    JOINED_TO_MASKED = 12
    NAME_ONLY_WORD = 13

    @property
    def keeps(self) -> bool:
        """Whether a token with this reason leaves unmasked."""
        return self in _KEEPING


_KEEPING = frozenset({Reason.KEPT_SAFE_WORD, Reason.KEPT_BY_NETWORK, Reason.KEPT_ALLOW_LIST})


@dataclass(frozen=True, slots=True, eq=False)
class RuleVerdicts:
    """What the rules say of each token; they never decide alone.

    Args:
        safe: bool (n_tokens,), in a safe dictionary and in no unsafe one.
        never: bool (n_tokens,), weekday, month, street word, holiday or
            written-out number that is not safe: the threshold is infinite.
        veto: bool (n_tokens,), inside a pattern that may only mask.
        titled: bool (n_tokens,), a capitalised word right after a title.
        name: bool (n_tokens,), a capitalised word that is in lists of names and in no safe list, and
            not used as a clinical term, or a name that owns something: the threshold is infinite.
        word: bool (n_tokens,), letters alone and not safe: a low density of PHI in the document does
            not lower its threshold.
        maybe_name: bool (n_tokens,), a capitalised word, not safe, in no clinical list and possibly a
            name: its threshold is higher.
    """

    safe: BoolArray = field(repr=False)
    never: BoolArray = field(repr=False)
    veto: BoolArray = field(repr=False)
    titled: BoolArray = field(repr=False)
    name: BoolArray = field(repr=False)
    word: BoolArray = field(repr=False)
    maybe_name: BoolArray = field(repr=False)

    @classmethod
    def silent(cls, n_tokens: int) -> RuleVerdicts:
        """Return verdicts that say nothing about any of `n_tokens` tokens."""
        return cls(*(np.zeros(n_tokens, np.bool_) for _ in fields(cls)))

    @property
    def always_masked(self) -> BoolArray:
        """Whose threshold is infinite: bool (n_tokens,)."""
        return self.never | self.veto | self.name

    def of(self, tokens: slice) -> RuleVerdicts:
        """What they say of some of the tokens."""
        return RuleVerdicts(*(getattr(self, column.name)[tokens] for column in fields(self)))


@dataclass(frozen=True, slots=True, eq=False)
class RuleAnalysis:
    """What the rules found in one document.

    Args:
        ids: int32 (n_tokens,), the number of each token's word in the shared `InternedWords`.
        features: float32 (n_tokens, n_features), in [0, 1].
        verdicts: One of each kind a token.
    """

    ids: IntArray = field(repr=False)
    features: FloatArray = field(repr=False)
    verdicts: RuleVerdicts = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The decision on every token of a document, and why.

    Args:
        keep: bool (n_tokens,).
        reasons: uint8 (n_tokens,), values of `Reason`.
        p_safe: float32 (n_tokens,), probability of *safe* in [0, 1], NaN = unknown.
        thresholds: float32 (n_tokens,), what `p_safe` was held against; inf = never.
        categories: uint8 (n_tokens,), most probable PHI hyper-class (index into
            `HyperClass`), 0 = unknown.
    """

    keep: BoolArray = field(repr=False)
    reasons: npt.NDArray[np.uint8] = field(repr=False)
    p_safe: FloatArray = field(repr=False)
    thresholds: FloatArray = field(repr=False)
    categories: npt.NDArray[np.uint8] = field(repr=False)

    def __post_init__(self) -> None:
        n = len(self.keep)
        columns = (self.reasons, self.p_safe, self.thresholds, self.categories)
        if any(len(column) != n for column in columns):
            raise StageError(f"decisions of unequal length for {n} tokens")

    def __len__(self) -> int:
        return len(self.keep)

    def suspected(self, first: int, stop: int) -> HyperClass | None:
        """The category that most tokens from `first` up to `stop` are suspected of, None = unknown."""
        counts = np.bincount(self.categories[first:stop], minlength=len(_CLASSES))[1:]
        return _CLASSES[1 + int(counts.argmax())] if counts.any() else None

    def of(self, tokens: slice) -> Decisions:
        """The decisions on some of the tokens."""
        return Decisions(
            self.keep[tokens],
            self.reasons[tokens],
            self.p_safe[tokens],
            self.thresholds[tokens],
            self.categories[tokens],
        )


@dataclass(frozen=True, slots=True, eq=False)
class MaskedDocument:
    """A document with everything that was not confidently safe replaced.

    Args:
        id: The id of the original document.
        text: The masked text, safe to show.
        masks: Sorted, disjoint half-open ranges of the *original* text that were replaced.
        replaced: The range of the masked text that stands for each mask.
        tokens: The tokens of the original.
        decisions: One per token.
        failed: True if a stage failed and the whole document was masked for that.
        stand_ins: How many masks have something else than a marker, by what it is (date, age).
        is_plain: Markers alone were left, since what should have stood there could not be worked out.
    """

    id: str
    text: str = field(repr=False)
    masks: tuple[tuple[int, int], ...] = field(repr=False)
    replaced: tuple[tuple[int, int], ...] = field(repr=False)
    tokens: Tokens = field(repr=False)
    decisions: Decisions = field(repr=False)
    failed: bool = False
    stand_ins: Mapping[str, int] = field(default_factory=dict)
    is_plain: bool = False
