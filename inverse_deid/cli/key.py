"""`inverse-deid key`: make the file with the secret that other commands take as `--key`."""

from __future__ import annotations

from pathlib import Path

import click

from inverse_deid.core.files import printable
from inverse_deid.core.wording import _
from inverse_deid.replacement.keys import make_key_file


@click.group()
def key() -> None:
    """Make a key file."""


@key.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def new(file: Path) -> None:
    """Write a new random key into FILE, which only you can read (mode 600).

    The key is for the option --key of `inverse-deid mask` (moved dates, made-up
    names, maps, pseudonyms of ids) and of `inverse-deid review` (encryption of
    the store). An existing file is never overwritten.
    """
    make_key_file(file)
    lines = (
        _("The key is in: {absolute}", absolute=printable(file.absolute())),
        _("Use it with --key, for example to move dates:"),
        f"  inverse-deid mask CASES --out MASKED --dates shift --key {printable(file)}",
        _("Keep it apart from the files that it protects, and keep a copy in a safe place."),
        _("Anyone with the key can undo what it hides. Without the key, nobody can, and you cannot either."),
    )
    for line in lines:
        click.echo(line, err=True)
