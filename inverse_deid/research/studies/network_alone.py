"""`inverse-deid research network-alone`: a network without rules on an annotated test file."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import BoolArray, Document
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.groups import GROUPS, GroupKind
from inverse_deid.research.studies.analysed import (
    AnalysedCorpus,
    TokenScores,
    analysed,
    read_scores,
    score,
    scored,
    write_scores,
)
from inverse_deid.research.studies.decided import by_argmax, decide, evaluate
from inverse_deid.research.studies.measures import mean, precision_at_recall
from inverse_deid.research.studies.provenance import (
    Provenance,
    fingerprint,
    prepare_folder,
    read_record,
    write_record,
)
from inverse_deid.research.studies.published import published
from inverse_deid.research.studies.tables import Cell, Table, write_report
from inverse_deid.training.calibration import calibrate, needed_to_mask
from inverse_deid.training.config import RunConfig
from inverse_deid.training.corpus import read_annotated, read_type_mapping, split_by_group
from inverse_deid.training.documents import corpus_sha256

Say = Callable[[str], None]

RECALLS = (0.97, 0.98, 0.99, 0.995)
_TEST, _HELD_OUT = "test", "held out"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkAloneSettings:
    """What the command is told.

    Args:
        config: What to train.
        config_path: Where it stands.
        test: Annotated file, never trained on.
        folder: Takes models, runs and report.
        seeds: Of network, batches and split.
        command: For the report.
        force: Start anew.
        show: Draw a progress bar.
    """

    config: RunConfig
    config_path: Path
    test: Path
    folder: Path
    seeds: tuple[int, ...] = (1, 2)
    command: str = ""
    force: bool = False
    show: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Result:
    """One seed on the test file."""

    seed: int
    most_probable: Evaluation
    calibrated: Evaluation
    threshold: float
    precisions: list[float | None]
    binary: tuple[float | None, float | None, float | None]
    seconds: float


def run_network_alone(settings: NetworkAloneSettings, say: Say) -> None:
    """Train once a seed, score the test file, and write the report.

    Raises:
        InputError: A corpus or a stored file cannot be read.
        ConfigurationError: The test file is trained on, or the folder is another experiment's.
        OutputError: A file cannot be written.
    """
    from inverse_deid.training.run import device_line

    config = settings.config
    if settings.test.resolve() in config.gold:
        raise ConfigurationError(f"{settings.test}: is trained on and cannot be the test file")
    files = (*config.gold, *config.carriers, settings.test)
    hashes = {str(path): corpus_sha256(path) for path in files}
    settled = change_settings(config.training, seed=0)
    key = {
        "data": sorted(hashes.values()),
        "settings": fingerprint(config.network, settled, config.calibration, config.word_vectors),
    }
    prepare_folder(settings.folder, "network-alone", key, force=settings.force)
    types = read_type_mapping(config.mapping)
    test = analysed(_TEST, read_annotated(settings.test, types))
    results = [
        _result(settings, seed, test, fingerprint(sorted(key.items())), say) for seed in settings.seeds
    ]
    provenance = Provenance(
        command=settings.command,
        device=device_line(),
        seeds=settings.seeds,
        hashes=hashes | {str(settings.config_path): corpus_sha256(settings.config_path)},
        settings={"network": repr(config.network), "training": repr(config.training)},
        n_seconds={f"seed {result.seed}": result.seconds for result in results},
    )
    _report(settings, provenance, test, results)


def _result(settings: NetworkAloneSettings, seed: int, test: AnalysedCorpus, key: str, say: Say) -> _Result:
    """Train a seed, unless that is done, and measure it."""
    config = settings.config
    seeded = change_settings(config, compare=(), training=change_settings(config.training, seed=seed))
    held_out = analysed(_HELD_OUT, _held_out(seeded))
    record_path = settings.folder / "runs" / f"seed-{seed}.json"
    scores_path = record_path.with_suffix(".npz")
    key = fingerprint(key, seed)
    record = read_record(record_path, key)
    if record is None or not scores_path.exists():
        start = time.perf_counter()
        scores = _trained(settings, seeded, (held_out, test), say)
        write_scores(scores_path, scores)
        record = {"seconds": time.perf_counter() - start}
        write_record(record_path, key, record)
    return _measured(settings, seed, held_out, test, read_scores(scores_path), record)


def _held_out(config: RunConfig) -> list[Document]:
    """The documents that training with this configuration keeps back."""
    types = read_type_mapping(config.mapping)
    share, seed = config.training.validation_share, config.training.seed
    return [
        doc for path in config.gold for doc in split_by_group(read_annotated(path, types), share, seed)[1]
    ]


def _trained(
    settings: NetworkAloneSettings, config: RunConfig, corpora: Sequence[AnalysedCorpus], say: Say
) -> dict[str, TokenScores]:
    import keras

    from inverse_deid.network.folder import read_model
    from inverse_deid.training.run import Surroundings, train

    folder = settings.folder / "models" / f"seed-{config.training.seed}"
    keras.utils.clear_session()
    keras.utils.set_random_seed(config.training.seed)
    train(config, folder, Surroundings(say=say, show=settings.show, resume=True))
    parts = read_model(folder)
    return {corpus.name: score(parts, corpus) for corpus in corpora}


def _measured(
    settings: NetworkAloneSettings,
    seed: int,
    held_out: AnalysedCorpus,
    test: AnalysedCorpus,
    scores: dict[str, TokenScores],
    record: dict[str, Any],
) -> _Result:
    thresholds = calibrate([scored(held_out, scores[_HELD_OUT])], settings.config.calibration.balanced_recall)
    found = scores[_TEST]
    needed = needed_to_mask(scored(test, found))
    keep = by_argmax(found)
    return _Result(
        seed=seed,
        most_probable=evaluate(test, keep),
        calibrated=evaluate(test, decide(found, thresholds).keep),
        threshold=thresholds.high,
        precisions=[precision_at_recall(test.is_phi, needed, recall) for recall in RECALLS],
        binary=_binary(test.is_phi, ~keep),
        seconds=float(record["seconds"]),
    )


def _binary(is_phi: BoolArray, is_masked: BoolArray) -> tuple[float | None, float | None, float | None]:
    """Precision, recall and F1 of PHI against safe, by tokens of the text.

    Example:
        >>> import numpy as np
        >>> _binary(np.array([True, True, False]), np.array([True, False, False]))
        (1.0, 0.5, 0.6666666666666666)
    """
    hits, n_masked, n_phi = int((is_phi & is_masked).sum()), int(is_masked.sum()), int(is_phi.sum())
    f1 = 2 * hits / (n_masked + n_phi) if n_masked + n_phi else None
    return hits / n_masked if n_masked else None, hits / n_phi if n_phi else None, f1


def _report(
    settings: NetworkAloneSettings, provenance: Provenance, test: AnalysedCorpus, results: Sequence[_Result]
) -> None:
    head = [
        *provenance.lines(),
        "",
        f"The network alone, without dictionaries, thresholds of rules or document passes. Test file: "
        f"{len(test.docs)} documents, {len(test.types)} tokens, {int(test.is_phi.sum())} of them PHI; "
        "nothing was trained or calibrated on it. The held-out part changes with the seed.",
    ]
    sections = {
        "Most probable class": [_binary_table(results)],
        "Thresholds": [_calibrated_table(settings, results), _curve_table(results)],
        "By type": [_types_table(results)],
    }
    write_report(settings.folder, "Network alone", head, sections)


def _with_mean(rows: Sequence[tuple[Cell, ...]]) -> tuple[tuple[Cell, ...], ...]:
    """The rows and, of more than one, their mean over seeds."""
    if len(rows) < 2:
        return tuple(rows)
    columns = list(zip(*rows, strict=True))[1:]
    means = [
        mean([float(cell) if isinstance(cell, int | float) else None for cell in column])
        for column in columns
    ]
    return (*rows, ("mean", *means))


def _binary_table(results: Sequence[_Result]) -> Table:
    facts = published()["meddocan"]
    rows = _with_mean([(f"seed {result.seed}", *result.binary) for result in results])
    return Table(
        "most-probable-class",
        "PHI against safe, one token = one decision",
        ("run", "precision", "recall", "F1"),
        rows,
        notes=(
            f"Published beside it, but of another measure and other data: {facts['source']}: "
            f"{facts['strict']:.3f} strict, {facts['spans']:.3f} spans, {facts['merged_spans']:.3f} merged "
            "spans. Those count whole spans; the table counts tokens, of which a span has several, and does "
            "not ask for the type. They are of interest where the test file is of MEDDOCAN.",
        ),
        digits=4,
    )


def _calibrated_table(settings: NetworkAloneSettings, results: Sequence[_Result]) -> Table:
    wanted = settings.config.calibration.balanced_recall
    figures = ("recall_all", "precision", "safe_kept", "documents_without_leak", "recall_hipaa")
    rows = [
        (f"seed {result.seed}", result.threshold, *(result.calibrated.value(figure) for figure in figures))
        for result in results
    ]
    return Table(
        "calibrated",
        f"Threshold calibrated to recall {wanted:g} on the held-out part",
        ("run", "threshold", "recall", "precision", "safe kept", "documents without a leak", "HIPAA recall"),
        _with_mean(rows),
        digits=4,
    )


def _curve_table(results: Sequence[_Result]) -> Table:
    rows = [(f"seed {result.seed}", *result.precisions) for result in results]
    return Table(
        "precision-at-recall",
        "Precision at fixed recall, thresholds taken on the test file itself",
        ("run", *(f"recall {recall:g}" for recall in RECALLS)),
        _with_mean(rows),
        digits=4,
    )


def _types_table(results: Sequence[_Result]) -> Table:
    rows = []
    for group in GROUPS:
        shares = [result.calibrated.group(group.kind, group.name).recall for result in results]
        if group.kind not in (GroupKind.ALL, GroupKind.HYPER, GroupKind.FINE) or not shares[0].whole:
            continue
        argmax = [result.most_probable.group(group.kind, group.name).recall.value for result in results]
        name = f"{group.name} (group)" if group.kind is GroupKind.HYPER else group.name
        rows.append((name, shares[0].whole, mean(argmax), mean([share.value for share in shares])))
    return Table(
        "types",
        "Recall by type, mean over seeds",
        ("type", "tokens", "most probable class", "calibrated threshold"),
        tuple(rows),
        digits=4,
    )
