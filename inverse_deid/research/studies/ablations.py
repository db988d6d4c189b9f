"""`inverse-deid research ablations`: one base, one change at a time, the same epochs for all."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document, RuleVerdicts
from inverse_deid.lexicon import load_lexicon
from inverse_deid.research.studies.ablation_measures import UNTRAINED, Judge
from inverse_deid.research.studies.ablation_report import Outcome, Row, write_ablation_report
from inverse_deid.research.studies.analysed import AnalysedCorpus, analysed, read_scores, verdicts_of
from inverse_deid.research.studies.combinations import Scores
from inverse_deid.research.studies.epoch_store import EpochStore, stored_documents
from inverse_deid.research.studies.provenance import Provenance, fingerprint, prepare_folder
from inverse_deid.research.studies.variant_training import Bench, Job, train_all, weights_path
from inverse_deid.research.studies.variants import BASE, Variant, base_variant, read_variants
from inverse_deid.rules.analysis import FEATURE_NAMES
from inverse_deid.training.augmentation import EpochRecipe
from inverse_deid.training.config import RunConfig
from inverse_deid.training.corpus import read_annotated, read_type_mapping, split_by_group
from inverse_deid.training.documents import corpus_sha256

Say = Callable[[str], None]

N_BASE_SEEDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationSettings:
    """What the command is told.

    Args:
        config: The base; its `compare` corpora and those of `compare` are judged.
        variants: TOML file of the variants.
        folder: Takes epochs, runs and report.
        compare: Further annotated corpora that are never trained on.
        only: Names of variants to train; none = all.
        n_epochs: Passes over the data.
        seeds: Of each variant; the base has more.
        n_processes: Trainings at a time.
        command: For the report.
        force: Start anew.
    """

    config: RunConfig
    variants: Path
    folder: Path
    compare: tuple[Path, ...] = ()
    only: tuple[str, ...] = ()
    n_epochs: int = 12
    seeds: tuple[int, ...] = (1, 2)
    n_processes: int = 1
    command: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """The documents of the experiment."""

    gold: list[Document] = field(repr=False)
    carriers: list[Document] = field(repr=False)
    held_out: tuple[AnalysedCorpus, ...]
    compared: tuple[AnalysedCorpus, ...]
    verdicts: dict[str, RuleVerdicts] = field(repr=False)

    @property
    def corpora(self) -> tuple[AnalysedCorpus, ...]:
        return (*self.held_out, *self.compared)


def run_ablations(settings: AblationSettings, say: Say) -> None:
    """Make the epochs, train the variants, measure, and write the report.

    Raises:
        InputError: A corpus or a stored file cannot be read.
        ConfigurationError: Settings contradict each other or the folder.
        OutputError: A file cannot be written.
    """
    from inverse_deid.training.run import device_line, load_word_vectors

    config = _checked(settings)
    base = base_variant(config, settings.n_epochs)
    variants = _chosen(read_variants(settings.variants, base), settings.only)
    hashes = {str(path): corpus_sha256(path) for path in (*config.gold, *config.compare, *config.carriers)}
    vectors = load_word_vectors(config.word_vectors)
    key = {
        "data": sorted(hashes.values()),
        "base": fingerprint(base.network, change_settings(base.training, epochs=1)),
        "epochs": settings.n_epochs,
        "rules": fingerprint(FEATURE_NAMES, load_lexicon().sha256),
        "vectors": fingerprint(vectors.words, vectors.codes.tobytes(), vectors.scale.tobytes()),
    }
    prepare_folder(settings.folder, "ablations", key, force=settings.force)
    data = _read(config)
    if settings.config.teachers:
        say("data.teachers of the base is left out: here students learn from the base networks")
    say(f"{len(data.gold)} training documents, {len(data.carriers)} carriers; {device_line()}")
    recipe = EpochRecipe(
        gold=data.gold,
        carriers=data.carriers,
        network=base.network,
        training=base.training,
        vectors=vectors,
    )
    seconds = {"epochs": make_epochs(settings.folder, recipe, settings.n_processes, say)}
    bench = Bench(
        folder=settings.folder, vectors=vectors, corpora=data.corpora, key=fingerprint(sorted(key.items()))
    )
    records = _train(bench, base, variants, settings, say)
    seconds["training"] = sum(record["seconds"] for record in records.values())
    start = time.perf_counter()
    rows = list(_rows(settings, base, variants, records))
    judge = Judge(
        held_out=data.held_out,
        compared=data.compared,
        verdicts=data.verdicts,
        recall=config.calibration.balanced_recall,
        density_slope=config.calibration.density_slope,
    )
    outcomes, notes = _measured(settings, judge, variants)
    seconds["measuring"] = time.perf_counter() - start
    provenance = Provenance(
        command=settings.command,
        device=f"{device_line()}, {settings.n_processes} training(s) at a time",
        seeds=base_seeds(settings.seeds),
        hashes=hashes | {str(settings.variants): corpus_sha256(settings.variants)},
        settings=_described(base, data, config.calibration.balanced_recall),
        n_seconds=seconds,
    )
    write_ablation_report(settings.folder, provenance, rows, outcomes, notes)


def _checked(settings: AblationSettings) -> RunConfig:
    """The configuration with all corpora that are compared."""
    config = settings.config
    compare = tuple(dict.fromkeys((*config.compare, *(path.resolve() for path in settings.compare))))
    if trained := sorted(str(path) for path in set(compare) & set(config.gold)):
        raise ConfigurationError(f"{', '.join(trained)}: is trained on and cannot be compared")
    if config.network.learn_words:
        raise ConfigurationError("ablations need fixed word vectors; leave network.learn_words out")
    return change_settings(config, compare=compare, teachers=())


def _chosen(variants: list[Variant], only: Sequence[str]) -> list[Variant]:
    if unknown := sorted(set(only) - {variant.name for variant in variants}):
        known = ", ".join(variant.name for variant in variants)
        raise ConfigurationError(f"no variant {', '.join(unknown)}; known: {known}")
    return [variant for variant in variants if not only or variant.name in only]


def _read(config: RunConfig) -> _Data:
    types = read_type_mapping(config.mapping)
    gold: list[Document] = []
    held_out = []
    for path in config.gold:
        rest, held = split_by_group(
            read_annotated(path, types), config.training.validation_share, config.training.seed
        )
        gold += rest
        held_out.append(analysed(f"{corpus_name(path)} held out", held))
    compared = tuple(analysed(corpus_name(path), read_annotated(path, types)) for path in config.compare)
    carriers = [doc for path in config.carriers for doc in read_annotated(path, types)]
    verdicts = {one.name: verdicts_of(one, "case-aware") for one in (*held_out, *compared)}
    if not any(corpus.is_phi.any() for corpus in held_out):
        raise ConfigurationError("no PHI among the held-out documents; raise training.validation_share")
    return _Data(gold, carriers, tuple(held_out), compared, verdicts)


def corpus_name(path: Path) -> str:
    """What a corpus is called in tables: folder and file."""
    return "/".join((path.parent.name, path.stem))


def base_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """The seeds of the base: those of the variants and as many more as make three.

    Example:
        >>> base_seeds([1, 2])
        (1, 2, 3)
    """
    more = range(max(seeds) + 1, max(seeds) + 1 + max(0, N_BASE_SEEDS - len(seeds)))
    return (*seeds, *more)


def make_epochs(folder: Path, recipe: EpochRecipe, n_processes: int, say: Say) -> float:
    """Write the epochs that are missing; the seconds that took."""
    start = time.perf_counter()
    store = EpochStore(folder / "epochs")
    missing = [epoch for epoch in range(recipe.training.epochs) if not store.path(epoch).exists()]
    if n_processes == 1 or len(missing) < 2:
        made: Iterator[tuple[int, int]] = (_make_epoch(folder, recipe, epoch) for epoch in missing)
        _say_epochs(made, say)
    else:
        with ProcessPoolExecutor(n_processes, get_context("spawn"), _start_worker, (folder, recipe)) as pool:
            _say_epochs(pool.map(_work, missing), say)
    return time.perf_counter() - start


def _say_epochs(made: Iterator[tuple[int, int]], say: Say) -> None:
    for epoch, n_tokens in made:
        say(f"epoch {epoch + 1}: {n_tokens} tokens stored")


def _make_epoch(folder: Path, recipe: EpochRecipe, epoch: int) -> tuple[int, int]:
    return epoch, EpochStore(folder / "epochs").write(epoch, stored_documents(recipe, epoch))


_given: tuple[Path, EpochRecipe] | None = None


def _start_worker(folder: Path, recipe: EpochRecipe) -> None:
    global _given  # noqa: PLW0603 - a worker process serves one experiment
    _given = (folder, recipe)


def _work(epoch: int) -> tuple[int, int]:
    if _given is None:
        raise RuntimeError("the worker was not started")
    return _make_epoch(*_given, epoch)


def _train(
    bench: Bench, base: Variant, variants: Sequence[Variant], settings: AblationSettings, say: Say
) -> dict[str, dict[str, Any]]:
    """The base and the variants that need no teacher first, then the students."""
    seeds = base_seeds(settings.seeds)
    jobs = [Job(variant=base, seed=seed) for seed in seeds]
    teachers = tuple(weights_path(bench.folder, job.name) for job in jobs)
    students = []
    for variant, seed in itertools.product(variants, settings.seeds):
        if variant.is_student:
            students.append(Job(variant=variant, seed=seed, teachers=teachers, teacher_network=base.network))
        else:
            jobs.append(Job(variant=variant, seed=seed))
    records = train_all(bench, jobs, settings.n_processes, say)
    return records | train_all(bench, students, settings.n_processes, say)


def _rows(
    settings: AblationSettings, base: Variant, variants: Sequence[Variant], records: dict[str, dict[str, Any]]
) -> Iterator[Row]:
    """What there is to report, in order."""
    for variant in (base, *variants):
        seeds = base_seeds(settings.seeds) if variant.name == BASE else settings.seeds
        mine = [records[f"{variant.name}-{seed}"] for seed in seeds]
        yield Row(
            variant.name,
            variant.title,
            is_trained=True,
            seconds=sum(record["seconds"] for record in mine) / len(mine),
            tokens_per_second=sum(record["tokens_per_second"] for record in mine) / len(mine),
        )
    for name, title in UNTRAINED.items():
        yield Row(name, title, is_trained=False)


def _measured(
    settings: AblationSettings, judge: Judge, variants: Sequence[Variant]
) -> tuple[list[Outcome], list[str]]:
    """Every variant and seed on every corpus, and what could not be measured."""
    networks = {seed: _scores(settings, BASE, seed) for seed in base_seeds(settings.seeds)}
    outcomes = [one for seed, scores in networks.items() for one in judge.outcomes(BASE, str(seed), scores)]
    for variant, seed in itertools.product(variants, settings.seeds):
        outcomes += judge.outcomes(variant.name, str(seed), _scores(settings, variant.name, seed))
    pooled = judge.pooled(networks, (2, N_BASE_SEEDS))
    rest, notes = judge.untrained(networks)
    return [*outcomes, *pooled, *rest], notes


def _scores(settings: AblationSettings, name: str, seed: int) -> Scores:
    return read_scores(settings.folder / "runs" / f"{name}-{seed}.npz")


def _described(base: Variant, data: _Data, recall: float) -> dict[str, str]:
    """Lines for the report."""
    return {
        "network": repr(base.network),
        "training": repr(base.training),
        "documents": f"{len(data.gold)} gold and {len(data.carriers)} carriers for training; "
        + ", ".join(f"{corpus.name} {len(corpus.docs)}" for corpus in data.corpora),
        "thresholds": f"calibrated to recall {recall:g} on the held-out documents together, run by run",
    }
