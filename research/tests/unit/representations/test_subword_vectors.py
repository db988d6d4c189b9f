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
            return np.array([len(word), word.count("e")], np.float32)

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
    narratives = write(tmp_path / "a.jsonl.gz", "Fever, fever", "fever and 25mg 25mg 25mg", "a rash")
    documents = [write(tmp_path / "train.jsonl", "Seen by Orvik"), write(tmp_path / "dev.jsonl", "2 rashes")]
    script.main(str(tmp_path / "out.npz"), ",".join(map(str, documents)), str(narratives))
    found = load_word_vectors(tmp_path / "out.npz")
    assert found.words == ("fever", "by", "orvik", "rashes", "seen")
    assert found.matrix()[1:] == pytest.approx(np.array([[5, 2], [2, 0], [5, 0], [6, 1], [4, 2]]), abs=0.05)
    [(texts, options)] = learned
    assert texts == [["fever", "fever"], ["fever", "and", "25mg", "25mg", "25mg"], ["a", "rash"]]
    assert (options["workers"], options["min_count"]) == (1, script.MIN_COUNT)
    assert capsys.readouterr().out.startswith("5 words, 4 of them made of their parts")
