"""`inverse-deid research extraction study`: de-identification and concept extraction judged together.

Source: Lange, Adel and Strötgen 2020.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.network.folder import model_fingerprint, read_model
from inverse_deid.research.extraction.concepts import ConceptDocument
from inverse_deid.research.extraction.reading import read_concepts
from inverse_deid.research.extraction.views import BY_MASKER, View
from inverse_deid.research.studies.extraction_config import ExtractionStudy, read_study
from inverse_deid.research.studies.extraction_runs import RUNS, Corpus, Run, trained_run
from inverse_deid.research.studies.extraction_tables import study_tables
from inverse_deid.research.studies.records import fingerprint, read_record, write_record
from inverse_deid.research.studies.report import Provenance, Report
from inverse_deid.research.studies.study import prepare_folder
from inverse_deid.training.corpus import hold_out_patients, read_annotated, read_type_mapping
from inverse_deid.training.documents import corpus_sha256

Say = Callable[[str], None]
_SPANISH_DEV_SHARE = 0.1
_TODAY = date(2030, 12, 31)
"""Three of four planted dates lie in the 45 years before it; those after it stay markers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionStudySettings:
    """What the command is told.

    Args:
        config: The TOML file.
        folder: Takes records and report.
        seeds: One training of each model a seed.
        only: Names of the models to train now; none = all. What is not done yet is missing in the report.
        command: For the report.
        force: Start anew.
    """

    config: Path
    folder: Path
    seeds: tuple[int, ...] = (1, 2, 3)
    only: tuple[str, ...] = ()
    command: str = ""
    force: bool = False


def run_extraction_study(settings: ExtractionStudySettings, say: Say) -> None:
    """Train every model with every seed, unless that is done, and write the report.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: The settings cannot be used, a text stands in two parts, or the folder is
            another experiment's.
        OutputError: A file cannot be written.
    """
    from inverse_deid.training.run import device_line

    study = read_study(settings.config)
    files = [*study.data.values(), *study.spanish.values()]
    hashes = {str(path): corpus_sha256(path) for path in files}
    key = {
        "data": sorted(hashes.values()),
        "settings": fingerprint(study.types, study.extractor, study.training),
    }
    prepare_folder(settings.folder, "extraction", key, force=settings.force)
    corpora = {False: _english(study)} | ({True: _spanish(study)} if study.spanish else {})
    for corpus in corpora.values():
        _refuse_overlap(corpus)
    runs = [run for run in RUNS if run.is_spanish in corpora]
    if unknown := sorted(set(settings.only) - {run.name for run in runs}):
        known = ", ".join(run.name for run in runs)
        raise ConfigurationError(f"no models {', '.join(unknown)}; known: {known}")
    records: dict[str, list[dict[str, Any]]] = {run.name: [] for run in runs}
    for seed in settings.seeds:
        for run in runs:
            done = _record(settings, study, run, corpora[run.is_spanish], seed, say)
            records[run.name] += [] if done is None else [done]
    provenance = Provenance(
        command=settings.command,
        device=device_line(),
        seeds=settings.seeds,
        hashes=hashes | {str(settings.config): corpus_sha256(settings.config)},
        settings={
            "extractor": repr(study.extractor),
            "training": repr(study.training),
            **{f"training of {kind}": repr(training) for kind, training in study.of_joint.items()},
            "masker": f"packaged model, manifest sha256 `{model_fingerprint(packaged_model())}`",
        },
        n_seconds={name: sum(record["seconds"] for record in found) for name, found in records.items()},
    )
    is_whole = all(len(found) == len(settings.seeds) for found in records.values())
    Report(
        title="Concept extraction",
        provenance=provenance,
        text=_text(corpora, is_whole=is_whole),
        sections=study_tables(records),
    ).write(settings.folder)


def _record(
    settings: ExtractionStudySettings, study: ExtractionStudy, run: Run, corpus: Corpus, seed: int, say: Say
) -> dict[str, Any] | None:
    """The record of a run, trained unless that is done; None: it is not to be trained now."""
    path = settings.folder / "runs" / f"{run.name}-{seed}.json"
    training = study.training_of(run.kind)
    key = fingerprint(run, seed, study.types, study.extractor, training, _made_with(run))
    record = read_record(path, key)
    if record is None:
        if settings.only and run.name not in settings.only:
            return None
        name = f"{run.name}, seed {seed}"
        say(f"{name}: training")
        training = dataclasses.replace(training, seed=seed)
        record = trained_run(
            run, corpus, study.extractor, training, on_epoch=lambda epoch: say(f"{name}: {epoch}")
        )
        write_record(path, key, record)
    say(f"{run.name}, seed {seed}: {record['epochs']} epochs, {record['seconds']:.0f} s")
    return record


def _made_with(run: Run) -> str | None:
    """What a run takes of the packaged model: its masks, else its word vectors, or nothing."""
    if run.is_spanish:
        return None
    if {run.view, *run.read} & set(BY_MASKER):
        return model_fingerprint(packaged_model())
    return corpus_sha256(packaged_model() / "word_vectors.npz")


def _english(study: ExtractionStudy) -> Corpus:
    from inverse_deid.research.extraction.view_maskers import view_maskers

    return Corpus(
        parts={part: read_concepts(path) for part, path in study.data.items()},
        concept_types=study.types,
        vectors=read_model(packaged_model()).word_vectors,
        maskers=view_maskers(tuple(View), today=_TODAY),
    )


def _spanish(study: ExtractionStudy) -> Corpus:
    """Identifiers alone; a tenth of the training documents is held out unless there are others."""
    types = read_type_mapping(study.mapping)
    parts = {part: read_annotated(path, types) for part, path in study.spanish.items()}
    if "dev" not in parts:
        parts["train"], parts["dev"] = hold_out_patients(
            parts["train"], _SPANISH_DEV_SHARE, study.training.seed
        )
    docs = {part: [ConceptDocument(doc) for doc in found] for part, found in parts.items()}
    return Corpus(docs, study.types, vectors=None, maskers={})


def _refuse_overlap(corpus: Corpus) -> None:
    texts = {part: {doc.doc.text for doc in docs} for part, docs in corpus.parts.items()}
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        if shared := len(texts[one] & texts[other]):
            raise ConfigurationError(f"{shared} texts stand in {one} and in {other}; leave them out of one")


def _text(corpora: dict[bool, Corpus], *, is_whole: bool) -> list[str]:
    documents = "; ".join(
        f"{'Spanish' if is_spanish else 'English'} "
        + ", ".join(f"{part} {len(docs)}" for part, docs in corpus.parts.items())
        for is_spanish, corpus in corpora.items()
    )
    return [
        "",
        f"Documents: {documents}. F1 is exact match, computed by seqeval. The masker is the packaged model "
        "at its balanced operating point; its training may have seen the sentences as carriers, with other "
        "identifiers.",
        *([] if is_whole else ["", "Some runs are not done yet: empty cells, and means over fewer seeds."]),
    ]
