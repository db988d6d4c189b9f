"""RTF files: the text of all groups is read, and nothing else leaves."""

import io

import pytest
from fake_maskers import CANARY, keep_all, mask_capitals
from hostile_files import write_masked
from libreoffice import OFFICE, convert
from rtf_files import HEAD, hostile, of_text

from inverse_deid.core.errors import FormatError
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.rtf import FORMAT, MAX_DEPTH


def opened(data):
    return FORMAT.open(io.BytesIO(data), ReadOptions(), "case.rtf")


def text_of(data):
    return opened(data).doc.text


def through(data, masker):
    return write_masked(opened(data), masker)


def test_what_was_removed_is_counted_by_kind():
    assert opened(hostile(lambda: "word", lambda: "other")).removed == {
        "author of a comment": 1,
        "bookmark": 1,
        "custom XML": 1,
        "data after the end": 1,
        "data of a field": 1,
        "embedded object": 1,
        "field instruction": 2,
        "form field": 1,
        "image": 2,
        "index entry": 2,
        "initials of an author": 1,
        "list number": 1,
        "list of authors": 1,
        "other form of the text": 1,
        "password": 1,
        "properties": 4,
        "property of a shape": 2,
        "text in an unknown place": 1,
        "theme": 1,
        "tracked deletion": 1,
        "variable": 1,
    }


def test_the_body_comes_first_and_notes_follow():
    text = text_of(
        (HEAD + r"{\header head}body{\footnote note} goes on\par\pard next\cell cell\row\par}").encode()
    )
    assert [line for line in text.split("\n") if line] == ["body goes on", "next\tcell", "head", "note"]


IN_A_SENTENCE = {
    "ignorable looks": r"took {\b\*\cs7\i amoxicillin} and",
    "ignorable looks at the beginning": r"took {\*\cs7\i amoxicillin} and",
    "ignorable bold": r"took {\*\b amoxicillin} and",
    "an unknown ignorable word in the middle": r"took {\b\*\zzunknown amoxicillin} and",
    "an unknown word": r"took {\zzunknown amoxicillin} and",
    "an unknown word with a number": r"took {\*\zzunknown4 amoxicillin} and",
    "hidden": r"took {\v amoxicillin} and",
    "a field": r"took {\field{\*\fldinst QUOTE}{\fldrslt {\b amoxi}cillin}} and",
    "an optional hyphen": r"took amoxi\-cillin and",
    "an optional hyphen as a byte": r"took amoxi\'adcillin and",
    "joiners": r"took amoxi\zwnj cillin\zwbo  and",
    "a word of fonts": r"took {\rtlch\af0\ltrch\hich\af0\dbch\af0\loch\f0 amoxicillin} and",
    "a formula": r"took {\mmath{\*\moMath{\mr amoxicillin}}{\*\mmathPict{\pict 00}}} and",
    "a title": r"took {\title0 amoxicillin} and",
    "a result": r"took {\*\result1 amoxicillin} and",
    "a table of fonts in the middle": r"took {\fonttbl{\f7 Arial;}}amoxicillin and",
}


@pytest.mark.parametrize("words", IN_A_SENTENCE.values(), ids=IN_A_SENTENCE)
def test_every_word_of_a_sentence_stays(words):
    assert text_of((HEAD + words + "}").encode()) == "took amoxicillin and"


def test_words_in_a_group_that_no_reader_knows_are_counted():
    words = r"took {\*\zzunknown amoxicillin} and {<\*<\zzother {\b 5}} {\*\zzempty ;}}"
    source = opened((HEAD + words.replace("<", "\r\n")).encode())
    assert source.doc.text.split() == ["took", "and"]
    assert source.removed == {"text in an unknown place": 2}


COUNTED = {
    "HTML markup": r'{\*\htmltag84 <img alt="Zebu">}{\*\htmltag4 <p>}{\*\mhtmltag64 &nbsp;}',
    "property of a shape": r"{\shp{\*\shpinst{\sp{\sn fHidden}{\sv 0}}{\sp{\sn wzName}{\sv Zebu 1}}}}",
    "properties": r"{\*\template C:\\Zebu.dotx}",
    "custom XML": r"{\*\xmlopen{\xmlattr{\xmlattrname id}{\xmlattrvalue Zebu}}}",
    "list number": r"{\*\pn\pnlvlbody{\pntxtb Zebu}{\pntxta .}}",
    "data of a field": r"{\*\datafield Zebu}",
    "list of files": r"{\*\filetbl{\file\fid1 C:\\Zebu.doc}}",
    "list of users": r"{\*\protusertbl Zebu}",
}


@pytest.mark.parametrize("kind", COUNTED)
def test_words_in_what_has_none_as_a_rule_are_counted(kind):
    source = opened((HEAD + "well" + COUNTED[kind] + "}").encode())
    assert source.doc.text == "well"
    assert source.removed == {kind: 1}


def test_of_two_forms_of_a_text_that_with_all_letters_is_read():
    source = opened((HEAD + r"Seen by {\upr{Dvo?\'e1k}{\*\ud{Dvo\u345?\'e1k}}} today}").encode())
    assert source.doc.text == "Seen by Dvořák today"
    assert source.removed == {"other form of the text": 1}


def test_a_row_of_a_table_in_a_cell_is_a_line():
    inner = r"\itap2 5 mg\nestcell daily\nestcell{\*\nesttableprops\trowd\nestrow}{\nonesttables\par}\itap1 "
    text = text_of(
        (HEAD + r"\trowd\intbl Drug\cell Age\cell\row " + inner + r"Zolpa\cell 55\cell\row}").encode()
    )
    assert text.split("\n") == ["Drug\tAge", "5 mg\tdaily", "Zolpa\t55"]


def test_a_picture_with_a_copy_for_older_readers_is_counted_once():
    data = HEAD + r"well{\*\shppict{\pict\pngblip 00}}{\nonshppict{\pict\wmetafile8 00}}}"
    assert opened(data.encode()).removed == {"image": 1}


def test_tables_keep_their_empty_cells():
    row = r"\trowd\cellx1\cellx2\cellx3\intbl {}\cell {}\cell {}\cell\row"
    cells = [("drug", "stop", "outcome"), ("apixaban", "", "unknown"), ("", "12 May", "")]
    shown = "\n".join(row.replace("{}", "%s") % one for one in cells)
    assert text_of((HEAD + shown + "}").encode()).split("\n") == [
        "drug\tstop\toutcome",
        "apixaban\t\tunknown",
        "\t12 May",
    ]


def test_pictures_in_a_font_of_symbols_are_signs_that_are_masked():
    fonts = HEAD.replace(r"{\f1", r"{\f2\fnil\fcharset2 OpenSymbol;}{\f1")
    assert text_of((fonts + r"{\f2\'b7\'81\tab}well}").encode()) == "□□\twell"


def test_letters_of_the_font_symbol_are_those_that_it_shows():
    fonts = HEAD.replace(r"{\f1", r"{\f2\froman\fcharset2{\*\panose 05050102}Symbol;}{\f1")
    words = r"5 {\f2 m}g, 38{\f2\'b0}C, {\f2\'b3} 2, {\f2\u-3987\'6d}g, \u-3913\'b7 last}"
    assert text_of((fonts + words).encode()) == "5 μg, 38°C, ≥ 2, μg, • last"


CODED = {
    "Japanese": (rb"{\rtf1\ansi\ansicpg932 \'83\'8f\'83\'8b\'83t}", "ワルフ"),
    "UTF-8": (rb"{\rtf1\ansi\ansicpg65001 na\'c3\'afve}", "naïve"),
    "unknown code page": (rb"{\rtf1\ansi\ansicpg9999 plain}", "plain"),
    "unknown charset": ((HEAD.replace("charset204", "charset99") + r"{\f1 na\'efve}}").encode(), "naïve"),
    "a font until \\plain": ((HEAD + r"\f1\'cf\plain\'ef}").encode(), "Пï"),
    "a replacement of two signs": (rb"{\rtf1\ansi\uc2 5 \u956\'b5\'b5g\u8211--x}", "5 μg–x"),
    "a named replacement": (rb"{\rtf1\ansi a\u8212\emdash b}", "a—b"),
    "no replacement": (rb"{\rtf1\ansi a\u8212\par b}", "a—\nb"),
    "a large number": (rb"{\rtf1\ansi\uc0 \u8805 x}", "≥x"),
    "code page": (rb"{\rtf1\ansi\ansicpg1252 na\'efve \'80 5}", "naïve € 5"),
    "raw bytes": (b"{\\rtf1\\ansi na\xefve}", "naïve"),
    "font": ((HEAD + r"{\f1\'cf\'f0} x}").encode(), "Пр x"),
    "Macintosh": (rb"{\rtf1\mac caf\'8e}", "café"),
    "unicode": (rb"{\rtf1\ansi\uc1 38.5 \u176?C \u8805? \u-10179?\u-8704?}", "38.5 °C ≥ 😀"),
    "skipped": (rb"{\rtf1\ansi{\uc2 \u176 ab}c}", "°c"),
    "signs": (rb"{\rtf1 a\~b\emdash c\{d\}\\e\line f}", "a\xa0b—c{d}\\e\nf"),
    "half a character": (rb"{\rtf1 a\u-10179?b}", "a\ufffdb"),
}


@pytest.mark.parametrize(("data", "text"), CODED.values(), ids=CODED)
def test_characters_are_those_of_the_file(data, text):
    assert text_of(data) == text
    assert text_of(through(data, keep_all())).replace("□", "?") == text.replace("\ufffd", "?").replace(
        "😀", "?"
    )


BAD = {
    "text": CANARY.encode(),
    "cut": of_text(CANARY)[:-1],
    "cut in a picture": HEAD.encode() + rb"{\pict\bin99 " + CANARY.encode(),
    "too many braces": b"{\\rtf1}}" + CANARY.encode() + b"{",
    "too deep": b"{\\rtf1" + b"{" * (MAX_DEPTH + 1) + CANARY.encode() + b"}" * (MAX_DEPTH + 1) + b"}",
    "code page": rb"{\rtf1\ansi\ansicpg1252 " + CANARY.encode() + rb"\'81}",
    "wrong number": rb"{\rtf1\u9999999999 " + CANARY.encode() + b"}",
    "no text": b"{\\rtf1{\\info{\\author " + CANARY.encode() + b"}}}",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_file_that_cannot_be_used_is_an_error_with_a_remedy_and_without_text(data):
    with pytest.raises(FormatError) as caught:
        opened(data)
    assert ". " in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.slow
@pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not installed")
def test_libreoffice_opens_the_output_and_shows_the_masked_text(tmp_path):
    path = tmp_path / "case.rtf"
    path.write_bytes(through(hostile(lambda: "word", lambda: "other"), mask_capitals()))
    (written,) = convert([path], "txt:Text (encoded):UTF8", tmp_path / "opened")
    shown = written.read_text("utf-8-sig")
    assert shown.rstrip("\n") == text_of(path.read_bytes())
    assert "plain word was seen by PHI again" in shown
