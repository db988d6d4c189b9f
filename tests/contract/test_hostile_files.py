"""Formats of one text with everything that they can hide: all text is read and masked, and nothing else leaves."""

import io
import random
from collections.abc import Callable
from dataclasses import dataclass

import html_files
import pdf_files
import pytest
import rtf_files
from fake_maskers import CANARY, keep_all, mask_all, mask_capitals
from hostile_files import count_places, numbered, only, others, write_masked

from inverse_deid.core.errors import InputError
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS


@dataclass(frozen=True)
class Hostile:
    """A format and how it is attacked.

    Args:
        write: Writes a file with a value of one function wherever there is text, and of another in all other places.
        show: All that can be read of a file, unpacked.
        divided: A name that is written in pieces.
        n_hidden: At least so many places are hidden.
        fuzz: Bytes that mean something in the format.
        fuzzed_end: What damaged files end with.
    """

    write: Callable[[Callable[[], str], Callable[[], str]], bytes]
    show: Callable[[bytes], str]
    divided: bytes
    n_hidden: int
    fuzz: bytes
    fuzzed_end: bytes = b""


HOSTILE = {
    "rtf": Hostile(rtf_files.hostile, bytes.decode, rb"Zebu{\b lon}ova", 40, b"\x00\xff\\{}'"),
    "html": Hostile(
        lambda t, h: html_files.hostile(t, h).encode(),
        bytes.decode,
        b"Zebu<b>lon</b>ova",
        60,
        b'\x00<>"&/\xc8',
    ),
    "pdf": Hostile(pdf_files.hostile, pdf_files.unpacked, b"", 50, b"\x00\xff(>0", b"\n%%EOF"),
}
TEXTS, HIDDEN = (
    [(name, place) for name, one in HOSTILE.items() for place in range(count_places(one.write)[which])]
    for which in (0, 1)
)


def opened(name, data):
    return FORMATS[name].open(io.BytesIO(data), ReadOptions(), f"case.{name}")


def text_of(name, data):
    return opened(name, data).doc.text


@pytest.mark.parametrize("name", HOSTILE)
def test_all_text_is_read_and_nothing_else(name):
    (t, texts), (h, hidden) = numbered("shown"), numbered("hidden")
    text = text_of(name, HOSTILE[name].write(t, h))
    assert [one for one in texts if one not in text] == []
    assert [one for one in hidden if one in text] == []
    assert "Zebulonova again" in text or not HOSTILE[name].divided
    assert len(hidden) > HOSTILE[name].n_hidden


@pytest.mark.parametrize(("name", "place"), TEXTS)
def test_text_in_each_place_is_masked(name, place):
    data = HOSTILE[name].write(only(place), others())
    assert text_of(name, data).count(CANARY) == 1 + bool(HOSTILE[name].divided)
    written = write_masked(opened(name, data), mask_capitals())
    assert CANARY not in HOSTILE[name].show(written) + text_of(name, written)


@pytest.mark.parametrize(("name", "place"), HIDDEN)
def test_what_is_not_text_is_not_written_even_if_every_word_is_kept(name, place):
    data = HOSTILE[name].write(lambda: "word", only(place, "other"))
    data = data.replace(HOSTILE[name].divided, b"nobody") if HOSTILE[name].divided else data
    assert CANARY.encode() in data
    written = write_masked(opened(name, data), keep_all())
    text = text_of(name, written)
    assert CANARY.lower() not in (HOSTILE[name].show(written) + text).lower()
    assert "plain word was seen" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_damaged_files_are_read_or_refused_without_text(name, capfd, caplog):
    chance = random.Random(20)
    whole = HOSTILE[name].write(lambda: CANARY, lambda: CANARY)
    n_written = 0
    for number in range(150):
        data = bytearray(whole)
        for _ in range(1 + number // 10):
            place = chance.randrange(len(data))
            data[place : place + chance.choice([1, 1, 1, 40])] = bytes([chance.choice(HOSTILE[name].fuzz)])
        if number % 3 == 0:
            data = data[: chance.randrange(1, len(data))] + HOSTILE[name].fuzzed_end
        try:
            written = write_masked(
                opened(name, bytes(data)), mask_all() if name == "html" else mask_capitals()
            )
        except InputError as error:
            assert CANARY not in f"{error}{error!r}"
            assert error.__context__ is None
        else:
            assert CANARY not in HOSTILE[name].show(written) + text_of(name, written)
            n_written += 1
    assert n_written
    assert n_written < 150 or name == "html"
    assert CANARY not in caplog.text + "".join(capfd.readouterr())
