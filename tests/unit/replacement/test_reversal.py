from __future__ import annotations

from io import BytesIO

import pytest
from fake_maskers import FakeMasker

from inverse_deid.core.errors import ConfigurationError, InputError
from inverse_deid.core.values import Document
from inverse_deid.replacement.reversal import HiddenCase, HiddenText, MapReader, MapWriter, hide, reveal

KEY = b"an invented key of 27 bytes"
CASES = [HiddenCase(str(n), (HiddenText("", "0" * 64, ((0, 3, f"Ann {n}"),)),)) for n in range(3)]


def written(cases=CASES) -> bytes:
    target = BytesIO()
    writer = MapWriter(target, KEY, {"encoding": "utf-8"})
    for case in cases:
        writer.add(case)
    writer.finish()
    return target.getvalue()


def read(data: bytes, key: bytes = KEY) -> list[HiddenCase]:
    return list(MapReader(BytesIO(data), key).cases())


def test_what_was_written_is_read():
    assert read(written()) == CASES


def test_two_maps_of_the_same_cases_have_nothing_in_common():
    assert written()[28:60] != written()[28:60]


def test_every_cut_and_every_changed_byte_is_found():
    data = written()
    for i in range(len(data)):
        for damaged in (data[:i], data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]):
            with pytest.raises(InputError):
                read(damaged)


def test_swapped_records_are_found():
    data = written()
    position, frames = 60, []
    while position < len(data):
        end = position + 5 + 12 + int.from_bytes(data[position : position + 4], "big")
        frames.append(data[position:end])
        position = end
    assert len(frames) == 5
    with pytest.raises(InputError):
        read(data[:60] + b"".join([frames[0], frames[2], frames[1], *frames[3:]]))


def test_another_key_is_one_clear_line():
    with pytest.raises(InputError, match="cannot be opened with this key"):
        read(written(), KEY + b"x")


def test_a_short_key_is_refused():
    with pytest.raises(ConfigurationError):
        MapWriter(BytesIO(), b"short", {})


def test_an_interrupted_map_goes_on():
    target = BytesIO()
    MapWriter(target, KEY, {}).add(CASES[0])
    rest = BytesIO()
    writer = MapWriter(rest, KEY, {}, begun=BytesIO(target.getvalue()))
    writer.add(CASES[1])
    writer.finish()
    assert read(target.getvalue() + rest.getvalue()) == CASES[:2]


@pytest.mark.parametrize("written", [None, "seen by PHI, PHI", "seen by PHI", "seen PHI", "PHI"])
def test_the_original_comes_back_also_from_a_shortened_text(written):
    text = "seen by Ann, Bo and Cy"
    masked = FakeMasker(str.islower).mask_many([Document("1", text)])[0]
    shown = masked.text if written is None else written
    assert reveal(shown, hide(masked, written=written)) == text


def test_another_text_is_refused():
    masked = FakeMasker(str.islower).mask_many([Document("1", "seen by Ann")])[0]
    with pytest.raises(InputError):
        reveal("seen by PHI.", hide(masked))
