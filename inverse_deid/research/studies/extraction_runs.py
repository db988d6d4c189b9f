"""The single runs of the study of extraction: train, read every view of every part, keep the counts."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from seqeval.metrics import f1_score

from inverse_deid.core.errors import StageError
from inverse_deid.core.phi import PhiType
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.extraction.bio import bio_labels, snapped
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan
from inverse_deid.research.extraction.config import Kind, TaggerConfig, TaggerTraining
from inverse_deid.research.extraction.fitting import Epoch
from inverse_deid.research.extraction.gold import gold_of
from inverse_deid.research.extraction.passage_inputs import CONCEPTS, PHI, Types, learnable_vectors
from inverse_deid.research.extraction.rewriting import Rewritten, original_concepts
from inverse_deid.research.extraction.scoring import count_concepts
from inverse_deid.research.extraction.tagger import Tagger
from inverse_deid.research.extraction.training import train_tagger
from inverse_deid.research.extraction.views import Maskers, View, viewed, views
from inverse_deid.text.tokenizer import tokenize

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A model of the study, still without a seed.

    Args:
        name: Of its records.
        kind: Which model.
        tasks: What it learns.
        view: What it is trained on.
        read: What it is measured on.
        is_spanish: On the other corpus.
    """

    name: str
    kind: Kind = "tagger"
    tasks: tuple[str, ...] = (CONCEPTS,)
    view: View = View.ORIGINAL
    read: tuple[View, ...] = (View.ORIGINAL,)
    is_spanish: bool = False


_MASKED = (View.ORIGINAL, View.PREDICTED, View.GOLD, View.MARKER, View.RELATIVE_DATES)
RUNS = (
    Run(name="phi", tasks=(PHI,)),
    *(Run(name=f"concepts-{view}", view=view, read=_MASKED) for view in _MASKED),
    Run(name="multitask", kind="multitask", tasks=(PHI, CONCEPTS)),
    Run(name="stacked", kind="stacked", tasks=(PHI, CONCEPTS)),
    Run(name="spanish-phi", tasks=(PHI,), is_spanish=True),
)


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Documents of the study, by part.

    Args:
        parts: Those of `train`, `dev` and `test`.
        concept_types: The concepts that count.
        vectors: The vocabulary; None = learned from the training documents.
        maskers: Make the masked views.
    """

    parts: dict[str, list[ConceptDocument]] = field(repr=False)
    concept_types: tuple[str, ...]
    vectors: WordVectors | None = field(repr=False)
    maskers: Maskers = field(repr=False)

    def types(self, tasks: Sequence[str]) -> Types:
        """The types of the tasks: of identifiers those of the training documents."""
        marked = {span.type for doc in self.parts["train"] for span in doc.doc.spans}
        every = {PHI: tuple(kind for kind in PhiType if kind in marked), CONCEPTS: self.concept_types}
        return {task: every[task] for task in tasks}


def trained_run(
    run: Run,
    corpus: Corpus,
    config: TaggerConfig,
    training: TaggerTraining,
    on_epoch: Callable[[Epoch], None],
) -> dict[str, Any]:
    """Train a model and measure it.

    Returns:
        As JSON: seconds, epochs, and by part, task and view what `_measured` gives.
    """
    begun = time.perf_counter()
    epochs: list[Epoch] = []

    def done(epoch: Epoch) -> None:
        epochs.append(epoch)
        on_epoch(epoch)

    types = corpus.types(run.tasks)
    parts = {
        name: viewed(docs, run.view, corpus.maskers) for name, docs in corpus.parts.items() if name != "test"
    }
    config = dataclasses.replace(config, kind=run.kind, learn_words=corpus.vectors is None)
    tagger = train_tagger(
        parts["train"],
        parts["dev"],
        config,
        training,
        types=types,
        vectors=corpus.vectors or learnable_vectors(parts["train"], config.word_dim, training.seed),
        on_epoch=done,
    )
    seconds = time.perf_counter() - begun
    found = {part: _part_results(tagger, run, corpus, part) for part in ("dev", "test")}
    n_train_seconds = sum(epoch.seconds for epoch in epochs)
    return {"seconds": seconds, "epochs": len(epochs), "step_seconds": n_train_seconds, **found}


def _part_results(tagger: Tagger, run: Run, corpus: Corpus, part: str) -> dict[str, Any]:
    docs = corpus.parts[part]
    results: dict[str, Any] = {task: {} for task in run.tasks}
    for view in run.read:
        new = _views(corpus, part, view)
        found = tagger.find([one.text for one in new])
        for task in run.tasks:
            told = [original_concepts(each[task], one) for each, one in zip(found, new, strict=True)]
            results[task][view.value] = _measured(docs, told, task, tagger.types[task])
    return results


@cache
def _views(corpus: Corpus, part: str, view: View) -> list[Rewritten]:
    """The same for all runs of a process."""
    return views(corpus.parts[part], view, corpus.maskers)


def _measured(
    docs: Sequence[ConceptDocument],
    found: Sequence[Sequence[ConceptSpan]],
    task: str,
    kinds: tuple[str, ...],
) -> dict[str, Any]:
    """F1 by seqeval, all together and by type, and by document what F1 is a ratio of.

    Raises:
        StageError: The counts are not those of seqeval.
    """
    tokens = [tokenize(doc.doc.text) for doc in docs]
    gold = gold_of(docs, task, kinds)
    told = [snapped(each, spans) for each, spans in zip(tokens, found, strict=True)]
    labels = [
        [bio_labels(each, row) for each, row in zip(tokens, spans, strict=True)] for spans in (gold, told)
    ]
    counts = count_concepts(gold, told, kinds)
    f1 = float(f1_score(*labels, zero_division=0))
    if abs(f1 - (counts.score().f1 or 0.0)) > _ROUNDING:
        raise StageError("F1 of the counts is not that of seqeval")
    return {
        "f1": f1,
        "by_type": {kind: counts.score(kind).f1 for kind in kinds},
        "parts": np.asarray(counts.ratio_parts(), np.int64).tolist(),
    }
