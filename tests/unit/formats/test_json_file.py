"""JSON files: fields by path, lists, and all strings."""

import io
import json

import pytest
from fake_maskers import CANARY, mask_capitals

from inverse_deid.cli.parts.messages import describe_problem
from inverse_deid.core.errors import InputError
from inverse_deid.files.survey import survey_file
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.tables.json_file import read_json_file

NOTE = f"{CANARY} had a rash."
MASKED = "PHI had a rash."


def masked(content: object, name: str = "a.json", **options: object) -> tuple[object, list[str], list[str]]:
    """Return what is written, the ids, and the problems of what is not."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    source = read_json_file(io.BytesIO(data), ReadOptions(**options), name)
    target = io.BytesIO()
    sink = source.sink(target)
    ids, problems = [], []
    for record in source.records():
        if record.problem:
            problems.append(describe_problem(record.problem, record.remedies))
            continue
        ids += [doc.id for doc in record.docs]
        sink.write(record, mask_capitals().mask_many(record.docs))
    sink.finish()
    return json.loads(target.getvalue()) if target.getvalue().strip() else None, ids, problems


def test_an_object_keeps_its_shape():
    given = {"id": 7, "text": NOTE, "name": CANARY, "seen": True, "weight": 70.5}
    assert masked(given) == ({"id": 7, "text": MASKED}, ["7"], [])
    assert masked([given, {**given, "id": "b"}])[0] == [
        {"id": 7, "text": MASKED},
        {"id": "b", "text": MASKED},
    ]


def test_a_field_in_another_is_named_by_its_path():
    given = {
        "report": {"narrative": NOTE, "author": CANARY, "parts": [{"text": NOTE, "n": 1}, {"text": None}, 4]},
        CANARY: {CANARY: CANARY},
        "reports": {"narrative": CANARY},
    }
    names = ("report.narrative", "report.parts.text")
    found, ids, problems = masked(given, text_columns=names)
    assert found == {"report": {"narrative": MASKED, "parts": [{"text": MASKED}, {"text": None}, None]}}
    assert (ids, problems) == (["a.json", "a.json"], [])


def test_lists_of_texts_are_masked_text_by_text():
    assert masked({"text": [NOTE, "well", None, [NOTE]]})[0] == {"text": [MASKED, "well", None, [MASKED]]}


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (
            {"keep_unchecked": ("sex", "report.drug")},
            {"sex": "F", "report": {"narrative": MASKED, "drug": "x"}},
        ),
        (
            {"keep_unchecked": ("report",)},
            {"report": {"narrative": MASKED, "drug": "x", "more": {"deep": [1, {"a": 2}]}}},
        ),
        (
            {"keep_unchecked": ("sex", "report", "n")},
            {
                "sex": "F",
                "report": {"narrative": MASKED, "drug": "x", "more": {"deep": [1, {"a": 2}]}},
                "n": [1],
            },
        ),
    ],
)
def test_kept_fields_never_take_a_text_with_them(options, kept):
    given = {
        "sex": "F",
        "report": {"narrative": NOTE, "drug": "x", "more": {"deep": [1, {"a": 2}]}},
        "n": [1],
    }
    assert masked(given, text_columns=("report.narrative",), **options)[0] == kept


def test_all_strings_and_keys_can_be_masked():
    given = [
        {"seen by": CANARY, CANARY: 1, f"{CANARY} b": {"text": NOTE, "n": [1.5, True, None, "Ann", "well"]}}
    ]
    found, ids, problems = masked(given, all_cells=True, text_columns=("text",))
    assert CANARY not in json.dumps(found)
    assert found == [
        {"seen by": "PHI", "PHI": None, "PHI b": {"text": MASKED, "n": [None, None, None, "PHI", "well"]}}
    ]
    assert (ids, problems) == (["a.json 1"], [])


def test_keys_that_become_equal_are_numbered():
    given = {"Ann": "x", "Bob": "y", "Cid": "z"}
    assert masked(given, all_cells=True)[0] == {"PHI": "x", "PHI (2)": "y", "PHI (3)": "z"}


@pytest.mark.parametrize("text", [None, [], [None], [[None]]])
def test_a_null_text_is_an_empty_text(text):
    given = [{"id": 1, "text": text, "n": 1}, {"id": 2, "text": NOTE, "n": 2}]
    found, ids, problems = masked(given, keep_unchecked=("n",))
    assert found == [{"id": 1, "text": text, "n": 1}, {"id": 2, "text": MASKED, "n": 2}]
    assert (ids, problems) == (["1", "2"], [])


def test_what_is_left_out_of_a_list_keeps_the_place_of_the_others():
    given = {"drugs": ["x", {"name": "y"}, {"text": NOTE}, None, {"text": "well"}], "text": "well"}
    found = masked(given, text_columns=("text", "drugs.text"))[0]
    assert found["drugs"] == [None, {}, {"text": MASKED}, None, {"text": "well"}]


def test_all_strings_but_some():
    given = {"code": "A1", "report": {"code": "B2", "by": "Ann"}}
    assert masked(given, all_cells=True, keep_unchecked=("report.code",))[0] == {
        "code": "PHI",
        "report": {"code": "B2", "by": "PHI"},
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"id": 1, "narrative": NOTE}, "It has: id, narrative. Use --text-column"),
        ({"report": {"narrative": NOTE}}, "report.narrative"),
        ({"text": 5}, "no text under the key 'text'"),
        ({"text": {"a": NOTE}}, "no text under the key 'text'"),
        ({"text": NOTE, "id": [1]}, "id that is neither"),
        ([[NOTE]], "is not a JSON object"),
        ([NOTE], "is not a JSON object"),
    ],
)
def test_objects_that_cannot_be_used_are_left_out(given, words):
    found, _, (problem,) = masked(given)
    assert not found
    assert words in problem
    assert CANARY not in problem


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"text": "a", "text": "Zebulonova"}', "same key twice"),
        (b'{"text": NaN}', "not valid JSON"),
        (b'{"text": 1e999}', "not valid JSON"),
        (b'{"text": "Zebulonova', "not valid JSON"),
        (b'"Zebulonova"', "no JSON object"),
        (b"[]", "no JSON object"),
        (b"", "empty"),
        (b'{"text": "caf\xc3\xa9 na\xc3\xafve \xff"}', "not utf-8 text"),
        (b'{"text": "\\ud800"}', "half a character"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 80 + b"1" + b"}" * 80, "nested too deeply"),
        (b'{"text": "a"}\n{"text": "b"}', "not valid JSON"),
    ],
)
def test_files_that_cannot_be_read_are_refused(data, words):
    with pytest.raises(InputError, match=words) as refused:
        masked(data)
    assert CANARY not in str(refused.value)


def test_other_encodings_are_read():
    data = json.dumps({"text": "naïve " + NOTE}, ensure_ascii=False)
    assert masked(data.encode("utf-8-sig"))[0] == {"text": f"naïve {MASKED}"}
    assert masked(data.encode("cp1252"), encoding="cp1252")[0] == {"text": f"naïve {MASKED}"}


def test_the_fields_of_a_file_can_be_looked_at():
    given = [{"id": 1, "report": {"narrative": f"{NOTE} " * 9}}, {"id": 2, "report": {"narrative": "x"}}]
    found = survey_file("a.json", json.dumps(given).encode())
    assert [(one.name, one.is_narrative) for one in found.columns] == [
        ("id", False),
        ("report.narrative", True),
    ]


def test_a_text_in_lists_of_lists_is_not_kept_with_what_is_around_it():
    given = {"report": [{"a": [[{"text": NOTE}], "seen"]}, {"a": [{"text": NOTE}]}]}
    written, _, problems = masked(given, text_columns=("report.a.text",), keep_unchecked=("report",))
    assert problems == []
    assert written == {"report": [{"a": [[{"text": MASKED}], "seen"]}, {"a": [{"text": MASKED}]}]}


def test_two_texts_of_one_path_are_refused_and_not_taken_for_each_other():
    given = {"report.text": NOTE, "report": {"text": "Well."}}
    written, _, problems = masked(given, text_columns=("report.text",))
    assert written is None
    assert problems == ["has several fields with the path 'report.text'. Rename one."]
