"""Documents with concepts are read in every layout, and what is broken is named."""

import pytest

from inverse_deid.core.errors import InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid_research.extraction.concepts import ConceptDocument, ConceptSpan, drop_overlaps
from inverse_deid_research.extraction.readers import ConceptLayout, read_concepts, render_json_line

CANARY = "Zebulonova"
RASH = ConceptSpan(5, 9, "Effect")


def marked(doc):
    return [(doc.doc.text[s.start : s.end], s.type) for s in doc.concepts]


def test_our_json_lines_come_back_equal(tmp_path):
    doc = ConceptDocument(
        Document("d", "Ann: rash, mild rash", (PhiSpan(0, 3, PhiType.PATIENT),)),
        (ConceptSpan(5, 9, "Effect"), ConceptSpan(11, 20, "Effect"), ConceptSpan(16, 20, "Effect")),
    )
    path = tmp_path / "a.jsonl"
    path.write_bytes(render_json_line(doc) * 2)
    assert read_concepts(path) == [doc, doc]


def test_phee_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1_2", "text": "mild rash", "spans": [{"start": 5, "end": 9, "type": "Effect"}]}')
    (doc,) = read_concepts(path, ConceptLayout.PHEE)
    assert doc.id == "1_2"
    assert doc.concepts == (RASH,)
    assert doc.doc.spans == ()


def test_brat_with_annotations_in_another_folder(tmp_path):
    (tmp_path / "txt").mkdir()
    (tmp_path / "ann").mkdir()
    (tmp_path / "txt" / "a.txt").write_text("tomó ácido fólico")
    (tmp_path / "ann" / "a.ann").write_text("T1\tNORMALIZABLES 5 17\tácido fólico\n#1\tnote\n")
    (doc,) = read_concepts(tmp_path)
    assert marked(doc) == [("ácido fólico", "NORMALIZABLES")]


def test_i2b2_2010(tmp_path):
    (tmp_path / "a.txt").write_text("Plan :\nno  chest pain on aspirin .\n")
    (tmp_path / "a.con").write_text(
        'c="chest pain" 2:1 2:2||t="problem"\nc="aspirin" 2:4 2:4||t="treatment"\n'
    )
    (doc,) = read_concepts(tmp_path)
    assert marked(doc) == [("chest pain", "problem"), ("aspirin", "treatment")]


def test_bio_of_several_documents(tmp_path):
    lines = [
        "-DOCSTART- O",
        "",
        "mild NN O",
        "rash NN B-Effect",
        "fever NN B-Effect",
        "",
        "gone O",
        "",
        "# newdoc id = x",
        "took O",
        "Velmo I_Drug",
    ]
    (tmp_path / "a.bio").write_text("\n".join(lines))
    first, second = read_concepts(tmp_path)
    assert (first.id, first.doc.text) == ("a-1", "mild rash fever\ngone\n")
    assert marked(first) == [("rash", "Effect"), ("fever", "Effect")]
    assert (second.id, marked(second)) == ("x", [("Velmo", "Drug")])


@pytest.mark.parametrize(
    ("files", "layout", "told"),
    [
        ({"a.jsonl": f'{{"id": "1", "text": "{CANARY}"}}'}, None, 'line 1 has no "concepts"'),
        ({"a.jsonl": f'{{"id": "1", "text": "{CANARY}", "concepts": [{{"start": 3, "end": 99, "type": "x"}}]}}'}, None, "concept 3-99 is empty, reversed or outside"),
        ({"a.jsonl": f'{{"text": "{CANARY}", "concepts": [[1, 2]]}}'}, None, "concept 1 cannot be read"),
        ({"a.jsonl": f'{{"text": "{CANARY}", "concepts": [{{"start": 0, "end": 2, "type": ""}}]}}'}, None, "has no type"),
        ({"a.jsonl": CANARY}, ConceptLayout.PHEE, "line 1 is not a document"),
        ({"a.bio": f"{CANARY}\n"}, None, "line 1 does not end with a label"),
        ({"a.bio": f"x O\n{CANARY} Drug\n"}, None, "line 2 does not end with a label"),
        ({"f/a.con": f'c="{CANARY}" 1:0 1:0||t="problem"'}, None, "has no text"),
        ({"f/a.txt": CANARY, "f/a.con": f'c="{CANARY}" 1:0 1:4||t="problem"'}, None, "names a token that the text does not have"),
        ({"f/a.txt": CANARY, "f/a.con": CANARY}, None, "line 1: cannot be read"),
        ({"f/a.txt": CANARY, "f/a.ann": f"T1\tDrug 0 99\t{CANARY}"}, None, "offsets are outside the text"),
        ({"f/a.txt": CANARY}, None, "says nothing about the layout"),
        ({"a.jsonl": "\n"}, None, "contains no documents"),
        ({"other": ""}, None, "says nothing about the layout"),
    ],
)  # fmt: skip
def test_what_is_broken_is_named_and_no_text_is_shown(tmp_path, files, layout, told):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    path = tmp_path / next(iter(files)).split("/")[0]
    with pytest.raises(InputError, match=r"^[^\n]*$") as raised:
        read_concepts(path, layout)
    assert told in str(raised.value)
    assert str(path) in str(raised.value)
    assert CANARY not in str(raised.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_concepts(tmp_path / "none.jsonl")


def test_of_nested_concepts_the_longer_one_stays():
    nested = [
        ConceptSpan(0, 9, "Effect"),
        ConceptSpan(2, 5, "Effect"),
        ConceptSpan(9, 12, "Drug"),
        ConceptSpan(0, 30, "Subject"),
    ]
    assert drop_overlaps(nested, ["Effect", "Drug"]) == (nested[0], nested[2])
