"""The examples of an epoch: gold with fresh surrogates, injected carriers, invented documents."""

from __future__ import annotations

import dataclasses
import itertools
import os
import random
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path

import numpy as np

from inverse_deid.core.values import Document
from inverse_deid.lexicon import load_lexicon
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, TrainingConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.training.corpora.mentions import mention_names
from inverse_deid.training.corpora.surrogates import (
    SurrogateMaker,
    identifiers_by_type,
    with_exchanged_identifiers,
    with_fresh_surrogates,
)
from inverse_deid.training.corpora.synthetic import draw_carrier, inject, synthetic_document
from inverse_deid.training.corpora.writing import add_noise, recase
from inverse_deid.training.examples import ExampleMaker, Teacher, Weights, check_teachers

_AT_ONCE = 128

INVENTED_SHARE = 0.35
"""Share of the synthetic documents that are invented whole; the others are carriers with planted PHI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRecipe:
    """The data and settings from which a worker process makes the examples of an epoch.

    `gold` is annotated, `carriers` are real narratives without annotation (possibly none). The opinion of
    teachers is learned along with the labels. `lexicon` is a file, None = the packaged one.

    Raises:
        ConfigurationError: The network cannot learn from the teachers.
    """

    gold: Sequence[Document] = field(repr=False)
    carriers: Sequence[Document] = field(repr=False)
    network: NetworkConfig
    training: TrainingConfig
    vectors: WordVectors
    teachers: Sequence[Teacher] = field(default=(), repr=False)
    lexicon: Path | None = None

    def __post_init__(self) -> None:
        check_teachers(self.teachers, self.network)


class EpochMaker:
    """Makes the examples of any epoch; the same seed and epoch give the same examples."""

    def __init__(self, recipe: EpochRecipe) -> None:
        self._recipe = recipe
        self._examples = ExampleMaker(
            recipe.network,
            load_lexicon(recipe.lexicon),
            recipe.vectors,
            teachers=recipe.teachers,
            teacher_weight=recipe.training.teacher_weight,
            labels_first=recipe.training.labels_first,
        )
        exchanged = recipe.training.surrogates == "exchange"
        self._identifiers = identifiers_by_type(recipe.gold if exchanged else ())

    def documents(self, epoch: int) -> Iterator[tuple[Document, Weights]]:
        """Yield documents and their weights: all gold ones, then synthetic, then weakly labelled ones."""
        config = self._recipe.training
        writing = random.Random(f"{config.seed}:{epoch}:writing")  # apart, so that the contents stay
        sure = Weights(phi=config.phi_weight, factors=config.class_weights)
        weak = dataclasses.replace(sure, document=config.weak_weight, weak=True)
        rng = random.Random(f"{config.seed}:{epoch}")
        maker = SurrogateMaker(rng)
        for doc in self._recipe.gold:
            yield self._rewritten(self._fresh(doc, maker, rng), writing), sure
        for _ in range(config.synthetic):
            if rng.random() < INVENTED_SHARE or not self._recipe.carriers:
                yield self._rewritten(synthetic_document(rng, maker), writing), sure
            else:
                doc = inject(draw_carrier(self._recipe.carriers, rng), maker, rng)
                yield self._rewritten(doc, writing), weak
        if self._recipe.carriers:
            mentions = random.Random(f"{config.seed}:{epoch}:mentions")  # apart, as above
            for _ in range(config.weak):
                doc = draw_carrier(self._recipe.carriers, rng)
                is_chosen = mentions.random() < config.mentions
                yield (mention_names(doc, maker.names, mentions) if is_chosen else doc), weak

    def _fresh(self, doc: Document, maker: SurrogateMaker, rng: random.Random) -> Document:
        """Return a gold document with other identifiers, as the configuration asks for."""
        config = self._recipe.training
        if config.surrogates == "english":
            return with_fresh_surrogates(doc, maker, rng, keep_share=config.keep_share)
        if config.surrogates == "exchange":
            return with_exchanged_identifiers(doc, self._identifiers, rng, keep_share=config.keep_share)
        return doc

    def _rewritten(self, doc: Document, rng: random.Random) -> Document:
        """Return some documents in another case or as a bad scan, as the configuration asks for."""
        config = self._recipe.training
        if rng.random() < config.recased:
            doc = recase(doc, rng)
        return add_noise(doc, rng) if rng.random() < config.noisy else doc

    def examples(self, epoch: int) -> list[Example]:
        """Return the encoded documents of an epoch."""
        docs = self.documents(epoch)
        made: list[Example] = []
        while some := list(itertools.islice(docs, _AT_ONCE)):
            # half-precision features travel between processes at half the cost
            made += (
                dataclasses.replace(example, features=example.features.astype(np.float16))
                for example in self._examples.make_many(some)
                if len(example)
            )
        return made


_maker: EpochMaker | None = None


def start_worker(recipe: EpochRecipe) -> None:
    """Make this process a worker that makes the examples of epochs."""
    _end_with_parent()
    signal.signal(signal.SIGINT, lambda *_: os._exit(1))  # at once and without a traceback
    global _maker  # noqa: PLW0603 - a worker process holds one maker
    _maker = EpochMaker(recipe)


def _end_with_parent() -> None:
    """Let no worker outlive a parent that was killed."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def examples_of_worker(epoch: int) -> list[Example]:
    """Return the examples of an epoch, in a worker process."""
    if _maker is None:
        raise RuntimeError("the worker was not started")
    return _maker.examples(epoch)


class EpochsAhead:
    """Makes the data of the next epochs in another process while the network trains on the present ones.

    Use as a context manager; call with the epoch's number. `training.repeats` epochs in a row have the same
    data, which the network reads in other windows and with other words hidden.
    """

    def __init__(self, recipe: EpochRecipe) -> None:
        self._repeats = recipe.training.repeats
        self._n_parts = -(-recipe.training.epochs // self._repeats)
        self._pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=start_worker, initargs=(recipe,)
        )
        self._present: tuple[int, list[Example]] = (-1, [])
        self._next: tuple[int, Future[list[Example]]] | None = None

    def __enter__(self) -> EpochsAhead:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def __call__(self, epoch: int) -> list[Example]:
        """Return the examples of an epoch."""
        part = epoch // self._repeats
        if part != self._present[0]:
            self._present = (part, self._make(part))
        return self._present[1]

    def _make(self, part: int) -> list[Example]:
        if self._next is None or self._next[0] != part:
            self._next = (part, self._pool.submit(examples_of_worker, part))
        examples = self._next[1].result()
        self._next = (
            (part + 1, self._pool.submit(examples_of_worker, part + 1)) if part + 1 < self._n_parts else None
        )
        return examples
