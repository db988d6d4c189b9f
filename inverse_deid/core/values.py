"""The values that travel through the pipeline.

A document's tokens, features, verdicts and decisions are parallel arrays with one entry per token
instead of one object per token, so that Python reads a hundred thousand tokens a second. All are
immutable by convention. None shows narrative text in its `repr`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from enum import IntEnum, StrEnum

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import AnnotationError, StageError
from inverse_deid.core.phi import HyperClass, PhiType
from inverse_deid.core.wording import _

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int32]

_CLASSES = tuple(HyperClass)


def show_name(value: object) -> str:
    """Return the name of the class of a value: the `repr` of values that hold narrative text."""
    return type(value).__name__


MAX_KNOWN_VALUES = 2_000
MAX_KNOWN_CHARS = 1_000
MAX_KNOWN_WORDS = 100
MAX_KNOWN_TOTAL_CHARS = 20_000
"""Limits on the known values of one document: how many, how long each (characters, words) and together."""

_WORD = re.compile(r"[^\W_]+")
_ISO_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)", re.ASCII)


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
                _(
                    "span {start}-{end} ({type}) is empty or negative. Offsets are half-open and count "
                    "code points",
                    start=self.start,
                    end=self.end,
                    type=self.type,
                )
            )


class KnownSort(StrEnum):
    """The sort of a known value, which says how else it may be written."""

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
    """A value that is known to identify somebody in a case."""

    value: str = field(repr=False)  # as it is written; dates as `CCYYMMDD`
    sort: KnownSort = KnownSort.OTHER  # what it is; OTHER = what it looks like


def day_of(value: str) -> date | None:
    """Return the day of `CCYYMMDD` or `CCYY-MM-DD`, None = not such a day."""
    match = _ISO_DATE.fullmatch(value.strip())
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def find_known_problem(known: Sequence[str | KnownIdentifier]) -> str:
    """Say why known values cannot be looked for, without quoting one; "" = they can.

    Example:
        >>> find_known_problem(["Amara Okonkwo"])
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
        id: Names the document in outputs and error messages; must not contain PHI.
        text: The untouched original.
        spans: Sorted, not overlapping, inside the text.
        known: Identifiers that are known to belong to the case (names, record numbers). Every
            mention of them is masked, also in other spellings.
        meta: Other values that a reader passes on.
        names: Words that are names in the other texts of its case, folded. They are looked for as if the
            text itself had them with a title.
        unsure: Half-open ranges of the text that were hard to read in a picture. Their words are masked.

    Raises:
        AnnotationError: Spans overlap, are unsorted or leave the text.
    """

    id: str
    text: str = field(repr=False)
    spans: tuple[PhiSpan, ...] = field(default=(), repr=False)
    known: tuple[str | KnownIdentifier, ...] = field(default=(), repr=False)
    meta: Mapping[str, str] = field(default_factory=dict, repr=False)
    names: frozenset[str] = field(default=frozenset(), repr=False)
    unsure: tuple[tuple[int, int], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        previous_end = 0
        for span in self.spans:
            if span.start < previous_end:
                raise AnnotationError(
                    _(
                        "document {id}: span {start}-{end} overlaps the one before it or is out of "
                        "order. Sort the spans and merge overlaps",
                        id=self.id,
                        start=span.start,
                        end=span.end,
                    )
                )
            if span.end > len(self.text):
                raise AnnotationError(
                    _(
                        "document {id}: span {start}-{end} ends after the text ({n_text} characters). "
                        "Check that offsets count code points",
                        id=self.id,
                        start=span.start,
                        end=span.end,
                        n_text=len(self.text),
                    )
                )
            previous_end = span.end


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tokens:
    """The tokens of one text: maximal runs of letters and digits."""

    text: str  # the original
    words: list[str]  # as written in the text
    starts: IntArray  # (n_tokens,), code-point offset of the first character
    ends: IntArray  # (n_tokens,), offset after the last character

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
    KEPT_CATEGORY = 14
    CHOSEN_CATEGORY = 15
    KEPT_CLINICAL_FACT = 16
    HARD_TO_READ = 17

    @property
    def keeps(self) -> bool:
        """Whether a token with this reason leaves unmasked."""
        return self in _KEEPING


_KEEPING = frozenset(
    {
        Reason.KEPT_SAFE_WORD,
        Reason.KEPT_BY_NETWORK,
        Reason.KEPT_ALLOW_LIST,
        Reason.KEPT_CATEGORY,
        Reason.KEPT_CLINICAL_FACT,
    }
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RuleVerdicts:
    """What the rules say of each token, bool (n_tokens,) each; they never decide alone.

    Args:
        safe: In a safe dictionary and not in an unsafe one.
        fact: In a clinical fact that resembles an identifier (a score, a lot number, a time of day): as
            a safe word it is kept from `low` on, but never without the network.
        certain: In a closed clinical expression, such as a value between its test and its unit: it is kept
            from far below `low` on, but never without the network.
        never: Weekday, month, street word, holiday or written-out number that is not safe: the
            threshold is infinite.
        veto: Inside a pattern that may only mask.
        titled: A capitalised word right after a title.
        name: A capitalised word that is in lists of names, in no safe list and not used as a clinical
            term, or a name that owns something: the threshold is infinite.
        word: Letters alone and not safe: a low density of PHI in the document does not lower its threshold.
        maybe_name: A capitalised word, not safe, in no clinical list: its threshold is higher.
        opening: A safe word of a name list that begins a sentence with a capital, which tells nothing: its
            threshold is that of a word that may be a name, and no low density lowers it.
        lifted: All that always masks this token belongs to categories that the user keeps.
        plain: In a safe dictionary, or up to four capitals, and in no unsafe one: no list has it as a name.
    """

    safe: BoolArray
    fact: BoolArray
    certain: BoolArray
    never: BoolArray
    veto: BoolArray
    titled: BoolArray
    name: BoolArray
    word: BoolArray
    maybe_name: BoolArray
    opening: BoolArray
    lifted: BoolArray
    plain: BoolArray

    @classmethod
    def silent(cls, n_tokens: int) -> RuleVerdicts:
        """Return verdicts that say nothing about any of `n_tokens` tokens."""
        return cls(*(np.zeros(n_tokens, np.bool_) for _ in fields(cls)))

    @property
    def earns_low(self) -> BoolArray:
        """Whose threshold is `low` instead of `high`: bool (n_tokens,)."""
        return (self.safe & ~self.opening) | self.fact | self.certain

    @property
    def always_masked(self) -> BoolArray:
        """Whose threshold is infinite: bool (n_tokens,)."""
        return self.never | self.veto | self.name

    def of(self, tokens: slice) -> RuleVerdicts:
        """Return the verdicts on some of the tokens."""
        return RuleVerdicts(*(getattr(self, name)[tokens] for name in self.__slots__))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RuleAnalysis:
    """What the rules found in one document."""

    ids: IntArray  # (n_tokens,), the number of each token's word in the shared `InternedWords`
    features: FloatArray  # (n_tokens, n_features), in [0, 1]
    verdicts: RuleVerdicts
    other_language: bool = False  # the document seems not to be English


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Decisions:
    """The decision on every token of a document, and why; all arrays are (n_tokens,)."""

    keep: BoolArray
    reasons: npt.NDArray[np.uint8]  # values of `Reason`
    p_safe: FloatArray  # probability of *safe* in [0, 1], NaN = unknown
    thresholds: FloatArray  # the least `p_safe` that would be kept; inf = never
    categories: npt.NDArray[np.uint8]  # most probable PHI class (index into `HyperClass`), 0 = unknown

    def __post_init__(self) -> None:
        n = len(self.keep)
        columns = (self.reasons, self.p_safe, self.thresholds, self.categories)
        if any(len(column) != n for column in columns):
            raise StageError(_("decisions of unequal length for {n} tokens", n=n))

    def __len__(self) -> int:
        return len(self.keep)

    def suspect(self, first: int, stop: int) -> HyperClass | None:
        """Return the category that most tokens from `first` up to `stop` are suspected of, None = unknown."""
        counts = np.bincount(self.categories[first:stop], minlength=len(_CLASSES))[1:]
        return _CLASSES[1 + int(counts.argmax())] if counts.any() else None

    def of(self, tokens: slice) -> Decisions:
        """Return the decisions on some of the tokens."""
        return Decisions(*(getattr(self, name)[tokens] for name in self.__slots__))


@dataclass(frozen=True, slots=True, eq=False)
class MaskedDocument:
    """A document with all that was not surely safe replaced; ranges are half-open, sorted and disjoint."""

    id: str  # of the original document
    text: str = field(repr=False)  # the masked text
    masks: tuple[tuple[int, int], ...] = field(repr=False)  # ranges of the *original* text
    replaced: tuple[tuple[int, int], ...] = field(repr=False)  # for each mask the range of `text`
    tokens: Tokens = field(repr=False)  # of the original
    decisions: Decisions = field(repr=False)  # one per token
    failed: bool = False  # a stage failed, so the whole document was masked
    stand_ins: Mapping[str, int] = field(default_factory=dict)  # masks without a marker, by kind (date, age)
    other_language: bool = False  # seems not to be English, which the tool cannot judge
    is_plain: bool = False  # the replacements could not be worked out, so all masks are markers

    def _repr_html_(self) -> str:
        """Return the masked text for notebooks; nothing of the original is in it except kept words."""
        return mark_replaced(self.text, self.replaced)


def mark_replaced(text: str, replaced: Sequence[tuple[int, int]]) -> str:
    """Return a masked text as HTML with its masks marked.

    Args:
        text: The masked text.
        replaced: The ranges of its masks, in order.

    Example:
        >>> mark_replaced("PHI had a <mild> rash.", [(0, 3)])
        '<div style="white-space: pre-wrap"><mark>PHI</mark> had a &lt;mild&gt; rash.</div>'
    """
    pieces = []
    position = 0
    for start, end in replaced:
        pieces.append(html.escape(text[position:start]))
        pieces.append(f"<mark>{html.escape(text[start:end])}</mark>")
        position = end
    pieces.append(html.escape(text[position:]))
    return f'<div style="white-space: pre-wrap">{"".join(pieces)}</div>'
