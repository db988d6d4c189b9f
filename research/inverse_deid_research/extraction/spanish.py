"""`inverse-deid research extraction spanish`: identifiers and concepts of the same Spanish cases.

Identifiers are those of MEDDOCAN, concepts those of PharmaCoNER. The parts are those of PharmaCoNER, by case:
no case is trained on in one corpus and tested in the other.

Masked views come from a tagger of identifiers. That of all training cases reads the development and test
documents. Each half of the training cases is read by a tagger of the other half, so that masked training
texts have the mistakes of masked test texts.

Source: Lange, Adel and Strötgen 2020.
"""

from __future__ import annotations

import random
import string
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct

from inverse_deid.core.errors import ConfigurationError, Remedy
from inverse_deid.core.phi import PhiType
from inverse_deid.core.settings import change_settings, make_settings, read_toml
from inverse_deid.core.values import PhiSpan
from inverse_deid.training.corpora.surrogates import identifiers_by_type
from inverse_deid.training.corpus import read_annotated, read_type_mapping
from inverse_deid_research.extraction.cases import Case, join_cases, keep_cases_apart
from inverse_deid_research.extraction.concepts import (
    CONCEPTS,
    PHI,
    ConceptDocument,
    list_types,
    refuse_overlap,
)
from inverse_deid_research.extraction.config import ExtractorConfig, ExtractorTraining, Kind
from inverse_deid_research.extraction.passages import make_vectors
from inverse_deid_research.extraction.readers import ConceptLayout, guess_layout, read_concepts
from inverse_deid_research.extraction.scoring import MARKER
from inverse_deid_research.extraction.study import measure_spans, merge_joint_tables
from inverse_deid_research.extraction.tables import (
    ALL,
    APART,
    IDENTIFIED,
    ONE_TEXT,
    Verdicts,
    spanish_tables,
)
from inverse_deid_research.extraction.tagger import Tagger
from inverse_deid_research.extraction.training import ExtractorEpoch, train_tagger
from inverse_deid_research.extraction.views import RewrittenText, View, rewrite, rewrite_texts
from inverse_deid_research.studies.records import Record, fingerprint, read_arrays, write_arrays
from inverse_deid_research.studies.report import Report
from inverse_deid_research.studies.study import Say, Study, StudyOptions, check_seeds
from inverse_deid_research.studies.tables import NO_VERDICT

Form = Literal["original", "gold", "predicted", "marker", "surrogate"]
"""What an extractor reads: the text, placeholders of marked or of found identifiers, found ones as one marker
or as other identifiers of their type."""

_BY_TAGGER: tuple[Form, ...] = ("predicted", "marker", "surrogate")
_TYPES = tuple(PhiType)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanishModel:
    """A model of the study, without a seed."""

    name: str
    kind: Kind = "tagger"
    tasks: tuple[str, ...] = (CONCEPTS,)
    form: Form = "original"  # of its training documents
    read: tuple[Form, ...] = ("original",)
    half: int | None = None  # of the training cases, by their order; None = all


MODELS = (
    SpanishModel(name="phi", tasks=(PHI,)),
    SpanishModel(name="phi-first", tasks=(PHI,), half=0),
    SpanishModel(name="phi-second", tasks=(PHI,), half=1),
    SpanishModel(name="concepts-original", read=("original", "gold", *_BY_TAGGER)),
    SpanishModel(name="concepts-predicted", form="predicted", read=("predicted", "gold")),
    SpanishModel(name="stacked", kind="stacked", tasks=(PHI, CONCEPTS)),
    SpanishModel(name="multitask", kind="multitask", tasks=(PHI, CONCEPTS)),
    SpanishModel(name="concepts-marker", form="marker", read=("marker",)),
    SpanishModel(name="concepts-surrogate", form="surrogate", read=("surrogate",)),
)


class SpanishCorpora(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [spanish]: documents with identifiers, and by part those of the same cases with concepts."""

    identifiers: Annotated[tuple[Path, ...], Meta(min_length=1)]
    train: Path
    dev: Path
    test: Path
    types: Annotated[tuple[str, ...], Meta(min_length=1)]  # the concepts that count
    mapping: Path | None = None  # TOML, from their types of identifiers to ours


class SpanishStudySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the study; each run replaces kind and seed.

    The tables [multitask] and [stacked] are the training of these kinds.
    """

    spanish: SpanishCorpora
    seeds: Annotated[tuple[int, ...], Meta(min_length=1)]  # without all of them there is no verdict
    extractor: ExtractorConfig = ExtractorConfig()
    training: ExtractorTraining = ExtractorTraining()
    multitask: ExtractorTraining | None = None
    stacked: ExtractorTraining | None = None

    def training_of(self, kind: Kind) -> ExtractorTraining:
        return {"multitask": self.multitask, "stacked": self.stacked}.get(kind) or self.training


def read_spanish_study(path: Path) -> SpanishStudySettings:
    """Read the file; paths count from its folder.

    Raises:
        ConfigurationError: As `read_extraction_study`.
    """
    try:
        table = merge_joint_tables(read_toml(path))
        return make_settings(table, SpanishStudySettings, folder=path.parent)
    except ConfigurationError as error:
        raise error if str(path) in str(error) else ConfigurationError(f"{path}: {error}") from error


@dataclass(frozen=True, eq=False)
class SpanishCases:
    """The cases of the study by part, and the folder of its masks."""

    parts: Mapping[str, Sequence[Case]] = field(repr=False)
    types: tuple[str, ...]
    folder: Path

    @cached_property
    def pool(self) -> Mapping[PhiType, Sequence[str]]:
        """Identifiers to replace others with: those of the training cases."""
        return identifiers_by_type(
            case.identified.doc for case in self.parts["train"] if case.identified is not None
        )

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each case in the files of masks."""
        return {
            name: i for i, name in enumerate(sorted(c.id for found in self.parts.values() for c in found))
        }

    def half(self, number: int) -> list[Case]:
        return list(self.parts["train"][number::2])

    def gather(self, part: str, tasks: Sequence[str], half: int | None = None) -> list[ConceptDocument]:
        """Return the documents of a part with gold of one of the tasks."""
        cases = self.parts[part] if half is None else self.half(half)
        return [doc for case in cases for doc in case.docs if not set(tasks).isdisjoint(doc.gold)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpanishRun:
    """One training of a model."""

    model: SpanishModel
    seed: int
    cases: SpanishCases = field(repr=False)
    config: ExtractorConfig
    training: ExtractorTraining

    @property
    def name(self) -> str:
        return f"{self.model.name}-{self.seed}"

    @property
    def kind(self) -> str:
        return self.model.name

    @property
    def depends_on(self) -> tuple[object, ...]:
        return self.model, self.seed, self.config, self.training


def train_run(run: SpanishRun, say: Say) -> Record:
    """Train a model; return seconds, epochs, and the results by part, task, group of cases and form.

    A tagger of identifiers also writes the masks of the documents that others are to read.

    Raises:
        ConfigurationError: The masks are missing, or the documents have no spans of the types.
        StageError: The training failed, or F1 is not that of seqeval.
    """
    say(f"{run.name}: training")
    begun = time.perf_counter()
    epochs: list[ExtractorEpoch] = []

    def keep_epoch(epoch: ExtractorEpoch) -> None:
        epochs.append(epoch)
        say(f"{run.name}: {epoch}")

    model, cases = run.model, run.cases
    masks = _read_masks(run) if {model.form, *model.read} & set(_BY_TAGGER) else {}
    train, dev = cases.gather("train", model.tasks, model.half), cases.gather("dev", model.tasks)
    if model.form != "original":
        train, dev = (
            [_rewrite(doc, model.form, masks, cases, run.seed).carry_concepts(doc) for doc in docs]
            for docs in (train, dev)
        )
    config = change_settings(run.config, kind=model.kind, learn_words=True)
    tagger = train_tagger(
        train,
        dev,
        config,
        change_settings(run.training, seed=run.seed),
        types=list_types(train, model.tasks, cases.types),
        vectors=make_vectors(train, config.word_dim, run.seed),
        on_epoch=keep_epoch,
    )
    seconds = time.perf_counter() - begun
    found = {part: _measure_part(tagger, run, part, masks) for part in ("dev", "test")}
    files = [_write_masks(tagger, run)] if model.tasks == (PHI,) else []
    step_seconds = sum(epoch.seconds for epoch in epochs)
    record: Record = {"seconds": seconds, "epochs": len(epochs), "step_seconds": step_seconds, **found}
    return record | ({"files": files} if files else {})


Masks = Mapping[str, tuple[PhiSpan, ...]]
"""Found identifiers by case, in the document that extractors read."""


def _rewrite(doc: ConceptDocument, form: Form, masks: Masks, cases: SpanishCases, seed: int) -> RewrittenText:
    if form == "original":
        return RewrittenText(doc.doc.text)
    if form == "gold":
        return rewrite_texts([doc], View.GOLD, {})[0]
    found = masks[doc.id]
    if form == "predicted":
        masked = replace(doc, doc=replace(doc.doc, spans=found))
        return rewrite_texts([masked], View.GOLD, {})[0]
    rng = random.Random(f"{seed}:{doc.id}")

    def draw(number: int) -> str:
        others = cases.pool.get(found[number].type)
        if form == "marker" or not others:
            return MARKER
        return "".join(rng.choice(string.digits) if one.isdecimal() else one for one in rng.choice(others))

    return rewrite(doc.doc.text, [(span.start, span.end) for span in found], draw)


def group_cases(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """Return the groups that are measured: of all cases, those with identifiers, and where they are."""
    return {
        ALL: list(cases),
        IDENTIFIED: [case for case in cases if case.identified is not None],
        ONE_TEXT: [case for case in cases if case.has_both],
        APART: [case for case in cases if case.identified is None],
    }


def _measure_part(tagger: Tagger, run: SpanishRun, part: str, masks: Masks) -> Record:
    results: Record = {}
    cases, tasks = run.cases.parts[part], run.model.tasks
    if PHI in tasks:
        docs = [case.identified for case in cases if case.identified is not None]
        found = tagger.find([doc.doc.text for doc in docs])
        results[PHI] = measure_spans(docs, [each[PHI] for each in found], PHI, tagger.types[PHI])
    if CONCEPTS in tasks:
        by_form = {form: _measure_form(tagger, run, cases, form, masks) for form in run.model.read}
        results[CONCEPTS] = by_form
    return results


def _measure_form(
    tagger: Tagger, run: SpanishRun, cases: Sequence[Case], form: Form, masks: Masks
) -> dict[str, Any]:
    groups = group_cases(cases)
    readable = groups[ONE_TEXT] if form == "gold" else groups[ALL]
    new = [_rewrite(case.read, form, masks, run.cases, run.seed) for case in readable]
    found = {
        case.id: one.restore_concepts(each[CONCEPTS])
        for case, one, each in zip(readable, new, tagger.find([one.text for one in new]), strict=True)
    }
    return {
        name: measure_spans(
            [case.read for case in some],
            [found[case.id] for case in some],
            CONCEPTS,
            tagger.types[CONCEPTS],
        )
        for name, some in groups.items()
        if some and all(case.id in found for case in some)
    }


def _masks_name(model: str, seed: int) -> str:
    return f"{model}-{seed}-masks.npz"


def _write_masks(tagger: Tagger, run: SpanishRun) -> str:
    cases, half = run.cases, run.model.half
    read = [*cases.parts["dev"], *cases.parts["test"]] if half is None else cases.half(1 - half)
    found = tagger.find([case.read.doc.text for case in read])
    rows = [
        (cases.numbers[case.id], span.start, span.end, _TYPES.index(PhiType(span.type)))
        for case, each in zip(read, found, strict=True)
        for span in each[PHI]
    ]
    name = _masks_name(run.model.name, run.seed)
    write_arrays(cases.folder / "runs" / name, {"spans": np.array(rows, np.int32).reshape(-1, 4)})
    return name


def _read_masks(run: SpanishRun) -> Masks:
    found: dict[str, list[PhiSpan]] = {name: [] for name in run.cases.numbers}
    names = list(run.cases.numbers)
    for model in (model for model in MODELS if model.tasks == (PHI,)):
        path = run.cases.folder / "runs" / _masks_name(model.name, run.seed)
        if not path.is_file():
            raise ConfigurationError(
                f"{run.name} reads masked text, but {model.name}-{run.seed} has not run",
                remedies=[Remedy("only", step=f"run {model.name} first, or leave out {{}}")],
            )
        for number, start, end, kind in read_arrays(path)["spans"].tolist():
            found[names[number]].append(PhiSpan(start, end, _TYPES[kind]))
    return {name: tuple(spans) for name, spans in found.items()}


def run_spanish_study(config: Path, options: StudyOptions) -> None:
    """Train every model with the seeds of the options, and write the report of all seeds that have run.

    Without seeds in the options, all seeds of the settings are run.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: The settings cannot be used, a seed is not among theirs, a case is in two parts,
            or the folder contains another study.
        OutputError: A file cannot be written.
    """
    settings = read_spanish_study(config)
    data = settings.spanish
    check_seeds(options.seeds, settings.seeds, config)
    now = options.seeds or settings.seeds
    files = [*data.identifiers, data.train, data.dev, data.test]
    study = Study(
        "spanish-concepts",
        replace(options, seeds=settings.seeds),
        kinds=[model.name for model in MODELS],
        inputs=files,
        shared={"settings": fingerprint(settings.spanish.types, settings.extractor, settings.training)},
        config=config,
    )
    cases = SpanishCases(read_cases(data), tuple(sorted(data.types)), study.folder)
    runs = [
        SpanishRun(
            model=model,
            seed=seed,
            cases=cases,
            config=settings.extractor,
            training=settings.training_of(model.kind),
        )
        for seed in settings.seeds
        for model in MODELS
    ]
    records: dict[str, dict[int, Record]] = {model.name: {} for model in MODELS}
    for run, record in study.finish(runs, train_run, is_due=lambda run: run.seed in now):
        records[run.model.name][run.seed] = record
    provenance = study.provenance(
        settings={
            "extractor": repr(settings.extractor),
            "training": repr(settings.training),
            **{f"training of {kind}": repr(settings.training_of(kind)) for kind in ("multitask", "stacked")},
        },
        n_seconds={
            name: sum(record["seconds"] for record in found.values()) for name, found in records.items()
        },
    )
    is_whole = all(len(found) == len(settings.seeds) for found in records.values())
    report = Report(
        title="Concepts in Spanish",
        provenance=provenance,
        text=_explain(cases, is_whole=is_whole),
        sections=spanish_tables(
            {name: list(found.values()) for name, found in records.items()}, Verdicts(seeds=settings.seeds)
        ),
    )
    report.write(study.folder)


def read_cases(data: SpanishCorpora) -> dict[str, list[Case]]:
    types = read_type_mapping(data.mapping)
    identified = [doc for path in data.identifiers for doc in read_annotated(path, types)]
    texts = {part: _read_part(getattr(data, part)) for part in ("train", "dev", "test")}
    refuse_overlap(texts)
    return keep_cases_apart(join_cases(identified, texts, data.types), texts)


def _read_part(path: Path) -> list[ConceptDocument]:
    layout = guess_layout(path)
    return read_concepts(path, ConceptLayout.PHEE if layout is ConceptLayout.JSONL else layout)


def _explain(cases: SpanishCases, *, is_whole: bool) -> list[str]:
    counts = []
    for part, found in cases.parts.items():
        n = {name: len(some) for name, some in group_cases(found).items()}
        counts.append(
            f"{part} {n[ALL]} ({n[IDENTIFIED]} with identifiers, {n[ONE_TEXT]} of these on one text)"
        )
    lines = [
        "",
        f"Cases: {'; '.join(counts)}. The parts are those of PharmaCoNER, and a case is in one part in both "
        "corpora. F1 is exact match in whole tokens, computed by seqeval. Masks are those of a tagger of "
        "identifiers of the same seed, which was not trained on the case that it reads.",
    ]
    return lines if is_whole else [*lines, "", f"{NO_VERDICT.capitalize()}."]
