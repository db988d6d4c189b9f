"""Small invented corpora on the disk, for tests that train."""

import json
import random
from pathlib import Path

from inverse_deid.corpora.surrogates import SurrogateMaker
from inverse_deid.corpora.synthetic import synthetic_document

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


def words_of(path: Path) -> set[str]:
    """The capitalised words of at least seven letters that a corpus marks: none may show in a report."""
    found = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        doc = json.loads(line)
        for span in doc["spans"]:
            marked = doc["text"][span["start"] : span["end"]]
            found |= {word for word in marked.split() if len(word) > 6 and word.isalpha() and word.istitle()}
    return found
