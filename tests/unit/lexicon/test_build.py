"""Compiling lists into the artefact, writing, reading, extending it."""

import dataclasses
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from inverse_deid.core.errors import LexiconError
from inverse_deid.lexicon import Lexicon, PhraseKind, WordFlag, load_lexicon
from inverse_deid.lexicon.artefact import (
    Artefact,
    Frequency,
    compile_lexicon,
    count_level,
    dump_artefact,
    extend_lexicon,
    parse_artefact,
)
from inverse_deid.lexicon.entries import WordList


def word_list(name: str, entries: dict[str, int], flag: WordFlag, kind: PhraseKind | None = None) -> WordList:
    return WordList(name, entries, flag, kind, {"title": name, "licence": "ours"})


LISTS = (
    word_list("plain", {"brown": 0, "pain": 0}, WordFlag.COMMON_ENGLISH),
    word_list("last", {"brown": 1_000_000, "gómez": 10}, WordFlag.SURNAME),
    word_list("towns", {"New York": 0, "Łódź": 0}, WordFlag.CITY, PhraseKind.CITY),
    word_list("regions", {"New York": 0, "New Jersey": 0}, WordFlag.STATE, PhraseKind.STATE),
)
FREQUENCIES = {"brown": Frequency(150, 140), "okay": Frequency(250, 120)}


@pytest.fixture
def artefact() -> Artefact:
    return compile_lexicon(LISTS, FREQUENCIES, version="1")


@pytest.fixture
def lexicon(artefact: Artefact) -> Lexicon:
    return Lexicon(parse_artefact(dump_artefact(artefact)))


def repacked(data: bytes, **changes: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, changes.get(name.partition(".")[0], old.read(name)))
    return buffer.getvalue()


def test_a_word_carries_the_flags_of_all_its_lists(lexicon: Lexicon) -> None:
    assert lexicon.flags("Brown") == WordFlag.COMMON_ENGLISH | WordFlag.SURNAME
    assert lexicon.memberships("BROWN") == ("plain", "last")


def test_unaccented_forms_are_stored(lexicon: Lexicon) -> None:
    assert lexicon.flags("gomez") == lexicon.flags("GÓMEZ") == WordFlag.SURNAME
    assert WordFlag.CITY in lexicon.flags("lodz")


def test_a_list_may_keep_its_accents() -> None:
    towns = dataclasses.replace(LISTS[2], info={"add_unaccented": False})
    compiled = Lexicon(compile_lexicon([towns], {}, version="1"))
    assert compiled.flags("łódź") == WordFlag.CITY
    assert not compiled.flags("lodz")


def test_phrases_have_a_kind_and_mark_their_first_word(lexicon: Lexicon) -> None:
    assert lexicon.longest_phrase(["new", "york"]) == (PhraseKind.CITY, 2)
    assert lexicon.longest_phrase(["new", "jersey"]) == (PhraseKind.STATE, 2)
    assert lexicon.flags("new") == WordFlag.PHRASE_START


@pytest.mark.parametrize("tokens", [[], ["new"], ["new", "shoes"], ["a"] * 9])
def test_other_tokens_are_no_phrase(lexicon: Lexicon, tokens: list[str]) -> None:
    assert lexicon.longest_phrase(tokens) is None


def test_an_eponym_never_hides_a_place() -> None:
    eponyms = WordList("eponyms", {"new york": 0}, None, PhraseKind.EPONYM, {})
    for lists in ([eponyms, LISTS[2]], [LISTS[2], eponyms]):
        compiled = Lexicon(compile_lexicon(lists, {}, version="1"))
        assert compiled.longest_phrase(["new", "york"]) == (PhraseKind.CITY, 2)


def test_lookup_gives_one_row_a_word(lexicon: Lexicon) -> None:
    table = lexicon.lookup(["Brown", "unheard", "okay", "gómez"])
    assert table.flags.dtype == np.uint32
    assert table.flags.tolist()[1:3] == [0, 0]
    np.testing.assert_allclose(table.lower_ratio, [150 / 254, np.nan, 250 / 254, np.nan], rtol=1e-6)
    np.testing.assert_allclose(table.word_logprob, [140 / 255, 0, 120 / 255, 0], rtol=1e-6)
    np.testing.assert_allclose(table.surname_log, [6 / 7, 0, 0, 1 / 7], atol=0.003)
    assert len(table) == 4


def test_lookup_of_nothing_is_empty(lexicon: Lexicon) -> None:
    assert len(lexicon.lookup([])) == 0


def test_the_same_lists_make_the_same_bytes() -> None:
    shuffled = [dataclasses.replace(x, entries=dict(reversed(x.entries.items()))) for x in LISTS]
    first = dump_artefact(compile_lexicon(LISTS, FREQUENCIES, version="1"))
    assert dump_artefact(compile_lexicon(shuffled, FREQUENCIES, version="1")) == first


def test_extending_equals_compiling_at_once(artefact: Artefact) -> None:
    more = [word_list("more", {"gómez": 0, "new": 0}, WordFlag.DRUG)]
    extended = extend_lexicon(artefact, more, version="2")
    at_once = compile_lexicon([*LISTS, *more], FREQUENCIES, version="2")
    assert dump_artefact(extended) == dump_artefact(at_once)


def test_more_than_64_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="64"):
        compile_lexicon([LISTS[0]] * 65, {}, version="1")


@pytest.mark.parametrize(("count", "level"), [(0, 0), (-1, 0), (1, 1), (10_000_000, 255), (10**9, 255)])
def test_count_level(count: int, level: int) -> None:
    assert count_level(count) == level


@pytest.mark.parametrize("n_bytes", [0, 10, 100, 1000])
def test_a_cut_file_is_refused(artefact: Artefact, n_bytes: int) -> None:
    with pytest.raises(LexiconError):
        parse_artefact(dump_artefact(artefact)[:n_bytes])


def test_a_changed_member_is_refused(artefact: Artefact) -> None:
    data = dump_artefact(artefact)
    flags = zipfile.ZipFile(io.BytesIO(data)).read("flags.npy")
    broken = repacked(data, flags=flags[:-1] + b"\x7f")
    with pytest.raises(LexiconError, match=r"flags\.npy"):
        parse_artefact(broken)


@pytest.mark.parametrize("manifest", [b"", b"[]", b"{}", b'{"format_version": 1}'])
def test_a_broken_manifest_is_refused(artefact: Artefact, manifest: bytes) -> None:
    with pytest.raises(LexiconError):
        parse_artefact(repacked(dump_artefact(artefact), manifest=manifest))


def test_another_format_is_refused(artefact: Artefact) -> None:
    data = dump_artefact(artefact)
    manifest = json.loads(zipfile.ZipFile(io.BytesIO(data)).read("manifest.json"))
    manifest["format_version"] = 99
    with pytest.raises(LexiconError, match="99"):
        parse_artefact(repacked(data, manifest=json.dumps(manifest).encode()))


def test_arrays_that_do_not_fit_are_refused(artefact: Artefact) -> None:
    arrays = {**artefact.arrays, "flags": artefact.arrays["flags"][:-1]}
    with pytest.raises(LexiconError, match="flags"):
        dump_artefact(dataclasses.replace(artefact, arrays=arrays))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LexiconError, match=r"none\.zip"):
        load_lexicon(tmp_path / "none.zip")
