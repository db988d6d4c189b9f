"""Vectors of words and of their parts, with an invented learner in the place of gensim."""

import gzip
import json
import sys
from types import MappingProxyType, ModuleType, SimpleNamespace

import build_subword_vectors as script
import numpy as np
import pytest

from inverse_deid.training.run import load_word_vectors


@pytest.fixture
def learned(monkeypatch):
    """What was learned from; a word has its length and its number of e's as vector, seen or not."""
    given = []

    class Vectors(dict):
        key_to_index = MappingProxyType({"fever": 0})

        def __missing__(self, word):
            vector = np.array([len(word), word.count("e")], np.float32)
            return vector * 1e-6 if word == "märz" else vector

    def learn(texts, **options):
        given.append((list(texts), options))
        return SimpleNamespace(wv=Vectors())

    models = ModuleType("gensim.models")
    models.FastText = learn
    monkeypatch.setitem(sys.modules, "gensim", ModuleType("gensim"))
    monkeypatch.setitem(sys.modules, "gensim.models", models)
    return given


def write(path, *texts):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())
    return path


def test_frequent_words_and_all_of_the_documents_have_vectors(tmp_path, learned, capsys):
    shared = "one two three four five six seven eight nine ten"
    narratives = write(
        tmp_path / "a.jsonl.gz", "Fever, fever", f"so {shared}", "fever and 25mg 25mg 25mg", "a rash"
    )
    documents = [
        write(tmp_path / "train.jsonl", "Seen by Orvik", shared),
        write(tmp_path / "dev.jsonl", "2 rashes in März"),
    ]
    script.main(str(tmp_path / "out.npz"), ",".join(map(str, documents)), str(narratives))
    found = load_word_vectors(tmp_path / "out.npz")
    words = found.words
    assert set(words) == {"fever", "by", "orvik", "rashes", "seen", "in", *shared.split()}  # not märz
    assert words[0] == "fever" and list(words[1:]) == sorted(words[1:])
    expected = [[len(word), word.count("e")] for word in words]
    assert found.matrix()[1:] == pytest.approx(np.array(expected), abs=0.05)
    [(texts, options)] = learned
    assert texts == [["fever", "fever"], ["fever", "and", "25mg", "25mg", "25mg"], ["a", "rash"]]
    assert options == {
        "vector_size": 100,
        "sg": 1,
        "min_count": 3,
        "min_n": 3,
        "max_n": 6,
        "epochs": 5,
        "seed": 1,
        "workers": 1,
    }
    printed = capsys.readouterr().out
    assert f"{len('so ' + shared)} of " in printed and "16 words, 15 of them made from" in printed
