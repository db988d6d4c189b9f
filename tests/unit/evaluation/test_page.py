"""The HTML report: what it says, what it never shows, and that anybody can read it."""

import copy
import hashlib
import importlib.resources
import json
import re
from itertools import pairwise

import msgspec
import pytest
from lxml import etree

from inverse_deid.core.errors import StageError
from inverse_deid.evaluation.added_reports import AddedReport
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.measures.figures import FIGURES, decode_share
from inverse_deid.evaluation.measures.uncertainty import Method
from inverse_deid.evaluation.page.blocks import NumberTable, TableRow
from inverse_deid.evaluation.page.charts import Bar, count_leak_columns, draw_bars
from inverse_deid.evaluation.page.measures import Measure, number, percent_number, percent_range
from inverse_deid.evaluation.page.page import render_page
from inverse_deid.evaluation.report import EvaluationReport, build_report

HIDDEN = "Zebediah"
HASH = "0123456789abcdef" * 4


def share(part, whole):
    return {"share": part / whole if whole else None, "part": part, "whole": whole}


def interval(low, high, method="cluster bootstrap, percentiles"):
    return {"low": low, "high": high, "confidence": 0.95, "method": method}


def group(part, whole, recall_interval=None):
    figures = {"recall": share(part, whole), "corrected_recall": share(part, whole)}
    figures |= {"documents_without_leak": share(4, 5), "entities_masked": share(6, 8)}
    return {**figures, "intervals": {"recall": recall_interval}}


def document(doc_id, phi, recalled):
    row = {"id": doc_id, "phi": phi, "recalled": recalled, "phi_hipaa": phi, "recalled_hipaa": recalled}
    return {**row, **dict.fromkeys(("tokens", "masked", "inexact_masks", "safe", "false_masks"), 0)}


REPORT = {
    "format": "inverse-deid evaluation",
    "version": 2,
    "notes": [],
    "inexact_masks": 0,
    "provenance": {
        "version": "9.8.7",
        "gold": {"name": "gold.jsonl", "sha256": HASH},
        "intervals_by": "document",
        "units_with_phi": 95,
        "seed": 4711,
    },
    "documents": 100,
    "missing": [],
    "tokens": 28_113,
    "masked_tokens": 1_608,
    "harmless": {"AGE": ["old", "years"]},
    "figures": {
        "recall_all": share(1_222, 1_234),
        "precision": share(1_222, 1_608),
        "safe_kept": share(93, 100),
        "documents_without_leak": share(93, 95),
        "recall_short_names": share(0, 0),
    },
    "intervals": {
        "recall_all": interval(0.98109, 0.99601),
        "documents_without_leak": interval(0.926, 0.9974, "Clopper-Pearson"),
        "recall_short_names": None,
    },
    "over_masking": {"word": share(5, 50), "number": share(2, 10)},
    "categories": {
        "hyper": {
            "NAME": group(95, 100, interval(0.9, 0.98)),
            "DATE": group(40, 50, interval(0.7, 0.9)),
            "AGE": group(20, 20),
            "ID": {**group(0, 0), "documents_without_leak": share(0, 0)},
        },
        "fine": {
            "PATIENT": group(57, 60),
            "DOCTOR": group(38, 40),
            "DATE": group(40, 50),
            "AGE": group(20, 20),
            "USERNAME": group(3, 3),
        },
    },
    "by_document": [
        document("no-leak", 10, 10),
        document("d2", 4, 1),
        document("d3", 0, 0),
        document("d4", 5, 4),
    ],
}


def changed(**parts):
    return {**copy.deepcopy(REPORT), **parts}


def render(report, added=(), **options):
    """The page of a report, where figures that the test does not give are undefined."""
    figures = dict.fromkeys(FIGURES, share(0, 0)) | report["figures"]
    typed = msgspec.convert({**report, "figures": figures}, EvaluationReport, dec_hook=decode_share)
    return render_page(
        typed, [msgspec.convert(one, AddedReport, dec_hook=decode_share) for one in added], **options
    )


def parsed(page):
    """The page as XML: it is written so that both kinds of parsers read it."""
    return etree.fromstring(page.removeprefix("<!doctype html>").strip())


def shown(element):
    return " ".join("".join(element.itertext()).split())


def table_rows(root, caption):
    """The cells of the one table with this caption, without its head."""
    (table,) = [t for t in root.iter("table") if shown(t.find("caption")) == caption]
    return [[shown(cell) for cell in row] for row in table.find("tbody")]


def section(root, key):
    (found,) = [s for s in root.iter("section") if s.get("aria-labelledby") == key]
    return found


def titled(root, title):
    (found,) = [f for f in root.iter("figure") if shown(f.find("h3")) == title]
    return found


@pytest.fixture(scope="module")
def root():
    return parsed(render(REPORT))


def test_the_headlines_are_plain_words_with_their_intervals(root):
    cards = [[shown(part) for part in card] for card in section(root, "summary").find("ul")]
    assert cards == [
        [
            "99.0 %",
            "Of 1,234 identifying words, 1,222 are masked and 12 were missed.",
            "95 % interval 98.1–99.7 %",
        ],
        ["97.9 %", "Nothing leaked in 93 of 95 documents with identifiers.", "95 % interval 92.6–99.8 %"],
        ["76.0 %", "of the masked words were identifying: 1,222 of 1,608."],
        ["93.0 %", "of the safe words can still be read: 93 of 100."],
    ]


@pytest.mark.parametrize(
    ("part", "whole", "sentence"),
    [
        (0, 0, "These documents contain no identifying words."),
        (1, 1, "Of 1 identifying word, 1 is masked and none was missed."),
        (1, 2, "Of 2 identifying words, 1 is masked and one was missed."),
    ],
)
def test_one_and_none_are_worded(part, whole, sentence):
    page = parsed(render(changed(figures={"recall_all": share(part, whole)})))
    assert sentence in shown(section(page, "summary"))


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (None, 2, "–"),
        (0.0, 2, "0.00"),
        (1.0, 1, "100.0"),
        (0.9997, 1, "99.97"),
        (0.999999, 1, "99.99"),
        (0.0000001, 2, "0.01"),
        (0.125, 0, "12"),
    ],
)
def test_only_what_is_exact_is_shown_as_0_or_100_percent(value, digits, expected):
    assert percent_number(value, digits) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.29, 0.57, "29.00–57.00"), (0.123401, 0.567801, "12.34–56.79"), (0.0, 1.0, "0.00–100.00")],
)
def test_intervals_are_rounded_outwards(low, high, expected):
    assert percent_range(Measure(0.5, low=low, high=high)) == f"{expected}\N{NO-BREAK SPACE}%"


def test_a_stand_in_interval_has_an_asterisk_that_is_explained():
    figures, intervals = {"recall_all": share(9, 9)}, {"recall_all": interval(0.6, 1.0, Method.ALIKE.value)}
    page = parsed(render(changed(figures=figures, intervals=intervals)))
    assert table_rows(page, "Overall, with exact counts")[0][2] == "*60.00–100.00 %"
    assert "* All drawn documents were alike" in shown(section(page, "summary"))
    assert "* All drawn" not in shown(section(parsed(render(REPORT)), "summary"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (-0.5, "−0.5"),
        (float("nan"), "–"),
        (12_345.6, "12,346"),
        (0.000012, "1.2e−05"),
        (None, "–"),
        (False, "no"),
    ],
)
def test_numbers_of_any_kind(value, expected):
    assert number(value) == expected


def test_intervals_and_dependence_are_explained(root):
    words = shown(section(root, "summary"))
    assert "About 95 in 100 such intervals would contain the true share" in words
    assert "Words of one document are not independent." in words
    assert "No number here shows that a text is anonymous." in words


def test_without_intervals_the_page_says_so():
    page = parsed(render(changed(intervals={})))
    assert "This report has no intervals" in shown(section(page, "summary"))


def test_intervals_by_patients_and_too_few_of_them_are_told():
    provenance = {"intervals_by": "patient", "units_with_phi": 19}
    words = shown(section(parsed(render(changed(provenance=provenance))), "summary"))
    assert "nor are documents of one patient" in words
    assert "Only 19 patients with identifiers:" in words
    assert "Only" not in shown(section(parsed(render(REPORT)), "summary"))


def test_kinds_are_sorted_by_missed_words_and_drawn_as_missed_shares(root):
    figure = titled(root, "By group")
    numbers = [[shown(cell) for cell in row] for row in figure.find(".//tbody")]
    assert numbers == [
        ["Dates", "20.00 %", "10.00–30.00 %", "10", "50"],
        ["Names", "5.00 %", "2.00–10.00 %", "5", "100"],
        ["Ages", "0.00 %", "–", "0", "20"],
    ]
    widths = [float(bar.get("width")) for bar in figure.iter("rect")]
    assert widths[0] == pytest.approx(4 * widths[1], abs=0.3)
    assert widths[2] == 0
    assert "10 of 50" in shown(figure.find(".//svg"))


def test_kinds_without_a_miss_are_counted_not_drawn(root):
    figure = titled(root, "Within the groups")
    names = [shown(row[0]) for row in figure.find(".//tbody")]
    assert names == ["Patients", "Health staff"]
    assert "1 kind without a missed word" in shown(figure.find("p"))


def test_the_table_of_kinds_keeps_the_order_of_the_report_and_leaves_out_what_is_not_there(root):
    rows = table_rows(root, "Every kind of identifier")
    assert [row[1] for row in rows] == ["NAME", "PATIENT", "DOCTOR", "USERNAME", "DATE", "AGE"]
    assert rows[0][2:] == ["95.00 %", "90.00–98.00 %", "95.00 %", "100", "5", "5", "80.00 %", "75.00 %"]


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow():
    def arrows(high):
        bars = [Bar("a", Measure(0.02, 2, 100, low=0.0, high=high))]
        return draw_bars("k", "t", bars, counted="c", kind="bar-missed").count('class="arrow"')

    assert (arrows(0.04), arrows(0.9)) == (0, 1)


def test_leaks_are_counted_by_document(root):
    rows = [
        [shown(cell) for cell in row] for row in titled(root, "Missed words per document").find(".//tbody")
    ]
    assert rows == [["0", "1"], ["1", "1"], ["2", "0"], ["3", "1"]]


@pytest.mark.parametrize(
    ("leaks", "expected"),
    [
        ([0], [("0", 1), ("1", 0), ("2", 0), ("3", 0)]),
        ([5, 6, 10], [*((str(i), 0) for i in range(5)), ("5", 1), ("6–10", 2)]),
        (
            [101, 5_000],
            [
                *((str(i), 0) for i in range(6)),
                *((n, 0) for n in ("6–10", "11–20", "21–50", "51–100")),
                ("101+", 2),
            ],
        ),
    ],
)
def test_many_leaks_are_counted_in_ranges(leaks, expected):
    assert count_leak_columns(leaks) == expected


def test_documents_with_leaks_are_listed_most_first_and_no_others(root):
    assert table_rows(root, "Documents with leaks, most first") == [["d2", "3", "4"], ["d4", "1", "5"]]
    assert "no-leak" not in render(REPORT)


def test_at_most_50_ids_are_listed():
    rows = [document(f"leaky-{i:03}", 2, 1) for i in range(60)]
    page = render(changed(by_document=rows))
    assert len(re.findall("leaky-", page)) == 50
    assert "Documents with leaks, most first (10 more are in the JSON report)" in page


def test_ids_of_unmasked_documents_are_counted_not_shown():
    page = render(changed(missing=[HIDDEN, "b"]))
    assert HIDDEN not in page
    assert "2 documents were not masked at all" in page


def test_markup_in_an_id_is_escaped():
    page = render(changed(by_document=[document("<script>alert('&')</script>", 2, 1)]))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert table_rows(parsed(page), "Documents with leaks, most first")[0][0] == "<script>alert('&')</script>"


def test_markup_anywhere_else_is_escaped():
    report = changed(
        harmless={"<b>": ["<i>"]},
        provenance={"<u>": "<s>", "gold": {"name": "<q>", "sha256": "<p>"}},
        over_masking={"<hr>": share(1, 2)},
    )
    page = render(report, [{**CONCEPTS, "types": {"<br>": CONCEPT}}], title="<h6>", command="a && <b>")
    assert {element.tag for element in parsed(page).iter()}.isdisjoint(
        {"b", "i", "u", "s", "q", "hr", "br", "h6"}
    )


FULL = changed(
    curve={
        "average_precision": 0.87654,
        "thresholds": 999,
        "points": {
            "threshold": [0.1, 0.5, None],
            "recall": [0.5, 0.96, 1.0],
            "precision": [1.0, 0.8, 0.2],
            "safe_kept": [1.0, 0.9, 0.0],
        },
    },
    reliability={
        "expected_calibration_error": 0.0123,
        "unknown": 3,
        "bins": [
            {
                "low": 0.0,
                "high": 0.5,
                "tokens": 0,
                "mean_p_safe": None,
                "safe": share(0, 0),
                "interval": None,
            },
            {
                "low": 0.5,
                "high": 1.0,
                "tokens": 4,
                "mean_p_safe": 0.9,
                "safe": share(3, 4),
                "interval": interval(0.2, 0.99),
            },
        ],
    },
)
KEPT = {
    **dict.fromkeys(("items", "items_at_best", "tokens", "narratives_at_best"), share(9, 10)),
    "narratives_without_loss": {**share(52, 100), "low": 0.418, "high": 0.621},
}
UTILITY = {
    "format": "inverse-deid utility",
    "documents": 100,
    "confidence": 0.95,
    "phi": {"recall_all": share(3, 4)},
    "kept": {"ALL": KEPT, "DRUG": {**KEPT, "tokens": share(0, 0)}},
    "thesis": {"narratives_without_loss": share(52, 100)},
    "notes": [HIDDEN],
    "by_document": [{"id": HIDDEN, "kept": {"ALL": 1}, "items": {"ALL": 1}}],
    "provenance": {"gold": {"name": HIDDEN, "sha256": HASH}},
}
ESTIMATE = {"documents": share(1, 100), "point": 0.0312, "upper": 0.25}
RISK = {
    "format": "inverse-deid risk",
    "note": HIDDEN,
    "documents": 100,
    "missing": [HIDDEN],
    "verdict": "below",
    **dict.fromkeys(("direct", "quasi", "overall"), ESTIMATE),
    "independent": 0.125,
    "types": {
        name: {
            "type": name,
            "is_direct": is_direct,
            "documents": share(1, 4),
            "upper": 0.5,
            "identifiers": share(1, 9),
        }
        for name, is_direct in (("PATIENT", True), ("AGE", False))
    },
    "assumptions": {
        **{"direct": ["PATIENT"], "quasi": ["AGE"], "neither": []},
        **{"quasi_needed": 2, "caught": 1, "direct_identifies": 1.0, "persons_alike": 5},
        **{"deliberate": 1.0, "breach": 1.0, "acquaintances": 150, "prevalence": 0.001},
        **{"threshold": 0.09, "confidence": 0.95},
        **{"quasi_identifies": 0.2, "inadvertent": 0.139, "attack": 1.0},
    },
    "by_document": {HIDDEN: 0.5},
    "provenance": {},
}
GRADES = {
    "format": "inverse-deid leak grades",
    "reviewers": 2,
    "grades": ["direct", "indirect", "none"],
    "confidence": 0.95,
    "resamples": 2000,
    "seed": 0,
    "groups": {
        "ALL": {
            "leaks": 9,
            "documents": 4,
            "by_reviewer": [{"direct": n, "indirect": 2, "none": 3, "ungraded": 0} for n in (4, 1)],
            "direct_to_any": 4,
            "direct_to_all": 1,
            "agreement": {
                "observed": share(3, 4),
                "kappa": {"value": -0.25, "low": -0.5, "high": 0.125},
                "linear_kappa": {"value": None, "low": None, "high": None},
                "table": [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
            },
        }
    },
    "provenance": {},
}
CONCEPT = {
    "gold": 10,
    "touched": 2,
    **{"f1_original": 0.875, "f1_masked": 0.75, "recall_original": 1.0, "recall_masked": 0.5},
    **{"precision_original": 0.5, "precision_masked": 0.5, "difference": -0.125, "p_value": None},
}
CONCEPTS = {
    "format": "inverse-deid concept utility",
    "provenance": {},
    "types": {"ALL": CONCEPT, "Drug": CONCEPT},
}
ADDED = [GRADES, RISK, UTILITY, CONCEPTS]


@pytest.fixture(scope="module")
def full():
    return parsed(render(FULL, ADDED, command="inverse-deid evaluate GOLD MASKED"))


def test_the_curve_marks_what_was_measured(full):
    figure = titled(full, "Recall against precision")
    rings = [c for c in figure.iter("circle") if c.get("class") == "ring"]
    assert len(rings) == 3  # legend, whole curve, enlarged part
    labels = [t for t in figure.iter("text") if float(t.get("y")) == 318 and float(t.get("x")) < 350]
    axis = {shown(label): float(label.get("x")) for label in labels}
    whole = float(rings[1].get("cx"))
    assert whole == pytest.approx(axis["50"] + (1_222 / 1_234 - 0.5) * 4 * (axis["75"] - axis["50"]), abs=0.3)
    assert "Average precision: 0.8765" in shown(figure.find("p"))


def test_the_table_of_the_curve_gives_the_best_threshold_for_each_recall(full):
    rows = {row[0]: row[1:] for row in table_rows(full, "The least loss for each recall (of 3 thresholds)")}
    assert rows["50 %"] == ["50.00 %", "100.00 %", "100.00 %", "0.1"]
    assert rows["95 %"] == ["96.00 %", "80.00 %", "90.00 %", "0.5"]
    assert rows["99.9 %"] == ["100.00 %", "20.00 %", "0.00 %", "masks all"]


def test_the_reliability_diagram_draws_bins_that_hold_words(full):
    figure = titled(full, "Reliability of the probabilities")
    (dot,) = [c for c in figure.iter("circle") if c.get("class") == "dot"]
    assert (float(dot.get("cx")), float(dot.get("cy"))) == pytest.approx(
        (52 + 0.9 * 656, 300 - 0.75 * 286), abs=0.1
    )
    assert table_rows(full, "Reliability of the probabilities") == [
        ["0 to 0.5", "0", "–", "–", "–"],
        ["0.5 to 1", "4", "90.00 %", "75.00 %", "20.00–99.00 %"],
    ]
    assert "Left out: 3 words without a probability." in shown(figure.find("p"))


def test_added_sections_follow_in_the_order_of_the_page(full):
    keys = [s.get("aria-labelledby") for s in full.iter("section")]
    assert keys[5:9] == ["utility", "extraction", "risk", "grades"]
    keys = [s.get("aria-labelledby") for s in parsed(render(REPORT)).iter("section")]
    assert keys == ["summary", "kinds", "documents", "overmasking", "figures", "harmless", "provenance"]


def test_the_utility_section_shows_its_numbers(full):
    found = section(full, "utility")
    assert table_rows(found, "Overall") == [["Documents", "100"], ["Confidence", "0.95"]]
    assert table_rows(found, "Masking") == [["Recall all", "75.00 %", "3", "4"]]
    share_of_items, narratives = "90.00 %, 9 of 10", "52.00 % (41.80–62.10 %), 52 of 100"
    assert table_rows(found, "Kept") == [
        ["ALL", share_of_items, share_of_items, share_of_items, narratives, share_of_items],
        ["DRUG", share_of_items, share_of_items, "–, 0 of 0", narratives, share_of_items],
    ]
    assert table_rows(found, "Thesis") == [["Narratives without loss", "52.00 %", "52", "100"]]


def test_the_risk_section_shows_its_numbers(full):
    found = section(full, "risk")
    assert table_rows(found, "Overall") == [
        ["Documents", "100"],
        ["Verdict", "Below"],
        ["Independent", "0.125"],
    ]
    for caption in ("By direct identifiers", "By quasi-identifiers", "By either"):
        assert table_rows(found, caption) == [
            ["Documents at risk", "1.00 %", "1", "100"],
            ["Estimate", "0.0312", "", ""],
            ["Upper bound", "0.25", "", ""],
        ]
    assert table_rows(found, "Leaks by type") == [
        ["PATIENT", "yes", "25.00 %, 1 of 4", "0.5", "11.11 %, 1 of 9"],
        ["AGE", "no", "25.00 %, 1 of 4", "0.5", "11.11 %, 1 of 9"],
    ]
    rows = dict(table_rows(found, "Assumptions"))
    assert (len(rows), rows["Threshold"], rows["Caught"]) == (13, "0.09", "1")


def test_a_risk_of_one_type_or_of_none_is_shown():
    one = {**RISK, "types": {"AGE": RISK["types"]["AGE"]}}
    rows = table_rows(parsed(render(REPORT, [one])), "Leaks by type: AGE")
    assert [row[:2] for row in rows] == [
        ["Is direct", "no"],
        ["Documents", "25.00 %"],
        ["Upper bound", "0.5"],
        ["Identifiers", "11.11 %"],
    ]
    assert "Leaks by type" not in render(REPORT, [{**RISK, "types": {}}])


def test_the_grades_section_shows_its_numbers(full):
    found = section(full, "grades")
    assert table_rows(found, "All leaks: grades") == [
        ["Reviewer A", "4", "2", "3", "0"],
        ["Reviewer B", "1", "2", "3", "0"],
    ]
    assert table_rows(found, "All leaks: agreement") == [
        ["Observed", "75.00 %", "", "3", "4"],
        ["Kappa", "−0.25", "−0.5 to 0.125", "", ""],
        ["Linear kappa", "–", "", "", ""],
    ]
    assert table_rows(found, "All leaks: grades of both reviewers") == [
        ["A: direct", "1", "2", "3"],
        ["A: indirect", "4", "5", "6"],
        ["A: none", "7", "8", "9"],
    ]


def test_the_extraction_section_shows_its_numbers(full):
    rows = table_rows(section(full, "extraction"), "Drug")
    assert rows[0] == ["Gold", "10"]
    assert rows[2] == ["F1 original", "0.875"]
    assert rows[-2:] == [["Difference", "−0.125"], ["P value", "–"]]


def test_text_and_what_goes_by_document_is_left_out_of_other_sections():
    assert HIDDEN not in render(FULL, ADDED)


@pytest.mark.parametrize("part", [{"share": 1.5}, {"part": -1}, {"share": "text"}, {"low": 0.1}])
def test_a_report_with_an_impossible_share_is_refused(part):
    risk = {**RISK, "direct": {**ESTIMATE, "documents": {**share(1, 2), **part}}}
    with pytest.raises(msgspec.ValidationError, match=r"\$\.direct\.documents"):
        render(REPORT, [risk])


def test_provenance_has_hashes_settings_and_the_command(full):
    assert table_rows(full, "Files") == [["Gold", "gold.jsonl", HASH]]
    assert ["Seed of the resamples", "4711"] in table_rows(full, "Version and settings")
    assert shown(section(full, "provenance").find("pre")) == "inverse-deid evaluate GOLD MASKED"


def test_the_files_of_a_folder_have_one_hash_and_stay_unnamed():
    masked = {"name": "xml", "files": {f"{HIDDEN}.xml": HASH, "b.xml": HASH}}
    page = render(changed(provenance={"masked": masked}))
    assert HIDDEN not in page
    ((role, name, digest),) = table_rows(parsed(page), "Files")
    assert (role, name) == ("Masked", "xml (folder)")
    listed = hashlib.sha256(f"{HASH}  {HIDDEN}.xml\n{HASH}  b.xml\n".encode()).hexdigest()
    assert digest == f"{listed}, of the list of its 2 files"


def test_columns_of_intervals_name_the_confidence_that_they_share(root):
    heads = {shown(t.find("caption")): [shown(c) for c in t.find("thead/tr")] for t in root.iter("table")}
    assert heads["Overall, with exact counts"][2] == "95 % interval"
    assert heads["Every kind of identifier"][3] == "95 % interval"
    assert heads["Safe words that were masked"] == ["Kind of word", "Share", "Interval", "Masked", "Of"]


def test_every_interval_has_its_method(root):
    assert table_rows(root, "Methods of the intervals") == [
        ["cluster bootstrap, percentiles", "95 %", "recall_all"],
        ["Clopper-Pearson", "95 %", "documents_without_leak"],
    ]


def test_kinds_of_words_that_do_not_occur_are_not_drawn():
    page = parsed(render(changed(over_masking={"word": share(0, 3), "clinical": share(0, 0)})))
    assert table_rows(page, "Safe words that were masked") == [["Other words", "0.00 %", "–", "0", "3"]]


def test_undefined_values_are_dashes(root):
    rows = {row[0]: row[1:] for row in table_rows(root, "Overall, with exact counts")}
    assert rows["Words of names masked, at most 3 characters"] == ["–", "–", "0", "0"]


def test_a_report_of_nothing_is_a_page_too():
    page = render_page(build_report(evaluate_masks([], {})))
    assert "These documents contain no identifiers." in page
    assert not re.search(r"\b(nan|inf|None)\b", page)


@pytest.mark.parametrize("report", [{}, {"format": "inverse-deid grades"}])
def test_other_files_are_refused(report):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(report, EvaluationReport)


def test_the_same_report_gives_the_same_page():
    assert render(FULL, ADDED) == render(*json.loads(json.dumps([FULL, ADDED])))


def test_nothing_is_loaded_from_anywhere():
    page = render(FULL, ADDED, command="c")
    assert not re.search(
        r"https?:|//[a-z]|@import|url\(|<script|<link|<iframe|<img|\ssrc=|\son[a-z]+=", page, re.I
    )
    assert all(a.get("href").startswith("#") for a in parsed(page).iter("a"))
    assert "default-src 'none'" in page


def test_intervals_of_kinds_that_few_documents_hold_are_called_too_narrow():
    few = "Intervals are too narrow for kinds found in fewer than 20 documents"

    def page(figures):
        return render(changed(categories={"hyper": {"NAME": figures}, "fine": {}}))

    drawn = group(3, 4, interval(0.5, 0.9))
    assert few in page(drawn)
    assert few not in page({**drawn, "documents_without_leak": share(19, 20)})
    assert few not in page(
        group(3, 4, interval(0.5, 0.9, "Clopper-Pearson over clusters, as resamples are alike"))
    )
    assert few not in page(group(3, 4))


def test_links_lead_somewhere_and_ids_are_unique(full):
    ids = [e.get("id") for e in full.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    assert {a.get("href")[1:] for a in full.iter("a")} <= set(ids)


def test_headings_are_in_order(full):
    levels = [int(e.tag[1]) for e in full.iter("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_language_is_named(full):
    assert full.get("lang") == "en"


def test_every_chart_has_a_name_a_description_and_its_numbers(full):
    charts = list(full.iter("svg"))
    assert len(charts) == 6
    for chart in charts:
        names = [
            shown(e) for key in chart.get("aria-labelledby").split() for e in chart if e.get("id") == key
        ]
        assert chart.get("role") == "img"
        assert len(names) == 2
        assert all(names)
        figure = next(chart.iterancestors("figure"))
        assert figure.find("details/summary") is not None
        assert len(figure.find("details").findall(".//tbody/tr")) > 0


def test_every_table_has_a_caption_and_headed_rows(full):
    found = list(full.iter("table"))
    assert found
    for table in found:
        assert shown(table.find("caption"))
        assert all(cell.get("scope") == "col" for cell in table.find("thead/tr").iter("th"))
        assert all(row[0].get("scope") == "row" for row in table.find("tbody"))


def test_a_table_refuses_ragged_rows():
    with pytest.raises(StageError, match="2 columns"):
        NumberTable("t", ("a", "b"), (TableRow(("1",)),))


STYLE = importlib.resources.files("inverse_deid.evaluation.page").joinpath("style.css").read_text()


def colours(start):
    """The colours of the first block of variables behind a mark."""
    block = STYLE[STYLE.index(start) :].split("}")[0]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))


LIGHT = colours(":root")
DARK = LIGHT | colours("@media screen and (prefers-color-scheme: dark)")
PAPER = LIGHT | colours("color-scheme: light;")


def luminance(colour):
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_the_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("scheme", [LIGHT, DARK, PAPER], ids=["light", "dark", "paper"])
def test_text_and_charts_have_enough_contrast(scheme):
    for ground in ("page", "card"):
        assert all(contrast(scheme[ink], scheme[ground]) >= 4.5 for ink in ("ink", "muted", "kept"))
        assert all(contrast(scheme[ink], scheme[ground]) >= 3 for ink in ("missed", "quiet", "extra"))
    assert contrast(scheme["ink"], scheme["missed"]) >= 3, "a whisker on its bar"
    assert contrast(scheme["notice-ink"], scheme["notice"]) >= 4.5


def test_paper_is_white_and_black_whatever_the_screen():
    assert (PAPER["page"], PAPER["card"], PAPER["ink"]) == ("#ffffff", "#ffffff", "#000000")
    assert len(set(DARK.items()) - set(LIGHT.items())) == len(LIGHT)
    assert re.findall(r"@media[^{]*dark[^{]*", STYLE) == ["@media screen and (prefers-color-scheme: dark) "]


def test_paper_is_a4_and_cuts_no_chart():
    paper = STYLE[STYLE.index("@media print") :]
    assert "size: A4" in paper
    assert re.search(r"[^{}]*\bsvg, figure\b[^{}]*\{ break-inside: avoid; \}", paper)


def test_every_class_of_the_page_is_styled(full):
    used = {name for e in full.iter() for name in (e.get("class") or "").split()}
    assert used - set(re.findall(r"\.([a-z-]+)", STYLE)) == set()
