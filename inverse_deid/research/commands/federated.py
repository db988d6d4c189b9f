"""`inverse-deid research federated`: training together without pooling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.research.commands.experiment import SEEDS, command_line
from inverse_deid.research.commands.training_extra import need_training, progress

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
def federated() -> None:
    """Train one network at several sites whose documents stay where they are.

    Needs the extra `federated` (pip install '.[federated]').
    """


@federated.command()
@click.option("--config", required=True, type=_FILE, help="The study (see configs/federated/).")
@click.option(
    "--out", required=True, type=_FOLDER, help="Folder for runs and report; runs there are not repeated."
)
@click.option("--only", multiple=True, help="Run only this method. May be repeated.")
@click.option("--epochs", type=click.IntRange(1), help="Instead of those of the study.")
@click.option("--seeds", type=SEEDS, default=(), help="Instead of those of the study, as in 1,2.")
@click.option("--force", is_flag=True, help="Start anew in the folder of an earlier study.")
@click.option(
    "--engine",
    type=click.Choice(["direct", "flower"]),
    default="direct",
    show_default=True,
    help="Where sites train: in this process, or in several of Flower's simulation engine "
    "(extra `federated-simulation`).",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="With --engine flower: sites that train at once.  [default: all, or one a core]",
)
@click.option("-q", "--quiet", is_flag=True, help="No lines of progress.")
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

    The sites are parts of annotated corpora. The same command goes on where an
    interrupted study stopped.
    """
    if processes and engine == "direct":
        raise ConfigurationError("--processes is for --engine flower; add it")
    need_training("training", "federated")
    from inverse_deid.research.federated.flower_simulation import FlowerSimulation
    from inverse_deid.research.federated.study import SimulationSettings, run_study
    from inverse_deid.research.federated.study_config import restricted
    from inverse_deid.research.federated.study_file import read_study_config

    settings = SimulationSettings(
        config=restricted(read_study_config(config), **part),
        config_path=config,
        folder=out,
        command=command_line(click.get_current_context()),
        force=force,
        flower=FlowerSimulation(processes or 0) if engine == "flower" else None,
    )
    run_study(settings, progress(quiet=quiet))
    if not quiet:
        click.echo(f"report written to {out / 'report.md'}")


@federated.command()
@click.option("--config", required=True, type=_FILE, help="The server's settings (see docs/federated.md).")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint of a server that was stopped.")
@click.option("-q", "--quiet", is_flag=True, help="No lines of progress.")
def server(config: Path, resume: bool, quiet: bool) -> None:
    """Lead a common training; the server needs no documents."""
    need_training("training", "federated")
    from inverse_deid.research.federated.deployment_file import read_server_config
    from inverse_deid.research.federated.server import run_server

    run_server(read_server_config(config), progress(quiet=quiet), resume=resume)


@federated.command()
@click.option("--config", required=True, type=_FILE, help="The site's settings (see docs/federated.md).")
@click.option(
    "--dry-run",
    type=click.Choice(["average", "round-robin", "selective"]),
    help="Send nothing: train one epoch and say what would leave the site by this method.",
)
@click.option("-q", "--quiet", is_flag=True, help="No lines of progress.")
def site(config: Path, dry_run: str | None, quiet: bool) -> None:
    """Take part in a common training; documents stay here."""
    need_training("training", "federated")
    from inverse_deid.research.federated.deployment_file import read_site_config
    from inverse_deid.research.federated.site import SiteRun
    from inverse_deid.research.federated.taking_part import take_part

    run = SiteRun(read_site_config(config), progress(quiet=quiet and not dry_run))
    if dry_run:
        run.dry_run(dry_run)  # type: ignore[arg-type]
    else:
        take_part(run)
