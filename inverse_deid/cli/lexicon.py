"""`inverse-deid lexicon`: build a lexicon with licensed dictionaries, explain a word."""

from __future__ import annotations

import zipfile
from pathlib import Path

import click

from inverse_deid.core.errors import InverseDeidError, OutputExistsError
from inverse_deid.core.files import write_whole
from inverse_deid.lexicon import Lexicon, load_lexicon
from inverse_deid.lexicon.artefact import dump_artefact, parse_artefact
from inverse_deid.lexicon.lexicon import explain_word, format_explanation
from inverse_deid.lexicon.licensed import make_licensed_lists, merge_lists

_FILE = click.Path(dir_okay=False, path_type=Path)


class _InputProblem(click.ClickException):
    """An error in one line, with exit status 2."""

    exit_code = 2


@click.group()
def lexicon() -> None:
    """Work with the dictionaries of the rules."""


@lexicon.command()
@click.option("--meddra", type=click.Path(path_type=Path), help="MedDRA folder with llt.asc and pt.asc.")
@click.option("--whodrug", type=click.Path(path_type=Path), help="Drug name table of WHODrug.")
@click.option("--out", required=True, type=_FILE, help="Lexicon file to write.")
@click.option("--base", type=_FILE, help="Lexicon to extend.  [default: the packaged one]")
@click.option("--force", is_flag=True, help="Overwrite an earlier lexicon.")
def build(meddra: Path | None, whodrug: Path | None, out: Path, base: Path | None, force: bool) -> None:
    """Write a copy of the lexicon with the words of your MedDRA and WHODrug.

    The copy contains words of licensed dictionaries. Do not pass it on.
    """
    if meddra is None and whodrug is None:
        raise click.UsageError("Give --meddra FOLDER, --whodrug FILE or both.")
    try:
        _check_out(out, force=force)
        known = load_lexicon(base)
        lists = make_licensed_lists(meddra, whodrug, known)
        data = dump_artefact(merge_lists(known, lists))
        write_whole(out, [data])
    except InverseDeidError as error:
        raise _InputProblem(str(error)) from error
    built = Lexicon(parse_artefact(data))
    for word_list in lists:
        click.echo(f"{word_list.name}: {len(word_list.entries):,} entries")
    click.echo(f"{out}: {len(built):,} words, version {built.version}")


def _check_out(out: Path, *, force: bool) -> None:
    """Refuse to overwrite a file, except a lexicon with `--force`.

    Raises:
        OutputExistsError: The file exists.
    """
    if not out.exists():
        return
    if not zipfile.is_zipfile(out):
        raise OutputExistsError(f"{out} exists and is not a lexicon. Choose another name with --out.")
    if not force:
        raise OutputExistsError(f"{out} exists. Give --force to overwrite it.")


@lexicon.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--lexicon", "path", type=_FILE, help="Lexicon file.  [default: the packaged one]")
def explain(words: tuple[str, ...], path: Path | None) -> None:
    """Show the lists that contain each WORD, and how the rules judge it."""
    if not all(word and word.isprintable() for word in words):
        raise click.UsageError(
            "a WORD is empty or cannot be printed. Give words in the encoding of the terminal."
        )
    try:
        known = load_lexicon(path)
    except InverseDeidError as error:
        raise _InputProblem(str(error)) from error
    for word in words:
        click.echo(format_explanation(explain_word(known, word)))
