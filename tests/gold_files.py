"""Invented annotated documents as the files that users have: JSON Lines and 2014 i2b2 XML."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from inverse_deid.core.values import Document
from inverse_deid.formats.i2b2_xml import gold_i2b2_xml
from inverse_deid.formats.tables.json_lines import gold_json_line
from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.synthetic import synthetic_document

TINY_CONFIG = """
[network]
token_units = 16
token_layers = 1
feature_units = 16
[training]
epochs = 2
batch_tokens = 1024
synthetic = 20
weak = 0
validation_share = 0.3
"""


def invented_documents(n_documents: int, seed: int, prefix: str = "d") -> list[Document]:
    """Synthetic documents with ids of their own."""
    rng = random.Random(seed)
    maker = SurrogateMaker(rng)
    made = [synthetic_document(rng, maker) for _ in range(n_documents)]
    return [Document(f"{prefix}{i}", doc.text, doc.spans) for i, doc in enumerate(made)]


def write_json_lines(path: Path, docs: Iterable[Document]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(gold_json_line, docs)))
    return path


def write_xml_records(folder: Path, docs: Iterable[Document], *, first_patient: int = 110) -> list[Path]:
    """Two records a patient: 110-01.xml, 110-02.xml, 111-01.xml ..."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i, doc in enumerate(docs):
        path = folder / f"{first_patient + i // 2}-{i % 2 + 1:02}.xml"
        path.write_bytes(gold_i2b2_xml(doc))
        paths.append(path)
    return paths
