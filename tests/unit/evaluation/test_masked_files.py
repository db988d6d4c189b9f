import gzip
import io
import json

import pytest
from fake_maskers import CANARY, mask_capitals
from refusals import refuses

from inverse_deid.core.errors import AnnotationError, InputError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.masked_files import MaskedOutput, is_masked_form, masks_by_id, read_masked
from inverse_deid.formats.i2b2_xml import AnnotationXmlSink
from inverse_deid.formats.records import Record

TEXT = f"seen: {CANARY} was well"
MASKS = ((6, 6 + len(CANARY)),)
LINE = {"id": "a", "text": "seen: PHI was well", "masks": [list(MASKS[0])]}


def annotation_xml(text=TEXT):
    doc = Document("a.xml", text)
    target = io.BytesIO()
    AnnotationXmlSink(target).write(Record(1, (doc,)), mask_capitals().mask_many([doc]))
    return target.getvalue()


def test_json_lines_are_read_plain_and_gzipped(tmp_path):
    line = json.dumps(LINE).encode()
    (tmp_path / "a.jsonl").write_bytes(line + b"\n\n")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line))
    for name in ("a.jsonl", "a.jsonl.gz"):
        assert read_masked(tmp_path / name) == [MaskedOutput("a", MASKS, LINE["text"])]


def test_a_whole_number_is_an_id_and_a_line_without_one_is_known_by_its_number(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 7, "masks": []}\n\n{"masks": []}\n')
    assert [output.id for output in read_masked(path)] == ["7", "3"]


def test_annotation_xml_holds_masks_and_the_original(tmp_path):
    (tmp_path / "a.xml").write_bytes(annotation_xml())
    assert read_masked(tmp_path) == [MaskedOutput("a.xml", MASKS, TEXT)]


def test_a_folder_is_read_without_explanations_and_hidden_files(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.xml").write_bytes(annotation_xml())
    (tmp_path / "a.jsonl").write_text(json.dumps(LINE))
    for name in ("a.jsonl.explain.jsonl", ".a.jsonl.partial", ".inverse.jsonl", "notes.md", "a.csv"):
        (tmp_path / name).write_text(CANARY)
    assert [output.id for output in read_masked(tmp_path)] == ["a", "b.xml"]


@pytest.mark.parametrize(
    "line",
    [
        CANARY,
        f'"{CANARY}"',
        f'{{"id": "a", "text": "{CANARY}"}}',
        f'{{"id": "a", "masks": [["{CANARY}", 4]]}}',
        '{"id": "a", "masks": [[1, 2, 3]]}',
        '{"id": "a", "masks": [[true, 2]]}',
        '{"id": "a", "masks": [[1.0, 2]]}',
        f'{{"id": ["{CANARY}"], "masks": []}}',
        '{"id": true, "masks": []}',
        f'{{"id": "a", "masks": [], "text": ["{CANARY}"]}}',
        "\udcff",
    ],
)
def test_a_bad_line_is_named_and_not_shown(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": "first", "masks": []}\n' + line.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"a\.jsonl: line 2 ") as caught:
        read_masked(path)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("none.jsonl", None),
        ("empty.jsonl", b""),
        ("cut.jsonl.gz", gzip.compress(json.dumps(LINE).encode())[:-9]),
        ("broken.xml", f"<a><TEXT>{CANARY}</a>".encode()),
        ("letter.docx", CANARY.encode()),
    ],
)
def test_a_bad_file_is_named_and_not_shown(tmp_path, name, data):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=name) as caught:
        read_masked(path)
    assert CANARY not in str(caught.value)


def test_a_folder_without_masks_says_what_to_give(tmp_path):
    (tmp_path / "a.csv").write_text(CANARY)
    with refuses(
        InputError, match=r"no masks found\. Give the output of `inverse-deid mask` with --offsets, or"
    ):
        read_masked(tmp_path)


@pytest.mark.parametrize("text", [None, TEXT, "seen: PHI was well", "seen: [NAME] was well"])
def test_a_text_that_fits_is_taken(text):
    assert masks_by_id([Document("a", TEXT)], [MaskedOutput("a", MASKS, text)]) == {"a": MASKS}


@pytest.mark.parametrize("text", ["seen: PHI was ill", "she: PHI was well", "", "seen: was well"])
def test_a_text_that_does_not_fit_is_refused_and_named(text):
    with refuses(AnnotationError, match=r"does not fit gold text and masks: document a\.") as caught:
        masks_by_id([Document("a", TEXT)], [MaskedOutput("a", MASKS, text)])
    assert CANARY not in str(caught.value)


def test_masks_out_of_range_and_ids_twice_are_refused():
    doc = Document("a", TEXT)
    with pytest.raises(AnnotationError, match="mask 0-999"):
        masks_by_id([doc], [MaskedOutput("a", ((0, 999),), "PHI")])
    with pytest.raises(AnnotationError, match=r"masked more than once: document a\."):
        masks_by_id([doc], [MaskedOutput("a", ()), MaskedOutput("a", MASKS)])


@pytest.mark.parametrize(
    ("masked", "masks", "fits"),
    [
        ("PHI PHI c", [(0, 1), (2, 3)], True),
        ("PHI c", [(0, 3)], True),
        ("PHI c", [(2, 3), (0, 2), (1, 3)], True),  # unsorted, overlapping, touching
        ("a PHI", [(2, 5)], True),
        ("PHI", [(0, 5)], True),
        ("a b d", [], False),
        ("a b PHI", [(2, 3)], False),
        ("PHI bc", [(0, 1)], False),
        ("a c", [(0, 1), (4, 5)], False),
        ("PHI c b PHI", [(0, 1), (4, 5)], True),  # a marker may be anything
    ],
)
def test_a_masked_form_differs_in_the_masks_alone(masked, masks, fits):
    assert is_masked_form(masked, "a b c", masks) is fits
