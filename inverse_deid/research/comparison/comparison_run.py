"""Runs systems on annotated documents and evaluates them all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError, InputError, StageError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.evaluation.evaluation import (
    Evaluation,
    Intervals,
    evaluate_masks,
    find_repeated,
    intervals_of,
    name_documents,
)
from inverse_deid.evaluation.masked_files import masks_by_id, read_masked
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.network.folder import read_manifest
from inverse_deid.research.comparison.comparison import Comparison, ComparisonSettings, Result
from inverse_deid.research.comparison.registry import (
    REFERENCE,
    SYSTEMS,
    SystemOptions,
    make_system,
    usual_systems,
)
from inverse_deid.research.comparison.systems import System
from inverse_deid.research.comparison.training_documents import training_documents
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.corpus import near_duplicate_groups, read_annotated
from inverse_deid.training.documents import corpus_sha256

Say = Callable[[str], None]

BATCH_DOCUMENTS = 64
"""What a system is given at a time."""
_WARM_UP_DOCUMENTS = 10
_OF_THE_MODEL = frozenset({"network", "hybrid-strict", "hybrid", "hybrid-lenient"})


def compare(settings: ComparisonSettings, say: Say = lambda line: None) -> Comparison:
    """Train, run and evaluate the systems; all that can be refused is refused before the first one runs.

    A system gets the text of a document and its id, never its spans.

    Args:
        settings: What to compare.
        say: Gets a line of progress now and then; numbers and names only.

    Raises:
        InputError: A file cannot be read, or masks do not fit the documents.
        ConfigurationError: An unknown system or reference, a package that is missing, nothing to
            learn from, or the test file is one that the packaged model was trained on.
        StageError: A system broke its contract.
    """
    notes: list[str] = []

    def note(line: str) -> None:
        notes.append(line)
        say(line)

    names = _names(settings)
    reference = _reference(settings, names)
    files = (settings.test, *settings.train, *settings.masks.values())
    hashes = {str(path): corpus_sha256(path) for path in files}
    test = _test(read_annotated(settings.test), settings.seed)
    _check_test(settings, names, test.docs, hashes[str(settings.test)])
    foreign = {name: _read_masks(path, test.docs) for name, path in settings.masks.items()}
    learners = [name for name in names if SYSTEMS[name].learns]
    train: list[Document] = []
    if learners:
        train = training_documents(settings.train, settings.test, test.docs, note)
    elif settings.train:
        note("--train is of no use here: no system that is compared learns")
    options = SystemOptions(n_epochs=settings.n_epochs)
    systems = [make_system(name, options) for name in names]
    results = [
        *(_run(system, train if system.name in learners else [], test, say) for system in systems),
        *(_read(name, masks, test) for name, masks in foreign.items()),
    ]
    return Comparison(
        settings=settings,
        results=tuple(results),
        reference=reference,
        hashes=hashes,
        clusters=tuple(test.clusters),
        notes=tuple(notes),
    )


def _names(settings: ComparisonSettings) -> list[str]:
    """The systems that run, in the order of the tables."""
    if unknown := [name for name in settings.systems if name not in SYSTEMS]:
        raise ConfigurationError(f"there is no system {unknown[0]}; there are {', '.join(SYSTEMS)}")
    names = usual_systems(may_learn=bool(settings.train))
    if settings.systems:
        names = [name for name in SYSTEMS if name in settings.systems]
    if taken := sorted(set(settings.masks) & set(SYSTEMS)):
        raise ConfigurationError(f"--masks {taken[0]}: a system has this name; choose another one")
    learning = [name for name in names if SYSTEMS[name].learns]
    if learning and not settings.train:
        raise ConfigurationError(
            f"{', '.join(learning)}: learns from annotated documents; give some with --train"
        )
    return names


def _reference(settings: ComparisonSettings, names: Sequence[str]) -> str | None:
    known = [*names, *settings.masks]
    if settings.reference is None:
        return REFERENCE if REFERENCE in known else None
    if settings.reference not in known:
        raise ConfigurationError(
            f"the reference {settings.reference} is not compared; choose among {', '.join(known)}"
        )
    return settings.reference


def _check_test(
    settings: ComparisonSettings, names: Sequence[str], test: Sequence[Document], sha256: str
) -> None:
    if twice := find_repeated(doc.id for doc in test):
        raise ConfigurationError(
            f"{settings.test}: there more than once: {name_documents(twice)}; give every document its own id"
        )
    if not _OF_THE_MODEL.isdisjoint(names):
        provenance = read_manifest(packaged_model())["provenance"]
        if (corpus := _trained_on(sha256, provenance)) is not None:
            raise ConfigurationError(
                f"{settings.test}: the packaged model was trained on it (as {corpus}) and its figures would "
                "say nothing; give other documents, or name systems without it with --system"
            )


def _trained_on(sha256: str, provenance: Mapping[str, Any]) -> str | None:
    """The name under which a model was trained on this file; None if it was not, or only compared."""
    numbers = provenance.get("n_documents", {})
    for name, digest in provenance.get("data_sha256", {}).items():
        n_trained_on = numbers.get(name, [1])[0]
        if digest == sha256 and n_trained_on:
            return str(name)
    return None


def _read_masks(path: Path, test: Sequence[Document]) -> dict[str, tuple[Range, ...]]:
    """The masks of another tool; every document has to be there."""
    outputs = read_masked(path)
    try:
        masks = masks_by_id(test, outputs)
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error
    ids = {doc.id for doc in test}
    missing, surplus = [doc.id for doc in test if doc.id not in masks], sorted(set(masks) - ids)
    if missing or surplus:
        where = "without masks" if missing else "masked but not in the test file"
        raise ConfigurationError(
            f"{path}: {where}: {name_documents(missing or surplus)}; "
            "give the masks of just the test documents"
        )
    return masks


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """The test documents, and the same without their spans, for the systems."""

    docs: Sequence[Document] = field(repr=False)
    blind: Sequence[Document] = field(repr=False)
    n_tokens: int
    clusters: Sequence[int] = field(repr=False)
    seed: int

    def measured(self, masks: Mapping[str, Sequence[Range]]) -> tuple[Evaluation, Intervals]:
        """The figures of some masks; documents that belong together are resampled together."""
        found = evaluate_masks(self.docs, masks)
        is_grouped = len(set(self.clusters)) < len(self.clusters)
        groups = [str(number) for number in self.clusters] if is_grouped else None
        return found, intervals_of(found, groups, seed=self.seed)


def _test(docs: Sequence[Document], seed: int) -> _Test:
    return _Test(
        docs=docs,
        blind=[Document(doc.id, doc.text) for doc in docs],
        n_tokens=sum(len(tokenize(doc.text)) for doc in docs),
        clusters=near_duplicate_groups(docs),
        seed=seed,
    )


def _run(system: System, train: Sequence[Document], test: _Test, say: Say) -> Result:
    """Let a system learn, mask and be measured."""
    learning_seconds = None
    if train:
        say(f"{system.name}: learns from {len(train):,} documents")
        start = time.perf_counter()
        system.fit(train, test.seed)
        learning_seconds = time.perf_counter() - start
    say(f"{system.name}: masks {len(test.blind):,} documents")
    masks, seconds = _masked(system, test.blind)
    evaluation, intervals = test.measured(masks)
    return Result(
        name=system.name,
        title=system.title,
        source=system.source,
        learned_from=len(train) or None,
        learning_seconds=learning_seconds,
        tokens_per_second=test.n_tokens / seconds if seconds else None,
        masks=masks,
        evaluation=evaluation,
        intervals=intervals,
    )


def _masked(system: System, docs: Sequence[Document]) -> tuple[dict[str, list[Range]], float]:
    """The masks of each document, and the seconds that this took after a warm-up."""
    system.masks(docs[:_WARM_UP_DOCUMENTS])
    start = time.perf_counter()
    found = [masks for batch in _batches(docs) for masks in system.masks(batch)]
    seconds = time.perf_counter() - start
    if len(found) != len(docs):
        raise StageError(f"{system.name}: {len(found)} results for {len(docs)} documents")
    return {doc.id: masks for doc, masks in zip(docs, found, strict=True)}, seconds


def _batches(docs: Sequence[Document]) -> Iterator[Sequence[Document]]:
    for first in range(0, len(docs), BATCH_DOCUMENTS):
        yield docs[first : first + BATCH_DOCUMENTS]


def _read(name: str, masks: Mapping[str, Sequence[Range]], test: _Test) -> Result:
    evaluation, intervals = test.measured(masks)
    return Result(
        name=name,
        title=name,
        source="masks that were read",
        learned_from=None,
        learning_seconds=None,
        tokens_per_second=None,
        masks=masks,
        evaluation=evaluation,
        intervals=intervals,
    )
