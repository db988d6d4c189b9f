"""The page shows the numbers of its report, whatever was evaluated."""

import dataclasses
import json
import re

import pytest
from annotated_documents import masked_corpora
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from inverse_deid.core.errors import FormatError
from inverse_deid.evaluation.added_reports import read_added
from inverse_deid.evaluation.evaluation import evaluate_masks, intervals_of
from inverse_deid.evaluation.measures.figures import encode_record
from inverse_deid.evaluation.page.charts import CurvePoint, count_leak_columns, draw_curve, nice_ticks
from inverse_deid.evaluation.page.measures import Measure, percent_number, percent_range
from inverse_deid.evaluation.page.page import render_page
from inverse_deid.evaluation.report import build_report
from inverse_deid.evaluation.risk import estimate_risk, read_assumptions, report_risk

FEW = settings(max_examples=25, deadline=None)
SHARES = st.floats(0, 1)
MARK = "\N{SECTION SIGN}"
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5).map(lambda t: MARK + t)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc_", min_size=1, max_size=4), inner, max_size=4)
    ),
)


def report_of(corpus):
    evaluation = evaluate_masks(*corpus)
    return build_report(evaluation, intervals_of(evaluation, n_resamples=20))


def parsed(page):
    return etree.fromstring(page.removeprefix("<!doctype html>").strip())


def shown(element):
    return " ".join("".join(element.itertext()).split())


def rows_of(root, caption):
    tables = [t for t in root.iter("table") if shown(t.find("caption")) == caption]
    return [[shown(cell) for cell in row] for table in tables for row in table.find("tbody")]


@FEW
@given(masked_corpora())
def test_every_overall_figure_is_shown_with_its_exact_counts(corpus):
    report = report_of(corpus)
    rows = rows_of(parsed(render_page(report)), "Overall, with exact counts")
    counts = sorted((row[3], row[4], row[1] == "–") for row in rows)
    assert counts == sorted((f"{f.part:,}", f"{f.whole:,}", f.value is None) for f in report.figures.values())


@FEW
@given(masked_corpora())
def test_the_kinds_add_up_to_all_identifying_words(corpus):
    report = report_of(corpus)
    recall = report.figures["recall_all"]
    rows = rows_of(parsed(render_page(report)), "Missed words, by group")
    assert sum(int(row[3]) for row in rows) == recall.whole - recall.part
    assert sum(int(row[4]) for row in rows) == recall.whole
    assert [int(row[3]) for row in rows] == sorted((int(row[3]) for row in rows), reverse=True)


@FEW
@given(masked_corpora())
def test_the_histogram_counts_every_document_with_identifying_words_once(corpus):
    report = report_of(corpus)
    root = parsed(render_page(report))
    with_words = [row for row in report.by_document if row.phi]
    counts = rows_of(root, "Missed words per document")
    assert sum(int(n) for _, n in counts) == len(with_words)
    leaking = [[row.id, str(row.phi - row.recalled)] for row in with_words if row.phi > row.recalled]
    assert sorted(row[:2] for row in rows_of(root, "Documents with leaks, most first")) == sorted(leaking)


@FEW
@given(masked_corpora())
def test_no_text_of_a_document_is_shown(corpus):
    docs, masks = corpus
    marked = [dataclasses.replace(doc, text=doc.text.replace("a", "é")) for doc in docs]
    page = render_page(report_of((marked, masks)))
    assert "é" not in page
    assert "李" not in page


def inside(root):
    """Whether all that is drawn lies on its drawing."""
    for chart in root.iter("svg"):
        _, _, width, height = map(float, chart.get("viewBox").split())
        for mark in chart.iter():
            xs = [float(mark.get(name)) for name in ("x", "x1", "x2", "cx") if mark.get(name)]
            ys = [float(mark.get(name)) for name in ("y", "y1", "y2", "cy") if mark.get(name)]
            size = float(mark.get("width", 0)), float(mark.get("height", 0))
            if min([0, *size]) < 0 or any(not 0 <= x + size[0] <= width for x in xs):
                return False
            if any(not 0 <= y + size[1] <= height for y in ys):
                return False
    return True


@FEW
@given(masked_corpora())
def test_nothing_is_drawn_outside(corpus):
    page = render_page(report_of(corpus))
    assert not re.search(r"\b(nan|inf|None)\b", page)
    assert inside(parsed(page))


@pytest.mark.slow
@FEW
@given(masked_corpora())
def test_the_same_report_gives_the_same_page(corpus):
    assert render_page(report_of(corpus)) == render_page(report_of(corpus))


POINTS = st.lists(st.tuples(SHARES, SHARES, SHARES), min_size=1, max_size=8)


@given(POINTS, st.none() | SHARES, st.none() | SHARES)
def test_any_curve_stays_on_its_drawing(points, recall, precision):
    curve = [CurvePoint(0.5, found, p, kept) for found, p, kept in points]
    drawn = etree.fromstring(str(draw_curve("k", "t", curve, recall, precision)))
    paths = list(drawn.iter("path"))
    assert paths
    for path in paths:
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.get("d"))]
        assert all(0 <= x <= 720 for x in numbers[::2])
        assert all(0 <= y <= 348 for y in numbers[1::2])


@st.composite
def spoilt_risks(draw):
    """The report of a risk in which one value, at any depth, is another one."""
    evaluation = evaluate_masks(*draw(masked_corpora()))
    risk = encode_record(report_risk(evaluation, estimate_risk(evaluation.counts, read_assumptions()), {}))
    place = risk
    while True:
        key = draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or not place[key] or draw(st.booleans()):
            place[key] = draw(ANYTHING)
            return json.dumps(risk).encode()
        place = place[key]


@FEW
@given(spoilt_risks())
def test_an_added_report_is_refused_or_shown_without_its_text(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("added") / "risk.json"
    path.write_bytes(data)
    try:
        added = read_added([path])
    except FormatError as error:
        assert MARK not in str(error)
        return
    page = render_page(report_of(([], {})), added)
    assert MARK not in page
    assert not re.search(r"\b(nan|inf)\b", page)
    parsed(page)


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_a_shown_percentage_is_right_and_100_or_0_only_if_exact(part, rest):
    whole = part + rest
    shown_share = float(percent_number(part / whole))
    assert abs(shown_share - 100 * part / whole) <= 0.0101
    assert (shown_share == 0) == (part == 0)
    assert shown_share < 100


@given(SHARES, SHARES)
def test_a_shown_interval_holds_the_interval(one, other):
    low, high = sorted((one, other))
    ends = percent_range(Measure(low, low=low, high=high)).removesuffix("\N{NO-BREAK SPACE}%").split("–")
    assert 0 <= float(ends[0]) <= 100 * low + 1e-5
    assert 100 * high - 1e-5 <= float(ends[1]) <= 100


@given(st.lists(st.integers(0, 200), min_size=1))
def test_ranges_of_leaks_hold_every_document_once(leaks):
    columns = count_leak_columns(leaks)
    assert sum(n for _, n in columns) == len(leaks)
    assert columns[0] == ("0", leaks.count(0))


@given(st.floats(1e-6, 1e9), st.integers(1, 8))
def test_ticks_reach_the_top_in_few_equal_steps(top, n_steps):
    ticks = nice_ticks(top, n_steps)
    assert ticks[0] == 0
    assert ticks[-1] >= top * (1 - 1e-6)
    assert 2 <= len(ticks) <= n_steps + 1
