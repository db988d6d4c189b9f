"""Train the second reader, or pair it with a network.

See docs/rebuilding.md. Needs `pip install '.[encoder]'`.
"""

from __future__ import annotations

from pathlib import Path

import click

from inverse_deid.core.revision import revision
from inverse_deid.training.config import read_run_config

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_OUT = click.Path(path_type=Path)


@click.group()
def main() -> None:
    """Train the second reader, or pair it with a network."""


@main.command()
@click.option("--config", type=_FILE, required=True, help="Training configuration.")
@click.option(
    "--weights",
    type=_FOLDER,
    required=True,
    help="Folder with config.json, vocab.txt and model.safetensors of a BERT encoder.",
)
@click.option("--out", type=_OUT, required=True, help="Encoder folder to write.")
@click.option("--threads", type=click.IntRange(1), default=2, show_default=True)
def train(config: Path, weights: Path, out: Path, threads: int) -> None:
    """Fine-tune an encoder. After an interruption, run the command again: it resumes."""
    import torch

    from inverse_deid.training.encoder import EncoderConfig
    from inverse_deid.training.encoder_run import train_encoder

    torch.set_num_threads(threads)
    settings = EncoderConfig(weights=weights)
    train_encoder(read_run_config(config), settings, out, click.echo, revision())


@main.command()
@click.option("--config", type=_FILE, required=True, help="The configuration that it was trained with.")
@click.option("--encoder", type=_FOLDER, required=True, help="Encoder folder.")
@click.option("--model", type=_FOLDER, required=True, help="Model folder of the network.")
@click.option("--out", type=_OUT, required=True, help="Encoder folder to write, with thresholds.")
@click.option("--lowest", type=click.FloatRange(0, 1), default=0.1, show_default=True)
@click.option("--highest", type=click.FloatRange(0, 1), default=0.998, show_default=True)
@click.option("--weight", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Of the encoder.")
def pair(config: Path, encoder: Path, model: Path, out: Path, **given: float) -> None:
    """Calibrate the thresholds of network and encoder together on the held-out documents."""
    from inverse_deid.training.second_reader import Readers, pair_readers

    readers = Readers(
        model=model, encoder=encoder, doubtful=(given["lowest"], given["highest"]), weight=given["weight"]
    )
    pair_readers(readers, read_run_config(config), out, click.echo)


if __name__ == "__main__":
    main()
