"""The list of new names: which file or id has which new name.

It is a CSV table with the columns `kind` (file, part, id), `old` and `new`. A list that exists is continued:
what is in it keeps its number, and others get further numbers. It tells who is who, so it is as confidential
as the originals.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from inverse_deid.core.errors import FormatError, UnreadableInputError
from inverse_deid.core.files import printable, write_whole
from inverse_deid.core.wording import _
from inverse_deid.formats.records import MAX_RECORD_BYTES
from inverse_deid.formats.renames import STEMS, Renames
from inverse_deid.formats.tables.csv_table import neutralise, restore

HEADER = "kind,old,new"

_NEW = {kind: re.compile(rf"{stem}-([0-9]{{4,18}})", re.ASCII) for kind, stem in STEMS.items()}


def write_renames(renames: Renames, path: Path) -> None:
    """Write the list whole or not at all, for its owner alone (mode 600). No new numbers follow.

    Raises:
        OutputError: It cannot be written.
    """
    renames.is_complete = True
    write_whole(path, list_rows(renames), private=True)


def list_rows(renames: Renames) -> Iterator[bytes]:
    yield f"{HEADER}\n".encode()
    for kind, known in renames.numbers.items():
        for old in known:
            row = io.StringIO()
            cells = (kind, neutralise(old), renames.name(kind, old))
            csv.writer(row, lineterminator="\n").writerow(cells)
            yield row.getvalue().encode()


def read_renames(path: Path) -> Renames:
    """Return the names of a list, to be continued; none if there is no such file.

    Raises:
        UnreadableInputError: It cannot be read.
        FormatError: It is not such a list, or a name or a number in it is used twice.
    """
    renames = Renames()
    problem = ""
    csv.field_size_limit(MAX_RECORD_BYTES)
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            if stream.readline() != f"{HEADER}\n":
                raise FormatError(
                    _("{path} is not a list of new names. Choose another name", path=printable(path))
                )
            for row in csv.reader(stream, strict=True):
                _add_row(renames, row, printable(path))
    except FileNotFoundError:
        return renames
    except (UnicodeError, csv.Error):
        problem = _("is not a list of new names, or is damaged. Choose another name, or restore the list")
    except OSError:
        problem = _("cannot be read. Give a file, and ask its owner for read permission")
    if problem:
        raise UnreadableInputError(f"{printable(path)} {problem}")
    return renames


def _add_row(renames: Renames, row: list[str], shown: str) -> None:
    kind = next((kind for kind in STEMS if row[:1] == [kind]), None)
    found = None if kind is None or len(row) != 3 else _NEW[kind].fullmatch(row[2])
    if kind is None or found is None:
        raise FormatError(
            _("{shown} has a row that no list of new names has. Restore the list as it was", shown=shown)
        )
    number, old = int(found[1]), restore(row[1])
    known = renames.numbers[kind]
    # Every list is in ascending order of its numbers, so an equal one is found without a second table.
    if old in known or number <= renames.last[kind]:
        raise FormatError(_("{shown} has a name or a number twice. Restore the list as it was", shown=shown))
    known[old] = renames.last[kind] = number
