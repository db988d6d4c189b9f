"""Files that LibreOffice converts: text, counted parts, and a clear line where it cannot."""

import io
import socket
import threading
import zipfile
from pathlib import PurePosixPath

import excel_files
import pytest
from fake_maskers import CANARY, mask_capitals
from hostile_files import write_masked
from libreoffice import OFFICE, convert

from inverse_deid.core.errors import FormatError
from inverse_deid.formats import converted
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS

pytest.importorskip("openpyxl", reason="no openpyxl; pip install '.[office]'")
needs_office = pytest.mark.skipif(OFFICE is None, reason="no LibreOffice")

KINDS = ("doc", "odt", "xls", "ods")
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of each kind, as LibreOffice writes it."""
    folder = tmp_path_factory.mktemp("office")
    (folder / "letter.html").write_text(f"<p>seen by {CANARY} with a rash</p>")
    (folder / "list.xlsx").write_bytes(excel_files.workbook_of(["id", "text"], [7, f"seen by {CANARY}"]))
    found = {}
    for kind in KINDS:
        given = folder / ("letter.html" if kind in ("doc", "odt") else "list.xlsx")
        target = {"doc": "doc:MS Word 97", "odt": "odt:writer8"}.get(kind, kind)
        found[kind] = convert([given], target, folder)[0].read_bytes()
    return found


SLIDES = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" office:version="1.2" '
    'office:mimetype="application/vnd.oasis.opendocument.presentation"><office:body><office:presentation>'
    "{pages}</office:presentation></office:body></office:document>"
)
PAGE = (
    '<draw:page draw:name="{name}"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="20cm" svg:height="3cm">'
    "<draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame></draw:page>"
)


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    """An old PowerPoint file, as LibreOffice writes it."""
    folder = tmp_path_factory.mktemp("slides")
    texts = {"one": f"seen by {CANARY} with a rash", "two": "well since"}
    pages = "".join(PAGE.format(name=name, text=text) for name, text in texts.items())
    (folder / "talk.fodp").write_text(SLIDES.format(pages=pages))
    try:
        return convert([folder / "talk.fodp"], "ppt:MS PowerPoint 97", folder)[0].read_bytes()
    except AssertionError:
        pytest.skip("no Impress; apt-get install libreoffice-impress")


@needs_office
def test_an_old_presentation_becomes_a_text(slides):
    source = opened("ppt", slides)
    (record,) = source.records()
    assert record.doc.text == f"seen by {CANARY} with a rash\n\f\nwell since"
    assert FORMATS["ppt"].written_name(PurePosixPath("talk.ppt")).name == "talk.ppt.txt"
    written = write_masked(opened("ppt", slides), mask_capitals()).decode()
    assert written == "seen by PHI with a rash\n\f\nwell since"


@needs_office
@pytest.mark.parametrize("n_bytes", [9, 600, 200_000])
def test_a_presentation_that_was_cut_is_refused_or_read_without_a_word_of_it_in_the_error(slides, n_bytes):
    try:
        text = opened("ppt", slides[:n_bytes]).doc.text
    except FormatError as error:
        assert CANARY not in str(error)
    else:
        assert CANARY in text


def opened(kind, data):
    return FORMATS[kind].open(io.BytesIO(data), ReadOptions(), f"case.{kind}")


@needs_office
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_read_and_written_as_what_it_becomes(kind, files):
    source = opened(kind, files[kind])
    texts = [doc.text for record in source.records() for doc in record.docs]
    assert [text for text in texts if f"seen by {CANARY}" in text] == texts
    written = write_masked(opened(kind, files[kind]), mask_capitals())
    new = FORMATS[kind].written_name(PurePosixPath(f"case.{kind}"))
    assert new.suffix in (".docx", ".xlsx")
    source = FORMATS[new.suffix[1:]].open(io.BytesIO(written), ReadOptions(), new.name)
    texts = [doc.text for record in source.records() for doc in record.docs]
    assert "seen by PHI" in texts[0]


@needs_office
def test_the_columns_of_a_table_are_shown(files):
    look = FORMATS["xls"].look
    assert look is not None
    head = look(io.BytesIO(files["xls"]), ReadOptions(), "case.xls")
    assert list(head.names) == ["id", "text"]


def test_without_libreoffice_a_line_says_what_to_do(monkeypatch):
    monkeypatch.setattr(converted, "find_office", lambda: None)
    with pytest.raises(FormatError, match=r"LibreOffice converts, and that is not installed.*\.docx"):
        converted.convert("doc", OLE + b"x")


DAMAGED = {
    "another kind": ("doc", CANARY.encode(), r"is not a \.doc file or is damaged.*\.docx"),
    "not a presentation": ("ppt", b"PK\x03\x04", r"is not a \.ppt file or is damaged.*\.pptx"),
    "not a spreadsheet": ("xls", b"PK\x03\x04", r"is not a \.xls file or is damaged.*\.xlsx"),
}


@pytest.mark.parametrize(("kind", "data", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_file_of_another_kind_is_never_given_to_libreoffice(kind, data, message, monkeypatch):
    monkeypatch.setattr(converted, "find_office", lambda: pytest.fail("LibreOffice was looked for"))
    with pytest.raises(FormatError, match=message):
        converted.convert(kind, data)


@needs_office
def test_a_damaged_file_is_refused_and_leaves_nothing(files, tmp_path, monkeypatch):
    monkeypatch.setattr(converted, "MEMORY_FOLDER", tmp_path)
    with pytest.raises(FormatError, match="could not be converted") as caught:
        converted.convert("ods", b"PK\x03\x04" + CANARY.encode())
    assert CANARY not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@needs_office
def test_a_conversion_that_takes_too_long_is_ended(files, tmp_path, monkeypatch):
    monkeypatch.setattr(converted, "MEMORY_FOLDER", tmp_path)
    monkeypatch.setattr(converted, "_MAX_SECONDS", 0.05)
    with pytest.raises(FormatError, match="could not be converted"):
        converted.convert("doc", files["doc"])
    assert list(tmp_path.iterdir()) == []


def document(kind, body):
    """Return a document of LibreOffice with links."""
    namespaces = "".join(
        f' xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for one, name in [("office", "office"), ("text", "text"), ("draw", "drawing"), ("table", "table")]
    )
    content = (
        f'<office:document-content{namespaces} xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.2">'
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{media_type}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        made.writestr("mimetype", media_type)
        made.writestr("content.xml", content)
        made.writestr("META-INF/manifest.xml", manifest)
    return target.getvalue()


def odt_with_a_link(address):
    return document(
        "text",
        f'<text:p>seen twice<draw:frame draw:name="a"><draw:image xlink:href="{address}" xlink:type="simple" '
        'xlink:show="embed" xlink:actuate="onLoad"/></draw:frame></text:p>',
    )


LINKED = {
    "odt": (
        "text",
        '<text:p>seen twice</text:p><text:section text:name="s"><text:section-source xlink:type="simple" '
        'xlink:href="{file}" xlink:show="embed" text:filter-name="Text"/><text:p>old</text:p></text:section>',
    ),
    "ods": (
        "spreadsheet",
        '<table:table table:name="a"><table:table-row><table:table-cell office:value-type="string">'
        "<text:p>seen twice</text:p></table:table-cell><table:table-cell "
        "table:formula=\"of:='{file}'#$secret.A1\"/></table:table-row></table:table>"
        '<table:table table:name="b"><table:table-source xlink:href="{file}" '
        'table:filter-name="Text - txt - csv (StarCalc)" table:filter-options="44,34,UTF-8,1"/>'
        "<table:table-row><table:table-cell/></table:table-row></table:table>",
    ),
}


@needs_office
@pytest.mark.parametrize("kind", LINKED)
def test_no_file_of_the_machine_gets_into_a_conversion(kind, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text(f"{CANARY},7\n")
    of_kind, body = LINKED[kind]
    written = converted.convert(kind, document(of_kind, body.format(file=secret.as_uri())))
    with zipfile.ZipFile(io.BytesIO(written)) as parts:
        shown = b"".join(map(parts.read, parts.namelist()))
    assert (b"seen twice" in shown, CANARY.encode() in shown) == (True, False)


@needs_office
def test_nothing_is_fetched():
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = []

        def listen():
            connection, _address = server.accept()
            asked.append(1)
            connection.close()

        threading.Thread(target=listen, daemon=True).start()
        data = odt_with_a_link(f"http://127.0.0.1:{server.getsockname()[1]}/a.png")
        assert "seen twice" in opened("odt", data).doc.text
        assert asked == []
