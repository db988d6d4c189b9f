"""Train a pre-trained encoder to teach a network, or to be paired with it as a second reader.

See docs/rebuilding.md. Needs `pip install '.[train]'`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.core.revision import revision
from inverse_deid.core.settings import change_settings
from inverse_deid.training.config import read_run_config

if TYPE_CHECKING:
    from inverse_deid.training.encoders.run import EncoderSurroundings, TrainedEncoder

Limits = tuple[str, float, float, float, float]
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_OUT = click.Path(path_type=Path)


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    options = (
        click.option("--config", type=_FILE, required=True, help="Training configuration."),
        click.option(
            "--weights",
            type=_FOLDER,
            required=True,
            help="Folder with config.json, vocab.txt and model.safetensors of a BERT or MPNet encoder.",
        ),
        click.option(
            "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
        ),
        click.option("--threads", type=click.IntRange(1), help="Threads of the processor.  [default: all]"),
        click.option(
            "--workers",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            help="Processes that prepare data.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def main() -> None:
    """Train an encoder, or pair it with a network."""


@main.command()
@_shared
@click.option("--out", type=_OUT, required=True, help="Folder to write, for --weights of `train`.")
def read(config: Path, weights: Path, out: Path, **given: Any) -> None:
    """Let an encoder guess hidden words of the training texts, before it learns what the marks say.

    After an interruption, run the command again: it resumes.
    """
    settings = read_run_config(config)
    around = _surroundings(**given)
    from inverse_deid.training.encoders.run import read_further

    read_further(settings, weights, out, around)


@main.command()
@_shared
@click.option("--out", type=_OUT, required=True, help="Encoder folder to write.")
@click.option("--teacher", type=_FOLDER, help="Trained encoder to learn from: OTHER.training/trained.")
@click.option("--passes", type=_OUT, help="Folder that keeps the data of the passes for other trainings.")
@click.option("--seed", type=int, help="Seed of all random choices.  [default: that of the configuration]")
@click.option("--export/--no-export", default=True, help="Write the encoder folder.  [default: export]")
def train(config: Path, weights: Path, out: Path, seed: int | None, *, export: bool, **given: Any) -> None:
    """Fine-tune an encoder. After an interruption, run the command again: it resumes.

    Its weights in single precision are kept in OUT.training/trained.
    """
    settings = read_run_config(config)
    if seed is not None:
        settings = change_settings(settings, training=change_settings(settings.training, seed=seed))
    around = _surroundings(**given)
    from inverse_deid.training.encoders.run import train_encoder

    trained = train_encoder(settings, weights, out, around)
    if export:
        _export(trained, out)


def _surroundings(device: Any, threads: int | None, **given: Any) -> EncoderSurroundings:
    from inverse_deid.training.backend import prepare_backend

    click.echo(prepare_backend(device, threads))
    from inverse_deid.training.encoders.run import EncoderSurroundings

    return EncoderSurroundings(say=click.echo, show=sys.stderr.isatty(), revision=revision(), **given)


@main.command(name="export")
@click.option("--trained", type=_FOLDER, required=True, help="Trained encoder: OUT.training/trained.")
@click.option("--out", type=_OUT, required=True, help="Encoder folder to write.")
def export_command(trained: Path, out: Path) -> None:
    """Write the encoder folder of a trained encoder: its graph with weights of 8 bits."""
    from inverse_deid.training.backend import prepare_backend

    prepare_backend("cpu")
    from inverse_deid.training.encoders.run import TrainedEncoder

    _export(TrainedEncoder.read(trained), out)


def _export(trained: TrainedEncoder, out: Path) -> None:
    from inverse_deid.network.second_reader import write_encoder

    write_encoder(trained.parts(), out)


@main.command()
@click.option("--config", type=_FILE, required=True, help="The configuration that it was trained with.")
@click.option("--encoder", type=_FOLDER, required=True, help="Encoder folder.")
@click.option("--model", type=_FOLDER, required=True, help="Model folder of the network.")
@click.option("--out", type=_OUT, required=True, help="Encoder folder to write, with thresholds.")
@click.option(
    "--doubt",
    "doubts",
    type=(str, float, float, float, float),
    multiple=True,
    metavar="POINT LOW HIGH_OF_SAFE HIGH HIGH_OF_NAMES",
    help="Operating point, and the p_safe of the words that are read again. Repeat it for other points.",
)
@click.option("--weight", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="Of the encoder.")
def pair(
    config: Path, encoder: Path, model: Path, out: Path, doubts: Sequence[Limits], weight: float
) -> None:
    """Calibrate the thresholds of network and encoder together on the held-out documents."""
    from inverse_deid.network.doubt import Doubt
    from inverse_deid.training.encoders.second_reader import LIMITS, Readers, pair_readers

    doubtful = {**LIMITS, **{name: Doubt(*limits) for name, *limits in doubts}}
    readers = Readers(model=model, encoder=encoder, doubtful=doubtful, weight=weight)
    pair_readers(readers, read_run_config(config), out, click.echo)


if __name__ == "__main__":
    main()
