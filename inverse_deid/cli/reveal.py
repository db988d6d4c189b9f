"""`inverse-deid reveal`: the originals of a masked file, for those who are entitled to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from inverse_deid.cli.parts.grouped_command import GroupedCommand
from inverse_deid.cli.parts.secret_files import KEY_COMMAND_OPTION, KEY_VARIABLE, read_secret
from inverse_deid.core.errors import ConfigurationError, InputError, InverseDeidError, OutputExistsError
from inverse_deid.core.files import PartialFile
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.reversal import Revealed, reveal_documents, reveal_message
from inverse_deid.formats.encodings import normal_encoding
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS, input_errors, open_input, sniff_format
from inverse_deid.replacement.reversal import MapReader

_FILE = click.Path(dir_okay=False, path_type=Path)


_HEADINGS = {
    N_("What is revealed"): ("map_path", "key", "key_command", "out", "only"),
    N_("How it is read"): ("format_name", "text_column", "id_column", "delimiter", "encoding"),
}
_EXAMPLES = {
    N_("A file"): "inverse-deid reveal masked/a.txt --map maps/a.txt.map --key key --out originals",
    N_(
        "One case of it"
    ): "inverse-deid reveal masked/c.csv --map maps/c.map --key key --out originals --case 7",
}


@click.command(cls=GroupedCommand, headings=_HEADINGS, heading="Output", examples=_EXAMPLES)
@click.argument("masked", type=_FILE)
@click.option("--map", "map_path", type=_FILE, required=True, help=_("The reversal map of the masked file."))
@click.option(
    "--key",
    type=_FILE,
    help=_("File with the key.  [default: the variable {key_variable}]", key_variable=KEY_VARIABLE),
)
@KEY_COMMAND_OPTION
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help=_("Folder for the originals.")
)
@click.option(
    "--case", "only", metavar="ID", help=_("Reveal this document or case alone. The others stay masked.")
)
@click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), help=_("Format.  [default: by suffix]")
)
@click.option(
    "--text-column",
    multiple=True,
    default=("text",),
    show_default=True,
    help=_("As for masking. Repeatable."),
)
@click.option("--id-column", help=_("As for masking."))
@click.option("--delimiter", help=_("As for masking: one character, or tab."))
@click.option("--encoding", help=_("As for masking.  [default: as the map says]"))
@click.option(
    "--force", is_flag=True, help=_("Overwrite an earlier file, but never the masked file or the map.")
)
def reveal(masked: Path, map_path: Path, **given: Any) -> None:  # noqa: ANN401 - click's options, typed above
    """Put the originals back into the file MASKED, with the map that was kept when it was masked.

    The file must be exactly what masking wrote. A changed file is refused. In E2B messages, free
    texts are restored and structured fields stay as they are. THE RESULT CONTAINS IDENTIFIERS: only
    you can read it (mode 600).

    Exit status: 0 done, 2 refused and nothing written.
    """
    secret = read_secret(given["key"])
    if secret is None:
        raise ConfigurationError(
            _(
                "give the key of the map with --key, or in the variable {key_variable}",
                key_variable=KEY_VARIABLE,
            )
        )
    options = ReadOptions(
        encoding=None if given["encoding"] is None else normal_encoding(given["encoding"]),
        text_columns=given["text_column"],
        id_column=given["id_column"],
        is_masked=True,
        delimiter={"tab": "\t", r"\t": "\t"}.get(given["delimiter"] or "", given["delimiter"]),
    )
    target = given["out"] / (masked.stem if masked.suffix.lower() == ".gz" else masked.name)
    key = [] if given["key"] is None else [given["key"]]
    _check_target(target, [masked, map_path, *key], force=given["force"])
    with _name_in_errors(masked), input_errors():
        name = given["format_name"]
        kind = FORMATS[name] if name else sniff_format(masked, masked)
        if not kind.can_be_revealed:
            raise InputError(_("is a .{kind} file, and originals cannot be put back into that", kind=kind))
    with ExitStack() as stack:
        with _name_in_errors(map_path):
            reader = MapReader(stack.enter_context(open_input(map_path)), secret)
        with _name_in_errors(masked):
            stream = stack.enter_context(open_input(masked))
        try:
            if options.encoding is None and not kind.holds_cases:
                options = replace(
                    options, encoding=normal_encoding(str(reader.about.get("encoding", "utf-8")))
                )
            if kind.holds_cases:
                write = partial(reveal_message, stream)
            else:
                write = partial(reveal_documents, kind, kind.open(stream, options, masked.name))
            done = _reveal(write, target, reader, given["only"])
        except InverseDeidError as error:
            raise InputError(
                _("{masked} (with {map_path}): {error}", masked=masked, map_path=map_path, error=error),
                remedies=error.remedies,
            ) from None
    if not done.n_revealed and given["only"] is not None:
        raise InputError(
            _("{map_path} has no document or case of the id given with --case", map_path=map_path)
        )
    click.echo(_("revealed   {n_revealed:>12,}", n_revealed=done.n_revealed))
    click.echo(_("masked     {n_masked:>12,}", n_masked=done.n_masked))
    if done.n_missing:
        click.echo(
            _("missing    {n_missing:>12,} texts of elements that masking left out", n_missing=done.n_missing)
        )
    click.echo(
        _("{target} CONTAINS IDENTIFIERS in plain text. Only you can read it (mode 600).", target=target)
    )


def _check_target(target: Path, inputs: Sequence[Path], *, force: bool) -> None:
    if target.resolve().parent == inputs[0].resolve().parent:
        raise ConfigurationError(
            _("{input} is in that folder. Give another one for the originals with --out", input=inputs[0])
        )
    if not os.path.lexists(target):
        return
    if any(path.exists() and target.samefile(path) for path in inputs if target.exists()):
        raise OutputExistsError(
            _(
                "{target} is the masked file, its map or the key. Choose another folder with --out",
                target=target,
            )
        )
    if not force:
        raise OutputExistsError(_("{target} exists already. Give --force to overwrite it", target=target))


def _reveal(write: Callable[..., Revealed], target: Path, reader: MapReader, only: str | None) -> Revealed:
    # The file gets its name only if all of it fits the map.
    file = PartialFile(target, private=True)
    is_complete = False
    try:
        done = write(file, reader, only=only)
        file.sync()
        is_complete = only is None or done.n_revealed > 0
    finally:
        file.commit() if is_complete else file.discard()
    return done


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise error.add_prefix(f"{path} ") from None
