"""Originals beside masked texts with the reason of each word, as one HTML page for people. Confidential.

The page has no script and no external address. It shows the first documents of a run and says how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from jinja2 import Environment, PackageLoader, StrictUndefined

from inverse_deid import __version__
from inverse_deid.choices.names import CLASS_NAMES
from inverse_deid.choices.reasons import HIDDEN_GAP, WordReason, explain_document
from inverse_deid.core.files import printable, write_whole
from inverse_deid.core.packaged import SHARED_PAGES
from inverse_deid.core.pages.template_texts import TEMPLATE_TEXTS, join_sheets
from inverse_deid.core.values import MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Record

MAX_DOCUMENTS = 200
MAX_CHARS = 200_000
"""How much a page shows: documents, and characters of originals. A browser shows more only slowly."""


@dataclass(frozen=True, slots=True, repr=False)
class Piece:
    """A part of a text: between words ("" = no reason), a kept word, or a mask."""

    text: str
    why: str = ""
    category: str = ""  # of a mask
    number: int = 0  # of a mask, from 1 in each document; 0 = not masked
    other: str = ""  # what the other side shows for a mask


@dataclass(frozen=True, slots=True, repr=False)
class ExplainedDocument:
    """Both sides of one text."""

    place: str  # file, record and column, printable
    original: tuple[Piece, ...]
    masked: tuple[Piece, ...]
    n_words: int
    n_masked: int
    failed: bool
    other_language: bool

    @property
    def masks(self) -> list[Piece]:
        """The masks of the masked text, in order."""
        return [piece for piece in self.masked if piece.number]


@dataclass(slots=True, repr=False)
class _Watcher:
    """Collects the first documents of one file (a `Sink`)."""

    shown: str
    is_one_document: bool
    found: list[tuple[str, MaskedDocument]] = field(default_factory=list)
    n_chars: int = 0

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        for number, one in enumerate(masked):
            n_chars = len(one.tokens.text)
            is_full = len(self.found) >= MAX_DOCUMENTS or self.n_chars + n_chars > MAX_CHARS
            if is_full and (self.found or n_chars > MAX_CHARS):
                self.n_chars = MAX_CHARS + 1  # so that no shorter one follows
                return
            column = f", {record.columns[number]}" if record.columns else ""
            number_shown = f", {record.number}" if record.number and not self.is_one_document else ""
            place = f"{self.shown}{number_shown}{column}"
            self.found.append((place, one))
            self.n_chars += n_chars

    def finish(self) -> None:
        """Nothing follows."""


class ExplainedRun:
    """Collects what a run masks, for its page; files can be masked side by side, and are added in order."""

    def __init__(self) -> None:
        self._watchers: dict[Job, _Watcher] = {}
        self._found: list[tuple[str, MaskedDocument]] = []
        self._n_chars = 0
        self._is_full = False
        self._adding = Lock()

    def watch(self, job: Job) -> _Watcher:
        """Return a sink that sees what is written of a file."""
        watcher = _Watcher(job.shown, job.format.is_single_document)
        with self._adding:
            self._watchers[job] = watcher
        return watcher

    def add(self, job: Job) -> None:
        """Take the documents of a file that is complete."""
        with self._adding:
            watcher = self._watchers.pop(job, None)
        for place, doc in () if watcher is None or self._is_full else watcher.found:
            self._n_chars += len(doc.tokens.text)
            if len(self._found) >= MAX_DOCUMENTS or self._n_chars > MAX_CHARS:
                self._is_full = True
                return
            self._found.append((place, doc))

    def write(self, path: Path, tally: Tally) -> None:
        """Write the page, readable by its owner alone; a file of that name is overwritten.

        Raises:
            OutputError: It cannot be written.
        """
        pieces = render_explained(self._found, tally)
        write_whole(path, (piece.encode("utf-8", "replace") for piece in pieces), private=True)


def render_explained(found: Sequence[tuple[str, MaskedDocument]], tally: Tally) -> Iterator[str]:
    """Yield the page of some documents, each with the name of its place, in parts."""
    own = Path(__file__).parent
    style, digest = join_sheets(
        [SHARED_PAGES / "pages.css", SHARED_PAGES / "marks.css", own / "explained.css"]
    )
    environment = Environment(
        loader=PackageLoader("inverse_deid.engine.explained_page", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(TEMPLATE_TEXTS)
    return environment.get_template("explained.html.j2").generate(
        style=style,
        style_digest=digest,
        version=__version__,
        kinds=[
            *((one.lower(), _(names.many)) for one, names in CLASS_NAMES.items()),
            ("unknown", _("unknown")),
        ],
        documents=(explain_both(place, doc) for place, doc in found),
        n_shown=len(found),
        n_documents=tally.n_documents,
        n_failures=tally.n_failures,
        n_not_english=tally.n_other_language,
    )


def explain_both(place: str, doc: MaskedDocument) -> ExplainedDocument:
    """Return both sides of a masked document, in pieces that together are the texts."""
    reasons = list(explain_document(doc))
    text = doc.tokens.text
    original: list[Piece] = []
    masked: list[Piece] = []
    at = shown_at = i = 0
    ends = ((len(text), len(text)), (len(doc.text), len(doc.text)))
    ranges = zip((*doc.masks, ends[0]), (*doc.replaced, ends[1]), strict=True)
    for number, ((start, end), (shown, stop)) in enumerate(ranges, start=1):
        first = i
        while i < len(reasons) and reasons[i].end <= start:
            i += 1
        shift = shown_at - at
        original += _pieces(text, at, start, reasons[first:i], 0)
        masked += _pieces(doc.text, shown_at, shown, reasons[first:i], shift)
        if number > len(doc.masks):
            break
        first = i
        while i < len(reasons) and reasons[i].start < end:
            i += 1
        why = " ".join(dict.fromkeys(one.why for one in reasons[first:i])) or _(HIDDEN_GAP)
        category = doc.decisions.suspect(first, i) if i > first else None
        kind = "unknown" if category is None else category.value.lower()
        hidden, visible = text[start:end], doc.text[shown:stop]
        original.append(Piece(hidden, why, kind, number, visible))
        masked.append(Piece(visible, why, kind, number, hidden))
        at, shown_at = end, stop
    return ExplainedDocument(
        printable(place),
        tuple(original),
        tuple(masked),
        len(doc.tokens),
        len(doc.tokens) - int(doc.decisions.keep.sum()),
        doc.failed,
        doc.other_language,
    )


def _pieces(text: str, start: int, end: int, kept: Sequence[WordReason], shift: int) -> Iterator[Piece]:
    """Yield the pieces of a range without a mask; the kept words are `shift` characters further than said."""
    at = start
    for one in kept:
        yield Piece(text[at : one.start + shift])
        yield Piece(text[one.start + shift : one.end + shift], one.why)
        at = one.end + shift
    yield Piece(text[at:end])
