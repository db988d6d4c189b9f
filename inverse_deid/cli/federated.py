"""`inverse-deid federated`: training together without pooling."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from inverse_deid.cli.experiment import SEEDS, command_line
from inverse_deid.core.errors import ConfigurationError

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
def federated() -> None:
    """Train one network at several sites whose documents stay where they are.

    Needs the extra `federated` (pip install 'inverse-deid[federated]').
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
@click.option("-q", "--quiet", is_flag=True, help="No lines of progress.")
def simulate(config: Path, out: Path, force: bool, quiet: bool, **part: Any) -> None:  # noqa: ANN401
    """Compare the methods on one machine: the study of Festag and Spreckelsen.

    The sites are parts of annotated corpora. The same command goes on where an
    interrupted study stopped.
    """
    need_training()
    from inverse_deid.federated.study import SimulationSettings, run_study
    from inverse_deid.federated.study_config import restricted
    from inverse_deid.federated.study_file import read_study_config

    settings = SimulationSettings(
        config=restricted(read_study_config(config), **part),
        config_path=config,
        folder=out,
        command=command_line(click.get_current_context()),
        force=force,
    )
    run_study(settings, (lambda line: None) if quiet else click.echo)
    if not quiet:
        click.echo(f"report written to {out / 'report.md'}")


def need_training() -> None:
    """Ask for TensorFlow before anything is read.

    Raises:
        ConfigurationError: It is not installed.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    missing = ""
    try:
        import keras  # noqa: F401
        import tensorflow  # noqa: F401
    except ImportError as error:
        missing = error.name or "tensorflow"
    if missing:
        raise ConfigurationError(f"training needs the package {missing}; install 'inverse-deid[federated]'")
