"""Word files: nothing of the file leaves but masked text and layout."""

import io
import itertools
import zipfile

import pytest
from fake_maskers import FakeMasker, keep_all, mask_all, mask_capitals
from hypothesis import given
from hypothesis import strategies as st
from libreoffice import OFFICE, convert
from lxml import etree
from word_files import SAFE, hostile, paragraph, part, relations, run, simple, text_box, unpacked, zipped

from inverse_deid.core.errors import FormatError, StageError
from inverse_deid.core.values import MaskedDocument
from inverse_deid.formats.containers.office_package import MAX_PARTS
from inverse_deid.formats.docx import FORMAT
from inverse_deid.formats.docx.properties import W
from inverse_deid.formats.docx.source import read_text
from inverse_deid.formats.records import ReadOptions

CANARY = "Zebulonova"


def opened(data):
    return FORMAT.open(io.BytesIO(data), ReadOptions(), "letter.docx")


def text_of(data):
    return opened(data).doc.text


def through(data, masker=None):
    """Mask a file; return it and the masked text."""
    source = opened(data)
    (record,) = source.records()
    masked = (masker or mask_capitals()).mask_many(record.docs)
    target = io.BytesIO()
    sink = source.sink(target)
    sink.write(record, masked)
    sink.finish()
    return target.getvalue(), masked[0].text


def canaries():
    """Return a function that gives another canary at every call."""
    numbers = itertools.count()
    letters = "abcdefghijklmnopqrstuvwxyz"
    return lambda: CANARY + "".join(letters[int(digit)] for digit in str(next(numbers)))


def leaks(data):
    parts = unpacked(data)
    texts = [*parts, *(content.decode() for content in parts.values()), text_of(data)]
    return "zebulonova" in "\n".join([*texts, data.decode("latin-1")]).lower()


def words_of(data):
    return text_of(data).replace("\t", " ").split()


def test_nothing_that_is_hidden_in_a_file_leaves_and_safe_words_stay():
    data = zipped(hostile(canaries()), CANARY.encode())
    written, _ = through(data)
    assert not leaks(written)
    assert set(SAFE) <= set(words_of(written))
    assert "gone" not in words_of(written)


def test_what_is_written_reads_as_the_masked_text():
    written, masked = through(zipped(hostile(canaries())))
    assert text_of(written) == masked
    assert through(written, keep_all())[0] == written


def test_all_masked_leaves_no_word():
    written, _ = through(zipped(hostile(canaries())), mask_all())
    assert set("PHI□") >= {sign for sign in text_of(written) if sign.isalnum()}


def spots():
    """Return every attribute, text and tail of the parts that are read."""
    plain = hostile(lambda: "safe")
    for name, data in plain.items():
        if not data.startswith((b"<?xml", b"<Relationships", b"<Types")):
            continue
        for number, node in enumerate(etree.fromstring(data).iter(etree.Element)):
            for slot in (*node.attrib, "text", "tail", "new attribute", "new element"):
                yield name, number, slot


SPOTS = list(spots())


def planted(name, number, slot):
    parts = hostile(lambda: "safe")
    root = etree.fromstring(parts[name])
    node = list(root.iter(etree.Element))[number]
    if slot == "text":
        node.text = f"{node.text or ''} {CANARY}"
    elif slot == "tail":
        if node is root:
            return None
        node.tail = f"{CANARY} {node.tail or ''}"
    elif slot == "new attribute":
        node.set(f"{{http://{CANARY}.example}}{CANARY}", CANARY)
        node.set(CANARY, "1")
    elif slot == "new element":
        child = etree.SubElement(node, f"{{{CANARY}}}{CANARY}", {CANARY: CANARY})
        child.text = child.tail = CANARY
    else:
        node.set(slot, CANARY)
    return zipped({**parts, name: etree.tostring(root)})


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))])
def test_no_single_place_of_a_file_leaks(first):
    n_written = 0
    for spot in SPOTS[first::8]:
        data = planted(*spot)
        if data is None:
            continue
        try:
            written, _ = through(data)
        except FormatError as error:
            assert CANARY not in str(error)
            continue
        n_written += 1
        assert not leaks(written), spot
    assert n_written > 100


@given(st.text("Zebulonova kept\u2019&<é", min_size=1, max_size=40), st.lists(st.integers(0, 40), max_size=8))
def test_a_text_is_masked_alike_however_it_is_split_into_runs(text, cuts):
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]
    for masker in (mask_capitals(), keep_all(), mask_all()):
        whole, masked = through(zipped(simple(paragraph(text))), masker)
        split, masked_again = through(zipped(simple(paragraph(*pieces))), masker)
        assert text_of(zipped(simple(paragraph(*pieces)))) == text
        assert masked == masked_again == text_of(split) == text_of(whole)


def test_a_word_in_several_runs_becomes_one_marker_in_the_first():
    data = zipped(simple(paragraph("seen by Ze", "bulo", "nova today")))
    written, _ = through(data)
    root = etree.fromstring(unpacked(written)["word/document.xml"])
    assert [node.text for node in root.iter("{*}t")] == ["seen by PHI", " today"]
    assert len(list(root.iter("{*}r"))) == 2


def test_the_length_of_a_name_and_its_runs_do_not_show():
    one = through(zipped(simple(paragraph("seen by ", "Li", " today"))))[0]
    other = through(zipped(simple(paragraph("seen by ", "Ze", "bulo", "nova", " today"))))[0]
    assert unpacked(one) == unpacked(other)


def test_paragraphs_are_lines_and_cells_are_separated_by_tabs():
    cell = "<w:tc>{}</w:tc>".format
    row = f"<w:tr>{cell(paragraph('one'))}{cell(paragraph('two'))}</w:tr>"
    mark = "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:noBreakHyphen/><w:softHyphen/><w:t>c&#173;d</w:t></w:r></w:p>"
    data = zipped(simple(paragraph("first") + f"<w:tbl>{row}{row}</w:tbl>" + mark))
    assert text_of(data) == "first\none\ttwo\none\ttwo\na\tb\n\u2011cd"
    assert text_of(through(data, keep_all())[0]) == text_of(data)


def test_spaces_that_word_does_not_show_do_not_split_a_word():
    body = "<w:p><w:r><w:t> Zebu </w:t></w:r><w:r><w:t>\nlonova</w:t></w:r></w:p>"
    assert text_of(zipped(simple(body))) == CANARY


def test_a_mask_across_paragraphs_and_tabs_is_put_once_and_layout_stays():
    body = "<w:p><w:r><w:t>ab</w:t><w:tab/><w:t>cd</w:t></w:r></w:p>" + paragraph("ef")
    source = opened(zipped(simple(body)))
    (record,) = source.records()
    one = keep_all().mask_many(record.docs)[0]
    masked = MaskedDocument(one.id, "aPHIf", ((1, 7),), ((1, 4),), one.tokens, one.decisions)
    target = io.BytesIO()
    source.sink(target).write(record, [masked])
    assert text_of(target.getvalue()) == "aPHI\t\nf"


@pytest.mark.parametrize(
    ("text", "masks", "replaced"),
    [
        ("abXf", ((1, 2),), ((1, 2),)),
        ("a", (), ()),
        ("PHI\x00bcdef", ((0, 1),), ((0, 4),)),
        ("abcdeff", (), ()),
    ],
)
def test_a_masked_text_that_does_not_fit_is_not_written(text, masks, replaced):
    source = opened(zipped(simple(paragraph("abcdef"))))
    (record,) = source.records()
    one = keep_all().mask_many(record.docs)[0]
    target = io.BytesIO()
    with pytest.raises(StageError):
        source.sink(target).write(
            record, [MaskedDocument(one.id, text, masks, replaced, one.tokens, one.decisions)]
        )
    assert not target.getvalue()


def test_layout_stays():
    parts = unpacked(through(zipped(hostile(canaries())))[0])
    document = parts["word/document.xml"].decode()
    for kept in (
        '<w:jc w:val="center"/>',
        '<w:tcW w:w="2500" w:type="pct"/>',
        '<w:pgSz w:w="11906" w:h="16838"/>',
        "<w:b/>",
        '<w:rFonts w:cs="Arial"/>',
        '<w:tblLook w:val="04A0"/>',
    ):
        assert kept in document
    assert '<w:pStyle w:val="S2"/>' in document
    assert '<w:basedOn w:val="S1"/>' in parts["word/styles.xml"].decode()
    assert '<w:lvlText w:val="%1."/>' in parts["word/numbering.xml"].decode()
    assert "<w:evenAndOddHeaders/>" in parts["word/settings.xml"].decode()
    assert document.count("headerReference") == document.count("footerReference") == 1


def test_a_text_box_keeps_its_size_and_place_and_is_read_once():
    data = zipped(simple(f"<w:p>{run('before')}<w:r>{text_box(lambda: 'safe')}</w:r>{run('hand')}</w:p>"))
    assert text_of(data) == "beforehand\nboxed safe"
    document = unpacked(through(data)[0])["word/document.xml"].decode()
    assert 'cx="1828800" cy="914400"' in document
    assert "<wp:posOffset>914400</wp:posOffset>" in document


LOST = "<w:r><w:t>lost</w:t></w:r>"
CELL = "<w:tc>{}<w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>"
AROUND = "<w:p>{}</w:p>".format
BEGIN = '<w:r><w:fldChar w:fldCharType="begin">{}</w:fldChar></w:r>'
END = '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
LEFT_OUT = {
    "deleted text": (
        AROUND('<w:del w:id="1"><w:r><w:delText>lost</w:delText></w:r></w:del>'),
        {"tracked deletion": 1},
    ),
    "moved text": (AROUND(f'<w:moveFrom w:id="1">{LOST}</w:moveFrom>'), {"tracked deletion": 1}),
    "a deleted run": (
        AROUND(LOST.replace("<w:t>", "<w:rPr><w:del/></w:rPr><w:t>")),
        {"tracked deletion": 1},
    ),
    "a deleted row": (
        f"<w:tbl><w:tr><w:trPr><w:del/></w:trPr>{CELL.format('')}</w:tr></w:tbl>",
        {"tracked deletion": 1},
    ),
    "a deleted cell": (
        f"<w:tbl><w:tr>{CELL.format('<w:tcPr><w:cellDel/></w:tcPr>')}</w:tr></w:tbl>",
        {"tracked deletion": 1},
    ),
    "a deleted end of a paragraph": ("<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr></w:p>", {}),
    "a form field": (
        AROUND(BEGIN.format('<w:ffData><w:helpText w:val="lost"/></w:ffData>') + END),
        {"field instruction": 1, "form field": 1},
    ),
    "a field": (AROUND('<w:fldSimple w:instr="QUOTE lost"/>'), {"field instruction": 1}),
    "a reading aid": (
        AROUND(f"<w:r><w:ruby><w:rt>{LOST}</w:rt><w:rubyBase/></w:ruby></w:r>"),
        {"reading aid": 1},
    ),
    "a list of choices": (
        '<w:sdt><w:sdtPr><w:dropDownList><w:listItem w:displayText="lost"/></w:dropDownList></w:sdtPr></w:sdt>',
        {"content control": 1},
    ),
    "a control without words": ('<w:sdt><w:sdtPr><w:id w:val="1"/></w:sdtPr></w:sdt>', {}),
    "bookmarks": (
        AROUND('<w:bookmarkStart w:name="lost"/><w:bookmarkStart w:name="_GoBack"/>'),
        {"bookmark": 1},
    ),
    "a link": (AROUND('<w:hyperlink w:anchor="lost"/>'), {"link target": 1}),
}


@pytest.mark.parametrize(("body", "expected"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_is_left_out_of_the_text_is_counted(body, expected):
    source = opened(zipped(simple(paragraph("well") + body)))
    assert source.doc.text.strip() == "well"
    assert source.removed == expected


def test_removed_parts_are_counted_by_kind_without_names():
    removed = opened(zipped(hostile(canaries()))).removed
    assert removed["image"] == removed["macro"] == removed["chart"] == removed["signature"] == 1
    assert removed["properties"] == 3
    assert CANARY not in repr(removed)


def test_the_output_is_the_same_bytes_and_shows_no_time():
    data = zipped(hostile(canaries()))
    written, again = through(data)[0], through(data)[0]
    assert written == again
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        assert not archive.comment
        for info in archive.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert not info.extra
            assert not info.comment


def test_every_reference_of_the_output_has_its_part_and_every_part_its_type():
    parts = unpacked(through(zipped(hostile(canaries())))[0])
    types = etree.fromstring(parts["[Content_Types].xml"])
    named = {node.get("PartName") for node in types.iter("{*}Override")}
    assert named == {
        f"/{name}" for name in parts if not name.endswith(".rels") and name != "[Content_Types].xml"
    }
    related = etree.fromstring(parts["word/_rels/document.xml.rels"])
    targets = {node.get("Id"): f"word/{node.get('Target')}" for node in related}
    assert set(targets.values()) == {name for name in parts if name.startswith("word/")} - {
        "word/document.xml",
        "word/_rels/document.xml.rels",
    }
    root = etree.fromstring(parts["word/document.xml"])
    used = {value for node in root.iter() for name, value in node.attrib.items() if "relationships}" in name}
    assert used <= set(targets)
    for kind in ("footnote", "endnote", "comment"):
        notes = etree.fromstring(parts[f"word/{kind}s.xml"])
        ids = {node.get(next(name for name in node.attrib if name.endswith("}id"))) for node in notes}
        references = root.iter(f"{{*}}{kind}Reference")
        assert {next(iter(node.attrib.values())) for node in references} == ids


def changed(**flags):
    """Return a zip whose entries have other fields in the central directory."""
    data = bytearray(zipped(simple(paragraph(CANARY))))
    entry = data.find(b"PK\x01\x02")
    while entry >= 0:
        for place, value in flags.items():
            data[entry + {"flags": 8, "method": 10}[place]] = value
        entry = data.find(b"PK\x01\x02", entry + 1)
    return bytes(data)


def with_names(*names):
    return zipped({**simple(paragraph(CANARY)), **dict.fromkeys(names, b"x")})


DTD = b'<!DOCTYPE a [<!ENTITY x "' + CANARY.encode() + b'">]>'
DOCUMENT = "word/document.xml"
REFUSED = {
    "old or encrypted": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + CANARY.encode(), "password"),
    "text": (CANARY.encode(), "damaged"),
    "cut": (zipped(simple(paragraph(CANARY)))[:-30], "damaged"),
    "encrypted zip": (changed(flags=1), "password"),
    "unknown compression": (changed(method=99), "damaged"),
    "other zip": (zipped({"a.txt": CANARY.encode()}), "no Word document"),
    "leaves its folder": (with_names(f"../{CANARY}"), "names"),
    "absolute": (with_names(f"/{CANARY}"), "names"),
    "drive": (with_names(f"C:{CANARY}"), "names"),
    "doubled": (with_names("WORD/Document.xml"), "names"),
    "bomb": (zipped({**simple(""), "word/media/a.bmp": b"\0" * 40_000_000}), "harmful"),
    "many parts": (with_names(*map(str, range(MAX_PARTS))), "parts"),
    "broken XML": (zipped({**simple(""), DOCUMENT: f"<a>{CANARY}".encode()}), "damaged"),
    "entities": (
        zipped({**simple(""), DOCUMENT: DTD + part("document", "<w:body>&x;</w:body>")[38:]}),
        "type declaration",
    ),
    "outer entities": (
        zipped({**simple(""), DOCUMENT: b'<!DOCTYPE a SYSTEM "/etc/hostname">' + part("document", "")[38:]}),
        "type declaration",
    ),
    "too deep": (zipped(simple("<w:sdt>" * 400 + "</w:sdt>" * 400)), "damaged"),
    "strict": (
        zipped(
            {**simple(""), DOCUMENT: b'<document xmlns="http://purl.oclc.org/ooxml/wordprocessingml/main"/>'}
        ),
        "strict",
    ),
    "main part outside": (
        zipped(
            {**simple(""), "_rels/.rels": relations(("a", "officeDocument", "word/document.xml", "External"))}
        ),
        "no Word document",
    ),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_used_is_an_error_with_a_remedy_and_without_text(data, message):
    with pytest.raises(FormatError, match=message) as caught:
        opened(data)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_elements_nested_as_deeply_as_the_parser_allows_are_read_or_refused():
    body = "<w:tbl><w:tr><w:tc>" * 80 + paragraph("deep") + "</w:tc></w:tr></w:tbl>" * 80
    assert text_of(through(zipped(simple(body)))[0]) == "deep" + "\n" * 80


def test_nothing_shows_the_text_of_an_open_file():
    source = opened(zipped(hostile(canaries())))
    text, slots = read_text(
        [etree.fromstring(f"<body xmlns='{W[1:-1]}'><p><r><t>{CANARY}</t></r></p></body>")]
    )
    assert text == CANARY
    assert CANARY not in repr(source) + repr(source.sink(io.BytesIO())) + repr(slots)


@pytest.mark.slow
@pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not installed")
def test_libreoffice_opens_the_output(tmp_path):
    path = tmp_path / "letter.docx"
    path.write_bytes(through(zipped(hostile(canaries())))[0])
    (opened,) = convert([path], "pdf", tmp_path)
    assert opened.stat().st_size > 1000


def test_a_failed_document_is_masked_from_end_to_end():
    data = zipped(simple(paragraph("BROKENSTAGE seen today")))
    assert text_of(through(data, FakeMasker(lambda word: True))[0]) == "PHI"


def test_text_that_is_not_understood_is_left_out_and_counted():
    unknown = (
        f"<w:p><w:strange>{run(CANARY)}</w:strange>{run('seen')}</w:p><w:odd>{paragraph(CANARY)}</w:odd>"
    )
    moved = f"<w:p><w:moveFrom>{run('gone')}</w:moveFrom>{run('here')}</w:p>"
    source = opened(zipped(simple(unknown + moved)))
    assert source.doc.text == "seen\nhere"
    assert source.removed["text in an unknown place"] == 2
