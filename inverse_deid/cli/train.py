"""`inverse-deid train` and `fine-tune`: annotated documents in, a model folder out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.settings import change_settings

if TYPE_CHECKING:
    from inverse_deid.training.config import RunConfig

_FILE = click.Path(dir_okay=False, path_type=Path)
_ANY = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)

INTERRUPTED = 130
FINE_TUNING_EPOCHS = 2
FINE_TUNING_RATE = 5e-4


def _shared(command: Callable[..., int]) -> Callable[..., int]:
    """The options that both commands have."""
    options = (
        click.option(
            "--config",
            "config_path",
            type=_FILE,
            help="TOML file that names the corpora and sets network and training (see configs/default.toml).",
        ),
        click.option(
            "--gold",
            multiple=True,
            type=_ANY,
            help="Annotated documents: JSON Lines, 2014 i2b2 XML or a folder of it. May be repeated.",
        ),
        click.option(
            "--compare",
            multiple=True,
            type=_ANY,
            help="Annotated documents that are never trained on, measured before and after. May be repeated.",
        ),
        click.option(
            "--mapping", type=_FILE, help="TOML file that maps the types of another scheme to ours."
        ),
        click.option("--epochs", type=click.IntRange(1), help="Passes over the data."),
        click.option("--seed", type=int, help="Of every random choice."),
        click.option(
            "--out",
            required=True,
            type=_FOLDER,
            help="Model folder to write; an older model there is replaced when the new one is complete.",
        ),
        click.option("--resume", is_flag=True, help="Go on from the last complete epoch of the same run."),
        click.option("-q", "--quiet", is_flag=True, help="No progress bar, no lines."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_shared
def train(**given: Any) -> int:  # noqa: ANN401 - the options are listed in _shared
    """Train a model on annotated documents and calibrate its operating points.

    Give --config, or --gold for the default settings with your documents. Beside
    the model folder, FOLDER.training takes checkpoint, log.csv and TensorBoard events.

    Needs the extra `train` (pip install '.[train]'). Use the model
    with `inverse-deid mask --model FOLDER`.
    """
    return _run(given, _defaults=lambda training: training)


@click.command("fine-tune")
@click.option(
    "--model", type=_FOLDER, help="Model folder to start from; without it the packaged model.", default=None
)
@click.option(
    "--freeze",
    multiple=True,
    help="Part of the network that stays as it is: characters, words, gaps, features, tokens, classes. "
    "May be repeated.",
)
@_shared
def fine_tune(model: Path | None, freeze: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401
    """Train a model further on your own annotated documents.

    Every corpus of --gold (its held-out part) and of --compare is measured before
    and after, so that you see what was learned and what was forgotten. The network
    keeps its shape; two epochs are a good beginning.

    Needs the extra `train` (pip install '.[train]').
    """
    from inverse_deid.masking.assemble import packaged_model

    def fewer(training: Any) -> Any:  # noqa: ANN401 - a TrainingConfig, imported lazily
        return change_settings(
            training, epochs=FINE_TUNING_EPOCHS, learning_rate=FINE_TUNING_RATE, synthetic=200, weak=0
        )

    return _run(given, _defaults=fewer, start=model or packaged_model(), freeze=freeze)


def _run(given: dict[str, Any], _defaults: Callable[[Any], Any], **around: Any) -> int:  # noqa: ANN401
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        from inverse_deid.core.revision import revision
        from inverse_deid.training import run
    except ImportError as error:
        raise missing_extra("training", error.name, "train") from error
    quiet = given["quiet"]
    surroundings = run.Surroundings(
        say=(lambda line: None) if quiet else click.echo,
        show=not quiet and sys.stderr.isatty(),
        revision=revision(),
        resume=given["resume"],
        **around,
    )
    try:
        run.train(_config(given, _defaults), given["out"], surroundings)
    except KeyboardInterrupt:
        click.echo("inverse-deid: stopped; run the same command with --resume to go on", err=True)
        return INTERRUPTED
    if not quiet:
        click.echo(f"model written to {given['out']}")
    return 0


def _config(given: dict[str, Any], defaults: Callable[[Any], Any]) -> RunConfig:
    """The configuration file, if any, with what the command line says instead."""
    from inverse_deid.network.config import TrainingConfig
    from inverse_deid.training.config import RunConfig, read_run_config

    if given["config_path"]:
        config = read_run_config(
            given["config_path"], needs_gold=not given["gold"], training=defaults(TrainingConfig())
        )
    elif given["gold"]:
        config = RunConfig(gold=(), training=defaults(TrainingConfig()))
    else:
        raise ConfigurationError("give --config FILE or --gold FILE: there is nothing to train on")
    named = {name: given[name] for name in ("gold", "compare", "mapping") if given[name]}
    changed = {name: given[name] for name in ("epochs", "seed") if given[name] is not None}
    training = change_settings(config.training, **changed)
    return change_settings(config, training=training, **named)
