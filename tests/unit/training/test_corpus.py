import json

import pytest

from inverse_deid.core.errors import InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training.corpus import (
    hold_out_patients,
    near_duplicate_groups,
    read_annotated,
    split_by_group,
    without_near_duplicates,
    without_shared_passages,
)

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


def test_a_phrase_of_many_documents_joins_none():
    phrase = "no further information could be obtained by the reporter of this case"
    many = [Document(f"d{i}", f"{phrase} {i}") for i in range(8)]
    assert len(set(near_duplicate_groups(many))) == 8
    assert len(set(near_duplicate_groups(many[:3]))) == 1


def test_what_is_trained_on_shares_nothing_with_what_is_held_out():
    text = "rash on both arms two hours after the second dose of that vaccine"
    apart = [Document("held", text)]
    training = [
        Document("held", "another text"),
        Document("twin", f"Pt had {text}."),
        Document("other", "well"),
    ]
    assert [doc.id for doc in without_near_duplicates(training, apart)] == ["other"]


def test_a_shared_head_is_cut_and_the_rest_of_the_document_stays():
    head = "Referred by the ward for bones of the house on the hill"
    letter = Document(
        "a", f"{head}\nSeen by Zora", (PhiSpan(50, 54, PhiType.CITY), PhiSpan(64, 68, PhiType.PATIENT))
    )
    (left,) = without_shared_passages([letter], [Document("b", f"{head}.")])
    assert (left.text, left.spans) == ("Seen by Zora", (PhiSpan(8, 12, PhiType.PATIENT),))


def test_documents_of_a_held_out_patient_are_left_out_whole():
    name = (PhiSpan(0, 11, PhiType.PATIENT),)
    ours, theirs = (Document(i, f"Ann Lindero {state}", name) for i, state in (("a", "well"), ("b", "ill")))
    assert without_shared_passages([ours, Document("c", "well")], [theirs])[0].id == "c"


def test_a_phrase_of_many_documents_excludes_none():
    phrase = "no further information could be obtained by the reporter of this case"
    training = [Document(f"d{i}", f"{phrase} {i}") for i in range(8)]
    assert without_near_duplicates(training, [Document("held", phrase)]) == training


def test_copies_are_no_phrases_however_many():
    text = "The same few words."
    copies = [Document(f"d{i}", text.upper() if i % 2 else text) for i in range(8)]
    assert len(set(near_duplicate_groups(copies))) == 1
    assert without_near_duplicates(copies, [Document("held", text)]) == []


def test_whole_patients_are_held_out():
    names = [f"Zorvald Quentiss{chr(97 + i)}" for i in range(20)]
    docs = [
        Document(f"v-{i}", f"{names[i % 20]} w{i}", (PhiSpan(0, 17, PhiType.PATIENT),)) for i in range(60)
    ]
    train, out = hold_out_patients(docs, 0.2, seed=1)
    assert sorted(doc.id for doc in [*train, *out]) == sorted(doc.id for doc in docs)
    assert 12 <= len(out) <= 14  # groups of three
    patients = [{doc.text[: doc.spans[0].end] for doc in some} for some in (train, out)]
    assert not patients[0] & patients[1]
    assert hold_out_patients(docs, 0.2, seed=2)[1] != out
