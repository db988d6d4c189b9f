import io
import json

import pytest
from fake_maskers import mask_capitals
from refusals import refuses

from inverse_deid.core.errors import AnnotationError, ConfigurationError, FormatError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import PhiSpan
from inverse_deid.engine.masker import mask_records
from inverse_deid.formats.beside.explanation import ExplanationSink
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.tables.json_lines import read_gold_json_lines, read_json_lines


def results(data: bytes, **options):
    source = read_json_lines(io.BytesIO(data), ReadOptions(**options))
    records = list(source.records())
    return source, list(zip(records, mask_records(mask_capitals(), records), strict=True))


def written(data: bytes, **options) -> list[dict]:
    source, pairs = results(data, **options)
    target = io.BytesIO()
    for pair in pairs:
        source.sink(target).write(*pair)
    return [json.loads(line) for line in target.getvalue().splitlines()]


def test_output_has_exactly_id_and_text_and_masks_only_if_asked():
    line = b'{"meta": "Ann", "text": "saw Ann \\ud83d\\ude00 Li", "id": "a", "spans": []}'
    expected = {"id": "a", "text": "saw PHI \u25a1 PHI"}
    assert written(line) == [expected]
    assert written(line, with_offsets=True) == [{**expected, "masks": [[4, 7], [8, 9], [10, 12]]}]


@pytest.mark.parametrize(("given", "expected"), [('"a"', "a"), ("7", 7), ("null", "1"), ("0", 0), ('""', "")])
def test_ids_keep_their_type(given, expected):
    assert written(f'{{"id": {given}, "text": "x"}}'.encode())[0]["id"] == expected


def test_missing_ids_are_line_numbers_and_blank_lines_count():
    assert [d["id"] for d in written(b'\n{"text": "x"}\r\n\n{"text": "y"}')] == ["2", "4"]


def test_other_keys_can_be_named():
    line = b'{"case": 5, "narrative": "well"}'
    assert written(line, text_columns=("narrative",), id_column="case")[0] == {
        "id": 5,
        "text": "well",
    }


def test_explanations_hold_no_text_unless_asked():
    _, pairs = results(b'{"id": 3, "text": "saw Ann"}')
    plain, full = io.BytesIO(), io.BytesIO()
    ExplanationSink(plain).write(*pairs[0])
    ExplanationSink(full, with_text=True).write(*pairs[0])
    assert json.loads(plain.getvalue()) == {
        "id": 3,
        "failed": False,
        "words": [
            {"start": 0, "end": 3, "decision": "keep", "category": None},
            {"start": 4, "end": 7, "decision": "mask", "category": "NAME"},
        ],
    }
    assert json.loads(full.getvalue()) == {
        "id": 3,
        "tokens": [
            {
                "start": 0,
                "end": 3,
                "decision": "keep",
                "reason": "KEPT_SAFE_WORD",
                "p_safe": 0.987654,
                "threshold": 0.9,
                "text": "saw",
            },
            {
                "start": 4,
                "end": 7,
                "decision": "mask",
                "reason": "BELOW_THRESHOLD",
                "p_safe": None,
                "threshold": None,
                "text": "Ann",
            },
        ],
    }


def test_an_explained_marker_is_one_word_whatever_it_hides():
    texts = ("by Li, Ann-Mae Wu \u24d9", "by Bo, A \u24d9\u24d9")
    lines = []
    for text in texts:
        _, pairs = results(json.dumps({"id": 3, "text": text}).encode())
        target = io.BytesIO()
        ExplanationSink(target).write(*pairs[0])
        lines.append(json.loads(target.getvalue()))
    assert lines[0] == lines[1]
    assert [(word["start"], word["end"]) for word in lines[0]["words"]] == [(0, 2), (3, 6), (8, 11)]


def test_gold_spans_are_read_in_order():
    spans = '[{"start": 4, "end": 6, "type": "CITY"}, {"start": 0, "end": 3, "type": "PATIENT"}]'
    (doc,) = read_gold_json_lines(io.BytesIO(f'{{"id": 1, "text": "Ann Li", "spans": {spans}}}'.encode()))
    assert doc.spans == (PhiSpan(0, 3, PhiType.PATIENT), PhiSpan(4, 6, PhiType.CITY))


@pytest.mark.parametrize("spans", ['[{"start": 0}]', '[{"start": 0, "end": 1, "type": "X"}]', '"x"', "[1]"])
def test_gold_spans_that_cannot_be_read_name_the_line(spans):
    with pytest.raises(AnnotationError, match="line 1, document 1"):
        list(read_gold_json_lines(io.BytesIO(f'{{"text": "Ann", "spans": {spans}}}'.encode())))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": 1, "text": "Ann \xe9"}', "line 1 is not utf-8 text. Save the file as UTF-8.$"),
        (b'{"id": 1, "narrative": "Ann"}', 'line 1 has no text. A document is {"id", "text", "spans"}.$'),
    ],
)
def test_gold_that_cannot_be_used_is_told_apart_without_options_of_mask(line, message):
    with refuses(FormatError, match=message):
        list(read_gold_json_lines(io.BytesIO(line)))


def test_the_narrative_is_never_its_own_id():
    assert written(b'{"id": "saw Ann"}', text_columns=("id",)) == [{"id": "1", "text": "saw PHI"}]
    with refuses(ConfigurationError, match="--id-column"):
        ReadOptions(id_column="text")
