"""Both sets of narratives: marks that agree with the text, with each other and with docs/utility.md."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.evaluation.causality_set import DrugRole, ItemKind, OnsetPart, read_causality_set
from inverse_deid.evaluation.utility import ALL, COLUMNS, count_best_case, count_days

SECOND = Path(__file__).parents[3] / "narratives" / "causality-second.jsonl"
SETS = {"packaged": read_causality_set(), "second": read_causality_set(SECOND)}
STYLES = {
    "packaged": {
        "company": 11,
        "letter": 10,
        "consumer": 10,
        "telegraphic": 9,
        "vaccine": 10,
        "hospital": 10,
    },
    "second": {"shorthand": 12, "company": 12, "letter": 10, "consumer": 12, "table": 8, "call": 6},
}
HOLIDAYS_WEEKDAYS_AND_OTHER_MONTHS = {
    "company-11", "consumer-04", "hospital-06", "hospital-10", "letter-08", "letter-10"
}  # fmt: skip
"""Where the two dates of onset cannot be read by a program."""
DECOYS = {
    ("hospital-04", "Chance"),
    ("hospital-07", "Will"),
    ("hospital-07", "Fine"),
    ("telegraphic-08", "Bone"),
    ("vaccine-09", "Bell"),
}
"""Words that are an identifier in one place and none in another of the same narrative."""
NAMES = {PhiType.PATIENT, PhiType.RELATIVE, PhiType.DOCTOR, PhiType.HOSPITAL, PhiType.CITY}
TIME_WORDS = re.compile(
    r"(?<![\w.])(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|(?:Mon|Tue|Tues|Wed|Thu|Thurs|Fri|Sat|Sun|Satur|Wednes)(?:day)?"
    r"|autumn|spring|summer|winter|Easter|Christmas|Thanksgiving|Ramadan|(?:19|20)\d\d)(?!\w)"
)


@pytest.fixture(params=list(SETS))
def name(request):
    return request.param


@pytest.fixture
def docs(name):
    return SETS[name]


def everywhere(docs):
    return [(doc.doc, item, span) for doc in docs for item in doc.items for span in item.spans]


def overlaps(doc, span):
    return [phi for phi in doc.spans if phi.start < span.end and span.start < phi.end]


def test_there_are_sixty_narratives_of_six_styles(name, docs):
    assert Counter(doc.doc.id.rsplit("-", 1)[0] for doc in docs) == STYLES[name]
    assert len({doc.doc.text for doc in docs}) == 60


def test_narratives_have_60_to_220_words(docs):
    lengths = {doc.doc.id: len(doc.doc.text.split()) for doc in docs}
    assert not {doc_id: n for doc_id, n in lengths.items() if not 60 <= n <= 220}


@pytest.mark.parametrize(
    "kind", [ItemKind.DRUG, ItemKind.DOSE, ItemKind.REACTION, ItemKind.ONSET, ItemKind.LAB, ItemKind.OUTCOME]
)
def test_every_narrative_has_what_no_assessment_can_do_without(kind, docs):
    assert not [doc.doc.id for doc in docs if not any(item.kind is kind for item in doc.items)]


def test_every_narrative_has_a_suspect_and_identifiers(docs):
    assert all(any(item.role is DrugRole.SUSPECT for item in doc.items) for doc in docs)
    assert all(doc.doc.spans for doc in docs)


def test_every_kind_is_there_often_enough_to_be_measured(docs):
    assert min(Counter(item.kind for doc in docs for item in doc.items).values()) >= 50
    assert set(ItemKind) == {item.kind for doc in docs for item in doc.items}
    assert len({phi.type for doc in docs for phi in doc.doc.spans}) >= 15


def test_marks_do_not_cut_words_and_have_no_blank_edges(docs):
    marked = list(everywhere(docs))
    assert marked
    for doc, _, span in marked:
        where = (doc.id, span.start)
        assert doc.text[span.start : span.end].strip() == doc.text[span.start : span.end], where
        assert (
            not (doc.text[span.start - 1 : span.start] + doc.text[span.start]).isalnum() or not span.start
        ), where
        assert (
            not doc.text[span.end - 1 : span.end + 1].isalnum()
            or len(doc.text) == span.end
            or (not doc.text[span.end].isalnum())
        ), where
    for doc in docs:
        for phi in doc.doc.spans:
            piece = doc.doc.text[phi.start : phi.end]
            assert piece == piece.strip(), (doc.doc.id, phi)


def test_only_the_dates_of_onset_are_identifiers_too(docs):
    marked = list(everywhere(docs))
    assert marked
    for doc, item, span in marked:
        found = overlaps(doc, span)
        if span.part in (OnsetPart.START, OnsetPart.REACTION):
            assert [(p.start, p.end, p.type) for p in found] == [(span.start, span.end, PhiType.DATE)], doc.id
        else:
            assert not found, (doc.id, item.kind, span.start)


def test_spans_of_one_kind_do_not_overlap(docs):
    for doc in docs:
        for kind in ItemKind:
            spans = sorted((s.start, s.end) for item in doc.items if item.kind is kind for s in item.spans)
            gaps = [after[0] - before[1] for before, after in pairwise(spans)]
            assert all(gap >= 0 for gap in gaps), (doc.doc.id, kind)


def test_days_agree_with_the_dates(name, docs):
    unread = set()
    for doc in docs:
        for item in doc.items:
            if item.days is not None:
                dates = {span.part: doc.doc.text[span.start : span.end] for span in item.spans}
                found = count_days(dates[OnsetPart.START], dates[OnsetPart.REACTION])
                assert not found or item.days in found, doc.doc.id
                unread |= set() if found else {doc.doc.id}
    assert unread == (HOLIDAYS_WEEKDAYS_AND_OTHER_MONTHS if name == "packaged" else set())


def test_time_to_onset_is_told_in_every_way(docs):
    parts = Counter(
        frozenset(span.part for span in item.spans)
        for doc in docs
        for item in doc.items
        if item.kind is ItemKind.ONSET
    )
    dates = {OnsetPart.START, OnsetPart.REACTION}
    assert set(parts) == {
        frozenset({OnsetPart.DURATION}),
        frozenset(dates),
        frozenset({OnsetPart.DURATION, *dates}),
    }
    assert min(parts.values()) >= 8


def test_a_name_that_is_marked_once_is_marked_everywhere(docs):
    unmarked = set()
    for doc in (doc.doc for doc in docs):
        is_marked = [False] * len(doc.text)
        for phi in doc.spans:
            is_marked[phi.start : phi.end] = [True] * (phi.end - phi.start)
        for phi in doc.spans:
            if phi.type in NAMES:
                for name in re.findall(r"[^\W\d_]{4,}", doc.text[phi.start : phi.end]):
                    for again in re.finditer(rf"(?<!\w){name}(?!\w)", doc.text):
                        if not is_marked[again.start()]:
                            unmarked.add((doc.id, name))
    general = {"General", "Clinic", "Hospital", "Ward", "Mission"}
    assert {pair for pair in unmarked if pair[1] not in general} <= DECOYS


def test_months_weekdays_seasons_and_years_are_marked_as_dates(docs):
    for doc in (doc.doc for doc in docs):
        for found in TIME_WORDS.finditer(doc.text):
            inside = [phi for phi in doc.spans if phi.start <= found.start() and found.end() <= phi.end]
            assert inside, (doc.id, found.start())


def test_addresses_are_reserved_ones(docs):
    mails = [re.findall(r"[\w.]+@[\w.]+", doc.doc.text) for doc in docs]
    assert all(mail.endswith(".example") for found in mails for mail in found)


def test_masking_just_the_identifiers_loses_nothing_but_times_to_onset(docs):
    best = count_best_case(docs)
    figures = {column: best.figures(column) for column in COLUMNS}
    lost = {column: f.items.whole - f.items.part for column, f in figures.items()}
    assert {column for column, n in lost.items() if n} == {ALL, "ONSET"}
    assert lost["ONSET"] == sum(
        item.kind is ItemKind.ONSET and all(span.part is not OnsetPart.DURATION for span in item.spans)
        for doc in docs
        for item in doc.items
    )
