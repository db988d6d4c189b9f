"""The report of names that are words."""

import pytest
import report_word_names as report
from fake_maskers import FakeMasker
from held_out_names import read_word_names


@pytest.fixture(scope="module")
def measured():
    """Read fast, words with a capital are masked, and with care those that begin a text as well."""
    names = {word.name for word in read_word_names()}
    return report.measure_words(
        lambda settings: FakeMasker(
            lambda word: word not in names or (word == "Hives" and settings.reading == "fast")
        )
    )


def test_sentences_are_counted_alone_between_others_and_in_lower_case(measured):
    for place in report.PLACES:
        assert measured["fast", "as written"].total(place).n == 300
        assert measured["fast", "as written"].total(place).masked == 298
        assert measured["careful", "as written"].total(place).masked == 300
        assert measured["careful", "in lower case"].total(place).masked == 0


def test_other_words_are_counted_where_they_are(measured):
    others = measured["careful", "as written"].others
    assert others["alone"][0] < others["between clean sentences"][0]
    assert others["clean texts"][0] > 1000


def test_the_report_names_groups_and_intervals(measured, tmp_path):
    text = report.render_report(measured, "report_word_names.py", "none")
    assert "| fast, alone, as written | 99.33 % | 298 | 300 | 97.61 to 99.92 |" in text
    assert (
        "| careful, between clean sentences, clinical | 100.00 % | 101 | 101 |" in text or "clinical" in text
    )
    assert "Badger" not in text
    report.write_csv(tmp_path / "words.csv", measured)
    lines = (tmp_path / "words.csv").read_text().splitlines()
    assert lines[0].startswith("reader,place,writing,kind,position,n,masked")
    assert len(lines) == 1 + 2 * 2 * 2 * 4
