"""Vectors of an encoder, computed once and read by the extractors."""

import numpy as np
import pytest
from tiny_extractors import BOTH, document, documents, vectors

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.research.extraction.concepts import CONCEPTS
from inverse_deid.research.extraction.contextual import StoredVectors, store_vectors
from inverse_deid.research.extraction.passages import PassageMaker

TYPES = {CONCEPTS: BOTH[CONCEPTS]}


def test_stored_vectors_are_those_of_the_passage(tmp_path):
    torch = pytest.importorskip("torch")
    from transformers import BertConfig, BertModel

    torch.manual_seed(1)
    sizes = {"hidden_size": 8, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 8}
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "took", "rash", "day", "and", "mr", "mrs"]
    BertModel(BertConfig(vocab_size=len(pieces), **sizes)).save_pretrained(tmp_path / "bert")
    (tmp_path / "bert" / "vocab.txt").write_text("\n".join(pieces))
    docs = documents(0, 3)
    assert store_vectors([doc.doc.text for doc in docs], tmp_path / "bert", tmp_path / "v.npz") == 3
    stored = StoredVectors(tmp_path / "v.npz")
    passages = [one for doc in docs for one in PassageMaker(vectors(), TYPES, [stored]).encode_gold(doc)]
    took = [one.example.features[list(one.example.words).index("took")] for one in passages]
    assert stored.dim == 8
    assert not np.allclose(took[0], took[1], atol=1e-4)  # it depends on the other words
    with pytest.raises(ConfigurationError, match="lacks a passage"):
        PassageMaker(vectors(), TYPES, [stored]).encode_gold(document(4))
