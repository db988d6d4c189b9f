"""The causality form: is what causality assessment needs still there, and was what is missing needed?

The assessor first reads the masked text alone and says what is preserved and what seems missing,
then looks at the original and says whether what is missing was needed.

Source: the master's thesis of the method, sections 4.4.2 and 5.2.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from inverse_deid.core.errors import ReviewError
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.uncertainty import Interval
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import User


class Topic(StrEnum):
    """What is valuable for causality assessment."""

    REACTION = "reaction"
    SERIOUSNESS = "seriousness"
    OUTCOME = "outcome"
    DRUG_NAMES = "drug names"
    HISTORY = "history"
    DOSES = "doses"
    LAB_RESULTS = "lab results"
    TIME_COURSE = "time course"


class Preserved(StrEnum):
    """How much of a topic the masked text still tells."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    NOT_IN_CASE = "not in the case"


@dataclass(frozen=True, slots=True)
class TopicAnswer:
    """What the assessor says of one topic.

    Args:
        preserved: How much the masked text tells.
        is_needed: Whether what is missing is needed for the assessment, seen from the original;
            given exactly if something is missing (PARTLY or NO).

    Raises:
        ReviewError: It is given and nothing is missing, or the other way round.
    """

    preserved: Preserved
    is_needed: bool | None = None

    def __post_init__(self) -> None:
        if (self.is_needed is not None) != (self.preserved in (Preserved.PARTLY, Preserved.NO)):
            raise ReviewError("say whether it was needed if, and only if, something is missing")


@dataclass(frozen=True, slots=True)
class CausalityForm:
    """One case, one assessor.

    Args:
        case_id: Number of the case.
        answers: Of every topic.
        remark: Up to 4,000 characters, encrypted like the narrative.

    Raises:
        ReviewError: A topic is left out, or the remark is too long.
    """

    case_id: int
    answers: Mapping[Topic, TopicAnswer]
    remark: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        missing = [topic.value for topic in Topic if topic not in self.answers]
        if missing:
            raise ReviewError(f"no answer on {', '.join(missing)}; answer every topic")
        if len(self.remark) > 4_000:
            raise ReviewError("the remark is longer than 4,000 characters; shorten it")


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """All forms on one topic: how many of the cases that had it still tell it, and needed what is missing."""

    topic: Topic
    n_yes: int
    n_partly: int
    n_no: int
    n_needed: int


@dataclass(frozen=True, slots=True)
class CausalitySummary:
    """The utility figure of an evaluation run; the thesis reports 96 % and 52 %.

    Args:
        n_forms: Forms.
        any_preserved: Cases that still hold some valuable information.
        none_missing: Cases that miss none.
        none_needed_missing: Cases that miss none that was needed.
        intervals: Exact 95 % intervals of the three shares, None = no form.
        topics: By topic.
    """

    n_forms: int
    any_preserved: Share
    none_missing: Share
    none_needed_missing: Share
    intervals: tuple[Interval | None, Interval | None, Interval | None]
    topics: tuple[TopicSummary, ...]


def save_form(store: ReviewStore, user: User, form: CausalityForm) -> None:
    """Store a form; an earlier one of the same assessor on the case is replaced.

    Raises:
        ReviewError: No such case, or it is not agreed or released yet.
    """
    raise NotImplementedError


def form_of(store: ReviewStore, user: User, case_id: int) -> CausalityForm | None:
    """The user's form on a case, None = there is none."""
    raise NotImplementedError


def final_texts(store: ReviewStore, user: User, case_id: int, *, with_original: bool) -> tuple[str, str]:
    """The masked text of an agreed or released case and, if asked for, its original (else "").

    Raises:
        ReviewError: No such case, or it is not agreed or released yet.
    """
    raise NotImplementedError


def summarise_forms(store: ReviewStore) -> CausalitySummary:
    """The summary of all forms."""
    raise NotImplementedError
