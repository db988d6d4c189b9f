"""`inverse-deid research share`: training data as private representations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inverse_deid.cli.parts.report_files import refuse_read
from inverse_deid.core.files import write_whole
from inverse_deid.formats.tables.json_lines import gold_json_line
from inverse_deid_research.commands.experiment import sharing_study
from inverse_deid_research.commands.progress import progress

if TYPE_CHECKING:
    from inverse_deid_research.representations.config import SharingConfig

_FILE = click.Path(dir_okay=False, path_type=Path)
_ANY = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)

_CONFIG = click.option(
    "--config", "config_path", type=_FILE, help="TOML file of settings (see research/configs/sharing.toml)."
)
_MAPPING = click.option(
    "--mapping", type=_FILE, help="TOML file that maps the types of another scheme to ours."
)
_WORD_VECTORS = click.option(
    "--word-vectors",
    type=_FILE,
    help="Public word vectors (scripts/build_word_vectors.py). Their words are published. "
    "[default: those of the packaged model]",
)
_REPRESENTATION = click.option(
    "--representation", required=True, type=_FOLDER, help="Folder that `share init` wrote."
)
_FORCE = click.option("--force", is_flag=True, help="Overwrite the file.")
_QUIET = click.option("-q", "--quiet", is_flag=True, help="Do not print progress.")


def _out(metavar: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option("--out", required=True, type=_ANY, metavar=metavar, help=text)


@click.group()
def share() -> None:
    """Share training data as vectors without identifiers, or as text with pseudonyms.

    A provider publishes a representation (init). Institutions write their
    annotated documents through it (encode). The files are put together (pool), and a
    network is trained on them (train), which `inverse-deid mask --model` uses.
    `pseudonymise` is simpler and protects less.

    docs/representations.md describes the protection and its limits.
    """


@share.command()
@click.argument("corpus", type=_ANY)
@_out("FOLDER", "Folder for the representation.")
@_CONFIG
@_MAPPING
@_WORD_VECTORS
@_QUIET
def init(corpus: Path, out: Path, word_vectors: Path | None, quiet: bool, **given: Path | None) -> None:
    """Train a representation on CORPUS and write what a provider publishes.

    The last lines say what two attackers find out on held-out documents. Read them
    before you publish.
    """
    config = _settings(given["config_path"])
    from inverse_deid.training.run import load_word_vectors
    from inverse_deid_research.representations.sharing import publish_representation

    vectors = load_word_vectors(word_vectors)
    publish_representation(corpus, out, config, vectors, given["mapping"], progress(quiet=quiet))
    progress(quiet=quiet)(f"representation written to {out}")


@share.command()
@click.argument("corpus", type=_ANY)
@_out("FILE.jsonl", "File for the sentences, as `inverse-deid train` and `fine-tune` read them.")
@click.option(
    "--neighbours",
    "n_neighbours",
    type=click.IntRange(min=2),
    default=100,
    show_default=True,
    help="N, the words that each annotated word may become, itself included.",
)
@click.option("--alike", is_flag=True, help="All mentions of a word in a document become the same.")
@_WORD_VECTORS
@_MAPPING
@_FORCE
@_QUIET
def pseudonymise(
    corpus: Path, out: Path, n_neighbours: int, alike: bool, force: bool, quiet: bool, **given: Path | None
) -> None:
    """Write the annotated documents of CORPUS as text with other words in place of PHI.

    Sentences are shuffled. Each annotated word becomes a random one of its N neighbours,
    or other letters and digits if it has no vector. Text that nobody annotated stays. The
    last lines say how much of the originals is left. Read them before you share.
    """
    refuse_read(out, [corpus, *filter(None, given.values())])
    from inverse_deid.training.run import load_word_vectors
    from inverse_deid_research.representations.shared_file import refuse_existing
    from inverse_deid_research.representations.sharing import pseudonymise_corpus

    refuse_existing(out, force=force)
    vectors = load_word_vectors(given["word_vectors"])
    made = pseudonymise_corpus(corpus, vectors, n_neighbours, given["mapping"], alike=alike)
    write_whole(out, map(gold_json_line, made.docs))
    progress(quiet=quiet)(f"{len(made.docs)} sentences written to {out}")
    for line in made.summary():
        click.echo(line)


@share.command()
@click.argument("corpus", type=_ANY)
@_REPRESENTATION
@_out("FILE.parquet", "File for vectors, casings and classes.")
@_MAPPING
@_FORCE
@_QUIET
def encode(
    corpus: Path, representation: Path, out: Path, mapping: Path | None, force: bool, quiet: bool
) -> None:
    """Write the annotated documents of CORPUS as private vectors.

    Sentences are shuffled, and no text or id is written. Each run draws other noise, and
    no seed can be given, because it could be used to remove the noise. Share a corpus once:
    the mean of two files of it has less noise.
    """
    refuse_read(out, [corpus, representation, *filter(None, [mapping])])
    from inverse_deid_research.representations.sharing import encode_corpus

    say = progress(quiet=quiet)
    n_sentences = encode_corpus(corpus, representation, out, mapping, say, force=force)
    say(f"{n_sentences} sentences written to {out}")


@share.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE.parquet...")
@_out("FILE.parquet", "File for the sentences of all.")
@_FORCE
@_QUIET
def pool(files: tuple[Path, ...], out: Path, force: bool, quiet: bool) -> None:
    """Put the vectors of several institutions into one file, in random order."""
    refuse_read(out, files)
    from inverse_deid_research.representations.sharing import pool_files

    n_sentences = pool_files(files, out, force=force)
    progress(quiet=quiet)(f"{n_sentences} sentences written to {out}")


@share.command()
@click.argument("pooled", type=_FILE, metavar="FILE.parquet")
@_REPRESENTATION
@_out("FOLDER", "Folder for the model, for `inverse-deid mask --model`.")
@_CONFIG
@_QUIET
def train(pooled: Path, representation: Path, out: Path, config_path: Path | None, quiet: bool) -> None:
    """Train a de-identification network on private vectors."""
    config = _settings(config_path)
    from inverse_deid_research.representations.sharing import train_on_pool

    train_on_pool(pooled, representation, out, config, progress(quiet=quiet))
    progress(quiet=quiet)(f"model written to {out}")


def _settings(path: Path | None) -> SharingConfig:
    from inverse_deid_research.representations.config import read_sharing_config

    return read_sharing_config(path)


share.add_command(sharing_study)
