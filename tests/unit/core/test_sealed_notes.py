"""Notes that are sealed: nobody reads or changes them without their secret."""

import pytest

from inverse_deid.core.sealed_notes import open_note, seal_note, tag_of

SECRET = b"a secret of some length"
NOTE = {"columns": {"Quillfeather": "dropped"}, "n": 3, "ids": ["é", "\ud800"]}


def test_a_note_is_read_back_with_its_secret_alone():
    sealed = seal_note(SECRET, NOTE)
    assert open_note(SECRET, sealed) == NOTE
    assert open_note(SECRET + b"x", sealed) is None


def test_no_word_shows_and_no_two_notes_are_alike():
    first, second = seal_note(SECRET, NOTE), seal_note(SECRET, NOTE)
    assert first != second
    assert b"Quillfeather" not in bytes.fromhex(first)
    # With one stream for both, their sum would be 0 wherever the notes agree.
    assert bytes.fromhex(first)[48:] != bytes.fromhex(second)[48:]


@pytest.mark.parametrize("place", [0, 40, 60, -1])
def test_a_changed_byte_is_refused(place):
    data = bytearray.fromhex(seal_note(SECRET, NOTE))
    data[place] ^= 1
    assert open_note(SECRET, data.hex()) is None


@pytest.mark.parametrize("sealed", ["", "00", "no digits", "é", "ab" * 40])
def test_what_is_no_sealed_note_is_refused(sealed):
    assert open_note(SECRET, sealed) is None


def test_a_tag_needs_its_secret_and_takes_any_name():
    assert tag_of(SECRET, "a\udcff.csv") == tag_of(SECRET, "a\udcff.csv") != tag_of(SECRET, "a.csv")
