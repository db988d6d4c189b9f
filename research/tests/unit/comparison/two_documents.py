"""Two annotated documents and the masks of two tools, small enough to count by hand.

a: `Mr Zorath left Velmo on 3/4/2021`, 8 tokens, 5 of them PHI (a name, a city, a date);
b: `Zorath had rash`, 3 tokens, 1 of them PHI. All PHI is of HIPAA categories.

Scored: a system with scores whose own threshold masks 5 of 6 PHI tokens, and the rash.
some: masks name and date of a, and of b the rash: 4 of 6 PHI tokens, 4 of 5 masks right.
all: masks everything: 6 of 6, 6 of 11.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.comparison.systems import sweep_tokens

DOCS = (
    Document(
        "a",
        "Mr Zorath left Velmo on 3/4/2021",
        (
            PhiSpan(3, 9, PhiType.PATIENT),
            PhiSpan(15, 20, PhiType.CITY),
            PhiSpan(24, 32, PhiType.DATE),
        ),
    ),
    Document("b", "Zorath had rash", (PhiSpan(0, 6, PhiType.PATIENT),)),
)
SOME = {"a": [[3, 9], [24, 32]], "b": [[11, 15]]}
ALL = {"a": [[0, 32]], "b": [[0, 15]]}


class Scored:
    """Has the same scores under any name: 0.5 for the `Zorath` of b, which 0.45 does not mask."""

    title = source = "a system with scores"

    def __init__(self, name):
        self.name = name

    def masks(self, docs):
        return self.sweep(docs).masks_at(0.45)

    def sweep(self, docs):
        scores = {"a": [0.9, 0.1, 0.8, 0.4, 0.9, 0.2, 0.2, 0.2], "b": [0.5, 0.6, 0.3]}
        return sweep_tokens([tokenize(doc.text) for doc in docs], [np.array(scores[doc.id]) for doc in docs])


def write_gold(path: Path, docs=DOCS) -> Path:
    lines = [
        {
            "id": doc.id,
            "text": doc.text,
            "spans": [{"start": s.start, "end": s.end, "type": s.type} for s in doc.spans],
        }
        for doc in docs
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def write_masks(path: Path, masks: dict) -> Path:
    path.write_text("".join(json.dumps({"id": i, "masks": m}) + "\n" for i, m in masks.items()))
    return path
