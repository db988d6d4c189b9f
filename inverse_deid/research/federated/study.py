"""`inverse-deid research federated simulate`: every method on the same sites, first weights and seeds."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from inverse_deid.lexicon import load_lexicon
from inverse_deid.research.federated.documents import encode_study
from inverse_deid.research.federated.network import CommonNetwork
from inverse_deid.research.federated.runs import (
    SelectSites,
    StudyWork,
    list_inversion,
    list_runs,
    make_direct_engine,
)
from inverse_deid.research.federated.settings import FederatedStudySettings
from inverse_deid.research.federated.tables import StudyFrames, draw_curves, make_sections
from inverse_deid.research.studies.records import fingerprint, write_text
from inverse_deid.research.studies.report import Report
from inverse_deid.research.studies.study import Say, Study, StudyOptions
from inverse_deid.training.run import device_line

if TYPE_CHECKING:
    from inverse_deid.research.federated.flower.simulation import FlowerSimulation

_TEXT = (
    "",
    "The method of Festag and Spreckelsen (JMIR Form Res 2020;4(5):e14064) on other data. One token is "
    "one decision, protected health information (PHI) against safe. The network is alone, without the "
    "thresholds of dictionaries and document passes. Every method has the same sites, first weights and "
    "number of epochs.",
    "",
    "No formal guarantee: nothing here bounds what the exchanged numbers tell of a site's documents. The "
    "attempts below show what two attackers find. Another attacker may find more.",
    "",
    "![learning curves](learning-curves.svg)",
)


def run_study(
    settings: FederatedStudySettings,
    path: Path,
    options: StudyOptions,
    flower: FlowerSimulation | None = None,
) -> None:
    """Do the missing runs of a study and write its report.

    With `flower`, sites train in Flower's simulation engine; else in this process.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings do not fit the data, or the folder is another study's.
        ClusterError: The engine could not be started, or was lost.
        StageError: A loss is not a number.
        OutputError: A file cannot be written.
    """
    say = options.say
    inputs = [*settings.data.train, *settings.data.test]
    common = msgspec.structs.replace(settings.study, epochs=1, seeds=(1,))  # these are those of a run
    key = fingerprint(settings.sites, common, settings.network, settings.training, load_lexicon().sha256)
    study = Study("federated", options, inputs=inputs, shared={"settings": key}, config=path)
    began = time.perf_counter()
    encoded = encode_study(settings, say)
    n_seconds = {"reading": time.perf_counter() - began}
    say(device_line())
    work = StudyWork(settings, encoded, CommonNetwork(settings.network, settings.training, encoded.vectors))
    runs, inversion = list_runs(settings), list_inversion(settings)
    engine = make_direct_engine(work.common, encoded)
    if flower:
        from inverse_deid.research.federated.flower.simulation import make_flower_engine

        hashes = {str(name): study.hashes[str(name)] for name in inputs}
        engine = make_flower_engine(flower, settings, hashes, [site.name for site in encoded.sites])

    def do_missing(select_sites: SelectSites, tell: Say) -> None:
        list(study.finish(runs, lambda run, _: work.run_method(run, select_sites, tell)))

    if study.missing(runs):
        engine(do_missing, say)
    records = {(run.kind, run.seed): study.record(run) or {} for run in runs}
    attempts = dict(study.finish([inversion], work.invert))[inversion]["attempts"]
    for name in settings.methods:
        n_seconds[name] = sum(records[name, seed]["seconds"] for seed in settings.study.seeds)
    provenance = study.provenance(
        settings={
            "network": repr(settings.network),
            "training": repr(settings.training),
            "engine": flower.describe(len(encoded.sites)) if flower else "direct",
            "peak memory": _describe_memory() + (", without the processes of sites" if flower else ""),
        },
        n_seconds=n_seconds,
    )
    frames = StudyFrames(settings, [site.name for site in encoded.sites], records)
    plain = [{"method": name, "seed": seed, **record} for (name, seed), record in records.items()]
    write_text(study.folder / "study.json", json.dumps(plain, indent=1) + "\n")
    Report(
        title="Training together without pooling",
        provenance=provenance,
        text=_TEXT,
        sections=make_sections(frames, encoded, attempts),
        charts={"learning-curves.svg": draw_curves(frames)},
    ).write(study.folder)


def _describe_memory() -> str:
    """Return the most memory that this process used so far, in words."""
    try:
        import resource
    except ImportError:  # Windows
        return "not measured"
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB"
