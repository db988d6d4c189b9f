"""`inverse-deid lexicon`: build one's own lexicon, explain a word."""

from __future__ import annotations

from pathlib import Path

import click

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.lexicon import Lexicon, load_lexicon
from inverse_deid.lexicon.artefact import dump_artefact, parse_artefact
from inverse_deid.lexicon.explain import explain_word, format_explanation
from inverse_deid.lexicon.licensed import licensed_lists, merge_lists

_FILE = click.Path(dir_okay=False, path_type=Path)


class _InputProblem(click.ClickException):
    """One clear line, exit status 2."""

    exit_code = 2


@click.group()
def lexicon() -> None:
    """Work with the dictionaries behind the rules."""


@lexicon.command()
@click.option("--meddra", type=click.Path(path_type=Path), help="Folder of llt.asc and pt.asc.")
@click.option("--whodrug", type=click.Path(path_type=Path), help="Drug name table of WHODrug.")
@click.option("--out", required=True, type=_FILE, help="Lexicon file to write.")
@click.option("--base", type=_FILE, help="Lexicon to add to; the packaged one by default.")
def build(meddra: Path | None, whodrug: Path | None, out: Path, base: Path | None) -> None:
    """Write a copy of the lexicon with your own MedDRA and WHODrug words.

    The copy holds words of licensed dictionaries: keep it to yourself.
    """
    if meddra is None and whodrug is None:
        raise click.UsageError("give --meddra FOLDER or --whodrug FILE or both")
    try:
        known = load_lexicon(base)
        lists = licensed_lists(meddra, whodrug, known)
        data = dump_artefact(merge_lists(known, lists))
        out.write_bytes(data)
    except InverseDeidError as error:
        raise _InputProblem(str(error)) from error
    except OSError as error:
        raise _InputProblem(f"cannot write {out.name}: {error.strerror}") from error
    built = Lexicon(parse_artefact(data))
    for word_list in lists:
        click.echo(f"{word_list.name}: {len(word_list.entries):,} entries")
    click.echo(f"{out}: {len(built):,} words, version {built.version}")


@lexicon.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--lexicon", "path", type=_FILE, help="Lexicon file; the packaged one by default.")
def explain(words: tuple[str, ...], path: Path | None) -> None:
    """Say which lists hold each WORD and what the rules make of it."""
    try:
        known = load_lexicon(path)
    except InverseDeidError as error:
        raise _InputProblem(str(error)) from error
    for word in words:
        click.echo(format_explanation(explain_word(known, word)))
