"""`inverse-deid reveal`: the originals of a masked file, for those who are entitled to them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

from inverse_deid.cli.case_options import KEY_VARIABLE, CaseOptions
from inverse_deid.core.errors import (
    ConfigurationError,
    InputError,
    InverseDeidError,
    OutputExistsError,
)
from inverse_deid.core.files import PartialFile
from inverse_deid.engine.revealing import Revealed, reveal_documents, reveal_message
from inverse_deid.formats.encodings import normal_encoding
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.formats.registry import (
    FORMATS,
    input_errors,
    open_input,
    open_source,
    sniff_format,
)
from inverse_deid.replacement.reversal import MapReader

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("masked", type=_FILE)
@click.option("--map", "map_path", type=_FILE, required=True, help="The reversal map of the masked file.")
@click.option("--key", type=_FILE, help=f"File with the key.  [default: the variable {KEY_VARIABLE}]")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder for the originals.")
@click.option("--case", "only", metavar="ID", help="Reveal this document or case; the others stay masked.")
@click.option("--format", "format_name", type=click.Choice(list(FORMATS)), help="By suffix.")
@click.option(
    "--text-column", multiple=True, default=("text",), show_default=True, help="As it was masked. Repeatable."
)
@click.option("--id-column", help="As it was masked.")
@click.option("--delimiter", help="As it was masked: one character, or tab.")
@click.option("--encoding", default="utf-8", show_default=True, help="As it was masked.")
@click.option("--force", is_flag=True, help="Overwrite an earlier file; never the masked file or the map.")
def reveal(masked: Path, out: Path, **given: Any) -> None:  # noqa: ANN401 - click's options, typed above
    """Put the originals back into the file MASKED, with the map that was kept when it was masked.

    The file must be exactly what masking wrote: one that was changed is refused. Of E2B messages
    the free texts come back; structured fields stay as they are. THE RESULT HOLDS IDENTIFIERS: only
    you can read it (mode 600).

    Exit status: 0 done; 2 refused, nothing was written.
    """
    map_path: Path = given["map_path"]
    format_name, delimiter, only = given["format_name"], given["delimiter"], given["only"]
    secret = CaseOptions(key=given["key"]).secret()
    if secret is None:
        raise ConfigurationError(f"give the key of the map with --key, or in the variable {KEY_VARIABLE}")
    separator = {"tab": "\t", r"\t": "\t"}.get(delimiter or "", delimiter)
    options = ReadOptions(
        encoding=normal_encoding(given["encoding"]),
        text_columns=given["text_column"],
        id_column=given["id_column"],
        is_masked=True,
        delimiter=separator,
    )
    target = out / (masked.stem if masked.suffix.lower() == ".gz" else masked.name)
    key = [] if given["key"] is None else [given["key"]]
    _check_target(target, [masked, map_path, *key], force=given["force"])
    try:
        with input_errors():
            chosen = FORMATS[format_name] if format_name else sniff_format(masked, masked)
    except InputError as error:
        raise InputError(f"{masked} {error}") from None
    done = _reveal((masked, map_path), target, secret, (chosen, options, only))
    if not done.n_revealed and only is not None:
        raise InputError(f"{map_path} knows no document or case of the id given with --case")
    _report(done, target)


def _check_target(target: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """No original lies beside the masked file; nothing is overwritten unasked, and no input ever.

    Raises:
        ConfigurationError: It would lie there.
        OutputExistsError: The file is there.
    """
    if target.resolve().parent == inputs[0].resolve().parent:
        raise ConfigurationError(
            f"{inputs[0]} lies in that folder; give another one for the originals with --out"
        )
    if not os.path.lexists(target):
        return
    if any(path.exists() and target.samefile(path) for path in inputs if target.exists()):
        raise OutputExistsError(
            f"{target} is the masked file, its map or the key; choose another folder with --out"
        )
    if not force:
        raise OutputExistsError(f"{target} exists already; give --force to overwrite it")


def _reveal(
    paths: tuple[Path, Path], target: Path, secret: bytes, how: tuple[Format, ReadOptions, str | None]
) -> Revealed:
    """Write the file; it gets its name only if all of it fits the map."""
    masked, map_path = paths
    kind, options, only = how
    with _open(map_path) as map_stream, _open(masked) as stream:
        reader = _reader(map_path, map_stream, secret)
        file = PartialFile(target, private=True)
        is_complete = False
        try:
            if kind.holds_cases:
                done = reveal_message(stream, file, reader, only=only)
            else:
                source = open_source(stream, masked.name, kind, options)
                done = reveal_documents(source, file, reader, only=only)
            file.sync()
            is_complete = only is None or done.n_revealed > 0
        except InverseDeidError as error:
            raise InputError(f"{masked} (with {map_path}): {error}") from None
        finally:
            file.commit() if is_complete else file.discard()
    return done


def _open(path: Path) -> BinaryIO:
    try:
        return open_input(path)
    except InputError as error:
        raise InputError(f"{path} {error}") from None


def _reader(path: Path, stream: BinaryIO, secret: bytes) -> MapReader:
    try:
        return MapReader(stream, secret)
    except InputError as error:
        raise InputError(f"{path} {error}") from None


def _report(done: Revealed, target: Path) -> None:
    click.echo(f"revealed   {done.n_revealed:>12,}")
    click.echo(f"masked     {done.n_masked:>12,}")
    if done.n_missing:
        click.echo(f"missing    {done.n_missing:>12,} texts of elements that masking left out")
    click.echo(f"{target} HOLDS IDENTIFIERS in plain text. Only you can read it (mode 600).")
