"""What is learned from never meets what is tested on."""

import pytest
from two_documents import write_gold

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid_research.comparison.comparison import read_training_documents

TEST = [
    Document("t1", "Jane Whitby went home.", (PhiSpan(0, 11, PhiType.PATIENT),)),
    Document("t2", "one two three four five six seven eight nine ten eleven"),
]
SAME_ID = Document("t1", "Zorath was well.", (PhiSpan(0, 6, PhiType.PATIENT),))
SAME_PATIENT = Document("x1", "Seen: WHITBY, Jane.", (PhiSpan(6, 18, PhiType.PATIENT),))
SAME_TEXT = Document("x2", "Then: one two three four five six seven eight nine ten.")
OTHER = Document("x3", "Zorath had a rash.", (PhiSpan(0, 6, PhiType.PATIENT),))


@pytest.fixture
def held_out(tmp_path):
    return write_gold(tmp_path / "test.jsonl", TEST)


def test_what_belongs_together_with_a_test_document_is_left_out_and_told(tmp_path, held_out):
    mixed = write_gold(tmp_path / "mixed.jsonl", [SAME_ID, OTHER, SAME_PATIENT, SAME_TEXT])
    clean = write_gold(tmp_path / "clean.jsonl", [Document("y", "No rash.")])
    said = []
    kept = read_training_documents([mixed, clean], held_out, TEST, said.append)
    assert [doc.id for doc in kept] == ["x3", "y"]
    assert kept[0].spans == OTHER.spans
    assert said == [
        f"{mixed}: 3 of 4 documents are left out: they share id, patient or text with test documents"
    ]


@pytest.mark.parametrize(
    ("docs", "message"),
    [
        ([SAME_ID, SAME_TEXT], "no document is left to learn from"),
        ([Document("x", "A rash.")], "contain no PHI"),
        ([Document("x", "Zorath", (PhiSpan(0, 6, PhiType.PATIENT),))], "contain nothing but PHI"),
    ],
)
def test_nothing_to_learn_from_is_refused(tmp_path, held_out, docs, message):
    train = write_gold(tmp_path / "train.jsonl", docs)
    with pytest.raises(ConfigurationError, match=message):
        read_training_documents([train], held_out, TEST, lambda line: None)


def test_the_test_file_under_another_name_and_a_file_given_twice_are_refused(tmp_path, held_out):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(held_out.read_bytes())
    with pytest.raises(ConfigurationError, match=r"copy.jsonl: has the content of the test file"):
        read_training_documents([copy], held_out, TEST, lambda line: None)
    train = write_gold(tmp_path / "train.jsonl", [OTHER])
    with pytest.raises(ConfigurationError, match=r"train.jsonl: has the content of .*train.jsonl"):
        read_training_documents([train, train], held_out, TEST, lambda line: None)
