"""`inverse-deid research network-alone`: a network without rules on an annotated test file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from inverse_deid.core.errors import ConfigurationError, Remedy
from inverse_deid.core.settings import change_settings
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.measures.counts import GROUPS, GroupKind
from inverse_deid.formats.tables.json_lines import gold_json_line
from inverse_deid.training.calibration import calibrate, score_from_high
from inverse_deid.training.config import RunConfig, read_run_config
from inverse_deid.training.corpus import (
    read_annotated,
    read_type_mapping,
    split_by_group,
    without_shared_passages,
)
from inverse_deid_research.studies.records import Record, fingerprint, write_text
from inverse_deid_research.studies.report import Report, read_published
from inverse_deid_research.studies.scoring import (
    AnalysedCorpus,
    analyse_corpus,
    precision_at_recall,
    read_scores,
    score_corpus,
    write_scores,
)
from inverse_deid_research.studies.study import Say, Study, StudyOptions
from inverse_deid_research.studies.tables import Table, frame_of, mean

RECALLS = (0.97, 0.98, 0.99, 0.995)
_TEST, _HELD_OUT = "test", "held out"
_FIGURES = {
    "recall_all": "recall",
    "precision": "precision",
    "safe_kept": "safe kept",
    "documents_without_leak": "documents without a leak",
    "recall_hipaa": "HIPAA recall",
}


@dataclass(frozen=True, slots=True)
class _SeedRun:
    seed: int

    @property
    def name(self) -> str:
        return f"seed-{self.seed}"

    kind = name

    @property
    def depends_on(self) -> tuple[object, ...]:
        return (self.seed,)


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """One training on the test file: a row of figures, and the evaluations by type."""

    row: dict[str, float | str | None]
    most_probable: Evaluation
    calibrated: Evaluation


def run_network_alone(
    config_path: Path, test_path: Path, options: StudyOptions, *, show: bool = False
) -> None:
    """Train once per seed, score the test file, and write the report.

    The test file is annotated and never trained on. The seeds are those of network, batches and split;
    `show` draws a progress bar.

    Raises:
        InputError: A corpus or a stored file cannot be read.
        ConfigurationError: The test file is trained on, or the folder contains another study.
        OutputError: A file cannot be written.
    """
    config = read_run_config(config_path)
    types = read_type_mapping(config.mapping)
    if test_path.resolve() in config.gold:
        raise ConfigurationError(
            f"{test_path}: trained on, so it cannot be the test file",
            remedies=[Remedy("test", step="give another file with {}")],
        )
    unseeded = change_settings(config.training, seed=0)
    settings = fingerprint(config.network, unseeded, config.calibration, config.word_vectors)
    inputs = (*config.gold, *config.carriers, test_path)
    study = Study("network-alone", options, inputs=inputs, shared={"settings": settings}, config=config_path)
    test = analyse_corpus(_TEST, read_annotated(test_path, types))
    folder = study.folder / "runs"
    files = []
    for number, path in enumerate(config.gold, start=1):
        docs = without_shared_passages(read_annotated(path, types), test.docs)
        files.append(folder / f"train-{number}.jsonl")
        write_text(files[-1], b"".join(map(gold_json_line, docs)).decode())
    config = change_settings(config, gold=tuple(files))

    def work(run: _SeedRun, say: Say) -> Record:
        return _train(study, _seed_config(config, run.seed), test, say, show=show)

    records = dict(study.finish([_SeedRun(seed) for seed in options.seeds], work))
    measured = [_measure(study, _seed_config(config, run.seed), test) for run in records]
    text = (
        "The network alone, without dictionaries, thresholds of rules or document passes. Training documents "
        "of persons who are in the test file were left out, and lines of the others that share ten words in "
        "a row with a test document (`inverse_deid.training.corpus.without_shared_passages`). Test file: "
        f"{len(test.docs)} documents, {len(test.types)} tokens, {int(test.is_phi.sum())} of them PHI; "
        "nothing was trained or calibrated on it. The held-out part changes with the seed."
    )
    provenance = study.provenance(
        settings={"network": repr(config.network), "training": repr(config.training)},
        n_seconds={f"seed {run.seed}": record["seconds"] for run, record in records.items()},
    )
    sections = _tables(config.calibration.balanced_recall, measured)
    report = Report(title="Network alone", provenance=provenance, text=["", text], sections=sections)
    report.write(study.folder)


def _seed_config(config: RunConfig, seed: int) -> RunConfig:
    return change_settings(config, compare=(), training=change_settings(config.training, seed=seed))


def _analyse_held_out(config: RunConfig) -> AnalysedCorpus:
    types = read_type_mapping(config.mapping)
    share, seed = config.training.validation_share, config.training.seed
    parts = [split_by_group(read_annotated(path, types), share, seed)[1] for path in config.gold]
    return analyse_corpus(_HELD_OUT, [doc for part in parts for doc in part])


def _train(study: Study, config: RunConfig, test: AnalysedCorpus, say: Say, *, show: bool) -> Record:
    import keras

    from inverse_deid.network.folder import read_model
    from inverse_deid.training.run import Surroundings, train

    name = f"seed-{config.training.seed}"
    folder = study.folder / "models" / name
    keras.utils.clear_session()
    keras.utils.set_random_seed(config.training.seed)
    train(config, folder, Surroundings(say=say, show=show, resume=True))
    parts = read_model(folder)
    scores = {corpus.name: score_corpus(parts, corpus) for corpus in (_analyse_held_out(config), test)}
    write_scores(study.folder / "runs" / f"{name}.npz", scores)
    return {"files": [f"{name}.npz"]}


def _measure(study: Study, config: RunConfig, test: AnalysedCorpus) -> _Measured:
    seed = config.training.seed
    scores = read_scores(study.folder / "runs" / f"seed-{seed}.npz")
    held_out = scores[_HELD_OUT].for_calibration(_analyse_held_out(config))
    thresholds = calibrate([held_out], config.calibration.balanced_recall)
    found = scores[_TEST]
    most_probable = test.evaluate(found.is_probably_safe)
    calibrated = test.evaluate(found.decide(thresholds).keep)
    is_phi, is_masked = test.is_phi, ~found.is_probably_safe
    hits, n_masked, n_phi = int((is_phi & is_masked).sum()), int(is_masked.sum()), int(is_phi.sum())
    needed = score_from_high(found.for_calibration(test))
    row: dict[str, float | str | None] = {
        "run": f"seed {seed}",
        "masked precision": hits / n_masked if n_masked else None,
        "masked recall": hits / n_phi if n_phi else None,
        "F1": 2 * hits / (n_masked + n_phi) if n_masked + n_phi else None,
        "threshold": thresholds.high,
        **{title: calibrated.value(figure) for figure, title in _FIGURES.items()},
        **{f"recall {recall:g}": precision_at_recall(is_phi, needed, recall) for recall in RECALLS},
    }
    return _Measured(row, most_probable, calibrated)


def _tables(wanted_recall: float, measured: Sequence[_Measured]) -> dict[str, list[Table]]:
    # A last row has the means over seeds, of more than one.
    frame = pd.DataFrame([one.row for one in measured], dtype=object)
    if len(frame) > 1:
        means = {column: mean(frame[column]) for column in frame.columns[1:]}
        frame = pd.concat([frame, pd.DataFrame([{"run": "mean", **means}], dtype=object)])
    facts = read_published()["meddocan"]
    most_probable = frame[["run", "masked precision", "masked recall", "F1"]]
    most_probable = most_probable.rename(columns=lambda name: name.removeprefix("masked "))
    note = (
        f"Published beside it, but of another measure and other data: {facts['source']}: "
        f"{facts['strict']:.3f} strict, {facts['spans']:.3f} spans, {facts['merged_spans']:.3f} merged "
        "spans. Those count whole spans; the table counts tokens, of which a span has several, and does not "
        "ask for the type. They are of interest where the test file is of MEDDOCAN."
    )
    calibrated = frame[["run", "threshold", *_FIGURES.values()]]
    at_recall = frame[["run", *(f"recall {recall:g}" for recall in RECALLS)]]
    measure_title = "PHI against safe, one token = one decision"
    calibration_title = f"Threshold calibrated to recall {wanted_recall:g} on the held-out part"
    recall_title = "Precision at fixed recall, thresholds taken on the test file itself"
    return {
        "Most probable class": [
            Table("most-probable-class", measure_title, most_probable, (note,), digits=4)
        ],
        "Thresholds": [
            Table("calibrated", calibration_title, calibrated, digits=4),
            Table("precision-at-recall", recall_title, at_recall, digits=4),
        ],
        "By type": [_types_table(measured)],
    }


def _types_table(measured: Sequence[_Measured]) -> Table:
    rows = []
    for group in GROUPS:
        calibrated = [one.calibrated.group(group.kind, group.name).recall for one in measured]
        most_probable = [one.most_probable.group(group.kind, group.name).recall for one in measured]
        if group.kind not in (GroupKind.ALL, GroupKind.HYPER, GroupKind.FINE) or not calibrated[0].whole:
            continue
        name = f"{group.name} (group)" if group.kind is GroupKind.HYPER else group.name
        means = (mean(share.value for share in shares) for shares in (most_probable, calibrated))
        rows.append((name, calibrated[0].whole, *means))
    columns = ("type", "tokens", "most probable class", "calibrated threshold")
    return Table("types", "Recall by type, mean over seeds", frame_of(columns, rows), digits=4)
