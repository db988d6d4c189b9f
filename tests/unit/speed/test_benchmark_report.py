"""The report of the benchmark: tables, verdicts, warnings, figure."""

import copy
import doctest
import xml.etree.ElementTree as ElementTree

import pytest
from benchmark_results import growth, part, point, speed
from benchmarks import cost, narratives, speed_tables
from benchmarks import growth as growth_of_time
from benchmarks.aims import Aim, aims
from benchmarks.cost import Prices, core_hours
from benchmarks.figure import growth_figure
from benchmarks.growth import growth_with_length, growth_with_number
from benchmarks.report import report


@pytest.fixture
def results():
    """All parts but the peers scrubadub and datafog."""
    return {
        "parts": {
            "serial": part(speed("", 100_000, cpu_seconds=0.2)),
            "workers": part(speed("", 140_000)),
            "service": part(
                speed(
                    "short narratives",
                    20_000,
                    requests=1_000,
                    requests_a_second=2_000,
                    errors={},
                    n_errors=0,
                    median_ms=20.0,
                    p99_ms=100.1,
                    max_ms=200.0,
                )
            ),
            "warm": part(speed("one", 50_000, ms_a_short_narrative=3.0)),
            "careful": part(speed("one", 22_000)),
            "onnx": part(speed("one", 100_000)),
            "presidio": part(speed("one", 4_000, documents_changed=99, versions={"spacy": "3"})),
            "scrubadub": part(missing="scrubadub is not installed"),
            "documents": growth([1_000, 10_000]),
        }
    }


def rows(text, start):
    found = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found]


def test_ratios_are_to_ours(results):
    text = report(results, Prices())
    assert rows(text, "`mask --fast --workers 2`")[0][1] == "140,000 (1.40)"
    presidio = rows(text, "Presidio, small spaCy model, one core")[0]
    assert presidio[1:4] == ["4,000 (0.080)", "4,000 to 4,000", "25.0"]
    assert presidio[4:6] == ["0.50 (1.00)", "200 (1.00)"]
    assert presidio[-1] == "99 of 100"


def test_a_missing_part_is_said_to_be_missing_and_why(results):
    text = report(results, Prices())
    assert rows(text, "scrubadub")[0][0] == "scrubadub, one core: not measured (scrubadub is not installed)"
    assert rows(text, "datafog")[0][0] == "datafog, one core: not measured"
    assert "**Warning:** `scrubadub` was not measured: scrubadub is not installed." in text
    assert "`million`: not measured." in text


def test_a_report_of_nothing_says_so_everywhere():
    text = report({"parts": {}}, Prices())
    assert text.count("not measured") > 10
    assert "reached" not in text


def test_aims_are_reached_at_the_bound_and_missed_beyond_it(results):
    verdicts = {aim.title: aim.reached for aim in aims(results)}
    assert verdicts["tokens a second, one process"] is True
    assert verdicts["tokens a second, two workers"] is False
    assert verdicts["times as fast as Presidio: `mask --fast` by Presidio, warm on one core"] is True
    assert verdicts["times as fast as Presidio, both warm on one core"] is False
    assert verdicts["the same with two readings"] is True
    assert verdicts["share of the network in the time on one core"] is True
    assert verdicts["service: median in ms"] is True
    assert verdicts["service: 99th percentile in ms"] is False
    assert verdicts["peak memory of 1,000,000 narratives by that of 10,000"] is None
    assert verdicts["exponent, number of documents"] is True
    assert verdicts["exponent, tokens of a document"] is None


@pytest.mark.parametrize(
    ("value", "at_least", "verdict"),
    [(1.0, True, "reached"), (0.99, True, "missed"), (1.01, False, "missed"), (None, False, "not measured")],
)
def test_a_verdict(value, at_least, verdict):
    assert Aim("x", value, 1.0, at_least, "{:.2f}").cells()[-1] == verdict


def test_the_service_with_errors_misses_its_aim(results):
    results["parts"]["service"]["points"][0]["median"]["n_errors"] = 1
    assert {aim.title: aim.reached for aim in aims(results)}["service: requests with an error"] is False


def test_a_busy_machine_is_a_warning(results):
    assert "busy:" not in report(results, Prices())
    busy = copy.deepcopy(results)
    busy["parts"]["serial"]["points"][0]["runs"][0]["before"] = {"load_average": [2.0], "busy_cores": 1.5}
    assert "**Warning:** the machine was busy: before 1 of 10 measurements" in report(busy, Prices())


def test_parts_of_two_revisions_are_a_warning(results):
    results["parts"]["workers"]["conditions"]["revision"] = "def"
    assert "measured with different revision: their ratios say little" in report(results, Prices())


def test_the_cost_on_paper(results):
    assert core_hours(40_000_000, 100, 50_000) == pytest.approx(22.222, abs=0.001)
    text = report(results, Prices(price=0.1, currency="EUR"))
    assert rows(text, "`mask --fast` | 50,000")[0] == ["`mask --fast`", "50,000", "22", "2 EUR"]
    assert rows(text, "Presidio, small spaCy model | 4,000")[0][2:] == ["278", "28 EUR"]
    assert "with 100.0 tokens a narrative (the mean of the documents of this report)" in text
    longer = report(results, Prices(tokens_a_narrative=200.0))
    assert rows(longer, "`mask --fast` | 50,000")[0][2] == "44"
    assert "(as given)" in longer


def test_the_figure_is_a_drawing_with_a_dot_for_each_size(results):
    results["parts"]["lengths"] = part(
        point("start", documents=1, seconds=0.5), point(10, documents=100, seconds=1.0)
    )
    parts = results["parts"]
    drawn = ElementTree.fromstring(growth_figure(growth_with_number(parts), growth_with_length(parts)))
    dots = drawn.findall(".//{http://www.w3.org/2000/svg}circle[@class='dot']")
    assert len(dots) == 2 + 1 + 1  # numbers, lengths, legend
    ElementTree.fromstring(growth_figure(growth_with_number({}), growth_with_length({})))


@pytest.mark.parametrize("module", [cost, growth_of_time, narratives, speed_tables])
def test_examples_in_docstrings_hold(module):
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0
