"""The encoding of a file is found out in one way for all formats, and is said."""

import codecs
import io
import json

import pytest
from fake_maskers import CANARY, keep_all
from hostile_files import write_masked
from refusals import refuses

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.formats.encodings import find_codec
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS

STORIES = {
    "German": "Frau Müller aus Zürich bekam 5 µg – danach Übelkeit, Fieber von 38,9 °C und „große“ Schwäche.",
    "French": "La patiente a reçu 20 mg; elle a présenté une fièvre à 39 °C, des nausées – puis « guérie ».",
    "Spanish": "La señora Muñoz tomó 5 mg y presentó erupción; ¿cuándo? ¡Ayer! Recuperación en 3 días.",
    "Spanish questions": "¿Qué pasó? ¡Nada! La 1.ª dosis, n.º 5, en el niño.",
    "Portuguese": "A doente tomou 5 mg e teve erupção; recuperação em três dias, não há informação.",
    "Italian": "La paziente è guarita; più tardi perché la febbre era più alta, cioè 39 °C.",
    "capitals": "FRAU MÜLLER HATTE ÜBELKEIT, GROSSE SCHWÄCHE UND FIEBER VON 39 °C",
    "Swedish": "Åsa Ström från Malmö fick 10 mg och hade hög feber på kvällen.",
    "quotes": "The patient’s mother said “he’s fine” – temp 38.5 °C, “mild” rash… £20.",
    "one letter": "Mr. Zöllner had a rash.",
    "first letter": "Über-sensitive to aspirin. She took 5 mg.",
}
ENCODINGS = {
    "cp1252": ("cp1252", b"", "windows-1252"),
    "UTF-16 little": ("utf-16-le", codecs.BOM_UTF16_LE, "utf-16-le with a byte-order mark"),
    "UTF-16 big": ("utf-16-be", codecs.BOM_UTF16_BE, "utf-16-be with a byte-order mark"),
    "UTF-16 little without a mark": ("utf-16-le", b"", "utf-16-le"),
    "UTF-16 big without a mark": ("utf-16-be", b"", "utf-16-be"),
    "UTF-8": ("utf-8", b"", ""),
    "UTF-8 with a mark": ("utf-8", codecs.BOM_UTF8, ""),
}
FORMS = {
    "text": "{}",
    "html": "<p>{}</p>",
    "json": '{{"text": {}}}',
    "jsonl": '{{"text": {}}}\n',
    "csv": 'text\n"{}"\n',
}


def opened(kind, data, **options):
    return FORMATS[kind].open(io.BytesIO(data), ReadOptions(**options), f"a.{kind}")


def written_in(kind, story):
    return FORMS[kind].format(json.dumps(story, ensure_ascii=False) if kind.startswith("json") else story)


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(("encoding", "mark", "name"), ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_every_format_finds_the_encoding_and_says_it(kind, encoding, mark, name, story):
    data = mark + written_in(kind, story).encode(encoding)
    source = opened(kind, data)
    assert next(source.records()).doc.text == story
    found = "".join(source.read_as).removeprefix("comma, ")
    if kind == "html" and mark:
        assert found == ""  # the page says it
    else:
        assert found in (name, "utf-8", "utf-8 with a byte-order mark" if mark else name)
        assert (found in ("", "utf-8", "utf-8 with a byte-order mark")) == (encoding == "utf-8")


@pytest.mark.parametrize("encoding", ["mac-roman", "cp850"])
def test_encodings_of_the_mac_and_of_dos_are_found_in_text(encoding):
    story = "Frau Müller aus Zürich hatte Fieber, Übelkeit und große Schwäche, später auch Schüttelfrost."
    assert opened("text", story.encode(encoding)).doc.text == story


@pytest.mark.parametrize("kind", ["text", "html", "json", "jsonl"])
def test_what_was_found_out_is_written_as_utf_8(kind):
    story = STORIES["German"]
    for encoding in ("cp1252", "utf-16", "utf-16-be"):
        written = write_masked(opened(kind, written_in(kind, story).encode(encoding)), keep_all())
        assert story in written.decode("utf-8")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_an_encoding_that_was_given_is_kept_in_text(encoding):
    data = STORIES["German"].encode(encoding)
    assert write_masked(opened("text", data, encoding=encoding), keep_all()) == data


REFUSED = {
    "damaged UTF-8": f"{CANARY} fièvre, café, naïve".encode() + b"\xe9",
    "cut UTF-16": f"{CANARY} fièvre".encode("utf-16") + b"x",
    "half of a pair": codecs.BOM_UTF16_LE + CANARY.encode("utf-16-le") + b"\x00\xd8",
    "Cyrillic": ("Пациентка принимала варфарин и у неё была сыпь. " * 3).encode("cp1251"),
    "Greek": ("Η ασθενής έλαβε βαρφαρίνη και παρουσίασε εξάνθημα. " * 3).encode("cp1253"),
    "Japanese": ("患者はワルファリンを服用した。" * 5).encode("shift-jis"),
    "no letters": b"\xff\xff",
    "binary": CANARY.encode() + b"\0\x01\x02",
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_a_text_that_does_not_fit_is_refused_and_loses_no_character(data):
    with refuses(UnreadableInputError, match="--encoding") as caught:
        opened("text", data)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_nothing_is_found_out_if_parts_of_a_file_must_agree():
    assert find_codec("fièvre".encode("cp1252"), finds_out=False)[0].name == "utf-8"
    assert opened("jsonl", b'{"text": "fi\xe8vre"}\n', finds_out=False).codec.name == "utf-8"


def test_only_bad_lines_are_left_out_of_a_file_whose_encoding_is_in_doubt():
    data = '{"text": "fièvre, café"}\n'.encode() + b'{"text": "caf\xe9"}\n'
    first, second = opened("jsonl", data).records()
    assert first.doc.text == "fièvre, café"
    assert "is not utf-8 text" in second.problem
