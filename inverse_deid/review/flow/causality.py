"""The causality form: is all that causality assessment needs still there, and was anything missing needed?

The assessor first reads the masked text alone and says what is preserved and what seems missing,
then looks at the original and says whether the missing information was needed.

Source: the master's thesis of the method, sections 4.4.2 and 5.2.4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import select

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.evaluation.measures.uncertainty import Interval, clopper_pearson
from inverse_deid.review.flow.cases import lock_row
from inverse_deid.review.flow.contents import CaseContent, read_content
from inverse_deid.review.flow.layers import read_final, render_case
from inverse_deid.review.flow.oversight import disclose, refuse_admin, remember
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.sources import read_facts
from inverse_deid.review.store.tables import FORMS, LAYERS, place_of
from inverse_deid.review.store.values import CaseState, LayerTokens, User


class Topic(StrEnum):
    """Information that is valuable for causality assessment."""

    REACTION = N_("reaction")
    SERIOUSNESS = N_("seriousness")
    OUTCOME = N_("outcome")
    DRUG_NAMES = N_("drug names")
    HISTORY = N_("history")
    DOSES = N_("doses")
    LAB_RESULTS = N_("lab results")
    TIME_COURSE = N_("time course")


class Preserved(StrEnum):
    """How much of a topic is left in the masked text."""

    YES = N_("yes")
    PARTLY = N_("partly")
    NO = N_("no")
    NOT_IN_CASE = N_("not in the case")

    @property
    def is_incomplete(self) -> bool:
        return self in (Preserved.PARTLY, Preserved.NO)


@dataclass(frozen=True, slots=True)
class TopicAnswer:
    """The assessor's answer on one topic.

    Raises:
        ReviewError: It is given and nothing is missing, or the other way round.
    """

    preserved: Preserved
    # Whether the assessment needs the missing information, judged from the original.
    is_needed: bool | None = None

    def __post_init__(self) -> None:
        if (self.is_needed is not None) != self.preserved.is_incomplete:
            raise ReviewError(_("say whether it was needed if, and only if, something is missing"))


@dataclass(frozen=True, slots=True)
class CausalityForm:
    """One form: one case, one assessor.

    The remark has up to 4,000 characters and is encrypted like the narrative.

    Raises:
        ReviewError: A topic is left out, or the remark is too long.
    """

    case_id: int
    answers: Mapping[Topic, TopicAnswer]
    remark: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        missing = [topic.value for topic in Topic if topic not in self.answers]
        if missing:
            raise ReviewError(_("no answer on {missing}. Answer every topic", missing=", ".join(missing)))
        if len(self.remark) > 4_000:
            raise ReviewError(_("the remark has more than 4,000 characters. Shorten it"))


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """All forms on one topic: cases by what is left of it, and cases where the missing part was needed."""

    topic: Topic
    n_yes: int
    n_partly: int
    n_no: int
    n_needed: int


@dataclass(frozen=True, slots=True)
class CausalitySummary:
    """The utility of an evaluation run: shares of cases, with exact 95 % intervals (None = no form).

    The thesis reports 96 % for cases that still contain some valuable information, and 52 % for cases in
    which none that was needed is missing.
    """

    n_forms: int
    any_preserved: Share
    none_missing: Share
    none_needed_missing: Share
    intervals: tuple[Interval | None, Interval | None, Interval | None]
    topics: tuple[TopicSummary, ...]

    @property
    def shares(self) -> list[tuple[str, Share, Interval | None]]:
        names = (
            _("cases that still contain valuable information"),
            _("cases with nothing missing"),
            _("cases with nothing missing that was needed"),
        )
        shares = (self.any_preserved, self.none_missing, self.none_needed_missing)
        return list(zip(names, shares, self.intervals, strict=True))


def save_form(store: ReviewStore, user: User, form: CausalityForm) -> None:
    """Store a form, in place of an earlier one of the same assessor on the case.

    Raises:
        ReviewError: The case does not exist, or is not agreed or released yet.
    """
    answers = {
        topic.value: [answer.preserved.value, answer.is_needed] for topic, answer in form.answers.items()
    }
    with store.writing() as transaction:
        _read_finished(transaction, form.case_id)
        row = {"case_id": form.case_id, "user_id": user.id, "answers": json.dumps(answers)}
        sealed = store.sealer.seal(form.remark.encode("utf-8", "replace"), place_of(FORMS.c.sealed, row))
        mine = (FORMS.c.case_id == form.case_id) & (FORMS.c.user_id == user.id)
        transaction.delete(FORMS, mine)
        transaction.insert(FORMS, {**row, "sealed": sealed})
        name = lock_row(transaction, form.case_id).name
        event = TrailEvent(user=user.name, event="causality form", case=form.case_id, name=name)
        transaction.record(event)


def read_form(store: ReviewStore, user: User, case_id: int) -> CausalityForm | None:
    """Return the user's form on a case, None = there is none."""
    found = select(FORMS).where(FORMS.c.case_id == case_id, FORMS.c.user_id == user.id)
    with store.reading() as transaction:
        rows = transaction.read(found, FORMS)
    if not rows:
        return None
    (row,) = rows
    remark = store.sealer.open(row.sealed, place_of(FORMS.c.sealed, row._mapping)).decode()
    return CausalityForm(case_id, _parse_answers(row.answers), remark)


def read_masked(store: ReviewStore, user: User, case_id: int, way: str) -> str:
    """Return the masked text of an agreed or released case; the trail records who is shown it in which way.

    Raises:
        ReviewError: The case does not exist, or is not agreed or released yet.
    """
    with store.reading() as transaction:
        content, final = _read_finished(transaction, case_id)
        masked = render_case(content, final, read_facts(transaction, case_id)).text
    with store.writing() as transaction:
        case = lock_row(transaction, case_id)
        shown = disclose(transaction, user.name, [case], way, "masked text shown")
    remember(store, shown)
    return masked


def read_original(store: ReviewStore, user: User, case_id: int) -> str:
    """Return the original of an agreed or released case that a user has approved or is assigned.

    Raises:
        NotAllowedError: The user neither approved the case nor is assigned to it.
        ReviewError: The case does not exist, or is not agreed or released yet.
    """
    refuse_admin(user)
    with store.reading() as transaction:
        content, _ignored = _read_finished(transaction, case_id)
    with store.writing() as transaction:
        case = lock_row(transaction, case_id)
        mine = select(LAYERS.c.id).where(LAYERS.c.case_id == case_id, LAYERS.c.user_id == user.id)
        approved = transaction.execute(mine.where(LAYERS.c.approval.is_not(None))).first()
        if approved is None and case.assignee_id != user.id:
            raise NotAllowedError(
                _(
                    "you see the original of case {case_id} only if you approved it or it is assigned to you",
                    case_id=case_id,
                )
            )
        shown = disclose(transaction, user.name, [case], "causality form")
    remember(store, shown)
    return content.text


def summarise_forms(store: ReviewStore) -> CausalitySummary:
    with store.reading() as transaction:
        found = select(FORMS).order_by(FORMS.c.case_id, FORMS.c.user_id)
        forms = transaction.read(found, FORMS)
    return summarise_answers([_parse_answers(form.answers) for form in forms])


def summarise_answers(forms: Sequence[Mapping[Topic, TopicAnswer]]) -> CausalitySummary:
    preserved = (Preserved.YES, Preserved.PARTLY)
    counts = (
        sum(any(answer.preserved in preserved for answer in form.values()) for form in forms),
        sum(all(answer.is_needed is None for answer in form.values()) for form in forms),
        sum(not any(answer.is_needed for answer in form.values()) for form in forms),
    )
    any_preserved, none_missing, none_needed = (Share(count, len(forms)) for count in counts)
    first, second, third = (clopper_pearson(count, len(forms)) for count in counts)
    topics = []
    for topic in Topic:
        said = [form[topic].preserved for form in forms]
        n_yes, n_partly, n_no = (said.count(one) for one in (Preserved.YES, Preserved.PARTLY, Preserved.NO))
        n_needed = sum(form[topic].is_needed is True for form in forms)
        topics.append(TopicSummary(topic, n_yes, n_partly, n_no, n_needed))
    return CausalitySummary(
        n_forms=len(forms),
        any_preserved=any_preserved,
        none_missing=none_missing,
        none_needed_missing=none_needed,
        intervals=(first, second, third),
        topics=tuple(topics),
    )


def _read_finished(transaction: Transaction, case_id: int) -> tuple[CaseContent, LayerTokens]:
    state = CaseState(lock_row(transaction, case_id).state)
    if state not in (CaseState.AGREED, CaseState.RELEASED):
        raise ReviewError(
            _(
                "case {case_id} is {state}. It must be agreed or released first",
                case_id=case_id,
                state=state.value,
            )
        )
    content = read_content(transaction, case_id)
    return content, read_final(transaction, case_id, content)


def _parse_answers(stored: str) -> dict[Topic, TopicAnswer]:
    answers: dict[str, list[Any]] = json.loads(stored)
    return {Topic(topic): TopicAnswer(Preserved(said), needed) for topic, (said, needed) in answers.items()}
