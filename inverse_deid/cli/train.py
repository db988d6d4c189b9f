"""`inverse-deid train`: a configuration file in, a model folder out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import click

from inverse_deid.core.errors import ConfigurationError


@click.command()
@click.option(
    "--config",
    "config_path",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML file that names the corpora and sets network and training (see configs/default.toml).",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Model folder to write; an older model there is replaced when the new one is complete.",
)
def train(config_path: Path, out: Path) -> None:
    """Train a model on annotated documents and calibrate its thresholds.

    Needs the extra `train` (pip install 'inverse-deid[train]'). Use the model
    with `inverse-deid mask --model FOLDER`.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        from inverse_deid.learning import run
    except ImportError as error:
        raise ConfigurationError(
            f"training needs the package {error.name}; install 'inverse-deid[train]'"
        ) from error
    run.train(run.read_run_config(config_path), out, say=click.echo, revision=_revision())
    click.echo(f"model written to {out}")


def _revision() -> str:
    """The commit that is checked out, "" outside a checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)  # noqa: S603
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
