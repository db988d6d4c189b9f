"""The text of a page that is a picture, word by word, with what the reader was unsure of.

RapidOCR reads, with the models that are in its package (PP-OCRv6): no network, no system program. The angle
of a page is that of its lines. One that is upside down or on its side is turned until most is read.

- A word of little confidence is read and noted. The masking masks it.
- A page with more ink like letters outside of the words than in them is refused, and so is one of which the
  reader is unsure of most words: what was not read cannot be released, and nobody would notice.

Source: PP-OCRv6 (PaddleOCR) in RapidOCR 3.10 (`docs/decisions/0028-scans-are-read-by-rapidocr.md`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import atan2, cos, sin
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from inverse_deid.core.child_process import ask_for_time
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.pdf.layout import order_lines
from inverse_deid.formats.pdf.tables import Segment
from inverse_deid.formats.pdf.writing import PAGE_BREAK
from inverse_deid.formats.scans.cleaning import Box, clean_page, measure_unread
from inverse_deid.formats.scans.pictures import Page

SURE = 0.80
"""From this confidence on, a word is taken as it was read."""
_LEAST = 0.30
"""Lines of less confidence are spots and strokes."""
_DETECTION_SIDE = 960
"""The size in which lines are looked for; letters are read in full size."""
_HEIGHT = 842.0
"""Of a page in points, as the layout measures."""
_MIN_SURE_SHARE = 0.5
_MIN_INK = 1_200
"""Less ink like letters, in pixels of a page of 2340, is not text: specks, a rule, a page number."""
_FULL_HEIGHT = 2340
_SPACES = 0.9
"""Words that are further apart are cells; unit: height of the line."""
_UNSURE = "\ue000"
"""Follows a word that was hard to read, while lines are ordered. No text has it: OCR never reads it."""

NOTHING_READ = N_("has ink, but no text that could be read. Scan it again at 300 dpi, or type it")
_LITTLE_READ = N_("has more ink than text that could be read. Scan it again at 300 dpi, or type it")
_HARD_TO_READ = N_("has mostly words that are hard to read. Scan it again at 300 dpi, or type it")


@dataclass(frozen=True, slots=True)
class PageText:
    """What was read of a page."""

    text: str = field(repr=False)
    unsure: tuple[tuple[int, int], ...] = ()  # half-open ranges of words that were hard to read
    problem: str = ""  # why the page cannot be used, "" = it can


@dataclass(frozen=True, slots=True, repr=False)
class _Word:
    text: str
    confidence: float
    corners: tuple[tuple[float, float], ...]  # from the upper left one clockwise, in pixels
    line: int


def read_page(page: Page) -> PageText:
    """Return the text of a page, in reading order.

    Raises:
        ConfigurationError: RapidOCR is not installed.
    """
    page = clean_page(page)
    words = _find_words(page)
    if words and not _is_upright(words):
        turned = [(page, words)]
        for n_quarters in (1, 2, 3):
            ask_for_time()
            other = np.ascontiguousarray(np.rot90(page, n_quarters))
            turned.append((other, _find_words(other)))
        page, words = max(turned, key=lambda one: _count_sure(one[1]))
    n_inside, n_outside = measure_unread(page, [_box_of(word) for word in words])
    least = _MIN_INK * (max(page.shape) / _FULL_HEIGHT) ** 2
    if not words:
        return PageText("", problem=_(NOTHING_READ) if n_outside > least else "")
    text, unsure = _order(page, words)
    problem = ""
    if n_outside > max(n_inside, least):
        problem = _(_LITTLE_READ)
    elif len(unsure) > (1 - _MIN_SURE_SHARE) * len(words):
        problem = _(_HARD_TO_READ)
    return PageText(text, unsure, problem)


def join_pages(pages: Sequence[PageText]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the text of several pages, and the ranges of it that were hard to read."""
    unsure: list[tuple[int, int]] = []
    n_chars = 0
    for page in pages:
        unsure += ((start + n_chars, end + n_chars) for start, end in page.unsure)
        n_chars += len(page.text) + len(PAGE_BREAK)
    return PAGE_BREAK.join(page.text for page in pages), tuple(unsure)


def check_reader() -> None:
    """Make sure that pages can be read.

    Raises:
        ConfigurationError: RapidOCR is not installed.
    """
    _load_reader()


@cache
def _load_reader() -> Any:  # noqa: ANN401 - the package has no types
    # Named models are never fetched: rapidocr would ask a server for those that it misses.
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    try:
        import rapidocr

        models = Path(rapidocr.__file__).parent / "models"
        return rapidocr.RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.use_cls": False,
                "Global.text_score": _LEAST,
                "Global.max_side_len": 10_000,
                "Det.model_path": str(models / "PP-OCRv6_det_small.onnx"),
                "Det.limit_type": "max",
                "Det.limit_side_len": _DETECTION_SIDE,
                "Rec.model_path": str(models / "PP-OCRv6_rec_small.onnx"),
                "Rec.rec_batch_num": 1,
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )
    except ImportError as error:
        raise missing_extra(_("reading scans"), error.name, "scans") from error


def _find_words(page: Page) -> list[_Word]:
    found = _load_reader()(np.stack([page] * 3, axis=2), return_word_box=True)
    words = []
    for number, line in enumerate(found.word_results if found.boxes is not None else ()):
        for text, confidence, corners in line:
            shown = "".join(str(text).split()).replace(_UNSURE, "")
            if shown and corners is not None:
                places = tuple((float(x), float(y)) for x, y in corners)
                words.append(_Word(shown, float(confidence), places, number))
    return words


def _is_upright(words: Sequence[_Word]) -> bool:
    # Most words are sure, and most of the longer ones are wider than high.
    long = [word for word in words if len(word.text) > 3] or list(words)
    wide = sum(_box_of(word)[2] - _box_of(word)[0] > _box_of(word)[3] - _box_of(word)[1] for word in long)
    return 2 * wide > len(long) and 2 * sum(word.confidence >= SURE for word in words) > len(words)


def _count_sure(words: Sequence[_Word]) -> int:
    return sum(len(word.text) for word in words if word.confidence >= SURE) if _is_upright(words) else 0


def _box_of(word: _Word) -> Box:
    xs, ys = [x for x, _y in word.corners], [y for _x, y in word.corners]
    return min(xs), min(ys), max(xs), max(ys)


def _order(page: Page, words: Sequence[_Word]) -> tuple[str, tuple[tuple[int, int], ...]]:
    # The text, and the ranges of words that were hard to read.
    angle = _measure_angle(words)
    scale = _HEIGHT / max(page.shape)
    marked = "\n".join(order_lines(list(_join_words(words, angle, scale))))
    text: list[str] = []
    unsure: list[tuple[int, int]] = []
    n_chars = 0
    for piece in marked.split(_UNSURE)[:-1]:
        n_chars += len(piece)
        text.append(piece)
        word = piece.rsplit(None, 1)[-1]
        unsure.append((n_chars - len(word), n_chars))
    text.append(marked.split(_UNSURE)[-1])
    return "".join(text), tuple(unsure)


def _measure_angle(words: Sequence[_Word]) -> float:
    # Radians, of the upper edges of the longer words; y grows downwards.
    long = sorted(words, key=lambda word: -len(word.text))[: max(1, len(words) // 2)]
    edges = [
        (word.corners[1][0] - word.corners[0][0], word.corners[1][1] - word.corners[0][1]) for word in long
    ]
    return median(atan2(dy, dx) for dx, dy in edges)


def _join_words(words: Sequence[_Word], angle: float, scale: float) -> Iterator[Segment]:
    # Words beside each other on a line are one segment; y grows upwards.
    def place(word: _Word) -> Segment:
        turned = [(x * cos(angle) + y * sin(angle), x * sin(angle) - y * cos(angle)) for x, y in word.corners]
        xs, ys = sorted(x * scale for x, _y in turned), sorted(y * scale for _x, y in turned)
        shown = word.text + _UNSURE * (word.confidence < SURE)
        return Segment(shown, xs[0], xs[3], (ys[0] + ys[1]) / 2, (ys[2] + ys[3]) / 2, xs[3] - xs[0])

    last: Segment | None = None
    line = -1
    for word in sorted(words, key=lambda word: (word.line, word.corners[0][0])):
        one = place(word)
        if last is not None and word.line == line and one.left - last.right <= _SPACES * one.height:
            last = Segment(
                f"{last.text} {one.text}",
                last.left,
                max(last.right, one.right),
                min(last.bottom, one.bottom),
                max(last.top, one.top),
                last.first_width,
            )
            continue
        if last is not None:
            yield last
        last, line = one, word.line
    if last is not None:
        yield last
