"""The values that go in and out of a review store.

Tokens are numbered across a case, 0 to n_tokens - 1; a range of tokens is half-open. Characters
count code points of the case's text. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError, ReviewError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import BoolArray, Decisions, FloatArray, Tokens

CATEGORIES: tuple[PhiType, ...] = tuple(PhiType)
"""Meaning of the category codes of a reviewer."""

NO_CATEGORY = 255
"""Code of an unknown category."""

MAX_RANGES = 5_000
"""Most ranges of tokens that one action can change."""


class CaseState(StrEnum):
    """How far a case is."""

    NEW = "new"
    IN_REVIEW = "in review"
    AGREED = "agreed"
    DISAGREED = "disagreed"
    RELEASED = "released"


class UserRole(StrEnum):
    """What a user may do; each role includes the one before it.

    A reviewer reviews; an adjudicator settles disagreements (never on cases they reviewed),
    releases and withdraws; an admin manages accounts and assignments, exports and draws samples.
    """

    REVIEWER = "reviewer"
    ADJUDICATOR = "adjudicator"
    ADMIN = "admin"

    def includes(self, other: UserRole) -> bool:
        """Whether this role may do all that the other may.

        Example:
            >>> UserRole.ADMIN.includes(UserRole.REVIEWER), UserRole.REVIEWER.includes(UserRole.ADMIN)
            (True, False)
        """
        order = list(UserRole)
        return order.index(self) >= order.index(other)


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
    """An account, without its password."""

    id: int
    name: str
    role: UserRole
    is_active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPolicy:
    """Rules for the release of cases; fixed when the store is made.

    Args:
        approvals: Reviewers who must approve a case, 1 or 2.
        blind_to_model: The second reviewer starts from the bare text and marks identifiers.
        automatic_release: An agreed case is released at once; otherwise an adjudicator releases it.
        lock_minutes: A case untouched for this long can be taken over, in [1, 1440].

    Raises:
        ConfigurationError: Out of range, or blind with one approval.
    """

    approvals: int = 2
    blind_to_model: bool = False
    automatic_release: bool = True
    lock_minutes: int = 30

    def __post_init__(self) -> None:
        if self.approvals not in (1, 2):
            raise ConfigurationError("a case must have 1 or 2 approvals")
        if self.blind_to_model and self.approvals < 2:
            raise ConfigurationError(
                "--blind-to-model is for the second reviewer. Use it with --approvals 2."
            )
        if not 1 <= self.lock_minutes <= 24 * 60:
            raise ConfigurationError("a lock must last 1 to 1440 minutes")


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
            raise ReviewError(f"{self.first}-{self.stop} is not a range of words: it must not be empty")


@dataclass(frozen=True, slots=True)
class LayerRevision:
    """The layer of a user on a case, in the revision that the user saw."""

    user_id: int
    case_id: int
    revision: int


@dataclass(frozen=True, slots=True)
class ReviewAction:
    """One action of a reviewer; one undo takes it back.

    Args:
        kind: Mask, unmask, or set the category alone.
        category: Of masked tokens; required by CATEGORY, refused by UNMASK.
        all_mentions: Also everywhere else in the case where the same words occur.

    Raises:
        ReviewError: No or too many ranges, or a category that does not fit the kind.
    """

    kind: ActionKind
    ranges: tuple[TokenRange, ...]
    category: PhiType | None = None
    all_mentions: bool = False

    def __post_init__(self) -> None:
        if not 0 < len(self.ranges) <= MAX_RANGES:
            raise ReviewError(f"an action must have 1 to {MAX_RANGES:,} ranges of words")
        if self.kind is ActionKind.CATEGORY and self.category is None:
            raise ReviewError("no category was given")
        if self.kind is ActionKind.UNMASK and self.category is not None:
            raise ReviewError("an unmasked word has no category. Leave it out.")


@dataclass(frozen=True, slots=True, eq=False)
class LayerTokens:
    """The decisions of a layer on each token of a case.

    Args:
        keep: bool (n_tokens,).
        categories: uint8 (n_tokens,), index into `CATEGORIES`, `NO_CATEGORY` = not known; of
            a kept token the category it would have if it were masked.
        decided: bool (n_tokens,), False only where reviewers disagree and nobody has settled it.
    """

    keep: BoolArray = field(repr=False)
    categories: npt.NDArray[np.uint8] = field(repr=False)
    decided: BoolArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class ModelTokens:
    """The model's decisions on each token of a case.

    Args:
        decisions: As the masker returned them; their categories index `HyperClass`.
        categories: uint8 (n_tokens,), index into `CATEGORIES`, `NO_CATEGORY` = not known.
        doubt: float32 (n_tokens,), in [0, 1], 1 = `p_safe` is at the threshold.
        is_doubtful: bool (n_tokens,), should be looked at: kept ones may be leaks, masked ones losses.
        rules_safe: bool (n_tokens,), the dictionaries call the word safe.
        known: bool (n_tokens,), belongs to a known identifier of the case.
    """

    decisions: Decisions = field(repr=False)
    categories: npt.NDArray[np.uint8] = field(repr=False)
    doubt: FloatArray = field(repr=False)
    is_doubtful: BoolArray = field(repr=False)
    rules_safe: BoolArray = field(repr=False)
    known: BoolArray = field(repr=False)


@dataclass(frozen=True, slots=True)
class CasePart:
    """One of the texts of a case (case reports have several): characters `start` to `end` - 1."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a user on a case or on some of its tokens (None = on the case)."""

    user: str
    at: float
    tokens: TokenRange | None
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CaseView:
    """A case as a user sees it.

    Args:
        case_id: Number of the case in the store; the only thing that may appear in a URL.
        name: Its id in the source file.
        text: The original, all parts; `tokens` are of it.
        kind: Of the user's layer.
        layer: The user's own decisions.
        model: The model's decisions; None for a reviewer who is blind to it.
        revision: To be given back with the next action.
        is_approved: The user approved; the layer can no longer change.
        notes: The user's own; for an adjudicator also those of both reviewers.
    """

    case_id: int
    name: str
    state: CaseState
    text: str = field(repr=False)
    parts: tuple[CasePart, ...]
    tokens: Tokens = field(repr=False)
    kind: LayerKind
    layer: LayerTokens
    model: ModelTokens | None
    revision: int
    can_undo: bool
    can_redo: bool
    is_approved: bool
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DisputeView:
    """A case as an adjudicator sees it, with the decisions of the two reviewers.

    Args:
        case: With the adjudicator's own layer; `layer.decided` is False where they still have to decide.
        reviewers: Layers in the order of approval; names are not shown.
        disputed: bool (n_tokens,), one keeps and one masks.
    """

    case: CaseView
    reviewers: tuple[LayerTokens, ...]
    disputed: BoolArray = field(repr=False)


@dataclass(frozen=True, slots=True)
class Edited:
    """An action that is safely stored.

    Args:
        revision: Of the layer, to be given back with the next action.
        changed: First token, the token after the last one, whether they are now kept, and their category
            code, for each range of changed tokens.
        n_undecided: Tokens that an adjudicator still has to decide.
    """

    revision: int
    changed: tuple[tuple[int, int, bool, int], ...]
    can_undo: bool
    can_redo: bool
    n_undecided: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFilter:
    """Which cases a work list shows.

    Args:
        states: Any of these; empty = all.
        assignee_id: Assigned to this user, None = all.
        claimable_by: Ready for review by this user now, None = all.
        min_doubt: Of at least this doubt, at least 0.
    """

    states: frozenset[CaseState] = frozenset()
    assignee_id: int | None = None
    claimable_by: int | None = None
    min_doubt: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """One line of a work list.

    Args:
        name: Id in the source file.
        source: Name of the source file.
        doubt: Number of doubtful tokens; 1e6 more if the model failed on it.
        assignee: Name of the user who should do it next, None = anybody.
        locked_by: Name of the user working on it now, None = nobody.
        is_failed: The model failed on it and everything is masked.
    """

    case_id: int
    name: str
    source: str
    state: CaseState
    doubt: float
    n_tokens: int
    n_doubtful: int
    n_approvals: int
    assignee: str | None
    locked_by: str | None
    is_failed: bool


@dataclass(frozen=True, slots=True)
class WorkPage:
    """Some lines of a work list, most doubtful cases first; `next_key` gets the next ones, None = last."""

    rows: tuple[CaseRow, ...]
    next_key: str | None
