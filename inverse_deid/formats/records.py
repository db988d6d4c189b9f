"""What all formats share: the record, and the protocols of a source and a sink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document, MaskedDocument

MAX_RECORD_BYTES = 64 * 1024 * 1024
"""The largest single document that is read; longer ones are reported, not loaded."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a file, and what is written of it.

    Args:
        encoding: Of text-like files; a byte-order mark is found and kept.
        text_column: Column (or JSON key) with the narrative.
        id_column: Column (or JSON key) with the id; None: `id` if there is one,
            else the position in the file.
        delimiter: Between the cells of a CSV table; None: a comma, in `.tsv` files a tab.
        n_before: Records (in JSON Lines: lines) of the file that stand before what is read; numbers
            go on from there.
        with_offsets: Masked JSON Lines also tell which ranges of the original were masked.
        row_groups: Of a Parquet file, the first and the one behind the last that are read; None = all.

    Raises:
        ConfigurationError: The narrative would be its own id; ids are written unmasked.
    """

    encoding: str = "utf-8"
    text_column: str = "text"
    id_column: str | None = None
    delimiter: str | None = None
    n_before: int = 0
    row_groups: tuple[int, int] | None = None
    with_offsets: bool = False

    def __post_init__(self) -> None:
        if self.id_column == self.text_column:
            raise ConfigurationError("ids are not masked; give another --id-column than --text-column")

    @property
    def id_name(self) -> str | None:
        """Where an id may stand, None = nowhere: the narrative is never taken for an id.

        Example:
            >>> ReadOptions().id_name, ReadOptions(text_column="id").id_name
            ('id', None)
        """
        if self.id_column is not None:
            return self.id_column
        return None if self.text_column == "id" else "id"


@dataclass(frozen=True, slots=True)
class Record:
    """One record of an input file.

    Args:
        number: Its position as people count it: line, spreadsheet row or document.
        doc: The narrative, or None if there is none to mask.
        problem: Why the record must be left out of the output, "" if it need not.
        carried: What the sink writes beside the masked text; never the narrative.
    """

    number: int
    doc: Document | None = None
    problem: str = ""
    carried: tuple[object, ...] = field(default=(), repr=False)


class Writable(Protocol):
    """Where a sink puts its bytes."""

    def write(self, data: bytes, /) -> int:
        """Take all of `data`."""
        ...


class Sink(Protocol):
    """Writes masked documents in the order of the records."""

    def write(self, record: Record, masked: MaskedDocument | None) -> None:
        """Write one record; `masked` is None only if the record has no document."""
        ...

    def finish(self) -> None:
        """Write what the format needs at its end; the target stays open."""
        ...


class Source(Protocol):
    """One open input file.

    `unit` is what a record is called ("line", "row", "document"); `resumable`
    says whether an output that was cut between two records can be continued.
    """

    @property
    def unit(self) -> str:
        """What one record is called in a message."""
        ...

    @property
    def resumable(self) -> bool:
        """Whether a cut output can be continued."""
        ...

    @property
    def text_encoding(self) -> str:
        """In which encoding masked texts are written."""
        ...

    @property
    def n_copied_columns(self) -> int:
        """How many columns of a table are copied without masking."""
        ...

    def records(self) -> Iterator[Record]:
        """The records in file order, once."""
        ...

    def sink(self, target: Writable, *, resumed: bool = False) -> Sink:
        """A sink of the same format; a resumed one writes no header again."""
        ...
