import json

import pytest

from inverse_deid.core.errors import InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.learning.corpus import near_duplicate_groups, read_annotated, split_by_group

CANARY = "Zebulonova"


def docs(n):
    return [Document(f"d{i}", f"note {i} about case {i}") for i in range(n)]


def test_the_split_keeps_groups_together_and_depends_on_no_order():
    shared = "the same ten words stand in both of these two documents"
    twins = [Document("t1", shared), Document("t2", "later " + shared)]
    for seed in range(20):
        rest, held_out = split_by_group([*docs(30), *twins], 0.3, seed)
        assert len(rest) + len(held_out) == 32
        assert ("t1" in {d.id for d in rest}) == ("t2" in {d.id for d in rest})
        again = split_by_group([*twins, *reversed(docs(30))], 0.3, seed)
        assert {d.id for d in again[1]} == {d.id for d in held_out}


def test_documents_of_one_patient_form_a_group():
    def of_patient(doc_id, text):
        return Document(doc_id, text, (PhiSpan(0, 11, PhiType.PATIENT),))

    groups = near_duplicate_groups([of_patient("a", "Ann Lindero well"), of_patient("b", "Ann Lindero ill")])
    assert groups == [0, 0]


def test_no_share_holds_nothing_out():
    assert split_by_group(docs(5), 0.0, 1)[1] == []


@pytest.mark.parametrize(
    "line",
    [
        "{broken",
        json.dumps({"id": "1"}),
        json.dumps({"id": "1", "text": CANARY, "spans": [{"start": 0, "end": 99, "type": "PATIENT"}]}),
        json.dumps({"id": "1", "text": CANARY, "spans": [{"start": 5, "end": 2, "type": "PATIENT"}]}),
        json.dumps({"id": "1", "text": CANARY, "spans": [{"start": 0, "end": 2, "type": "PLANET"}]}),
        json.dumps(
            {
                "id": "1",
                "text": CANARY,
                "spans": [{"start": 0, "end": 4, "type": "CITY"}, {"start": 2, "end": 6, "type": "CITY"}],
            }
        ),
        "",
    ],
)
def test_bad_annotation_is_refused_and_the_file_named(tmp_path, line):
    path = tmp_path / "gold.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"gold\.jsonl") as caught:
        read_annotated(path)
    assert CANARY not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"missing\.jsonl"):
        read_annotated(tmp_path / "missing.jsonl")
