"""Vectors of an encoder, computed once and read by the extractors."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from click.testing import CliRunner
from reference_encoders import SIZE, encode, write_tiny
from tiny_extractors import BOTH, document, documents, vectors

from inverse_deid.core.errors import ConfigurationError
from inverse_deid_research.commands.extraction import embed
from inverse_deid_research.extraction.concepts import CONCEPTS
from inverse_deid_research.extraction.contextual import StoredVectors, store_vectors
from inverse_deid_research.extraction.passages import PassageMaker

TYPES = {CONCEPTS: BOTH[CONCEPTS]}
VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] . mrs okon ##kwo took on day and had rash"
TEXT = "Mrs Okonkwo took Velmo on day 0 and had rash."
TEXT_IN_PIECES = "[CLS] mrs okon ##kwo took [UNK] on day [UNK] and had rash . [SEP]"
PIECES = VOCABULARY.split()


@pytest.fixture
def bert(tmp_path):
    folder = write_tiny(tmp_path / "bert", pieces=PIECES, n_layers=5)
    return folder


def test_a_word_has_the_mean_of_four_layers_at_its_first_piece(bert, tmp_path):
    doc = document(0)
    assert doc.doc.text == TEXT
    store_vectors([doc.doc.text], bert, tmp_path / "v.npz")
    maker = PassageMaker(vectors(), TYPES, [StoredVectors(tmp_path / "v.npz")])
    (passage,) = maker.encode_gold(doc)
    row = [PIECES.index(piece) for piece in TEXT_IN_PIECES.split()]
    mean = np.mean(encode(bert, row)[-4:], axis=0)
    np.testing.assert_allclose(passage.example.features, mean[[1, 2, *range(4, 12)]], atol=2e-3)


def test_vectors_depend_on_the_other_words(bert, tmp_path):
    docs = documents(0, 3)
    assert store_vectors([doc.doc.text for doc in docs], bert, tmp_path / "v.npz") == 3
    stored = StoredVectors(tmp_path / "v.npz")
    passages = [one for doc in docs for one in PassageMaker(vectors(), TYPES, [stored]).encode_gold(doc)]
    took = [one.example.features[list(one.example.words).index("took")] for one in passages]
    assert stored.dim == SIZE
    assert not np.allclose(took[0], took[1], atol=1e-4)


def test_a_passage_that_was_not_stored_is_named(bert, tmp_path):
    store_vectors([document(0).doc.text], bert, tmp_path / "v.npz")
    with pytest.raises(ConfigurationError, match="lacks a passage"):
        PassageMaker(vectors(), TYPES, [StoredVectors(tmp_path / "v.npz")]).encode_gold(document(4))


def test_a_gpu_that_is_missing_is_named(bert, tmp_path):
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "took", "spans": [], "concepts": []}\n')
    arguments = ["--weights", bert, "-o", tmp_path / "v.npz", "--device", "cuda"]
    done = CliRunner().invoke(embed, [str(a) for a in (tmp_path / "a.jsonl", *arguments)])
    assert isinstance(done.exception, ConfigurationError)
    assert "finds no NVIDIA GPU" in str(done.exception)
    assert not (tmp_path / "v.npz").exists()
