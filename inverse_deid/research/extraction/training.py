"""From annotated documents to a trained extractor, and what it finds in documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan
from inverse_deid.research.extraction.config import TaggerConfig, TaggerTraining
from inverse_deid.research.extraction.fitting import Epoch, fit_tagger
from inverse_deid.research.extraction.gold import gold_of
from inverse_deid.research.extraction.passage_inputs import CONCEPTS, PHI, Embedder, Passage, Types
from inverse_deid.research.extraction.scoring import ConceptCounts, count_concepts
from inverse_deid.research.extraction.tagger import Tagger, new_tagger
from inverse_deid.text.tokenizer import tokenize


def train_tagger(  # noqa: PLR0913 - what a training is made of
    train: Sequence[ConceptDocument],
    dev: Sequence[ConceptDocument],
    config: TaggerConfig,
    training: TaggerTraining,
    *,
    types: Types,
    vectors: WordVectors,
    embedders: Sequence[Embedder] = (),
    on_epoch: Callable[[Epoch], None] = lambda epoch: None,
) -> Tagger:
    """Train an extractor; it is that of the epoch with the best mean F1 of its tasks on `dev`.

    Args:
        train: Annotated documents.
        dev: Annotated documents that decide when to halve the rate and to stop.
        config: Kind and sizes.
        training: Rates, epochs, seed.
        types: The types of each task; both tasks for the joint kinds.
        vectors: The vocabulary.
        embedders: What gives further vectors.
        on_epoch: Gets the report of each epoch.

    Raises:
        ConfigurationError: The documents hold none of the types, or the tasks do not fit the kind.
        StageError: The loss is not a number, or the device is out of memory.
    """
    _check(train, dev, config, types)
    keras.utils.set_random_seed(training.seed)
    tagger = new_tagger(config, types, vectors, embedders, seed=training.seed)
    maker = tagger.passage_maker()
    passages = [passage for doc in train for passage in maker.of_gold(doc)]
    gold = {task: gold_of(dev, task, types[task]) for task in types}
    held_out = [maker.of_gold(doc) for doc in dev]

    def validate() -> float:
        found = _found(tagger, dev, held_out)
        scores = [count_concepts(gold[task], found[task], types[task]).score().f1 or 0.0 for task in types]
        return sum(scores) / len(scores)

    fit_tagger(tagger.network, passages, training, validate=validate, on_epoch=on_epoch)
    return tagger


def refuse_overlap(train: Sequence[ConceptDocument], dev: Sequence[ConceptDocument]) -> None:
    """Refuse a text that stands in both parts; ask before masking, which may make different texts alike.

    Raises:
        ConfigurationError: There is one.
    """
    both = {doc.doc.text for doc in train} & {doc.doc.text for doc in dev}
    if both:
        raise ConfigurationError(
            f"{len(both)} texts stand in both parts; train on one and stop by the other, without overlap"
        )


def _check(
    train: Sequence[ConceptDocument], dev: Sequence[ConceptDocument], config: TaggerConfig, types: Types
) -> None:
    n_tasks = 1 if config.kind == "tagger" else 2
    if len(types) != n_tasks or not set(types) <= {CONCEPTS, PHI}:
        raise ConfigurationError(
            f"a model of kind {config.kind} has {n_tasks} of the tasks {CONCEPTS} and {PHI}, given "
            f"{len(types)}"
        )
    for part, docs in (("training", train), ("development", dev)):
        for task, kinds in types.items():
            if not any(gold_of(docs, task, kinds)):
                raise ConfigurationError(
                    f"the {part} documents hold no {task} of the types {', '.join(kinds)}"
                )


def _found(
    tagger: Tagger, docs: Sequence[ConceptDocument], passages: Sequence[Sequence[Passage]]
) -> dict[str, list[tuple[ConceptSpan, ...]]]:
    """What is found in documents whose passages are made already, by task."""
    texts = tagger.find_in([tokenize(doc.doc.text) for doc in docs], passages)
    return {task: [found[task] for found in texts] for task in tagger.types}


def measure(tagger: Tagger, docs: Sequence[ConceptDocument], task: str = CONCEPTS) -> ConceptCounts:
    """Hold what an extractor finds against the gold of a task."""
    kinds = tagger.types[task]
    found = [found[task] for found in tagger.find([doc.doc.text for doc in docs])]
    return count_concepts(gold_of(docs, task, kinds), found, kinds)
