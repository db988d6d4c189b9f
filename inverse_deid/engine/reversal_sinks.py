"""What masking writes into a reversal map, for documents and for case safety reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from inverse_deid.core.values import MaskedDocument
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.rewriting import fitted
from inverse_deid.formats.records import Record
from inverse_deid.replacement.reversal import HiddenCase, MapWriter, hide


@dataclass(frozen=True, slots=True)
class ReversalSink:
    """Writes one entry a masked document (a `Sink`).

    Args:
        writer: Of the map.
        encoding: In which the masked texts are written.
    """

    writer: MapWriter = field(repr=False)
    encoding: str = "utf-8"

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write the entry of one document; where records have several texts, it names the columns."""
        if not masked:
            return
        places = zip(record.columns or ("",), masked, strict=True)
        texts = (hide(one, location=place, encoding=self.encoding) for place, one in places)
        self.writer.add(HiddenCase(masked[0].id, tuple(texts)))

    def finish(self) -> None:
        """Write the end of the map; the file stays open."""
        self.writer.finish()


def hidden_report(case: Case, docs: Sequence[MaskedDocument], marker: str) -> HiddenCase:
    """The entry of one case safety report, or of a part around the cases, that was written.

    Args:
        case: As it was read.
        docs: What became of its free texts, one each.
        marker: Stands for what does not fit into an element.
    """
    texts = [
        hide(doc, location=text.path, written=fitted(doc.text, text.max_length, marker))
        for text, doc in zip(case.free_texts, docs, strict=True)
    ]
    return HiddenCase(case.case_id, tuple(texts))
