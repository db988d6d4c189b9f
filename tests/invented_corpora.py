"""Small invented corpora on the disk, for tests that train."""

import json
import random
from pathlib import Path

import numpy as np

from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.synthetic import synthetic_document

TINY = """
[network]
token_units = 8
token_layers = 1
feature_units = 8
char_units = 5
char_dim = 5
[training]
batch_tokens = 1024
learning_rate = 0.02
synthetic = 12
weak = 6
validation_share = 0.35
seed = 3
"""


def write_corpus(path: Path, n_documents: int, seed: int) -> Path:
    """Annotated documents, several invented ones in each so that none lacks PHI."""
    rng = random.Random(seed)
    maker = SurrogateMaker(rng)
    with path.open("w", encoding="utf-8") as file:
        for i in range(n_documents):
            doc = synthetic_document(rng, maker)
            spans = [{"start": s.start, "end": s.end, "type": s.type} for s in doc.spans]
            file.write(json.dumps({"id": f"{path.stem}-{i}", "text": doc.text, "spans": spans}) + "\n")
    return path


def write_word_vectors(path: Path) -> Path:
    """A vocabulary of ten words: networks with it are built at once."""
    words = ["the", "was", "patient", "on", "at", "and", "with", "rash", "seen", "given"]
    codes = np.random.default_rng(1).integers(-127, 127, (len(words), 100)).astype(np.int8)
    np.savez(path, words=np.array(words), codes=codes, scale=np.full(100, 0.01, np.float32))
    return path


def words_of(path: Path) -> set[str]:
    """The capitalised words of at least seven letters that a corpus marks: none may show in a report."""
    found = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        doc = json.loads(line)
        for span in doc["spans"]:
            marked = doc["text"][span["start"] : span["end"]]
            found |= {word for word in marked.split() if len(word) > 6 and word.isalpha() and word.istitle()}
    return found
