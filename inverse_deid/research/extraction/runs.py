"""The runs of the study of extraction: train a model, read every view of every part, keep the counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from seqeval.metrics import f1_score

from inverse_deid.core.errors import StageError
from inverse_deid.core.settings import change_settings
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.extraction.concepts import (
    CONCEPTS,
    PHI,
    ConceptDocument,
    ConceptSpan,
    label_tokens,
    list_types,
    select_gold,
    snap_spans,
)
from inverse_deid.research.extraction.config import ExtractorConfig, ExtractorTraining, Kind
from inverse_deid.research.extraction.passages import make_vectors
from inverse_deid.research.extraction.scoring import count_concepts
from inverse_deid.research.extraction.tagger import Tagger
from inverse_deid.research.extraction.training import ExtractorEpoch, train_tagger
from inverse_deid.research.extraction.views import (
    Maskers,
    RewrittenText,
    View,
    rewrite_documents,
    rewrite_texts,
)
from inverse_deid.research.studies.records import Record
from inverse_deid.research.studies.study import Say
from inverse_deid.text.tokenizer import tokenize

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedModel:
    """A model of the study, without a seed.

    Args:
        name: Of its records, and in `--only`.
        kind: Its architecture.
        tasks: The tasks that it learns.
        view: The text that it is trained on.
        read: The texts that it is measured on.
        is_spanish: On the other corpus.
    """

    name: str
    kind: Kind = "tagger"
    tasks: tuple[str, ...] = (CONCEPTS,)
    view: View = View.ORIGINAL
    read: tuple[View, ...] = (View.ORIGINAL,)
    is_spanish: bool = False


_VIEWS = (View.ORIGINAL, View.PREDICTED, View.GOLD, View.MARKER, View.RELATIVE_DATES)
MODELS = (
    PlannedModel(name="phi", tasks=(PHI,)),
    *(PlannedModel(name=f"concepts-{view}", view=view, read=_VIEWS) for view in _VIEWS),
    PlannedModel(name="multitask", kind="multitask", tasks=(PHI, CONCEPTS)),
    PlannedModel(name="stacked", kind="stacked", tasks=(PHI, CONCEPTS)),
    PlannedModel(name="spanish-phi", tasks=(PHI,), is_spanish=True),
)


@dataclass(frozen=True, slots=True, eq=False)
class ConceptCorpus:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExtractionRun:
    """One training of a model.

    Args:
        model: Which model.
        seed: Of the training.
        corpus: Its documents.
        config: Sizes; the kind is that of the model.
        training: Rates and epochs; the seed is that of the run.
        made_with: Fingerprint of the packaged files that the run depends on.
    """

    model: PlannedModel
    seed: int
    corpus: ConceptCorpus = field(repr=False)
    config: ExtractorConfig
    training: ExtractorTraining
    made_with: str | None

    @property
    def name(self) -> str:
        """As `stacked-1`."""
        return f"{self.model.name}-{self.seed}"

    @property
    def kind(self) -> str:
        """The model."""
        return self.model.name

    @property
    def depends_on(self) -> tuple[object, ...]:
        """Model, seed, settings and packaged files."""
        return self.model, self.seed, self.config, self.training, self.made_with


def train_run(run: ExtractionRun, say: Say) -> Record:
    """Train a model and measure it.

    Returns:
        Seconds, epochs, and by part, task and view what `measure_spans` returns.

    Raises:
        ConfigurationError: The documents have no spans of the types.
        StageError: The training failed, or F1 is not that of seqeval.
    """
    say(f"{run.name}: training")
    begun = time.perf_counter()
    epochs: list[ExtractorEpoch] = []

    def keep_epoch(epoch: ExtractorEpoch) -> None:
        epochs.append(epoch)
        say(f"{run.name}: {epoch}")

    model, corpus = run.model, run.corpus
    train, dev = (
        rewrite_documents(corpus.parts[part], model.view, corpus.maskers) for part in ("train", "dev")
    )
    config = change_settings(run.config, kind=model.kind, learn_words=corpus.vectors is None)
    tagger = train_tagger(
        train,
        dev,
        config,
        change_settings(run.training, seed=run.seed),
        types=list_types(corpus.parts["train"], model.tasks, corpus.concept_types),
        vectors=corpus.vectors or make_vectors(train, config.word_dim, run.seed),
        on_epoch=keep_epoch,
    )
    seconds = time.perf_counter() - begun
    found = {part: _measure_part(tagger, model, corpus, part) for part in ("dev", "test")}
    step_seconds = sum(epoch.seconds for epoch in epochs)
    return {"seconds": seconds, "epochs": len(epochs), "step_seconds": step_seconds, **found}


def _measure_part(tagger: Tagger, model: PlannedModel, corpus: ConceptCorpus, part: str) -> Record:
    docs = corpus.parts[part]
    results: Record = {task: {} for task in model.tasks}
    for view in model.read:
        new = _rewrite_part(corpus, part, view)
        found = tagger.find([one.text for one in new])
        for task in model.tasks:
            spans = [one.restore_concepts(each[task]) for each, one in zip(found, new, strict=True)]
            results[task][view.value] = measure_spans(docs, spans, task, tagger.types[task])
    return results


@cache
def _rewrite_part(corpus: ConceptCorpus, part: str, view: View) -> list[RewrittenText]:
    """Rewrite the documents of a part once for all runs of a process."""
    return rewrite_texts(corpus.parts[part], view, corpus.maskers)


def measure_spans(
    docs: Sequence[ConceptDocument],
    found: Sequence[Sequence[ConceptSpan]],
    task: str,
    kinds: tuple[str, ...],
) -> dict[str, Any]:
    """Return F1 by seqeval, all together and by type, and the two parts of its ratio by document.

    Raises:
        StageError: The counts are not those of seqeval.
    """
    tokens = [tokenize(doc.doc.text) for doc in docs]
    gold = select_gold(docs, task, kinds)
    snapped = [snap_spans(each, spans) for each, spans in zip(tokens, found, strict=True)]
    labels = [
        [label_tokens(each, row) for each, row in zip(tokens, spans, strict=True)]
        for spans in (gold, snapped)
    ]
    counts = count_concepts(gold, snapped, kinds)
    f1 = float(f1_score(*labels, zero_division=0))
    if abs(f1 - (counts.score().f1 or 0.0)) > _ROUNDING:
        raise StageError("F1 of the counts differs from that of seqeval. Report this as a bug")
    return {
        "f1": f1,
        "by_type": {kind: counts.score(kind).f1 for kind in kinds},
        "parts": np.asarray(counts.ratio_parts(), np.int64).tolist(),
    }
