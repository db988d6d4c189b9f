"""`inverse-deid lexicon`: build a lexicon with licensed dictionaries, explain a word."""

from __future__ import annotations

from pathlib import Path

import click

from inverse_deid.cli.parts.report_files import check_target
from inverse_deid.core.files import write_whole
from inverse_deid.core.wording import _
from inverse_deid.lexicon import Lexicon, load_lexicon
from inverse_deid.lexicon.artefact import MANIFEST, dump_artefact, parse_artefact
from inverse_deid.lexicon.lexicon import explain_word, format_explanation
from inverse_deid.lexicon.licensed import make_licensed_lists, merge_lists

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def lexicon() -> None:
    """Work with the dictionaries of the rules."""


@lexicon.command()
@click.option("--meddra", type=click.Path(path_type=Path), help=_("MedDRA folder with llt.asc and pt.asc."))
@click.option("--whodrug", type=click.Path(path_type=Path), help=_("Drug name table of WHODrug."))
@click.option("--out", required=True, type=_FILE, help=_("Lexicon file to write."))
@click.option("--base", type=_FILE, help=_("Lexicon to extend.  [default: the packaged one]"))
@click.option("--force", is_flag=True, help=_("Overwrite an earlier lexicon."))
def build(meddra: Path | None, whodrug: Path | None, out: Path, base: Path | None, force: bool) -> None:
    """Write a copy of the lexicon with the words of your MedDRA and WHODrug.

    The copy contains words of licensed dictionaries. Do not pass it on.
    """
    if meddra is None and whodrug is None:
        raise click.UsageError(_("Give --meddra FOLDER, --whodrug FILE or both."))
    check_target(out, MANIFEST, force=force)
    known = load_lexicon(base)
    lists = make_licensed_lists(meddra, whodrug, known)
    data = dump_artefact(merge_lists(known, lists))
    write_whole(out, [data])
    built = Lexicon(parse_artefact(data))
    for word_list in lists:
        click.echo(
            _(
                "{word_list}: {n_entries:,} entries",
                word_list=word_list.name,
                n_entries=len(word_list.entries),
            )
        )
    click.echo(
        _("{out}: {n_built:,} words, version {version}", out=out, n_built=len(built), version=built.version)
    )


@lexicon.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--lexicon", "path", type=_FILE, help=_("Lexicon file.  [default: the packaged one]"))
def explain(words: tuple[str, ...], path: Path | None) -> None:
    """Show the lists that contain each WORD, and how the rules judge it."""
    if not all(word and word.isprintable() for word in words):
        raise click.UsageError(
            _("a WORD is empty or cannot be printed. Give words in the encoding of the terminal.")
        )
    known = load_lexicon(path)
    for word in words:
        click.echo(format_explanation(explain_word(known, word)))
