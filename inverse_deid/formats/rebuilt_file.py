"""Files of one text: the whole file is written again from its masked text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.records import Record, Writable


@dataclass(slots=True)
class RebuiltFile:
    """An open file whose text was read, and that is built again from its masked text (a `Source`)."""

    doc: Document
    build: Callable[[MaskedDocument], bytes] = field(repr=False)  # the whole new file
    removed: Mapping[str, int]  # the parts of the file that are not written, by kind
    unit: str = N_("document")
    resumable: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    text_encoding: str = "utf-8"
    read_as: Mapping[str, int] = field(default_factory=dict)

    def records(self) -> Iterator[Record]:
        yield Record(1, (self.doc,))

    def sink(self, target: Writable, *, resumed: bool = False) -> RebuiltFileSink:
        return RebuiltFileSink(target, self)


@dataclass(frozen=True, slots=True)
class RebuiltFileSink:
    """Writes one new file (a `Sink`)."""

    target: Writable = field(repr=False)
    source: RebuiltFile

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write the file with the masked text.

        Raises:
            StageError: There is not exactly one text.
        """
        if len(masked) != 1:
            raise StageError(_("a file of one text is written with one text"))
        self.target.write(self.source.build(masked[0]))

    def finish(self) -> None:
        """Nothing follows the document."""
