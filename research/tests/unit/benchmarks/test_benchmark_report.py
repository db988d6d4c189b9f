"""Which choices a set is measured with, and what report and CSV show."""

import csv
import io

import pytest

from inverse_deid_research.benchmarks import report
from inverse_deid_research.benchmarks.report import render_csv, render_sections, run_benchmark
from inverse_deid_research.benchmarks.scorer import MarkedText
from inverse_deid_research.benchmarks.sets import BENCHMARKS, BenchmarkTexts

DOCS = [
    MarkedText("a", "Wexa Ohm was well", ((0, 8, "NAME"),)),
    MarkedText("b", "no rash", ()),
]


def run(name, asked=None):
    def mask(settings, docs):
        if asked is not None:
            asked.append((settings.reading, sorted(settings.categories), settings.keep_years))
        assert not any(doc.spans for doc in docs)  # the marks never reach the masker
        return [[(0, 4), (5, 8)] if settings.reading == "careful" else [(0, 4)], []]

    texts = BenchmarkTexts(name, DOCS, n_unplaced=2)
    return texts, list(run_benchmark(texts, report.READINGS, 1, mask))


def test_a_set_of_hipaa_identifiers_is_measured_with_hipaa_and_all():
    asked = []
    run("asq-phi", asked)
    assert [one[0] for one in asked] == ["careful", "fast", "careful", "fast"]
    assert all("age" not in chosen and keep for _, chosen, keep in asked[:2])
    assert all("age" in chosen and not keep for _, chosen, keep in asked[2:])


@pytest.mark.parametrize("name", ["meddocan", "grascco"])
def test_a_set_in_another_language_says_that_the_product_is_english(name):
    texts, runs = run(name)
    assert {one.categories for one in runs} == {"all"}
    assert report.ENGLISH_ONLY in render_sections(runs, [texts])


def test_an_english_set_does_not():
    texts, runs = run("outis")
    assert report.ENGLISH_ONLY not in render_sections(runs, [texts])


def test_the_section_shows_figures_intervals_and_the_published_ones():
    texts, runs = run("asq-phi")
    lines = render_sections(runs, [texts])
    careful = next(line for line in lines if line.startswith("| careful, `hipaa` |"))
    assert careful.startswith("| careful, `hipaa` | 100.00 % (20.65 to 100.00) | 0.00 % (0.00 to 65.76) |")
    fast = next(line for line in lines if line.startswith("| fast, `hipaa` |"))
    assert "| 57.14 %" in fast
    assert "Marked values that are not in their text, and are not counted: 2." in lines
    assert any(line.startswith("| Outis") and "99.94 %" in line for line in lines)
    assert any("does not say" in line for line in lines)
    assert not any("Wexa" in line or "rash" in line for line in lines)


def test_titles_add_rows_only_where_a_set_marks_them():
    titled = MarkedText("a", "Dr Ohm slept", ((0, 6, "NAME"),), ((0, 2),))
    texts = BenchmarkTexts("asq-phi", [titled])
    runs = list(run_benchmark(texts, ["fast"], 1, lambda _settings, _docs: [[(3, 6)]]))
    lines = render_sections(runs, [texts])
    assert any(line.startswith("| fast, `hipaa` | 60.00 %") for line in lines)
    assert any(line.startswith("| fast, `hipaa`, titles left out | 100.00 %") for line in lines)
    texts, runs = run("asq-phi")
    assert not any("titles left out |" in line for line in render_sections(runs, [texts]))


def test_the_csv_has_every_figure_in_full():
    _, runs = run("outis")
    rows = list(csv.DictReader(io.StringIO(render_csv(runs))))
    assert len(rows) == 4 * 2 * 4  # choices and readings, which characters, three figures and one type
    (row,) = [
        row
        for row in rows
        if (row["reading"], row["categories"], row["characters"]) == ("fast", "hipaa", "letters and digits")
        and row["figure"] == "identifying characters masked"
    ]
    assert (row["part"], row["of"], row["documents"], row["language"]) == ("4", "7", "2", "English")
    assert float(row["low"]) <= float(row["share"]) <= float(row["high"])


def test_what_others_report_has_a_source_or_a_rule_for_every_set():
    published = report.read_texts()
    assert set(published) - {"about", "rules", "notes"} <= set(BENCHMARKS)
    assert set(published["notes"]) == set(BENCHMARKS)
    for name in BENCHMARKS:
        for one in published.get(name, {}).get("systems", []):
            assert len(one["figures"]) == 3
            assert published["rules"][one["rule"]]
