"""The causality form: is what causality assessment needs still there, and was what is missing needed?

The assessor first reads the masked text alone and says what is preserved and what seems missing,
then looks at the original and says whether what is missing was needed.

Source: the master's thesis of the method, sections 4.4.2 and 5.2.4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from inverse_deid.core.errors import ReviewError
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.uncertainty import Interval, clopper_pearson
from inverse_deid.review.contents import CaseContent, read_content
from inverse_deid.review.final import final_tokens, masked_view
from inverse_deid.review.layers import locked_case
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import FORMS
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import CaseState, LayerTokens, User


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
    answers = {
        topic.value: [answer.preserved.value, answer.is_needed] for topic, answer in form.answers.items()
    }
    with store.writing() as connection:
        case = locked_case(connection, form.case_id)
        _final(connection, store, form.case_id, CaseState(case.state))
        row = {
            "case_id": form.case_id,
            "user_id": user.id,
            "answers": json.dumps(answers),
            "sealed": store.sealer.sealed(form.remark.encode("utf-8", "replace"), _place(form.case_id)),
        }
        mine = (FORMS.c.case_id == form.case_id) & (FORMS.c.user_id == user.id)
        connection.execute(delete(FORMS).where(mine))
        connection.execute(insert(FORMS), row)
        event = TrailEvent(user=user.name, event="causality form", case=form.case_id, name=case.name)
        append(connection, store, [event])


def form_of(store: ReviewStore, user: User, case_id: int) -> CausalityForm | None:
    """The user's form on a case, None = there is none."""
    found = select(FORMS).where(FORMS.c.case_id == case_id, FORMS.c.user_id == user.id)
    with store.reading() as connection:
        row = connection.execute(found).one_or_none()
    if row is None:
        return None
    remark = store.sealer.opened(row.sealed, _place(case_id)).decode()
    return CausalityForm(case_id, _answers(row.answers), remark)


def final_texts(store: ReviewStore, case_id: int, *, with_original: bool) -> tuple[str, str]:
    """The masked text of an agreed or released case and, if asked for, its original (else "").

    Raises:
        ReviewError: No such case, or it is not agreed or released yet.
    """
    with store.reading() as connection:
        case = locked_case(connection, case_id)
        content, final = _final(connection, store, case_id, CaseState(case.state))
    return masked_view(content, final, store.facts).text, content.text if with_original else ""


def summarise_forms(store: ReviewStore) -> CausalitySummary:
    """The summary of all forms."""
    with store.reading() as connection:
        stored = connection.execute(select(FORMS.c.answers).order_by(FORMS.c.case_id, FORMS.c.user_id))
        return summary_of([_answers(answers) for answers in stored.scalars().all()])


def summary_of(forms: Sequence[Mapping[Topic, TopicAnswer]]) -> CausalitySummary:
    """The summary of some forms.

    Args:
        forms: The answers of each.
    """
    told = (Preserved.YES, Preserved.PARTLY)
    counts = (
        sum(any(answer.preserved in told for answer in form.values()) for form in forms),
        sum(all(answer.is_needed is None for answer in form.values()) for form in forms),
        sum(not any(answer.is_needed for answer in form.values()) for form in forms),
    )
    any_preserved, none_missing, none_needed = (Share(count, len(forms)) for count in counts)
    first, second, third = (clopper_pearson(count, len(forms)) for count in counts)
    return CausalitySummary(
        n_forms=len(forms),
        any_preserved=any_preserved,
        none_missing=none_missing,
        none_needed_missing=none_needed,
        intervals=(first, second, third),
        topics=tuple(_topic([form[topic] for form in forms], topic) for topic in Topic),
    )


def _topic(answers: Sequence[TopicAnswer], topic: Topic) -> TopicSummary:
    said = [answer.preserved for answer in answers]
    n_needed = sum(answer.is_needed is True for answer in answers)
    n_yes, n_partly, n_no = (said.count(one) for one in (Preserved.YES, Preserved.PARTLY, Preserved.NO))
    return TopicSummary(topic, n_yes, n_partly, n_no, n_needed)


def _final(
    connection: Connection, store: ReviewStore, case_id: int, state: CaseState
) -> tuple[CaseContent, LayerTokens]:
    """An agreed or released case and what is masked in it."""
    if state not in (CaseState.AGREED, CaseState.RELEASED):
        raise ReviewError(f"case {case_id} is {state.value}; the form is for agreed and released cases")
    content = read_content(connection, case_id, store.sealer)
    return content, final_tokens(connection, store, case_id, content)


def _answers(stored: str) -> dict[Topic, TopicAnswer]:
    answers: dict[str, list[Any]] = json.loads(stored)
    return {Topic(topic): TopicAnswer(Preserved(said), needed) for topic, (said, needed) in answers.items()}


def _place(case_id: int) -> str:
    return f"a form on case {case_id}"
