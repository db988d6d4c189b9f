"""A seeded stream of synthetic annotated documents: invented ones, and carriers with planted PHI."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from inverse_deid.core.values import Document
from inverse_deid.training.corpora.inject import inject, weakly_labelled
from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.synthetic import synthetic_document

_TRIES = 5


def generated_documents(
    n_documents: int, seed: int, *, carriers: Sequence[Document] = (), invented_share: float = 1.0
) -> Iterator[Document]:
    """Generate documents; the same arguments give the same documents, and more of them begin the same.

    Args:
        n_documents: How many.
        seed: Decides everything.
        carriers: Narratives without annotation. What certain patterns find in them is
            marked, what is left unmarked may still identify.
        invented_share: Share of the documents that are invented whole, in [0, 1]; all
            are if there are no carriers.

    Example:
        >>> [doc.id for doc in generated_documents(2, 7)]
        ['synthetic-7-000001', 'synthetic-7-000002']
    """
    rng = random.Random(seed)
    maker = SurrogateMaker(rng)
    for number in range(1, n_documents + 1):
        if rng.random() < invented_share or not carriers:
            doc = synthetic_document(rng, maker)
        else:
            doc = inject(_carrier(carriers, rng), maker, rng)
        yield Document(f"synthetic-{seed}-{number:06}", doc.text, doc.spans)


def _carrier(carriers: Sequence[Document], rng: random.Random) -> Document:
    """A carrier with its certain dates and ages marked, if possible without doubtful ones."""
    for _ in range(_TRIES):
        doc = weakly_labelled(rng.choice(carriers))
        if doc.meta.get("doubtful", "0") == "0":
            break
    return doc
