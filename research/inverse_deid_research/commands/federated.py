"""`inverse-deid research federated`: training together without pooling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import read_settings
from inverse_deid_research.commands.experiment import SEEDS, command_line
from inverse_deid_research.commands.progress import progress

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
def federated() -> None:
    """Train one network at several sites whose documents stay where they are."""


@federated.command()
@click.option(
    "--config", required=True, type=_FILE, help="Settings of the study (see research/configs/federated/)."
)
@click.option(
    "--out", required=True, type=_FOLDER, help="Folder for runs and report. Finished runs are kept."
)
@click.option("--only", multiple=True, help="Run only this method. Repeat for more methods.")
@click.option("--epochs", type=click.IntRange(1), help="Epochs. The default is in the settings.")
@click.option("--seeds", type=SEEDS, default=(), help="Seeds to run now.  [default: all of the settings]")
@click.option("--force", is_flag=True, help="Start over in the folder of an earlier study.")
@click.option(
    "--engine",
    type=click.Choice(["direct", "flower"]),
    default="direct",
    show_default=True,
    help="Train the sites in this process, or in several processes of Flower's simulation engine "
    "(extra `federated-simulation` of the research).",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="With --engine flower: number of sites that train at once.  [default: all, or one per core]",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
def simulate(
    config: Path,
    out: Path,
    force: bool,
    engine: str,
    processes: int | None,
    quiet: bool,
    **part: Any,  # noqa: ANN401
) -> None:
    """Compare the methods on one machine: the study of Festag and Spreckelsen.

    The sites are parts of annotated corpora. If the study is interrupted, the same
    command resumes it.
    """
    if processes and engine == "direct":
        raise ConfigurationError("--processes works only with --engine flower. Add --engine flower")
    from inverse_deid_research.federated.settings import FederatedStudySettings, restrict_study
    from inverse_deid_research.federated.study import FlowerSimulation, run_study
    from inverse_deid_research.studies.study import StudyOptions, check_seeds

    whole = read_settings(config, FederatedStudySettings)
    settings = restrict_study(whole, **part)
    check_seeds(settings.study.seeds, whole.study.seeds, config)
    options = StudyOptions(
        folder=out,
        seeds=settings.study.seeds,
        say=progress(quiet=quiet),
        command=command_line(click.get_current_context()),
        force=force,
    )
    flower = FlowerSimulation(processes or 0) if engine == "flower" else None
    run_study(settings, config, options, flower, planned=whole.study.seeds)
    if not quiet:
        click.echo(f"Report written to {out / 'report.md'}")


@federated.command()
@click.option("--config", required=True, type=_FILE, help="Settings of the server (see docs/federated.md).")
@click.option("--resume", is_flag=True, help="Resume from the checkpoint of a server that was stopped.")
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
def server(config: Path, resume: bool, quiet: bool) -> None:
    """Lead a common training. The server needs no documents."""
    from inverse_deid_research.federated.server import run_server
    from inverse_deid_research.federated.settings import ServerSettings, read_party_settings

    run_server(read_party_settings(config, ServerSettings), progress(quiet=quiet), resume=resume)


@federated.command()
@click.option("--config", required=True, type=_FILE, help="Settings of the site (see docs/federated.md).")
@click.option(
    "--dry-run",
    type=click.Choice(["average", "round-robin", "selective"]),
    help="Train one epoch and print what would leave the site with this method. Send nothing.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
def site(config: Path, dry_run: str | None, quiet: bool) -> None:
    """Take part in a common training. Documents stay here."""
    from inverse_deid_research.federated.settings import SiteSettings, read_party_settings
    from inverse_deid_research.federated.site import SiteRun, take_part

    run = SiteRun(read_party_settings(config, SiteSettings), progress(quiet=quiet and not dry_run))
    if dry_run:
        run.rehearse(dry_run)  # type: ignore[arg-type]
    else:
        take_part(run)
