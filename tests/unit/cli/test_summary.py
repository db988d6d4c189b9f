import pytest

from inverse_deid.cli.masking.summary import (
    MAX_FAILURES_SHOWN,
    alarm_lines,
    exit_status,
    figure_lines,
    result_lines,
)
from inverse_deid.core.values import Reason
from inverse_deid.engine.tally import Tally


@pytest.mark.parametrize(
    ("n_documents", "n_failed", "n_failures", "status"),
    [(0, 0, 0, 0), (3, 0, 0, 0), (3, 1, 1, 1), (3, 0, 1, 1), (3, 3, 3, 2), (0, 0, 1, 2)],
)
def test_exit_status(n_documents, n_failed, n_failures, status):
    tally = Tally(n_documents=n_documents, n_failed_documents=n_failed, n_failures=n_failures)
    assert exit_status(tally) == status


def test_shares_by_reason_are_of_all_tokens():
    tally = Tally(n_documents=1, n_tokens=200)
    tally.tokens_by_reason[Reason.KEPT_SAFE_WORD] = 150
    tally.tokens_by_reason[Reason.VETO_PATTERN] = 10
    tally.tokens_by_reason[Reason.BELOW_THRESHOLD] = 40
    lines = [" ".join(line.split()) for line in figure_lines(tally, 2.0)]
    assert lines == [
        "documents 1",
        "tokens 200",
        "masked 25.00%",
        "below threshold 20.00%",
        "veto pattern 5.00%",
        "failures 0",
        "time 2.0 s, 100 tokens per second",
    ]


def test_an_undefined_share_is_not_a_number():
    assert "masked                -" in list(figure_lines(Tally(), 0.0))[2].replace("     ", "     ")


def test_many_failures_are_counted_not_all_shown():
    tally = Tally()
    for i in range(MAX_FAILURES_SHOWN + 7):
        tally.fail(f"f{i}", "is broken; mend it")
    lines = list(alarm_lines(tally, keeps_all=False))
    assert lines[0] == "inverse-deid: f0: is broken; mend it."
    assert lines[-1] == "inverse-deid: ... and 7 more. `inverse-deid mask --run-report` lists them"
    assert len(lines) == MAX_FAILURES_SHOWN + 1


def test_documents_that_seem_not_to_be_english_are_counted_in_one_line():
    assert list(alarm_lines(Tally(n_documents=3), keeps_all=False)) == []
    (line,) = alarm_lines(Tally(n_documents=1200, n_other_language=1100), keeps_all=False)
    assert line.startswith("WARNING: 1,100 of 1,200 documents seem not to be English.")
    (line,) = alarm_lines(Tally(n_documents=2, n_other_language=1), keeps_all=False)
    assert "1 of 2 documents seems not" in line


def test_the_result_says_what_was_done_and_where_it_is():
    tally = Tally(n_documents=1200, n_files=3, columns={"text": "masked", "dob": "dropped"})
    assert list(result_lines(tally, "/shared/masked")) == [
        "Masked 1,200 documents. The masked files are in: /shared/masked",
        "Columns masked: text",
        "Columns dropped: dob",
        "Read them before you share them. No tool finds every identifier.",
    ]


@pytest.mark.parametrize(
    ("tally", "place", "first"),
    [
        (Tally(n_documents=1, n_files=1), "/m", "Masked 1 document. The masked file is in: /m"),
        (Tally(n_documents=2), None, "Masked 2 documents."),
        (Tally(n_failures=1), "/m", "Nothing was masked."),
        (Tally(n_files=1), "/m", "Nothing was masked."),
        (
            Tally(n_files=1, n_found_complete=1),
            "/m",
            "Nothing is left to do: the file is complete. It is in: /m",
        ),
        (
            Tally(n_files=2, n_found_complete=2, n_documents=9),
            "/m",
            "Nothing is left to do: all 2 files are complete. They are in: /m",
        ),
        (
            Tally(n_files=2, n_found_complete=2, n_documents=9, n_failures=1),
            "/m",
            "Nothing new was masked: all 2 files are complete. They are in: /m",
        ),
        (
            Tally(n_files=2, n_found_complete=1, n_documents=9),
            "/m",
            "Masked 9 documents. The masked files are in: /m",
        ),
    ],
)
def test_the_first_line_of_a_result(tally, place, first):
    assert next(result_lines(tally, place)) == first


def test_the_result_counts_what_failed():
    lines = list(result_lines(Tally(n_documents=3, n_files=2, n_failures=2), "/m"))
    assert "2 problems are listed above. Nothing that failed was written unmasked." in lines
    assert not any("problem" in line for line in result_lines(Tally(n_documents=3, n_files=2), "/m"))
