"""The values that go in and out of a review store.

Tokens are numbered across a case, 0 to n_tokens - 1; a range of tokens is half-open. Characters
count code points of the case's text. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError, Remedy, ReviewError, UnreadableInputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import BoolArray, Decisions, FloatArray, Tokens
from inverse_deid.core.wording import N_, _

CATEGORIES: tuple[PhiType, ...] = tuple(PhiType)
"""Meaning of the category codes of a reviewer."""

NO_CATEGORY = 255

MAX_RANGES = 5_000
"""Most ranges of tokens that one action can change."""


class StoredState(StrEnum):
    """A state in a column of the store."""

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        # The program never stores anything else.
        raise UnreadableInputError(
            _(
                "a state in the store was altered outside the program. Run inverse-deid review verify, "
                "and restore a backup"
            )
        )


class CaseState(StoredState):
    """How far a case is."""

    NEW = N_("new")
    IN_REVIEW = N_("in review")
    AGREED = N_("agreed")
    DISAGREED = N_("disagreed")
    RELEASED = N_("released")


class UserRole(StrEnum):
    """What a user may do.

    Reviewers review. Adjudicators review as well, settle disagreements (never on cases they changed), add
    files, release, withdraw and draw samples. Admins manage accounts, assignments, locks, limits and the
    trail, and never see the text of a case.
    """

    REVIEWER = N_("reviewer")
    ADJUDICATOR = N_("adjudicator")
    ADMIN = N_("admin")

    def includes(self, other: UserRole) -> bool:
        """Whether this role may do all that the other may.

        Example:
            >>> UserRole.ADJUDICATOR.includes(UserRole.REVIEWER), UserRole.ADMIN.includes(UserRole.REVIEWER)
            (True, False)
        """
        return self is other or (self is UserRole.ADJUDICATOR and other is UserRole.REVIEWER)


class LayerKind(StrEnum):
    """Kind of a user's layer of decisions over the model's."""

    REVIEW = "review"
    ADJUDICATION = "adjudication"


class ActionKind(StrEnum):
    """What a reviewer does with tokens."""

    MASK = "mask"
    UNMASK = "unmask"
    CATEGORY = "category"


@dataclass(frozen=True, slots=True)
class User:
    """An account, without its password; `must_change_password` before they do anything else."""

    id: int
    name: str
    role: UserRole
    is_active: bool = True
    must_change_password: bool = False  # before anything else
    has_second_factor: bool = False  # a log-in also needs a one-time code
    issuer: str | None = None  # the OpenID provider where they sign in instead of here


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPolicy:
    """Rules for the release of cases, fixed when the store is made, and for log-ins.

    Raises:
        ConfigurationError: Out of range, or blind with one approval.
    """

    approvals: int = 2  # how many reviewers must approve a case, 1 or 2
    blind_to_model: bool = False  # the second reviewer starts from the bare text and marks identifiers
    automatic_release: bool = True  # an agreed case is released at once, otherwise by an adjudicator
    lock_minutes: int = 30  # after these, in [1, 1440], an untouched case can be taken over
    # Everybody with a password needs a one-time code; `second_factor.require` changes it.
    second_factor: bool = False

    def __post_init__(self) -> None:
        if self.approvals not in (1, 2):
            raise ConfigurationError(_("a case must have 1 or 2 approvals"))
        if self.blind_to_model and self.approvals < 2:
            raise ConfigurationError(
                _("is for the second reviewer"),
                choice="blind_to_model",
                remedies=[Remedy("approvals", "2", step=N_("use it with {}"))],
            )
        if not 1 <= self.lock_minutes <= 24 * 60:
            raise ConfigurationError(_("a lock must last 1 to 1440 minutes"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLimits:
    """Rules that admins change while people work.

    Raises:
        ConfigurationError: Out of range.
    """

    max_locks: int = 20  # cases that one person holds at a time, in [1, 10000]
    cases_per_hour: int = 60  # more originals in an hour are unusual, in [1, 1000000]
    only_assigned: bool = False  # people take only cases that are assigned to them
    # Nobody reviews, settles, releases or samples cases of a file that they added.
    adders_stay_out: bool = False
    no_allow_lists: bool = False  # nobody lists words that are never masked, and new files are masked without

    def __post_init__(self) -> None:
        if not 1 <= self.max_locks <= 10_000:
            raise ConfigurationError(_("one person must be able to hold 1 to 10,000 cases"))
        if not 1 <= self.cases_per_hour <= 1_000_000:
            raise ConfigurationError(_("the usual number of cases per hour must be 1 to 1,000,000"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingFacts:
    """How the cases of a store were masked. Model and thresholds are None without the network."""

    fingerprint: str  # changes with anything that can change a decision
    model_sha256: str | None = None
    lexicon_sha256: str = ""
    thresholds: Thresholds | None = None
    marker: str = "PHI"
    category_markers: bool = False  # the category replaces masked text instead of the marker
    categories: tuple[str, ...] = ()  # what was masked, () = as by default
    n_deny: int = 0  # words and phrases that were listed to be masked
    n_allow: int = 0  # words that were listed to be kept

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> MaskingFacts:
        rest = {name: value for name, value in stored.items() if name not in _THRESHOLDS}
        rest["categories"] = tuple(rest["categories"])
        if stored["low"] is None:
            return cls(**rest)
        return cls(**rest, thresholds=Thresholds(**{name: stored[name] for name in _THRESHOLDS}))

    def as_json(self) -> dict[str, Any]:
        stored = asdict(self)
        thresholds = stored.pop("thresholds") or {"low": None, "high": None, "density_slope": 0.0}
        return stored | thresholds


_THRESHOLDS = [one.name for one in fields(Thresholds)]


@dataclass(frozen=True, slots=True)
class TokenRange:
    """Tokens `first` to `stop` - 1 of a case.

    Raises:
        ReviewError: Empty or negative.
    """

    first: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.first < self.stop:
            raise ReviewError(
                _(
                    "{first}-{stop} is not a range of words: it must not be empty",
                    first=self.first,
                    stop=self.stop,
                )
            )


@dataclass(frozen=True, slots=True)
class LayerRevision:
    """The layer of a user on a case, in the revision that the user saw."""

    user_id: int
    case_id: int
    revision: int


@dataclass(frozen=True, slots=True)
class ReviewAction:
    """One action of a reviewer; one undo takes it back.

    Raises:
        ReviewError: No or too many ranges, or a category that does not fit the kind.
    """

    kind: ActionKind
    ranges: tuple[TokenRange, ...]
    category: PhiType | None = None  # required by CATEGORY, refused by UNMASK
    all_mentions: bool = False  # also everywhere else in the case where the same words occur

    def __post_init__(self) -> None:
        if not 0 < len(self.ranges) <= MAX_RANGES:
            raise ReviewError(
                _("an action must have 1 to {max_ranges:,} ranges of words", max_ranges=MAX_RANGES)
            )
        if self.kind is ActionKind.CATEGORY and self.category is None:
            raise ReviewError(_("no category was given"))
        if self.kind is ActionKind.UNMASK and self.category is not None:
            raise ReviewError(_("an unmasked word has no category. Leave it out"))


@dataclass(frozen=True, slots=True, eq=False)
class LayerTokens:
    """The decisions of a layer on each token of a case, as arrays (n_tokens,)."""

    keep: BoolArray = field(repr=False)
    # uint8, index `CATEGORIES` (`NO_CATEGORY` = not known); of a kept token as if it were masked.
    categories: npt.NDArray[np.uint8] = field(repr=False)
    decided: BoolArray = field(repr=False)  # False only where reviewers disagree and nobody has settled it


@dataclass(frozen=True, slots=True, eq=False)
class ModelTokens:
    """The model's decisions on each token of a case, as arrays (n_tokens,).

    Doubtful tokens should be looked at: kept ones may be leaks, masked ones losses.
    """

    decisions: Decisions = field(repr=False)  # their categories index `HyperClass`
    # uint8, index `CATEGORIES` (`NO_CATEGORY` = not known).
    categories: npt.NDArray[np.uint8] = field(repr=False)
    doubt: FloatArray = field(repr=False)  # float32 in [0, 1], 1 = `p_safe` is at the threshold
    is_doubtful: BoolArray = field(repr=False)
    rules_safe: BoolArray = field(repr=False)  # the dictionaries call the word safe
    known: BoolArray = field(repr=False)  # it belongs to a known identifier of the case

    @property
    def is_maybe_needless(self) -> BoolArray:
        """The tokens that the model masked without doubt, and dictionaries call safe: (n_tokens,)."""
        masks = ~self.decisions.keep & self.rules_safe
        return np.asarray(masks & ~self.known & ~self.is_doubtful)


@dataclass(frozen=True, slots=True)
class CasePart:
    """One of the texts of a case (case reports have several): characters `start` to `end` - 1."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CopiedValue:
    """A value of a column that is copied into the released file, without any decision of a reader."""

    column: str = field(repr=False)
    value: str = field(repr=False)  # "" = it is replaced
    replaced: str = ""  # "date" or "age": it is replaced as those of the text are, "" = it is copied as it is


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a user ("" = hidden) on a case or on some of its tokens (None = on the case)."""

    user: str
    at: float
    tokens: TokenRange | None
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CaseView:
    """A case as a user sees it: all parts of the original `text`, its tokens, and the user's own layer."""

    case_id: int  # the only thing that may appear in a URL
    name: str  # the id in the source file
    state: CaseState
    text: str = field(repr=False)
    parts: tuple[CasePart, ...]
    tokens: Tokens = field(repr=False)
    kind: LayerKind
    layer: LayerTokens
    model: ModelTokens | None  # None for a reviewer who is blind to it
    facts: MaskingFacts  # how the case was masked
    revision: int  # given back with the next action
    can_undo: bool
    can_redo: bool
    is_approved: bool  # the layer can no longer change
    notes: tuple[Note, ...]  # for adjudicators also those of others, unnamed
    copied: tuple[CopiedValue, ...] | None = ()  # what is released beside the text, None = not known
    other_language: bool = False  # it seems not to be English, which the tool cannot judge


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DisputeView:
    """A case as an adjudicator sees it, with both reviewers' layers, unnamed, in the order of approval."""

    case: CaseView  # its `layer.decided` is False where the adjudicator still has to decide
    reviewers: tuple[LayerTokens, ...]
    disputed: BoolArray = field(repr=False)  # bool (n_tokens,), one reviewer keeps and one masks


@dataclass(frozen=True, slots=True)
class Edited:
    """An action that is safely stored. `revision`, of the layer, is given back with the next action."""

    revision: int  # of the layer; given back with the next action
    # Of each range of changed tokens the first, the one after the last, whether they are kept, and their
    # category code.
    changed: tuple[tuple[int, int, bool, int], ...]
    can_undo: bool
    can_redo: bool
    n_undecided: int = 0  # tokens left for an adjudicator


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFilter:
    """Which cases a work list shows: of these states, with this much doubt, of an assignee (None = all)."""

    states: frozenset[CaseState] = frozenset()  # none = all
    assignee_id: int | None = None
    claimable_by: int | None = None  # ready for review by this user now
    work_of: int | None = None  # assigned to this user or begun by them
    approved_by: int | None = None  # this user
    min_doubtful: int = 0  # doubtful words, or a case that failed
    search: str = ""  # part of the name of the case or of its file, in capitals or not


class WorkOrder(StrEnum):
    """Order of a work list; the cases that are equal in it follow by falling doubt, or by number."""

    DOUBT = "doubt"
    NAME = "name"
    STATE = "state"
    FILE = "file"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """One line of a work list. `name` is the id in the source file, `source` the name of that file."""

    case_id: int
    name: str
    source: str
    source_id: int
    state: CaseState
    # How likely it still holds an identifier (`contents.rank_case`); 1e6 more if the model failed on it, so
    # that everything is masked.
    doubt: float
    n_tokens: int
    n_doubtful: int
    n_approvals: int
    assignee: str | None  # who should do it next, None = anybody
    locked_by: str | None  # who works on it
    is_failed: bool


@dataclass(frozen=True, slots=True)
class WorkPage:
    """Some lines of a work list in its order; `next_key` gets the next ones, None = last."""

    rows: tuple[CaseRow, ...]
    next_key: str | None
