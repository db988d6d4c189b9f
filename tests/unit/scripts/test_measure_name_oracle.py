"""What an attacker learns of a name is counted as defined."""

import json
import math

import measure_name_oracle
import pytest
from fake_maskers import FakeMasker
from measure_name_oracle import Passes, measure
from name_oracles import SURNAMES, clean_sentences, invent_documents, learn


@pytest.mark.parametrize(
    ("outputs", "bits", "ruled_out"),
    [
        (["x"] * 30, 0, 0),
        ([str(n) for n in range(30)], math.log2(30), 29),
        (["x"] * 15 + ["y"] * 15, 1, 15),
    ],
)
def test_bits_and_names_ruled_out(outputs, bits, ruled_out):
    found = learn(outputs)
    assert found.bits == pytest.approx(bits)
    assert found.n_ruled_out == pytest.approx(ruled_out)


def test_sentences_with_a_mark_are_left_out(tmp_path):
    text = "A rash was seen on both of her arms. It was shown to Dr. Ek by her mother. She was well the day after that."
    start = text.index("Ek")
    gold = tmp_path / "gold.jsonl"
    gold.write_text(json.dumps({"id": "a", "text": text, "spans": [{"start": start, "end": start + 2}]}))
    assert clean_sentences(gold) == [
        "A rash was seen on both of her arms.",
        "She was well the day after that.",
    ]


def test_documents_have_their_length_and_name_their_person_again():
    sentences = ["The rash was seen on both of her arms."]
    found = invent_documents(sentences, 400, 3, seed=1)
    assert found == invent_documents(sentences, 400, 3, seed=1)
    assert all(390 < len(one.split()) < 430 and one.count("{}") >= 3 for one in found)


class Telling(FakeMasker):
    """Masks `rash` beside a long name, and in a second pass everywhere."""

    def _mask(self, doc):
        is_told = any(len(name) > 9 and name in doc.text for name in SURNAMES) or "PHI" in doc.text
        self._keeps = lambda word: word not in SURNAMES and word != "PHI" and not (is_told and word == "rash")
        return super()._mask(doc)


def test_what_a_second_pass_closes_is_seen():
    figures = measure(Telling(str.islower), ["{} had a rash"])
    assert [figures[name].learnt[0].n_outputs for name in measure_name_oracle.PASSES] == [2, 1, 1]
    assert figures["one pass"].n_masked < figures["second pass"].n_masked == 30
    assert figures["one pass"].n_shown == 0


def test_passes_are_repeated_until_nothing_changes():
    passes = Passes(Telling(str.islower))
    assert passes.repeat(["PHI had a rash"], 1) == [("PHI had a PHI", 1)]
    assert passes.repeat(["PHI had a rash"], 10) == [("PHI had a PHI", 1)]
