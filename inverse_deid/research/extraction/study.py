"""`inverse-deid research extraction study`: judge de-identification and concept extraction together.

Source: Lange, Adel and Strötgen 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import make_settings, read_toml
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.network.folder import model_fingerprint, read_model
from inverse_deid.research.extraction.concepts import ConceptDocument, refuse_overlap
from inverse_deid.research.extraction.config import ExtractorConfig, ExtractorTraining, Kind
from inverse_deid.research.extraction.readers import read_concepts
from inverse_deid.research.extraction.runs import (
    MODELS,
    ConceptCorpus,
    ExtractionRun,
    PlannedModel,
    train_run,
)
from inverse_deid.research.extraction.tables import extraction_tables
from inverse_deid.research.extraction.views import BY_MASKER, View, build_maskers
from inverse_deid.research.studies.records import Record, fingerprint
from inverse_deid.research.studies.report import Report
from inverse_deid.research.studies.study import Study, StudyOptions
from inverse_deid.training.corpus import hold_out_patients, read_annotated, read_type_mapping
from inverse_deid.training.documents import corpus_sha256

_SPANISH_DEV_SHARE = 0.1
_TODAY = date(2030, 12, 31)
"""Three quarters of the planted dates are in the 45 years before it; later ones stay markers."""


class EnglishData(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [english]: documents with both kinds of gold, and the concepts that count."""

    train: Path
    dev: Path
    test: Path
    types: Annotated[tuple[str, ...], Meta(min_length=1)]


class SpanishData(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [spanish]: annotated documents of another language, for de-identification alone.

    Args:
        train: A tenth of them is held out if there is no `dev`.
        test: Measured on.
        dev: Decide when to stop.
        mapping: TOML file that maps their types to ours.
    """

    train: Path
    test: Path
    dev: Path | None = None
    mapping: Path | None = None


class ExtractionStudySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the study.

    Args:
        english: Its documents.
        spanish: Those of another language; None = none.
        extractor: Sizes; the kind is that of each run.
        training: Rates and epochs; the seed is that of each run.
        multitask: The same for this kind.
        stacked: The same for this kind.
    """

    english: EnglishData
    spanish: SpanishData | None = None
    extractor: ExtractorConfig = ExtractorConfig()
    training: ExtractorTraining = ExtractorTraining()
    multitask: ExtractorTraining | None = None
    stacked: ExtractorTraining | None = None

    @property
    def joint(self) -> dict[Kind, ExtractorTraining]:
        """The rates and epochs of the kinds that have a table of their own."""
        found: dict[Kind, ExtractorTraining | None] = {"multitask": self.multitask, "stacked": self.stacked}
        return {kind: training for kind, training in found.items() if training is not None}

    @property
    def types(self) -> tuple[str, ...]:
        """The concepts that count, sorted."""
        return tuple(sorted(self.english.types))


def read_extraction_study(path: Path) -> ExtractionStudySettings:
    """Read the file; paths count from its folder.

    The tables [multitask] and [stacked] change what [training] says for that kind.

    Raises:
        ConfigurationError: The file cannot be read, is not TOML, or has a setting that is unknown, of
            another type or out of range.
    """
    table = read_toml(path)
    training = table.get("training", {})
    for kind in ("multitask", "stacked"):
        if isinstance(training, dict) and isinstance(table.get(kind), dict):
            table[kind] = training | table[kind]
    try:
        return make_settings(table, ExtractionStudySettings, folder=path.parent)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def run_extraction_study(config: Path, options: StudyOptions) -> None:
    """Train every model with every seed, and write the report.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: The settings cannot be used, a text is in two parts, or the folder contains
            another study.
        OutputError: A file cannot be written.
    """
    settings = read_extraction_study(config)
    english, spanish = settings.english, settings.spanish
    files = [english.train, english.dev, english.test]
    if spanish is not None:
        files += filter(None, [spanish.train, spanish.dev, spanish.test])
    models = [model for model in MODELS if spanish is not None or not model.is_spanish]
    study = Study(
        "extraction",
        options,
        kinds=[model.name for model in models],
        inputs=files,
        shared={"settings": fingerprint(settings.types, settings.extractor, settings.training)},
        config=config,
    )
    corpora = {"English": _read_english(settings)}
    if spanish is not None:
        corpora["Spanish"] = _read_spanish(spanish, settings)
    runs = [
        ExtractionRun(
            model=model,
            seed=seed,
            corpus=corpora["Spanish" if model.is_spanish else "English"],
            config=settings.extractor,
            training=settings.joint.get(model.kind, settings.training),
            made_with=_hash_packaged_files(model),
        )
        for seed in options.seeds
        for model in models
    ]
    records: dict[str, list[Record]] = {model.name: [] for model in models}
    for run, record in study.finish(runs, train_run):
        records[run.model.name].append(record)
    provenance = study.provenance(
        settings={
            "extractor": repr(settings.extractor),
            "training": repr(settings.training),
            **{f"training of {kind}": repr(training) for kind, training in settings.joint.items()},
            "masker": f"packaged model, manifest sha256 `{model_fingerprint(packaged_model())}`",
        },
        n_seconds={name: sum(record["seconds"] for record in found) for name, found in records.items()},
    )
    Report(
        title="Concept extraction",
        provenance=provenance,
        text=_explain(corpora, is_whole=all(len(found) == len(options.seeds) for found in records.values())),
        sections=extraction_tables(records),
    ).write(study.folder)


def _hash_packaged_files(model: PlannedModel) -> str | None:
    """Return a hash of what a run takes from the packaged model: its masks, its word vectors or nothing."""
    if model.is_spanish:
        return None
    if {model.view, *model.read} & set(BY_MASKER):
        return model_fingerprint(packaged_model())
    return corpus_sha256(packaged_model() / "word_vectors.npz")


def _read_english(settings: ExtractionStudySettings) -> ConceptCorpus:
    data = settings.english
    files = {"train": data.train, "dev": data.dev, "test": data.test}
    parts = {part: read_concepts(path) for part, path in files.items()}
    refuse_overlap(parts)
    vectors = read_model(packaged_model()).word_vectors
    return ConceptCorpus(parts, settings.types, vectors, build_maskers(tuple(View), today=_TODAY))


def _read_spanish(data: SpanishData, settings: ExtractionStudySettings) -> ConceptCorpus:
    """Read documents with identifiers alone."""
    types = read_type_mapping(data.mapping)
    train, test = (read_annotated(path, types) for path in (data.train, data.test))
    if data.dev is not None:
        dev = read_annotated(data.dev, types)
    else:
        train, dev = hold_out_patients(train, _SPANISH_DEV_SHARE, settings.training.seed)
    docs = {"train": train, "test": test, "dev": dev}
    parts = {part: [ConceptDocument(doc) for doc in found] for part, found in docs.items()}
    refuse_overlap(parts)
    return ConceptCorpus(parts, settings.types, vectors=None, maskers={})


def _explain(corpora: Mapping[str, ConceptCorpus], *, is_whole: bool) -> list[str]:
    documents = "; ".join(
        f"{language} " + ", ".join(f"{part} {len(docs)}" for part, docs in corpus.parts.items())
        for language, corpus in corpora.items()
    )
    return [
        "",
        f"Documents: {documents}. F1 is exact match, computed by seqeval. The masker is the packaged model "
        "at its balanced operating point. Its training may have used the sentences as carriers, with other "
        "identifiers.",
        *([] if is_whole else ["", "Some runs are not done yet: empty cells, and means over fewer seeds."]),
    ]
