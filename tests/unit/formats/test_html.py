"""Web pages: text keeps its structure, and nothing else of the page leaves."""

import io
import re

import pytest
from fake_maskers import CANARY, keep_all, mask_capitals
from hostile_files import write_masked
from html_files import hostile
from libreoffice import OFFICE, convert

from inverse_deid.cli.parts.messages import describe_error
from inverse_deid.core.errors import FormatError, UnreadableInputError
from inverse_deid.formats.html import FORMAT
from inverse_deid.formats.records import ReadOptions


def opened(data, **options):
    data = data.encode() if isinstance(data, str) else data
    return FORMAT.open(io.BytesIO(data), ReadOptions(**options), "case.html")


def text_of(data, **options):
    return opened(data, **options).doc.text


def through(data, masker):
    return write_masked(opened(data), masker).decode()


def body_of(page):
    return re.search(r"<body>\n(.*)</body>", page, re.DOTALL)[1]


def test_what_was_removed_is_counted_by_kind():
    counts = opened(hostile(lambda: "word", lambda: "other")).removed
    assert counts["script"] == 2
    assert counts["comment"] == 5  # three of them before and after the page
    assert counts["form field"] == 2
    assert counts["choice that was not selected"] == 1
    assert counts["alternative text"] == 2
    assert counts["tooltip"] == 2
    assert counts["image"] == 2
    assert counts["link target"] == 3
    assert counts["title"] == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("3", ' colspan="3" rowspan="3"'),
        (" +3 ", ' colspan="3" rowspan="3"'),
        ("3.7em", ' colspan="3" rowspan="3"'),
        ("003", ' colspan="3" rowspan="3"'),
        ("0", ' rowspan="0"'),
        ("1", ""),
        ("-3", ""),
        (CANARY, ""),
        (f"x3{CANARY}", ""),
        ("2000", ' colspan="1000" rowspan="2000"'),
        ("99999999999", ' colspan="1000" rowspan="65534"'),
    ],
)
def test_a_cell_covers_what_it_covers_in_a_browser(given, expected):
    page = f"<table><tr><td colspan='{given}' rowspan='{given}'>a</td><td>b</td></tr></table>"
    assert body_of(through(page, keep_all())) == f"<table><tr><td{expected}>a</td><td>b</td></tr></table>"


def test_the_text_of_a_table_does_not_explode():
    row = "<tr><td colspan=1000 rowspan=65534>a</td><td>b</td></tr>"
    page = f"<table>{row * 2000}</table>"
    assert len(text_of(page)) < 3 * len(page)


def test_structure_is_kept_and_a_divided_word_is_one_word():
    page = through(
        "<h2>Case</h2><p>seen by Zebu<b>lon</b><span>ova</span> <i>today</i><br>and well</p>"
        "<table><tr><th>Test</th><td colspan=2>normal</td></tr></table><ol><li>one</ol><hr>",
        mask_capitals(),
    )
    assert body_of(page) == (
        "<h2>PHI</h2><p>seen by PHI<b></b> <i>today</i><br>and well</p>"
        '<table><tr><th>PHI</th><td colspan="2">normal</td></tr></table><ol><li>one</li></ol><hr>'
    )
    assert page.startswith(
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Masked document</title></head>\n'
    )


TEXTS = {
    "white space is one space": ("<p>a \n\t b <b> c</b></p>", "a b c"),
    "blocks are lines": ("<div>a<div>b</div>c</div><p>d</p>", "a\nb\nc\nd"),
    "white space between blocks": ("<div>\n <p>a</p>\n\n <p>b</p>\n</div>", "a\nb"),
    "cells have tabs": (
        "<table><tr><td>a</td> <td><p>b</p><p>c</p></td><td></td><td>d</td></tr><tr><td>e</td></tr></table>",
        "a\tb\n\tc\t\td\ne",
    ),
    "an empty first cell": (
        "<table><tr><td>a</td><td>b</td></tr><tr><td></td><td>c</td></tr></table>",
        "a\tb\n\tc",
    ),
    "an empty last cell": (
        "<table><tr><td>a</td><td></td></tr><tr><td>b</td><td>c</td></tr></table><p>d</p>",
        "a\t\nb\tc\nd",
    ),
    "an empty last cell of the last row": (
        "<table><tr><td>a</td><td></td></tr></table><p>b</p><table><tr><td></td><td>c</td></tr></table>",
        "a\t\nb\n\tc",
    ),
    "an empty row": (
        "<table><tr><td>a</td><td>b</td></tr><tr><td></td><td></td></tr><tr><td>c</td></tr></table>",
        "a\tb\n\t\nc",
    ),
    "cells over several columns": (
        "<table><tr><td>a</td><td colspan=3>b</td><td>c</td></tr><tr><td colspan=' +4x'>d</td><td>e</td></tr></table>",
        "a\tb\t\t\tc\nd\t\t\t\te",
    ),
    "cells over several rows": (
        "<table><tr><td rowspan=2>a</td><td>b</td><td rowspan=3>c</td></tr><tr><td>d</td></tr><tr><td>e</td><td>f</td>"
        "<td>g</td></tr></table>",
        "a\tb\tc\n\td\ne\tf\t\tg",
    ),
    "cells over all rows of a part of a table": (
        "<table><thead><tr><td rowspan=9>a</td><td>b</td></tr></thead><tbody><tr><td rowspan=0>c</td><td>d</td></tr>"
        "<tr><td>e</td></tr></tbody><tbody><tr><td>f</td></tr></tbody></table>",
        "a\tb\nc\td\n\te\nf",
    ),
    "a table in a cell": (
        "<table><tr><td>a</td><td><table><tr><td>b</td><td>c</td></tr><tr><td>d</td></tr></table></td><td>e</td></tr>"
        "<tr><td>f</td></tr></table>",
        "a\tb\tc\n\td\te\nf",
    ),
    "empty cells": (
        "<table><caption>c</caption><tr><td></td><td>a</td></tr><tr><td>b</td><td></td></tr><tr><td></td><td>d</td>"
        "</tr></table>e",
        "c\n\ta\nb\t\n\td\ne",
    ),
    "empty cells in parts of a table": (
        "<table><thead><tr><th>a</th><th></th></tr></thead><tbody><tr><td></td><td>b</td></tr></tbody></table>",
        "a\t\n\tb",
    ),
    "an empty last cell of a table without end": (
        "<p>z</p><table><tr><td>a<td></table><p>b</p>",
        "z\na\t\nb",
    ),
    "a table of one column in a cell": (
        "<table><tr><td>a</td><td><table><tr><td>b</td></tr><tr><td>c</td></tr></table></td><td>d</td></tr></table>",
        "a\tb\n\tc\td",
    ),
    "a break in an empty cell": (
        "<table><tr><td>a</td><td><br></td><td><p><br></p></td><td>b</td></tr></table>",
        "a\t\t\tb",
    ),
    "a break at the end of a cell": (
        "<table><tr><td>a<br></td><td>b<br><br></td><td>c</td></tr></table>",
        "a\tb\tc",
    ),
    "lines of cells": (
        "<table><tr><td>a<br>b</td><td>c<p>d</p>e<br>f</td><td>g</td></tr><tr><td>h</td><td>i</td></tr></table>",
        "a\nb\tc\n\td\n\te\n\tf\tg\nh\ti",
    ),
    "lines of a cell beside one over several rows": (
        "<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td>c<br>d</td><td>e</td></tr></table>",
        "a\tb\n\tc\n\td\te",
    ),
    "a list in a cell": (
        "<table><tr><td>a</td><td><ul><li>b<li>c</ul></td><td>d</td></tr></table><p>e<br>f",
        "a\tb\n\tc\td\ne\nf",
    ),
    "dialogs and old elements": ("<dialog open>a</dialog>b<xmp>c</xmp>d", "a\nb\nc\nd"),
    "breaks": ("a<br>b<br/><br>c", "a\nb\n\nc"),
    "entities": ("caf&eacute; &lt;b&gt; &#956;g &#x1F600; &amp;amp;", "café <b> μg 😀 &amp;"),
    "not closed": ("<p>a<p>b<li>c<b>d", "a\nb\ncd"),
    "inline": ("Zebu<span>lo</span><a href=x>no</a><u></u>va", "Zebulonova"),
    "comment in a word": ("Zebu<!-- x -->lonova", "Zebulonova"),
    "preformatted": ("<pre>a\n  b\tc</pre>", "a\n  b\tc"),
    "after the end": ("<html><body>a</body></html>b<html><body><p>c</p></body></html>", "a\nb\nc"),
    "form fields": (
        "<label>Patient</label><input value='Ann Lee'><label>Drug</label> <input type=text value=apixaban> daily",
        "Patient Ann Lee Drug apixaban daily",
    ),
    "boxes": (
        "<label><input type=checkbox checked>Serious</label><label><input type=radio>Fatal</label>",
        "[x] Serious [ ] Fatal",
    ),
    "the first choice": ("Sex<select><option>female<option>male</select>.", "Sex female ."),
    "choices": (
        "<select multiple><option selected>rash<option>fever<optgroup><option selected label=cough>x</select>",
        "rash cough",
    ),
    "a text of several lines": (
        "<p>Story<textarea>\nThe  patient\n took it.</textarea>End</p>",
        "Story\nThe  patient\n took it.\nEnd",
    ),
    "buttons": ("a<button><b>Sa</b>ve</button>b<input type=submit value=Send>", "a Save b Send"),
    "values without words": ("a<input value=' '><input type=hidden value=b>c", "ac"),
    "optional hyphens": ("<p>palpi&shy;tations, levo\u00adthyroxine</p>", "palpitations, levothyroxine"),
    "a formula": ("<math><mn>10</mn></math> <math><msup><mn>10</mn><mn>9</mn></msup></math>", "10 10^9"),
    "details": ("<details><summary>Story</summary>She had a rash.</details>", "Story\nShe had a rash."),
    "parts of a page": (
        "<main><section>a</section><article>b<aside>c</aside></article></main><footer>d</footer>",
        "a\nb\nc\nd",
    ),
    "without scripts, before the body": ("<script>x</script><noscript>a</noscript><div>b</div>", "a\nb"),
    "without scripts": ("a<noscript><p>b</p></noscript>", "a\nb"),
    "a drawing": ("a<svg><g><text>ALT</text><text>AST</text></g></svg>b", "a\nALT\nAST\nb"),
    "a map": ("<map name=m><p>a</p><area href=x></map>b", "a\nb"),
    "no break space": ("a&nbsp;&nbsp;b", "a\xa0\xa0b"),
}


@pytest.mark.parametrize(("page", "text"), TEXTS.values(), ids=TEXTS)
def test_text_is_what_a_browser_shows(page, text):
    assert text_of(page) == text
    assert text_of(through(page, keep_all())) == text.replace("😀", "□")


ENCODED = {
    "UTF-8": ("<p>fièvre</p>".encode(), {}),
    "byte-order mark": ("<meta charset=latin-1><p>fièvre</p>".encode("utf-8-sig"), {}),
    "UTF-16": ("<p>fièvre</p>".encode("utf-16"), {}),
    "meta": ('<meta charset="windows-1252"><p>fièvre</p>'.encode("cp1252"), {}),
    "latin-1 is Windows": ("<meta charset=iso-8859-1><p>fièvre</p>".encode("cp1252"), {}),
    "http-equiv": (
        '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-2"><p>fi\xe8vre</p>'.encode(
            "latin-1"
        ),
        {"text": "fičvre"},
    ),
    "no encoding": ("<p>fièvre</p>".encode("cp1252"), {}),
    "wrong encoding": ("<meta charset=utf-8><p>fièvre</p>".encode("cp1252"), {}),
    "unknown encoding": ("<meta charset=x-user><p>fièvre</p>".encode("cp1252"), {}),
    "unknown encoding, UTF-8": ("<meta charset=x-user><p>fièvre</p>".encode(), {}),
    "UTF-16 without a mark": ("<p>fièvre</p>".encode("utf-16-le"), {}),
    "option": ("<p>fièvre</p>".encode("cp1252"), {"encoding": "cp1252"}),
    "XHTML": (
        '<?xml version="1.0" encoding="iso-8859-5"?><p>лихорадка'.encode("iso-8859-5"),
        {"text": "лихорадка"},
    ),
}


@pytest.mark.parametrize(("data", "options"), ENCODED.values(), ids=ENCODED)
def test_the_encoding_is_that_of_the_page(data, options):
    text = options.pop("text", "fièvre")
    assert text_of(data, **options) == text


BAD = {
    "damaged": (f"<p>{CANARY} fièvre, café</p>".encode() + b"\xe9", UnreadableInputError),
    "damaged, of an unknown encoding": (
        f"<meta charset=bogus><p>{CANARY} fièvre, café</p>".encode() + b"\xe9",
        UnreadableInputError,
    ),
    "binary": (f"<p>{CANARY}\0</p>".encode(), UnreadableInputError),
    "empty": (b"", UnreadableInputError),
    "white space": (b"  \n", FormatError),
    "no text": (f"<script>{CANARY}</script><img alt='{CANARY}'>".encode(), FormatError),
    "too deep": (b"<div>" * 300 + CANARY.encode(), FormatError),
}


@pytest.mark.parametrize(("data", "error"), BAD.values(), ids=BAD)
def test_a_page_that_cannot_be_used_is_an_error_with_a_remedy_and_without_text(data, error):
    with pytest.raises(error) as caught:
        opened(data)
    line = describe_error(caught.value)
    assert ". " in line
    assert CANARY not in line
    assert caught.value.__context__ is None


WITHOUT_END = {
    "a value": f'<p>well <a title="x>{CANARY}</p><p>{CANARY}</p>',
    "a tag": f"<p>well <low {CANARY}",
    "an end tag": f"<p>well </p {CANARY}",
    "a type": f"<p>well <!doctype {CANARY}",
}


@pytest.mark.parametrize("page", WITHOUT_END.values(), ids=WITHOUT_END)
def test_text_in_a_tag_without_end_is_counted(page):
    source = opened(page.encode())
    assert source.doc.text == "well "
    assert source.removed["text in a tag without end"] == 1


@pytest.mark.parametrize("tag", ["textarea", "xmp", "plaintext", "b", "option"])
def test_an_element_without_end_has_the_text_to_the_end_of_the_page(tag):
    source = opened(f"<p>well<{tag}>and happy".encode())
    assert source.doc.text.split() == ["well", "and", "happy"] or source.doc.text == "welland happy"
    assert source.removed == {}


def test_words_in_an_end_tag_are_counted():
    assert opened(f"<p>well</p {CANARY}>".encode()).removed == {"attribute": 1}


def test_lines_of_cells_do_not_explode():
    page = f"<table><tr>{'<td>' * 99}<td>{'a<br>' * 10_000}</table>"
    assert len(text_of(page)) < 8 * len(page)


def test_markup_in_the_text_stays_text():
    page = through("<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;</p>", keep_all())
    assert body_of(page) == "<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;</p>"


@pytest.mark.slow
@pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not installed")
def test_libreoffice_opens_the_output(tmp_path):
    path = tmp_path / "case.html"
    path.write_text(through(hostile(lambda: "word", lambda: "other"), mask_capitals()))
    (shown,) = convert([path], "txt:Text (encoded):UTF8", tmp_path / "opened")
    assert "plain word was seen by PHI again" in shown.read_text("utf-8-sig")
