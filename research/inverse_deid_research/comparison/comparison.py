"""Run systems on annotated documents, apart from what they learn from, and evaluate them all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError, InputError, Remedy, StageError, name_documents
from inverse_deid.core.values import Document
from inverse_deid.evaluation.evaluation import (
    Evaluation,
    Intervals,
    evaluate_masks,
    find_repeated,
    intervals_of,
)
from inverse_deid.evaluation.masked_files import masks_by_id, read_masked
from inverse_deid.evaluation.measures.counts import Range
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.network.folder import read_manifest
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid.training.corpus import near_duplicate_groups, read_annotated, without_near_duplicates
from inverse_deid.training.documents import corpus_sha256
from inverse_deid_research.comparison.systems import (
    REFERENCE,
    SYSTEMS,
    Sweep,
    System,
    make_system,
    usual_systems,
)

Say = Callable[[str], None]

BATCH_DOCUMENTS = 64
"""How many documents a system gets at a time."""
_WARM_UP_DOCUMENTS = 10
_OTHER_DOCUMENTS = Remedy("train", step="give other annotated documents with {}")
_OF_THE_MODEL = frozenset({"network", "hybrid-strict", "hybrid", "hybrid-lenient", "hybrid-fast"})

RECALLS = (0.98, 0.99)
"""HIPAA recalls at which all systems with scores are compared, besides that of the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSettings:
    """What is compared: no system may have learned from `test`, and systems learn from `train` alone."""

    test: Path
    train: tuple[Path, ...] = ()
    systems: tuple[str, ...] = ()  # names out of `SYSTEMS`, none = the usual ones
    # Files of masks by the name of the tool that wrote them.
    masks: Mapping[str, Path] = field(default_factory=dict)
    reference: str | None = None  # the others are tested against it, None = `REFERENCE`, if it runs
    seed: int = 1  # of learning, resampling and swapping
    n_epochs: int | None = None  # None = each network's own number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """The masks, by document id, and figures of one system."""

    name: str
    title: str
    source: str
    learned_from: int | None = None  # a number of documents, None = it learns nothing here
    learning_seconds: float | None = None  # wall time
    tokens_per_second: float | None = None  # of masking, None = the masks were read
    masks: Mapping[str, Sequence[Range]] = field(repr=False)
    evaluation: Evaluation = field(repr=False)
    intervals: Intervals = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """The results of all systems on the same documents, in the order of the tables."""

    settings: ComparisonSettings
    results: tuple[Result, ...]
    reference: str | None
    # SHA-256 of each given file by its path, from before the first system ran.
    hashes: Mapping[str, str] = field(repr=False)
    clusters: tuple[int, ...] = field(repr=False)  # the group of each document, see `near_duplicate_groups`
    # Systems at the lowest threshold that reaches a HIPAA recall on these documents, by system and by recall:
    # that of another system, under its name, or one of `RECALLS`; None = no threshold reaches it.
    moved: Mapping[tuple[str, str | float], Evaluation | None] = field(repr=False)
    notes: tuple[str, ...] = ()  # what was left out and why

    @property
    def reference_result(self) -> Result | None:
        return next((result for result in self.results if result.name == self.reference), None)


def compare(settings: ComparisonSettings, say: Say = lambda line: None) -> Comparison:
    """Train, run and evaluate the systems; all that can be refused is refused before the first one runs.

    A system gets the text of a document and its id, never its spans. Lines of progress contain numbers
    and names only.

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

    names = _choose_systems(settings)
    reference = _choose_reference(settings, names)
    files = (settings.test, *settings.train, *settings.masks.values())
    hashes = {str(path): corpus_sha256(path) for path in files}
    docs = read_annotated(settings.test)
    trained_on = [] if _OF_THE_MODEL.isdisjoint(names) else _list_training_files()
    _check_test(settings, trained_on, docs, hashes[str(settings.test)])
    foreign = {name: _read_masks(path, docs) for name, path in settings.masks.items()}
    for path in settings.train:
        if any(digest == hashes[str(path)] for _, digest in trained_on):
            docs = _leave_out_known(docs, path, note)
    foreign = {name: {doc.id: masks[doc.id] for doc in docs} for name, masks in foreign.items()}
    test = _Test(docs, near_duplicate_groups(docs), settings.seed)
    learners = [name for name in names if SYSTEMS[name].learns]
    train: list[Document] = []
    if learners:
        train = read_training_documents(settings.train, settings.test, docs, note)
    elif settings.train:
        note("the documents to learn from are ignored: none of the compared systems learns")
    systems = [make_system(name, settings.n_epochs) for name in names]
    results = [_run(system, train if system.name in learners else [], test, say) for system in systems]
    results += [test.judge(masks, name, name, "masks that were read") for name, masks in foreign.items()]
    moved = _move_systems(systems, results, reference, test, say)
    return Comparison(
        settings=settings,
        results=tuple(results),
        reference=reference,
        hashes=hashes,
        clusters=tuple(test.clusters),
        moved=moved,
        notes=tuple(notes),
    )


def _choose_systems(settings: ComparisonSettings) -> list[str]:
    if unknown := [name for name in settings.systems if name not in SYSTEMS]:
        raise ConfigurationError(f"no system named {unknown[0]!r}. Choose one of {', '.join(SYSTEMS)}")
    names = usual_systems(may_learn=bool(settings.train))
    if settings.systems:
        names = [name for name in SYSTEMS if name in settings.systems]
    if taken := sorted(set(settings.masks) & set(SYSTEMS)):
        raise ConfigurationError(f"a system has the name {taken[0]}. Choose another name", choice="masks")
    learning = [name for name in names if SYSTEMS[name].learns]
    if learning and not settings.train:
        raise ConfigurationError(
            f"{', '.join(learning)}: needs annotated documents to learn from",
            remedies=[Remedy("train", step="give them with {}")],
        )
    return names


def _choose_reference(settings: ComparisonSettings, names: Sequence[str]) -> str | None:
    known = [*names, *settings.masks]
    if settings.reference is None:
        return REFERENCE if REFERENCE in known else None
    if settings.reference not in known:
        raise ConfigurationError(
            f"{settings.reference} is not among the compared systems. Choose one of {', '.join(known)}",
            choice="reference",
        )
    return settings.reference


def _list_training_files() -> list[tuple[str, str]]:
    provenance = read_manifest(packaged_model())["provenance"]
    numbers = provenance.get("n_documents", {})  # the first is 0 = only compared
    files = provenance.get("data_sha256", {})
    return [(name, digest) for name, digest in files.items() if numbers.get(name, [1])[0]]


def _leave_out_known(docs: list[Document], train: Path, note: Say) -> list[Document]:
    apart = without_near_duplicates(docs, read_annotated(train))
    if not apart:
        raise ConfigurationError(
            f"{train}: the packaged model was trained on it, and all test documents share id, patient or "
            "text with it. Give other test documents"
        )
    if len(apart) < len(docs):
        note(
            f"{train}: the packaged model was trained on it. {len(docs) - len(apart):,} of {len(docs):,} "
            "test documents share id, patient or text with it and are left out"
        )
    return apart


def _check_test(
    settings: ComparisonSettings,
    trained_on: Sequence[tuple[str, str]],
    test: Sequence[Document],
    sha256: str,
) -> None:
    if twice := find_repeated(doc.id for doc in test):
        raise ConfigurationError(
            f"{settings.test}: duplicate ids: {name_documents(twice)}. Give every document a unique id"
        )
    for corpus, digest in trained_on:
        if digest == sha256:
            raise ConfigurationError(
                f"{settings.test}: the packaged model was trained on it (as {corpus}), so its figures would "
                "be meaningless",
                remedies=[
                    Remedy(step="give other documents"),
                    Remedy("system", step="choose systems without the model with {}"),
                ],
            )


def _read_masks(path: Path, test: Sequence[Document]) -> dict[str, tuple[Range, ...]]:
    # Every document has to be there.
    outputs = read_masked(path)
    try:
        masks = masks_by_id(test, outputs)
    except InputError as error:
        raise error.add_prefix(f"{path}: ") from error
    ids = {doc.id for doc in test}
    missing, surplus = [doc.id for doc in test if doc.id not in masks], sorted(set(masks) - ids)
    if missing or surplus:
        where = "without masks" if missing else "masked but not in the test file"
        raise ConfigurationError(
            f"{path}: {where}: {name_documents(missing or surplus)}. "
            "Give the masks of exactly the test documents"
        )
    return masks


def read_training_documents(
    files: Sequence[Path], test: Path, test_docs: Sequence[Document], say: Say
) -> list[Document]:
    """Read the documents to learn from, without those that belong together with a test document.

    Documents belong together if they share an id, a run of ten tokens or the full name of a patient
    (or its number in a file name of the 2014 i2b2 task), see `without_near_duplicates`. `say` receives
    a line per file on the number of documents left out.

    Raises:
        InputError: A file cannot be read.
        ConfigurationError: A file is the test file or was given twice, or the rest contains
            no PHI, or nothing else.
    """
    hashes = {corpus_sha256(test): "the test file"}
    kept: list[Document] = []
    for file in files:
        if (same := hashes.get(digest := corpus_sha256(file))) is not None:
            raise ConfigurationError(f"{file}: has the content of {same}", remedies=[_OTHER_DOCUMENTS])
        hashes[digest] = str(file)
        docs = read_annotated(file)
        apart = without_near_duplicates(docs, test_docs)
        if len(apart) < len(docs):
            say(
                f"{file}: {len(docs) - len(apart):,} of {len(docs):,} documents are left out: they share id, "
                "patient or text with test documents"
            )
        kept += apart
    owners = [span_of_token(tokenize(doc.text), doc.spans) for doc in kept]
    problem = ""
    if not kept:
        problem = "no document is left to learn from: all are in the test file, or similar to one there"
    elif not any((one >= 0).any() for one in owners):
        problem = "the documents to learn from contain no PHI"
    elif not any((one < 0).any() for one in owners):
        problem = "the documents to learn from contain nothing but PHI"
    if problem:
        raise ConfigurationError(problem, remedies=[_OTHER_DOCUMENTS])
    return kept


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    docs: Sequence[Document] = field(repr=False)
    clusters: Sequence[int] = field(repr=False)
    seed: int

    def judge(self, masks: Mapping[str, Sequence[Range]], name: str, title: str, source: str) -> Result:
        # Documents that belong together are resampled together.
        found = evaluate_masks(self.docs, masks)
        is_grouped = len(set(self.clusters)) < len(self.clusters)
        groups = [str(number) for number in self.clusters] if is_grouped else None
        intervals = intervals_of(found, groups, seed=self.seed)
        return Result(
            name=name, title=title, source=source, masks=masks, evaluation=found, intervals=intervals
        )


def _run(system: System, train: Sequence[Document], test: _Test, say: Say) -> Result:
    learning_seconds = None
    if train:
        say(f"{system.name}: learns from {len(train):,} documents")
        start = time.perf_counter()
        system.fit(train, test.seed)
        learning_seconds = time.perf_counter() - start
    say(f"{system.name}: masks {len(test.docs):,} documents")
    masks, seconds = _mask(system, [Document(doc.id, doc.text) for doc in test.docs])
    n_tokens = sum(len(tokenize(doc.text)) for doc in test.docs)
    return replace(
        test.judge(masks, system.name, system.title, system.source),
        learned_from=len(train) or None,
        learning_seconds=learning_seconds,
        tokens_per_second=n_tokens / seconds if seconds else None,
    )


def _move_systems(
    systems: Sequence[System], results: Sequence[Result], reference: str | None, test: _Test, say: Say
) -> dict[tuple[str, str | float], Evaluation | None]:
    """Return `Comparison.moved`: systems with scores at equal recall, the reference at that of the others.

    Nothing is moved if the reference has no scores.
    """
    docs = [Document(doc.id, doc.text) for doc in test.docs]
    sweeps = {system.name: sweep for system in systems if (sweep := system.sweep(docs)) is not None}
    if reference not in sweeps:
        return {}
    own = {result.name: result.evaluation.value("recall_hipaa") for result in results}
    wanted: list[tuple[str, str | float, float]] = []
    for name, value in own.items():
        if name in sweeps:
            wanted += [
                (name, reference, own[reference] or 0.0),
                *((name, recall, recall) for recall in RECALLS),
            ]
        elif name not in _OF_THE_MODEL:
            wanted.append((reference, name, value or 0.0))
    moved: dict[tuple[str, str | float], Evaluation | None] = {}
    for name, recall, value in wanted:
        say(f"{name}: moved to HIPAA recall {value:.4f}")
        moved[name, recall] = _move(sweeps[name], test.docs, value)
    return moved


def _move(sweep: Sweep, docs: Sequence[Document], recall: float) -> Evaluation | None:
    # None if none reaches it.
    def evaluate(number: int) -> Evaluation:
        masks = sweep.masks_at(float(sweep.thresholds[number]))
        return evaluate_masks(docs, {doc.id: found for doc, found in zip(docs, masks, strict=True)})

    first, last = 0, len(sweep.thresholds) - 1
    best = evaluate(last)
    if (best.value("recall_hipaa") or 0.0) < recall:
        return None
    while first < last:
        middle = (first + last) // 2
        found = evaluate(middle)
        if (found.value("recall_hipaa") or 0.0) < recall:
            first = middle + 1
        else:
            best, last = found, middle
    return best


def _mask(system: System, docs: Sequence[Document]) -> tuple[dict[str, list[Range]], float]:
    system.masks(docs[:_WARM_UP_DOCUMENTS])
    start = time.perf_counter()
    found: list[list[Range]] = []
    for first in range(0, len(docs), BATCH_DOCUMENTS):
        found += system.masks(docs[first : first + BATCH_DOCUMENTS])
    seconds = time.perf_counter() - start
    if len(found) != len(docs):
        raise StageError(f"{system.name}: {len(found)} results for {len(docs)} documents")
    return {doc.id: masks for doc, masks in zip(docs, found, strict=True)}, seconds
