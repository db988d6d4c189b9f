"""Reversal maps of files: what masking writes into them, and how the originals are put back.

A map belongs to one masked file of one run: `reveal_documents` and `reveal_message` refuse any other.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import numpy as np

from inverse_deid.core.errors import InputError
from inverse_deid.core.values import Decisions, Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.messages import BrokenCase, Message
from inverse_deid.formats.icsr.rewriting import RewrittenCase, fit_text
from inverse_deid.formats.icsr.survey import TAIL, TEXT, Sort, bare_path
from inverse_deid.formats.icsr.writing import MessageWriter
from inverse_deid.formats.records import Format, ReadOptions, Record, Source, Writable
from inverse_deid.replacement.reversal import (
    NOT_THE_TEXT,
    HiddenCase,
    HiddenText,
    MapReader,
    MapWriter,
    digest,
    hide,
    reveal,
)
from inverse_deid.text.tokenizer import tokenize

Range = tuple[int, int]
"""Half-open offsets of characters."""


@dataclass(frozen=True, slots=True)
class ReversalSink:
    """Writes one entry per masked document or case (a `Sink`)."""

    writer: MapWriter = field(repr=False)  # of the map
    encoding: str = "utf-8"  # in which the masked texts are written
    marker: str = "PHI"  # replaces what does not fit into an element of a case safety report
    keeps_text: bool = False  # the masked file does not give its text back as it was

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write the entry of one document; where records have several texts, it names the columns."""
        if record.report is not None:
            self.writer.add(hide_report(record.report, masked, self.marker))
        if record.report is not None or not masked:
            return
        places = zip(record.columns or ("",), masked, strict=True)
        texts = (
            hide(one, location=place, encoding=self.encoding, keeps_text=self.keeps_text)
            for place, one in places
        )
        self.writer.add(HiddenCase(masked[0].id, tuple(texts)))

    def finish(self) -> None:
        """Write the end of the map; the file stays open."""
        self.writer.finish()


def hide_report(case: Case, docs: Sequence[MaskedDocument], marker: str) -> HiddenCase:
    """Return the entry of one case safety report, or of a part around the cases, that was written."""
    texts = [
        hide(doc, location=text.path, written=fit_text(doc.text, text.max_length, marker))
        for text, doc in zip(case.free_texts, docs, strict=True)
    ]
    return HiddenCase(case.case_id, tuple(texts))


_TOO_FEW = N_("has more documents than the map. Give the file and the map of one run")
_TOO_MANY = N_("has fewer documents than the map. Give the file and the map of one run")


@dataclass(slots=True)
class Revealed:
    """What was done."""

    n_revealed: int = 0  # documents or cases whose originals were put back
    n_masked: int = 0  # those that were left masked
    n_missing: int = 0  # texts of the map whose element is not in the file, since the profile left it out

    def count(self, *, is_asked: bool) -> None:
        """Count one document or case."""
        self.n_revealed += is_asked
        self.n_masked += not is_asked


def reveal_documents(
    kind: Format, source: Source, target: Writable, reader: MapReader, *, only: str | None = None
) -> Revealed:
    """Write a masked file with the originals of all documents, or of the one whose id is `only`.

    Raises:
        InputError: The file is not the one that the map was made for, or either is damaged.
    """
    encoding = reader.about.get("encoding", "utf-8")
    done, cases, sink = Revealed(), reader.cases(), source.sink(target)
    for record in source.records():
        where = f"{_(source.unit)} {record.number}"
        if record.problem:
            raise InputError(f"{where} {record.problem}")
        if not record.docs:
            sink.write(record, ())
            continue
        case = _next(cases)
        if kind.is_laid_out_anew:
            record = _find_written(kind, source, record, case.texts, where)  # noqa: PLW2901
        _check_places(record, case.texts, where)
        is_asked = only in (None, case.document)
        done.count(is_asked=is_asked)
        texts = list(zip(record.docs, case.texts, strict=True))
        originals = [_put_back(doc, hidden, encoding, where) for doc, hidden in texts]
        left = [_write_as_it_is(doc.id, doc.text) for doc in record.docs]
        sink.write(record, originals if is_asked else left)
    sink.finish()
    _check_end(cases)
    return done


def _write_as_it_is(
    doc_id: str, text: str, masks: Sequence[Range] = (), replaced: Sequence[Range] = ()
) -> MaskedDocument:
    none, numbers = np.zeros(0, np.uint8), np.zeros(0, np.float32)
    nothing = Decisions(none > 0, none, numbers, numbers, none)
    return MaskedDocument(doc_id, text, tuple(masks), tuple(replaced), tokenize(""), nothing)


def _find_written(
    kind: Format, source: Source, record: Record, hidden: Sequence[HiddenText], where: str
) -> Record:
    """Return a record with the masked text as it was written, after the check that the file says the same.

    Raises:
        InputError: The file says something else.
    """
    (doc,) = record.docs
    shown = hidden[0].shown if len(hidden) == 1 else ""
    again = io.BytesIO()
    sink = source.sink(again)
    sink.write(record, [_write_as_it_is(doc.id, shown)])
    sink.finish()
    again.seek(0)
    written = [one.text for other in kind.open(again, ReadOptions(), doc.id).records() for one in other.docs]
    if not shown or written != [doc.text]:
        raise InputError(_("{where} {problem}", where=where, problem=_(NOT_THE_TEXT)))
    return replace(record, docs=(replace(doc, text=shown),))


def _put_back(doc: Document, hidden: HiddenText, encoding: str, where: str) -> MaskedDocument:
    """Return a document with its originals, and where they are: its masks are ranges of the masked text."""
    problem = InputError()
    try:
        text = reveal(doc.text, hidden, encoding)
    except InputError as error:
        problem = error.add_prefix(f"{where} ")
    else:
        masks, replaced, position, n_more = list[Range](), list[Range](), 0, 0
        for start, end, original in hidden.edits:
            first, stop = start, end
            if start == end:  # nothing was shown, so the character beside it takes the original
                first, stop = (start, end + 1) if end < len(doc.text) else (max(start - 1, position), end)
            masks.append((first, stop))
            grown = len(original) - (end - start)
            replaced.append((first + n_more, stop + n_more + grown))
            n_more, position = n_more + grown, stop
        return _write_as_it_is(doc.id, text, masks, replaced)
    raise problem


def reveal_message(
    stream: BinaryIO, target: Writable, reader: MapReader, *, only: str | None = None
) -> Revealed:
    """Write a masked E2B message with its original free texts; structured fields stay as they are.

    `only` is the id (C.1.1) of the one case to reveal, its own or its pseudonym; None = all.

    Raises:
        InputError: The file is not the one that the map was made for, or either is damaged.
    """
    message = Message(stream)
    writer = MessageWriter(target, message.frame)
    done, cases = Revealed(), reader.cases()
    marker = reader.about.get("marker", "PHI")
    for part in message.parts():
        if isinstance(part, BrokenCase):
            raise InputError(_("case {number} {reason}", number=part.number, reason=part.reason))
        hidden = _next(cases)
        originals = list(_match_originals(part, hidden, marker, done))
        is_asked = only is None or only in (hidden.document, part.case_id)
        if is_asked:
            _put(part, originals)
        if part.is_case:
            done.count(is_asked=is_asked)
        writer.write(writer.render(RewrittenCase(part.node, (), part.tail)))
    writer.finish()
    _check_end(cases)
    return done


def _next(cases: Iterator[HiddenCase]) -> HiddenCase:
    for case in cases:
        return case
    raise InputError(_TOO_FEW)


def _check_end(cases: Iterator[HiddenCase]) -> None:
    if next(cases, None) is not None:
        raise InputError(_TOO_MANY)


def _check_places(record: Record, hidden: Sequence[HiddenText], where: str) -> None:
    if [one.location for one in hidden] != list(record.columns or ("",)):
        raise InputError(
            _(
                "{where} has {n_docs} texts and {n_hidden} in the map, or of other columns. Name the "
                "columns as they were masked",
                where=where,
                n_docs=len(record.docs),
                n_hidden=len(hidden),
            )
        )


def _match_originals(part: Case, hidden: HiddenCase, marker: str, done: Revealed) -> Iterator[str]:
    """Return the original of each free text; a text that the map does not know must be a marker.

    Elements that the profile left out are in the map but not in the file.
    """
    waiting = list(hidden.texts)
    for text in part.free_texts:
        place, sha256 = bare_path(text.path), digest(text.text)
        found = next(
            (i for i, h in enumerate(waiting) if h.sha256 == sha256 and bare_path(h.location) == place), None
        )
        if found is None and text.text != marker:
            where = _("case {number}", number=part.number) if part.is_case else _("a part around the cases")
            raise InputError(
                _(
                    "{where} has a text that the map was not made for: it was changed, or the map "
                    "belongs to another file",
                    where=where,
                )
            )
        done.n_missing += found or 0
        yield text.text if found is None else reveal(text.text, waiting[found])
        waiting = waiting if found is None else waiting[found + 1 :]
    done.n_missing += len(waiting)


def _put(part: Case, originals: Sequence[str]) -> None:
    nodes = list(part.node.iter())
    values = [value for value in part.values if value.sort == Sort.FREE_TEXT]
    for value, original in zip(values, originals, strict=True):
        node = nodes[value.index]
        if value.slot == TEXT:
            node.text = original
        elif value.slot == TAIL:
            node.tail = original
        else:
            node.set(value.slot, original)
