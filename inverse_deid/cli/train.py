"""`inverse-deid train` and `fine-tune`: train a model on annotated documents."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.cli.parts.grouped_command import GroupedCommand
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.settings import change_settings
from inverse_deid.core.wording import N_, _

if TYPE_CHECKING:
    from inverse_deid.training.config import CalibrationConfig, RunConfig

_FILE = click.Path(dir_okay=False, path_type=Path)
_ANY = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)

INTERRUPTED = 130
FINE_TUNING_EPOCHS = 2
FINE_TUNING_RATE = 5e-4


def _shared(command: Callable[..., int]) -> Callable[..., int]:
    options = (
        click.option(
            "--config",
            "config_path",
            type=_FILE,
            help=_("TOML file with corpora, network and training settings (see configs/default.toml)."),
        ),
        click.option(
            "--gold",
            multiple=True,
            type=_ANY,
            help=_("Annotated documents: JSON Lines, 2014 i2b2 XML or a folder of it. May be repeated."),
        ),
        click.option(
            "--compare",
            multiple=True,
            type=_ANY,
            help=_("Annotated documents to measure before and after, never to train on. May be repeated."),
        ),
        click.option(
            "--mapping",
            type=_FILE,
            help=_("TOML file that maps the types of another scheme to the types of this program."),
        ),
        click.option("--epochs", type=click.IntRange(1), help=_("Number of passes over the data.")),
        click.option("--seed", type=int, help=_("Seed of all random choices.")),
        click.option(
            "--out",
            required=True,
            type=_FOLDER,
            help=_("Model folder to write. An older model there is replaced when the new one is complete."),
        ),
        click.option(
            "--device",
            type=click.Choice(["auto", "cpu", "cuda"]),
            default="auto",
            show_default=True,
            help=_("Where the network learns. auto: on an NVIDIA GPU if TensorFlow finds one."),
        ),
        click.option(
            "--resume", is_flag=True, help=_("Resume after the last complete epoch of the same run.")
        ),
        click.option("-q", "--quiet", is_flag=True, help=_("No progress bar and no progress lines.")),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(
    cls=GroupedCommand,
    headings={
        N_("Documents and model"): ("gold", "out", "compare", "mapping"),
        N_("The training"): ("epochs", "seed", "config_path", "device", "resume", "quiet"),
    },
    examples={
        N_("Train on your documents"): "inverse-deid train --gold MY-DOCUMENTS --out my-model",
        N_("Train as a file says"): "inverse-deid train --config configs/default.toml --out my-model",
    },
)
@_shared
def train(**given: Any) -> int:  # noqa: ANN401 - the options are listed in _shared
    """Train a model on annotated documents and calibrate its operating points.

    Use --config FILE, or --gold to train with the default settings on your documents.
    Checkpoint, log.csv and TensorBoard events are written to FOLDER.training, next to
    the model folder.

    Needs the extra `train` (pip install '.[train]'). Use the model
    with `inverse-deid mask --model FOLDER`.
    """
    return _run(given, _defaults=lambda training: training)


@click.command(
    "fine-tune",
    cls=GroupedCommand,
    headings={
        N_("Documents and model"): ("gold", "out", "model", "compare", "mapping"),
        N_("The training"): ("epochs", "freeze", "seed", "config_path", "device", "resume", "quiet"),
    },
    examples={
        N_("Train the packaged model further"): N_(
            "inverse-deid fine-tune --gold MY-DOCUMENTS --out my-model"
        ),
        N_("Two epochs, and measure others as well"): (
            N_("inverse-deid fine-tune --gold MINE.jsonl --compare THEIRS.jsonl --epochs 2 --out my-model")
        ),
    },
)
@click.option(
    "--model",
    type=_FOLDER,
    help=_("Model folder to start from.  [default: the packaged model]"),
    default=None,
)
@click.option(
    "--freeze",
    multiple=True,
    help=_(
        "Part of the network to leave unchanged: characters, words, gaps, features, tokens, classes. May "
        "be repeated."
    ),
)
@_shared
def fine_tune(model: Path | None, freeze: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401
    """Train a model further on your own annotated documents.

    The held-out part of each --gold corpus and each --compare corpus are measured
    before and after. The figures show what the model learned and what it forgot.
    The network keeps its shape. Start with two epochs.

    Needs the extra `train` (pip install '.[train]').
    """
    from inverse_deid.masking.assemble import packaged_model

    def fewer(training: Any) -> Any:  # noqa: ANN401 - a TrainingConfig, imported lazily
        return change_settings(
            training, epochs=FINE_TUNING_EPOCHS, learning_rate=FINE_TUNING_RATE, synthetic=200, weak=0
        )

    return _run(given, _defaults=fewer, start=model or packaged_model(), freeze=freeze)


def _run(given: dict[str, Any], _defaults: Callable[[Any], Any], **around: Any) -> int:  # noqa: ANN401
    try:
        from inverse_deid.core.revision import revision
        from inverse_deid.training import backend, run
    except ImportError as error:
        raise missing_extra("training", error.name, "train") from error
    backend.check_packages()
    quiet = given["quiet"]
    surroundings = run.Surroundings(
        say=(lambda line: None) if quiet else click.echo,
        show=not quiet and sys.stderr.isatty(),
        revision=revision(),
        resume=given["resume"],
        device=given["device"],
        **around,
    )
    calibration = None if surroundings.start is None else run.read_calibration(surroundings.start)
    try:
        run.train(_config(given, _defaults, calibration), given["out"], surroundings)
    except KeyboardInterrupt:
        click.echo(_("inverse-deid: stopped. Run the same command with --resume to continue"), err=True)
        return INTERRUPTED
    if not quiet:
        click.echo(_("model written to {out}", out=given["out"]))
    return 0


def _config(
    given: dict[str, Any], defaults: Callable[[Any], Any], calibration: CalibrationConfig | None
) -> RunConfig:
    # `calibration` has the aims of the model to start from, None = the usual ones.
    from inverse_deid.network.config import TrainingConfig
    from inverse_deid.training.config import CalibrationConfig, RunConfig, read_run_config

    if given["config_path"]:
        config = read_run_config(
            given["config_path"],
            needs_gold=not given["gold"],
            training=defaults(TrainingConfig()),
            calibration=calibration,
        )
    elif given["gold"]:
        aims = calibration or CalibrationConfig()
        config = RunConfig(gold=(), training=defaults(TrainingConfig()), calibration=aims)
    else:
        raise ConfigurationError(_("nothing to train on. Give --config FILE or --gold FILE"))
    named = {name: given[name] for name in ("gold", "compare", "mapping") if given[name]}
    changed = {name: given[name] for name in ("epochs", "seed") if given[name] is not None}
    training = change_settings(config.training, **changed)
    return change_settings(config, training=training, **named)
