"""Train a pre-trained encoder to teach a network, or to be paired with it as a second reader.

See docs/rebuilding.md. Needs `pip install '.[encoder]'`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.core.revision import revision
from inverse_deid.training.config import read_run_config

if TYPE_CHECKING:
    from inverse_deid.training.encoders.run import TrainedEncoder

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_OUT = click.Path(path_type=Path)
_DEVICE = click.Choice(["cpu", "cuda"])


@click.group()
def main() -> None:
    """Train an encoder, or pair it with a network."""


@main.command()
@click.option("--config", type=_FILE, required=True, help="Training configuration.")
@click.option("--weights", type=_FOLDER, required=True, help="Folder of a BERT or MPNet encoder.")
@click.option("--out", type=_OUT, required=True, help="Folder to write, for --weights of `train`.")
@click.option("--device", type=_DEVICE, default="cpu", show_default=True)
@click.option(
    "--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that prepare data."
)
def read(config: Path, weights: Path, out: Path, device: str, workers: int) -> None:
    """Let an encoder guess hidden words of the training texts, before it learns what the marks say."""
    from inverse_deid.training.encoders.run import EncoderSurroundings, read_further

    around = EncoderSurroundings(say=click.echo, device=device, workers=workers)
    read_further(read_run_config(config), weights, out, around)


@main.command()
@click.option("--config", type=_FILE, required=True, help="Training configuration.")
@click.option(
    "--weights",
    type=_FOLDER,
    required=True,
    help="Folder with config.json, vocab.txt and model.safetensors of a BERT or MPNet encoder.",
)
@click.option("--out", type=_OUT, required=True, help="Encoder folder to write.")
@click.option("--teacher", type=_FOLDER, help="Trained encoder to learn from: OTHER.training/trained.")
@click.option("--passes", type=_OUT, help="Folder that keeps the data of the passes for other trainings.")
@click.option("--device", type=_DEVICE, default="cpu", show_default=True)
@click.option("--threads", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that prepare data."
)
@click.option("--export/--no-export", default=True, help="Write the encoder folder.  [default: export]")
def train(config: Path, weights: Path, out: Path, threads: int, *, export: bool, **given: Any) -> None:
    """Fine-tune an encoder. After an interruption, run the command again: it resumes.

    Its weights in single precision are kept in OUT.training/trained.
    """
    import torch

    from inverse_deid.training.encoders.run import EncoderSurroundings, train_encoder

    torch.set_num_threads(threads)
    around = EncoderSurroundings(say=click.echo, revision=revision(), **given)
    trained = train_encoder(read_run_config(config), weights, out, around)
    if export:
        _export(trained, out)


@main.command(name="export")
@click.option("--trained", type=_FOLDER, required=True, help="Trained encoder: OUT.training/trained.")
@click.option("--out", type=_OUT, required=True, help="Encoder folder to write.")
def export_command(trained: Path, out: Path) -> None:
    """Write the encoder folder of a trained encoder: its graph with weights of 8 bits."""
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
@click.option("--lowest", type=click.FloatRange(0, 1), default=0.02, show_default=True)
@click.option("--highest", type=click.FloatRange(0, 1), default=0.9998, show_default=True)
@click.option("--weight", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="Of the encoder.")
def pair(config: Path, encoder: Path, model: Path, out: Path, **given: float) -> None:
    """Calibrate the thresholds of network and encoder together on the held-out documents."""
    from inverse_deid.training.encoders.second_reader import Readers, pair_readers

    readers = Readers(
        model=model, encoder=encoder, doubtful=(given["lowest"], given["highest"]), weight=given["weight"]
    )
    pair_readers(readers, read_run_config(config), out, click.echo)


if __name__ == "__main__":
    main()
