"""Vectors of an encoder, computed once and read by the extractors."""

import numpy as np
import pytest
from click.testing import CliRunner
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
    torch = pytest.importorskip("torch")
    from transformers import BertConfig, BertModel

    torch.manual_seed(1)
    sizes = {"hidden_size": 8, "num_hidden_layers": 5, "num_attention_heads": 2, "intermediate_size": 8}
    model = BertModel(BertConfig(vocab_size=len(PIECES), **sizes)).eval()
    model.save_pretrained(tmp_path / "bert")
    (tmp_path / "bert" / "vocab.txt").write_text("\n".join(PIECES))
    return model


def test_a_word_has_the_mean_of_four_layers_at_its_first_piece(bert, tmp_path):
    import torch

    doc = document(0)
    assert doc.doc.text == TEXT
    store_vectors([doc.doc.text], tmp_path / "bert", tmp_path / "v.npz")
    maker = PassageMaker(vectors(), TYPES, [StoredVectors(tmp_path / "v.npz")])
    (passage,) = maker.encode_gold(doc)
    row = [PIECES.index(piece) for piece in TEXT_IN_PIECES.split()]
    with torch.no_grad():
        read = bert(torch.tensor([row]), output_hidden_states=True)
    mean = torch.stack(read.hidden_states[-4:]).mean(0)[0].numpy()
    np.testing.assert_allclose(passage.example.features, mean[[1, 2, *range(4, 12)]], atol=2e-3)


def test_vectors_depend_on_the_other_words(bert, tmp_path):
    docs = documents(0, 3)
    assert store_vectors([doc.doc.text for doc in docs], tmp_path / "bert", tmp_path / "v.npz") == 3
    stored = StoredVectors(tmp_path / "v.npz")
    passages = [one for doc in docs for one in PassageMaker(vectors(), TYPES, [stored]).encode_gold(doc)]
    took = [one.example.features[list(one.example.words).index("took")] for one in passages]
    assert stored.dim == 8
    assert not np.allclose(took[0], took[1], atol=1e-4)


def test_a_passage_that_was_not_stored_is_named(bert, tmp_path):
    store_vectors([document(0).doc.text], tmp_path / "bert", tmp_path / "v.npz")
    with pytest.raises(ConfigurationError, match="lacks a passage"):
        PassageMaker(vectors(), TYPES, [StoredVectors(tmp_path / "v.npz")]).encode_gold(document(4))


def test_a_gpu_that_is_missing_is_named(bert, tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "took", "spans": [], "concepts": []}\n')
    arguments = ["--weights", tmp_path / "bert", "-o", tmp_path / "v.npz", "--device", "cuda"]
    done = CliRunner().invoke(embed, [str(a) for a in (tmp_path / "a.jsonl", *arguments)])
    assert isinstance(done.exception, ConfigurationError)
    assert "no NVIDIA GPU" in str(done.exception)
    assert not (tmp_path / "v.npz").exists()
