"""The text of a PDF file: its text layer, the values of its form fields and the contents of its notes.

PDFium reads the file. It runs no script, fetches nothing, and shows hidden text like any other text. A page
whose text is a picture is read by OCR (`formats/scans/`) if that is installed, else it is refused.

Source: ISO 32000-1, sections 9.10 (extraction of text content), 12.5 (annotations) and 12.7 (forms).
"""

from __future__ import annotations

import ctypes
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from math import degrees
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from inverse_deid.core.child_process import ask_for_time
from inverse_deid.core.errors import ConfigurationError, FormatError
from inverse_deid.core.extras import install_hint, missing_extra
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.pdf.layout import order_lines
from inverse_deid.formats.pdf.tables import Segment
from inverse_deid.formats.scans.pictures import MAX_PAGES as MAX_SCANNED_PAGES
from inverse_deid.formats.scans.pictures import MAX_SIDE, Page, encode_page
from inverse_deid.formats.scans.reading import PageText, check_reader, read_page

MAX_PAGES = 5_000
MAX_CHARS = 20_000_000
"""The most characters of a file that are read."""
MAX_PAGE_OBJECTS = 100_000
MAX_PAGE_CHARS = 500_000
"""A small file can unpack to a page with millions, which would take gigabytes and minutes."""
MAX_STREAM_BYTES = 4 * 1024 * 1024
"""The most that a stream may unpack to. PDFium needs up to 180 times as much for what a page draws."""
MAX_STREAMS_BYTES = 512 * 1024 * 1024
MAX_PICTURE_BYTES = 256 * 1024 * 1024
"""The same for pictures, fonts and attached files, which are not unpacked to find text."""

_DPI = 200
_MIN_CHARS_OVER_PICTURE = 200
_MIN_PICTURE_SHARE = 0.5
_MAX_UNMAPPED_SHARE = 0.25
_TAIL_BYTES = 2048
_MAX_SHOWN = 10
_MAX_LISTED = 1_000
_DAMAGED = N_("is not a PDF file or is damaged. Open it in a PDF reader and print it to a new PDF")
_ENCRYPTED = N_("is encrypted. Remove its password in a PDF reader")
_XFA = N_(
    "is an XFA form, whose text is not in its pages. Open it in Adobe Reader, and print it to a new PDF "
    "or export its data"
)
_STREAM = re.compile(rb"(?<!end)stream\r?\n")
_NOT_DRAWN = re.compile(rb"/Subtype\s*/(?:Image|Type1C|CIDFontType0C|OpenType)|/Length1\b|/EmbeddedFile\b")
_MAX_ENTRIES_BYTES = 400
_RICH_TEXT_FLAG = 1 << 25
_BLOCK_BYTES = 64 * 1024
_LOCK = Lock()
"""PDFium must not be used by two threads at once."""
_LIGATURES = str.maketrans(
    {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
)
_SPACES = frozenset(map(ord, " \t\r\n\x0b\x0c"))
_HYPHEN = 2
"""What PDFium makes of a hyphen at the end of a line."""
_ON_VALUES = frozenset(["", "on", "yes", "1", "x", "true", "checked"])


@dataclass(frozen=True, slots=True)
class PdfContent:
    """What was read of a file."""

    pages: tuple[PageText, ...] = field(repr=False)
    removed: Mapping[str, int]  # the parts that are not read, by kind


@dataclass(slots=True, repr=False)
class _Word:
    text: str
    left: float
    right: float
    bottom: float
    top: float
    is_upright: bool
    ends_line: bool = False


def _too_much(number: int) -> str:
    return _("has too much content on page {number}. Print it to a new PDF", number=number)


def read_pdf_text(data: bytes) -> PdfContent:
    """Return the text of each page.

    Raises:
        FormatError: Not a PDF, damaged, encrypted, an XFA form, or pages without text.
        ConfigurationError: PDFium is not installed.
    """
    return _read(data, lambda reader: reader.read())


def list_scans(data: bytes) -> list[int]:
    """Return the numbers of the pages, from 1, that are read as scans; raises as `read_pdf_text`."""
    return _read(data, lambda reader: reader.list_scans())


def draw_scan(data: bytes, number: int) -> bytes:
    """Return a page that is read as a scan as a new JPEG file; raises as `read_pdf_text`."""
    return encode_page(_read(data, lambda reader: reader.draw_scan(number)))


_Found = TypeVar("_Found")


def _read(data: bytes, work: Callable[[_Reader], _Found]) -> _Found:
    try:
        import pypdfium2
        import pypdfium2.raw
    except ImportError as error:
        raise missing_extra(_("reading PDF files"), error.name, "office") from error
    # PDFium mends a file that was cut, and what is missing would be missing without notice.
    if b"%PDF-" not in data[:1024] or b"%%EOF" not in data.rstrip(b"\0\r\n\t ")[-_TAIL_BYTES:]:
        raise FormatError(_DAMAGED)
    _check_streams(data)
    problem = _DAMAGED
    with _LOCK:
        try:
            with closing(pypdfium2.PdfDocument(data)) as pdf, closing(_Reader(pypdfium2, pdf)) as reader:
                return work(reader)
        except pypdfium2.PdfiumError as error:
            if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
                problem = _ENCRYPTED
    raise FormatError(problem)


def _check_streams(data: bytes) -> None:
    # Only Flate is unpacked here. Streams that are packed in another way count as they are.
    view = memoryview(data)
    end_of_last = n_in_all = 0
    for found in _STREAM.finditer(data):
        start = end = found.end()
        entries = data[max(start - _MAX_ENTRIES_BYTES, 0) : start].rpartition(b"obj")[2]
        is_drawn = _NOT_DRAWN.search(entries) is None
        limit = MAX_STREAM_BYTES if is_drawn else MAX_PICTURE_BYTES
        n_packed = n_unpacked = 0
        if start >= end_of_last:
            end_of_last = data.find(b"endstream", start)
            end_of_last = len(data) if end_of_last < 0 else end_of_last
            n_packed = end_of_last - start
        unpacker = zlib.decompressobj()
        with suppress(zlib.error):
            while end < len(data) and not unpacker.eof and n_unpacked <= limit:
                block: bytes | memoryview = view[end : end + _BLOCK_BYTES]
                end += len(block)
                while block and n_unpacked <= limit:
                    n_unpacked += len(unpacker.decompress(block, limit))
                    block = unpacker.unconsumed_tail
        n_in_all += n_unpacked if is_drawn else 0
        if max(n_packed, n_unpacked) > limit or n_in_all > MAX_STREAMS_BYTES:
            raise FormatError(
                _("unpacks to more than a PDF reader can take. Split it or print it to a new PDF")
            )


class _Reader:
    def __init__(self, pdfium: Any, pdf: Any) -> None:  # noqa: ANN401 - the package has no types
        self._pdfium, self._raw, self._pdf = pdfium, pdfium.raw, pdf
        self._form: Any = None
        self._form_info = self._raw.FPDF_FORMFILLINFO(version=2)  # is used as long as the form is open
        self._removed: dict[str, int] = {}
        self._n_chars = 0
        self._n_pictures = 0

    def close(self) -> None:
        if self._form:
            self._raw.FPDFDOC_ExitFormFillEnvironment(self._form)
            self._form = None

    def read(self) -> PdfContent:
        raw, pdf = self._raw, self._pdf
        form_type = pdf.get_formtype()
        if form_type == raw.FORMTYPE_XFA_FULL:
            raise FormatError(_XFA)
        if form_type != raw.FORMTYPE_NONE:  # not by `init_forms`, which logs a hint about XFA
            self._form = raw.FPDFDOC_InitFormFillEnvironment(pdf, self._form_info)
            if not self._form:
                raise FormatError(_DAMAGED)
        n_pages = len(pdf)
        if not 0 < n_pages <= MAX_PAGES:
            raise FormatError(
                _(
                    "has {n_pages:,} pages. Split it into files of 1 to {max_pages:,} pages",
                    n_pages=n_pages,
                    max_pages=MAX_PAGES,
                )
            )
        self._count_parts()
        pages = [self._read_page(number) for number in range(1, n_pages + 1)]
        problems: dict[str, list[int]] = {}
        for number, page in enumerate(pages, start=1):
            if page.problem:
                problems.setdefault(page.problem, []).append(number)
        if problems:
            raise FormatError(name_pages(problems))
        if not any(page.text.strip() for page in pages):
            raise FormatError(_("has no text. Give a PDF with text"))
        return PdfContent(tuple(pages), dict(sorted(self._removed.items())))

    def list_scans(self) -> list[int]:
        found = []
        for number in range(1, min(len(self._pdf), MAX_PAGES) + 1):
            with self._opened_page(number) as (page, text_page):
                if self._read_layer(page, text_page, number)[1]:
                    found.append(number)
        return found

    def draw_scan(self, number: int) -> Page:
        if not 0 < number <= min(len(self._pdf), MAX_PAGES):
            raise FormatError(_("has no page {number} that is a picture", number=number))
        with self._opened_page(number) as (page, text_page):
            if not self._read_layer(page, text_page, number)[1]:
                raise FormatError(_("has no page {number} that is a picture", number=number))
            return self._draw(page)

    def _read_page(self, number: int) -> PageText:
        with self._opened_page(number) as (page, text_page):
            words, problem = self._read_layer(page, text_page, number)
            read = self._read_picture(page, problem) if problem else PageText(_mend(_show_words(words)))
            notes = _mend("\n".join(self._read_annotations(page)))
        return PageText("\n\n".join(filter(None, [read.text, notes])), read.unsure, read.problem)

    @contextmanager
    def _opened_page(self, number: int) -> Iterator[tuple[Any, Any]]:
        # The page and its text.
        page = None
        with suppress(self._pdfium.PdfiumError):
            page = self._pdf[number - 1]
        if page is None:
            raise FormatError(
                _("is damaged: page {number} cannot be read. Print it to a new PDF", number=number)
            )
        if self._raw.FPDFPage_CountObjects(page) > MAX_PAGE_OBJECTS:
            page.close()
            raise FormatError(_too_much(number))
        with closing(page), self._opened_form(page), closing(page.get_textpage()) as text_page:
            yield page, text_page

    def _read_layer(self, page: Any, text_page: Any, number: int) -> tuple[list[_Word], str]:  # noqa: ANN401
        # Its words, and why they are not all of its text, "" = they are.
        n_found = text_page.count_chars()
        if n_found > MAX_PAGE_CHARS:
            raise FormatError(_too_much(number))
        if self._n_chars + n_found > MAX_CHARS:
            raise FormatError(_("has more text than one document may have. Split it"))
        words, n_unmapped = self._read_words(text_page, self._rotation_of(page))
        n_chars = sum(len(word.text) for word in words)
        self._n_chars += n_chars
        return words, self._find_problem(page, n_chars, n_unmapped)

    def _read_picture(self, page: Any, problem: str) -> PageText:  # noqa: ANN401
        # What the page shows, read by OCR, without form fields and notes, which are read apart.
        try:
            check_reader()
        except ConfigurationError:
            return PageText(
                "", problem=_("{problem}, or {hint}", problem=problem, hint=install_hint("scans"))
            )
        self._n_pictures += 1
        if self._n_pictures > MAX_SCANNED_PAGES:
            raise FormatError(
                _("has more than {max_pages} pages without text. Split it", max_pages=MAX_SCANNED_PAGES)
            )
        ask_for_time()
        return read_page(self._draw(page))

    def _draw(self, page: Any) -> Page:  # noqa: ANN401
        scale = min(_DPI / 72, MAX_SIDE / max(*page.get_size(), 1.0))
        bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False, draw_annots=False)
        try:
            picture = np.array(bitmap.to_numpy(), np.uint8)
        finally:
            bitmap.close()
        return picture[:, :, 0] if picture.ndim == 3 else picture

    @contextmanager
    def _opened_form(self, page: Any) -> Iterator[None]:  # noqa: ANN401
        if self._form:
            self._raw.FORM_OnAfterLoadPage(page, self._form)
        try:
            yield
        finally:
            if self._form:
                self._raw.FORM_OnBeforeClosePage(page, self._form)

    def _rotation_of(self, page: Any) -> int:  # noqa: ANN401
        # Degrees clockwise.
        return 90 * (int(self._raw.FPDFPage_GetRotation(page)) % 4)

    def _read_words(self, text_page: Any, rotation: int) -> tuple[list[_Word], int]:  # noqa: ANN401
        # A word ends only where PDFium found a space or the end of a line, so that no part of it is moved.
        raw, box = self._raw, self._raw.FS_RECTF()
        words: list[_Word] = []
        is_open = False
        n_unmapped = 0
        for i in range(text_page.count_chars()):
            code = raw.FPDFText_GetUnicode(text_page, i)
            if code in _SPACES:
                is_open = False
                if code in (10, 13) and words:
                    words[-1].ends_line = True
                continue
            if raw.FPDFText_HasUnicodeMapError(text_page, i) == 1 or code == 0:
                n_unmapped += 1
                code = 0xFFFD
            raw.FPDFText_GetLooseCharBox(text_page, i, box)
            left, right, bottom, top = _turn(box.left, box.right, box.bottom, box.top, rotation)
            is_hyphen = code == _HYPHEN
            sign = "-" if is_hyphen else chr(code if 32 <= code <= 0x10FFFF else 0xFFFD)
            if is_open:
                word = words[-1]
                word.text += sign
                word.left, word.right = min(word.left, left), max(word.right, right)
                word.bottom, word.top = min(word.bottom, bottom), max(word.top, top)
            else:
                angle = (degrees(raw.FPDFText_GetCharAngle(text_page, i)) + rotation) % 360
                words.append(_Word(sign, left, right, bottom, top, min(angle, 360 - angle) < 5))
            is_open = not is_hyphen
            if is_hyphen:
                words[-1].ends_line = True
        return words, n_unmapped

    def _find_problem(self, page: Any, n_chars: int, n_unmapped: int) -> str:  # noqa: ANN401
        # "" = the text is all of it.
        n_objects = self._raw.FPDFPage_CountObjects(page)
        picture_share, n_pictures, has_hidden = self._measure_pictures(page, n_objects)
        if n_pictures:
            self._note("image", n_pictures)
        if n_chars == 0:
            return _("has no text. Recognise its text (OCR) first") if n_objects else ""
        if n_unmapped > _MAX_UNMAPPED_SHARE * n_chars:
            return _("has a font that does not say which letters it shows. Recognise its text (OCR) first")
        is_picture = picture_share >= _MIN_PICTURE_SHARE and n_chars < _MIN_CHARS_OVER_PICTURE
        if is_picture and not has_hidden:  # OCR puts invisible text over a picture
            return _("has a picture and hardly any text. Recognise its text (OCR) first")
        return ""

    def _measure_pictures(self, page: Any, n_objects: int) -> tuple[float, int, bool]:  # noqa: ANN401
        # The share of a page that pictures cover, their number, and whether text is invisible.
        raw = self._raw
        width, height = page.get_size()
        if self._rotation_of(page) in (90, 270):
            width, height = height, width
        covered = 0.0
        n_pictures = 0
        has_hidden = False
        for i in range(n_objects):
            one = raw.FPDFPage_GetObject(page, i)
            kind = raw.FPDFPageObj_GetType(one)
            if kind == raw.FPDF_PAGEOBJ_TEXT:
                mode = raw.FPDFTextObj_GetTextRenderMode(one)
                has_hidden = has_hidden or mode == raw.FPDF_TEXTRENDERMODE_INVISIBLE
            n_inside = 1 if kind == raw.FPDF_PAGEOBJ_IMAGE else self._count_pictures(one, kind)
            if n_inside:
                n_pictures += n_inside
                edges = [ctypes.c_float() for _ in range(4)]
                if raw.FPDFPageObj_GetBounds(one, *edges):
                    left, bottom, right, top = (edge.value for edge in edges)
                    covered += max(0.0, min(right, width) - max(left, 0.0)) * max(
                        0.0, min(top, height) - max(bottom, 0.0)
                    )
        return covered / max(width * height, 1.0), n_pictures, has_hidden

    def _count_pictures(self, one: Any, kind: int, depth: int = 8) -> int:  # noqa: ANN401
        raw = self._raw
        if kind != raw.FPDF_PAGEOBJ_FORM or not depth:
            return 0
        inner = [raw.FPDFFormObj_GetObject(one, i) for i in range(max(raw.FPDFFormObj_CountObjects(one), 0))]
        kinds = [raw.FPDFPageObj_GetType(child) for child in inner]
        return sum(
            1 if kind == raw.FPDF_PAGEOBJ_IMAGE else self._count_pictures(child, kind, depth - 1)
            for child, kind in zip(inner, kinds, strict=True)
        )

    def _read_annotations(self, page: Any) -> Iterator[str]:  # noqa: ANN401
        raw = self._raw
        fields: list[tuple[float, float, str]] = []
        notes: list[str] = []
        for i in range(raw.FPDFPage_GetAnnotCount(page)):
            annotation = raw.FPDFPage_GetAnnot(page, i)
            if not annotation:
                continue
            try:
                kind = raw.FPDFAnnot_GetSubtype(annotation)
                if kind == raw.FPDF_ANNOT_WIDGET and self._form:
                    box = raw.FS_RECTF()
                    raw.FPDFAnnot_GetRect(annotation, box)
                    left, _, _, top = _turn(box.left, box.right, box.bottom, box.top, self._rotation_of(page))
                    fields.append((-round(top), left, self._show_field(annotation)))
                elif kind == raw.FPDF_ANNOT_LINK:
                    self._note("link")
                elif kind == raw.FPDF_ANNOT_FILEATTACHMENT:
                    self._note("attachment")
                elif kind != raw.FPDF_ANNOT_POPUP:
                    contents = _read_string(
                        lambda *to, one=annotation: raw.FPDFAnnot_GetStringValue(one, b"Contents", *to)
                    )
                    notes.append(contents)
                    self._note(N_("author of a note") if raw.FPDFAnnot_HasKey(annotation, b"T") else "")
                    self._note("" if contents else N_("annotation without text"))
            finally:
                raw.FPDFPage_CloseAnnot(annotation)
        shown = dict.fromkeys(line for _, _, line in sorted(fields) if line)
        yield from shown
        yield from filter(None, notes)

    def _show_field(self, widget: Any) -> str:  # noqa: ANN401
        # "" = it has no value.
        raw, form = self._raw, self._form
        kind = raw.FPDFAnnot_GetFormFieldType(form, widget)
        if kind in (raw.FPDF_FORMFIELD_PUSHBUTTON, raw.FPDF_FORMFIELD_SIGNATURE, raw.FPDF_FORMFIELD_UNKNOWN):
            self._note("signature" if kind == raw.FPDF_FORMFIELD_SIGNATURE else "button")
            return ""
        if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
            if not raw.FPDFAnnot_IsChecked(form, widget):
                self._note(N_("box that is not checked"))
                return ""
            value = _read_string(lambda *to: raw.FPDFAnnot_GetFormFieldExportValue(form, widget, *to))
            value = "yes" if value.lower() in _ON_VALUES else value
        else:
            value = ", ".join(self._chosen(widget)) or _read_string(
                lambda *to: raw.FPDFAnnot_GetFormFieldValue(form, widget, *to)
            )
        if not value.strip():
            flags = raw.FPDFAnnot_GetFormFieldFlags(form, widget)
            is_rich = raw.FPDFAnnot_HasKey(widget, b"RV") or flags & _RICH_TEXT_FLAG
            self._note(N_("rich text of a form field") if is_rich else N_("form field without a value"))
            return ""
        label = _read_string(lambda *to: raw.FPDFAnnot_GetFormFieldAlternateName(form, widget, *to))
        label = label or _read_name(
            _read_string(lambda *to: raw.FPDFAnnot_GetFormFieldName(form, widget, *to))
        )
        return f"{label.rstrip(': ')}: {value}" if label else value

    def _chosen(self, widget: Any) -> Iterator[str]:  # noqa: ANN401
        raw, form = self._raw, self._form
        for i in range(min(raw.FPDFAnnot_GetOptionCount(form, widget), _MAX_LISTED)):
            if not raw.FPDFAnnot_IsOptionSelected(form, widget, i):
                self._note(N_("choice that was not selected"))
            else:
                yield _read_string(lambda *to, i=i: raw.FPDFAnnot_GetOptionLabel(form, widget, i, *to))

    def _count_parts(self) -> None:
        raw, pdf = self._raw, self._pdf
        self._note("attachment", raw.FPDFDoc_GetAttachmentCount(pdf))
        self._note(N_("XFA form"), int(raw.FPDF_GetXFAPacketCount(pdf) > 0))
        self._note("script", raw.FPDFDoc_GetJavaScriptActionCount(pdf))
        self._note(N_("named destination"), raw.FPDF_CountNamedDests(pdf))
        self._note("property", len(pdf.get_metadata_dict(skip_empty=True)))
        bookmark, n_bookmarks = raw.FPDFBookmark_GetFirstChild(pdf, None), 0
        while bookmark and n_bookmarks < _MAX_LISTED:
            n_bookmarks += 1
            bookmark = raw.FPDFBookmark_GetNextSibling(pdf, bookmark)
        self._note("bookmark", n_bookmarks)

    def _note(self, kind: str, n: int = 1) -> None:
        if kind and n > 0:
            self._removed[kind] = self._removed.get(kind, 0) + n


def _mend(text: str) -> str:
    text = text.translate(_LIGATURES)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _read_string(get: Callable[[Any, int], int]) -> str:
    # `get` writes UTF-16 into a buffer and returns how many bytes it needs.
    n_bytes = get(None, 0)
    if not 2 < n_bytes <= 2 * MAX_CHARS:
        return ""
    buffer = (ctypes.c_uint16 * (n_bytes // 2 + 1))()
    get(buffer, n_bytes)
    text = bytes(buffer)[:n_bytes].decode("utf-16-le", "replace").split("\0", 1)[0]
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").strip()


def _read_name(name: str) -> str:
    """Return the words of the name of a form field.

    Example:
        >>> _read_name("form1[0].#subform[0].PatientInitials_1[0]")
        'Patient Initials 1'
    """
    last = re.sub(r"\[\d+\]", "", name.rpartition(".")[2])
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_+", " ", last).strip()


def _turn(left: float, right: float, bottom: float, top: float, rotation: int) -> tuple[float, ...]:
    # Left, right, bottom and top as a page that is turned clockwise shows them.
    if rotation == 90:
        return bottom, top, -right, -left
    if rotation == 180:
        return -right, -left, -top, -bottom
    if rotation == 270:
        return -top, -bottom, left, right
    return left, right, bottom, top


def _show_words(words: list[_Word]) -> str:
    # Words that are not upright follow.
    segments: list[Segment] = []
    others: list[str] = []
    previous = None
    for word in words:
        is_beside = previous is not None and not previous.ends_line
        if not word.is_upright:
            if is_beside and previous is not None and not previous.is_upright:
                others[-1] += f" {word.text}"
            else:
                others.append(word.text)
        else:
            new = Segment(
                word.text, word.left, word.right, word.bottom, word.top, first_width=word.right - word.left
            )
            joined = _join(segments[-1], new) if is_beside and segments else None
            if joined is not None and previous is not None and previous.is_upright:
                segments[-1] = joined
            else:
                segments.append(new)
        previous = word
    return "\n".join([*order_lines(segments), *others])


def _join(one: Segment, other: Segment) -> Segment | None:
    # None = they are not beside each other.
    height = min(one.height, other.height)
    overlap = min(one.top, other.top) - max(one.bottom, other.bottom)
    if overlap < height / 2 or not -0.5 * height <= other.left - one.right <= 0.9 * height:
        return None
    return Segment(
        f"{one.text} {other.text}",
        one.left,
        max(one.right, other.right),
        min(one.bottom, other.bottom),
        max(one.top, other.top),
        one.first_width,
    )


def name_pages(problems: Mapping[str, list[int]]) -> str:
    """Return a sentence for each problem of pages; each problem begins with `has`."""
    described = []
    for problem, pages in problems.items():
        shown = ", ".join(map(str, pages[:_MAX_SHOWN]))
        more = _(" and {n_pages:,} more", n_pages=len(pages) - _MAX_SHOWN) if len(pages) > _MAX_SHOWN else ""
        subject = (
            _("pages {shown}{more} have", shown=shown, more=more)
            if len(pages) > 1
            else _("page {shown} has", shown=shown)
        )
        described.append(f"{subject}{problem.removeprefix('has')}")
    return ". ".join(described)
