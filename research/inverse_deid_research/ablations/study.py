"""`inverse-deid research ablations`: make the epochs, train the variants, measure, and report."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import as_plain_values, change_settings
from inverse_deid.core.values import Document
from inverse_deid.lexicon import load_lexicon
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, class_names
from inverse_deid.network.encoding import WordVectors
from inverse_deid.rules.analysis import FEATURE_NAMES
from inverse_deid.training.augmentation import EpochRecipe
from inverse_deid.training.config import RunConfig
from inverse_deid.training.corpus import read_annotated, read_type_mapping, split_by_group
from inverse_deid_research.ablations.epochs import epoch_path, read_epoch, write_epoch
from inverse_deid_research.ablations.measures import UNTRAINED, Judge, Row, Scores
from inverse_deid_research.ablations.tables import ablation_tables
from inverse_deid_research.ablations.variants import BASE, Variant, base_variant, read_variants
from inverse_deid_research.studies.records import Record, fingerprint, read_arrays, write_arrays
from inverse_deid_research.studies.report import Report
from inverse_deid_research.studies.scoring import (
    AnalysedCorpus,
    analyse_corpus,
    read_scores,
    score_corpus,
    write_scores,
)
from inverse_deid_research.studies.study import Say, Study, StudyOptions, do_jobs
from inverse_deid_research.studies.training import (
    Epochs,
    assign_weights,
    fit_network,
    keep_last,
    new_network,
    on_epoch,
    weights_of,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AblationRun:
    """A variant with a seed, and the runs whose networks, of one shape, teach it."""

    variant: Variant
    seed: int
    teachers: tuple[str, ...] = ()
    teacher_network: NetworkConfig | None = None

    @property
    def name(self) -> str:
        return f"{self.variant.name}-{self.seed}"

    @property
    def kind(self) -> str:
        return self.variant.name

    @property
    def depends_on(self) -> tuple[object, ...]:
        training = change_settings(self.variant.training, seed=self.seed)
        variant = dataclasses.replace(self.variant, title="", training=training)
        return variant, [weights_name(name) for name in self.teachers], self.teacher_network


def weights_name(run: str) -> str:
    return f"{run}.weights.npz"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VariantTrainer:
    """Trains the runs of an ablation, perhaps in several processes.

    The folder is that of the study. `epochs` is read. `runs` receives NAME-SEED.npz, the scores of every
    corpus, and NAME-SEED.weights.npz, from which a student learns.
    """

    folder: Path
    vectors: WordVectors = field(repr=False)
    corpora: tuple[AnalysedCorpus, ...] = field(repr=False)

    def __call__(self, run: AblationRun, say: Say) -> Record:
        """Train a run, score the corpora, and write scores and weights.

        Raises:
            ConfigurationError: Its teachers have other classes.
            StageError: Training failed.
            OutputError: A file cannot be written.
        """
        from inverse_deid.training.run import model_parts

        start = time.perf_counter()
        config = run.variant.network
        training = change_settings(run.variant.training, seed=run.seed)
        network = new_network(config, self.vectors, run.seed)
        losses: list[float] = []
        speeds: list[float] = []

        def note_epoch(epoch: int, logs: Mapping[str, float]) -> None:
            losses.append(logs["loss"])
            speeds.append(logs["tokens_per_second"])
            say(
                f"{run.name}: epoch {epoch}/{training.epochs}, loss {losses[-1]:.4f}, "
                f"{speeds[-1]:.0f} tokens/s"
            )

        fit_network(network, config, training, self._epochs(run), callbacks=[on_epoch(note_epoch)])
        parts = model_parts(network, config, self.vectors)
        scores, weights = f"{run.name}.npz", weights_name(run.name)
        runs = self.folder / "runs"
        write_scores(runs / scores, {corpus.name: score_corpus(parts, corpus) for corpus in self.corpora})
        write_arrays(runs / weights, weights_of(network))
        return {
            "loss": losses[-1],
            "losses": losses,
            "tokens_per_second": float(np.median(speeds)),
            "seconds": time.perf_counter() - start,
            "network": as_plain_values(config),
            "training": as_plain_values(training),
            "files": [scores, weights],
        }

    def _epochs(self, run: AblationRun) -> Epochs:
        own = keep_last(functools.partial(read_epoch, self.folder / "epochs", run.variant))
        config, training = run.teacher_network, run.variant.training
        if config is None:
            return own
        if class_names(config.targets) != class_names(run.variant.network.targets):
            raise ConfigurationError(
                f"{run.name}: its classes differ from those of its teachers. Give both the same targets"
            )
        if run.variant.network.output == "crf":
            raise ConfigurationError(
                f"{run.name}: a CRF can learn from labels only. Remove its teachers, or use output softmax"
            )
        seen_variant = dataclasses.replace(run.variant, network=config)
        seen = keep_last(functools.partial(read_epoch, self.folder / "epochs", seen_variant))
        networks = [new_network(config, self.vectors) for _ in run.teachers]
        for network, name in zip(networks, run.teachers, strict=True):
            assign_weights(network, read_arrays(self.folder / "runs" / weights_name(name)))

        def teach(epoch: int) -> list[Example]:
            from inverse_deid.network.training import probabilities

            opinions = [probabilities(network, seen(epoch), config) for network in networks]
            taught = []
            for i, example in enumerate(own(epoch)):
                doubtful = example.weights == 0
                share = np.where(doubtful, 1.0, training.teacher_weight)[:, None]
                opinion = np.mean([rows[i] for rows in opinions], axis=0) * share
                weights = np.where(doubtful, training.weak_weight, example.weights).astype(np.float32)
                taught.append(
                    dataclasses.replace(example, weights=weights, opinion=opinion.astype(np.float16))
                )
            return taught

        return keep_last(teach)


N_BASE_SEEDS = 3


@dataclass(frozen=True, slots=True, eq=False)
class _AblationData:
    gold: list[Document] = field(repr=False)
    carriers: list[Document] = field(repr=False)
    held_out: tuple[AnalysedCorpus, ...]
    compared: tuple[AnalysedCorpus, ...]

    @property
    def corpora(self) -> tuple[AnalysedCorpus, ...]:
        return (*self.held_out, *self.compared)


def run_ablations(
    config: RunConfig, variants_path: Path, compare: Sequence[Path], n_epochs: int, options: StudyOptions
) -> None:
    """Make the epochs, train the variants, measure, and write the report.

    Compared corpora, those of the base configuration and `compare`, are judged and never trained on. The
    seeds are those of each variant; the base has more, and is trained whatever `only` names.

    Raises:
        InputError: A corpus or a stored file cannot be read.
        ConfigurationError: Settings contradict each other or the folder.
        OutputError: A file cannot be written.
    """
    from inverse_deid.training.backend import prepare_backend
    from inverse_deid.training.run import load_word_vectors

    if config.teachers:
        options.say("data.teachers of the base is ignored: here students learn from the base networks")
    compare = tuple(dict.fromkeys((*config.compare, *(path.resolve() for path in compare))))
    config = change_settings(config, compare=compare, teachers=())
    if trained := sorted(str(path) for path in set(compare) & set(config.gold)):
        raise ConfigurationError(f"{', '.join(trained)}: trained on, so it cannot be compared. Remove it")
    if config.network.learn_words:
        raise ConfigurationError("ablations need fixed word vectors. Remove network.learn_words")
    base = base_variant(config, n_epochs)
    variants = [base, *read_variants(variants_path, base)]
    vectors = load_word_vectors(config.word_vectors)
    study = Study(
        "ablations",
        dataclasses.replace(options, only=(BASE, *options.only) if options.only else ()),
        kinds=[variant.name for variant in variants],
        inputs=(*config.gold, *compare, *config.carriers),
        shared={
            "base": fingerprint(base.network, change_settings(base.training, epochs=1)),
            "epochs": n_epochs,
            "rules": fingerprint(FEATURE_NAMES, load_lexicon().sha256),
            "vectors": fingerprint(vectors.words, vectors.codes.tobytes(), vectors.scale.tobytes()),
        },
        config=variants_path,
    )
    data = _read(config)
    options.say(f"{len(data.gold)} training documents, {len(data.carriers)} carriers, {prepare_backend()}")
    seconds = {"epochs": _make_epochs(study, data, base, vectors)}
    trainer = VariantTrainer(folder=study.folder, vectors=vectors, corpora=data.corpora)
    records = _train(study, variants, trainer)
    seconds["training"] = sum(record["seconds"] for record in records.values())
    _report(study, data, config, variants, records, seconds)


def _report(
    study: Study,
    data: _AblationData,
    config: RunConfig,
    variants: Sequence[Variant],
    records: dict[AblationRun, Record],
    seconds: dict[str, float],
) -> None:
    from inverse_deid.training.backend import prepare_backend

    start = time.perf_counter()
    recall = config.calibration.balanced_recall
    judge = Judge(
        held_out=data.held_out,
        compared=data.compared,
        verdicts={one.name: one.verdicts("case-aware") for one in data.corpora},
        recall=recall,
        like=config.calibration.like,
    )
    outcomes, notes = _measure(study, judge, list(records))
    titles = {variant.name: variant.title for variant in variants} | UNTRAINED
    columns = ["seconds", "tokens_per_second"]
    rows = pd.DataFrame(list(records.values()), index=[run.kind for run in records], columns=columns)
    means = rows.groupby(level=0, sort=False).mean()
    means.insert(0, "title", means.index.map({variant.name: variant.title for variant in variants}))
    sections = ablation_tables(titles, means, outcomes)
    seconds["measuring"] = time.perf_counter() - start
    documents = (f"{corpus.name} {len(corpus.docs)}" for corpus in data.corpora)
    provenance = study.provenance(
        settings={
            "network": repr(variants[0].network),
            "training": repr(variants[0].training),
            "documents": f"{len(data.gold)} gold and {len(data.carriers)} carriers for training; "
            + ", ".join(documents),
            "thresholds": f"calibrated to recall {recall:g} on the held-out documents together, run by run",
        },
        n_seconds=seconds,
        seeds=base_seeds(study.options.seeds),
        device=f"{prepare_backend()}, {study.options.n_processes} training(s) at a time",
    )
    text = [
        "",
        "One token is one decision, after the rules that always mask. *precision at r*: on the curve of the "
        "very corpus. *recall*, *precision*, *without a leak* (documents): at the calibrated thresholds. "
        "Held-out documents were kept from training and used for calibration; learned combiners judge them "
        "by cross-fitting. Means over seeds.",
        *(["", *notes] if notes else []),
    ]
    Report(title="Ablations", provenance=provenance, text=text, sections=sections).write(study.folder)


def _read(config: RunConfig) -> _AblationData:
    types = read_type_mapping(config.mapping)
    gold: list[Document] = []
    held_out = []
    for path in config.gold:
        rest, held = split_by_group(
            read_annotated(path, types), config.training.validation_share, config.training.seed
        )
        gold += rest
        held_out.append(analyse_corpus(f"{_corpus_name(path)} held out", held))
    compared = (analyse_corpus(_corpus_name(path), read_annotated(path, types)) for path in config.compare)
    carriers = [doc for path in config.carriers for doc in read_annotated(path, types)]
    if not any(corpus.is_phi.any() for corpus in held_out):
        raise ConfigurationError("no PHI in the held-out documents. Raise training.validation_share")
    return _AblationData(gold, carriers, tuple(held_out), tuple(compared))


def _corpus_name(path: Path) -> str:
    return "/".join((path.parent.name, path.stem))


def base_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds of the base: those of the variants, and more until there are three."""
    more = range(max(seeds) + 1, max(seeds) + 1 + max(0, N_BASE_SEEDS - len(seeds)))
    return (*seeds, *more)


def _make_epochs(study: Study, data: _AblationData, base: Variant, vectors: WordVectors) -> float:
    # Returns the seconds that this took.
    start = time.perf_counter()
    recipe = EpochRecipe(
        gold=data.gold, carriers=data.carriers, network=base.network, training=base.training, vectors=vectors
    )
    folder = study.folder / "epochs"
    missing = [epoch for epoch in range(base.training.epochs) if not epoch_path(folder, epoch).exists()]
    work = functools.partial(_make_epoch, folder, recipe)
    for epoch, made in do_jobs(work, missing, study.options.n_processes, study.say):
        study.say(f"epoch {epoch + 1}: {made['n_tokens']} tokens stored")
    return time.perf_counter() - start


def _make_epoch(folder: Path, recipe: EpochRecipe, epoch: int, say: Say) -> Record:
    return {"n_tokens": write_epoch(folder, recipe, epoch)}


def _train(study: Study, variants: Sequence[Variant], trainer: VariantTrainer) -> dict[AblationRun, Record]:
    seeds = study.options.seeds
    base, *others = variants
    runs = [AblationRun(variant=base, seed=seed) for seed in base_seeds(seeds)]
    teachers = tuple(run.name for run in runs)
    students = []
    for variant, seed in itertools.product(others, seeds):
        if variant.is_student:
            students.append(
                AblationRun(variant=variant, seed=seed, teachers=teachers, teacher_network=base.network)
            )
        else:
            runs.append(AblationRun(variant=variant, seed=seed))
    records = dict(study.finish(runs, trainer)) | dict(study.finish(students, trainer))
    order = [variant.name for variant in variants]
    return dict(sorted(records.items(), key=lambda item: order.index(item[0].kind)))


def _measure(study: Study, judge: Judge, runs: Sequence[AblationRun]) -> tuple[pd.DataFrame, list[str]]:
    # Returns also what could not be measured.
    networks: dict[int, Scores] = {}
    rows: list[Row] = []
    for run in runs:
        scores = read_scores(study.folder / "runs" / f"{run.name}.npz")
        if run.kind == BASE:
            networks[run.seed] = scores
        rows += judge.measure(run.kind, str(run.seed), scores)
    rows += judge.measure_pools(networks, (2, N_BASE_SEEDS))
    rest, notes = judge.measure_untrained(networks)
    return pd.DataFrame([*rows, *rest]), notes
