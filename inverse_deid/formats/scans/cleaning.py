"""A page as OCR reads it best, without shade and spots, and how much of its ink is text.

If a page has more ink like letters outside of the words that were found than in them, it has text that was
not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from inverse_deid.formats.scans.pictures import Page

_PAPER_PIXELS = 41
"""Letters are smaller: in a window of this size the paper is seen."""
_LEAST_CONTRAST = 25
_SPOTTED = 0.004
"""The share of pixels that are spots, from which on they are removed."""
_INK = 0.62
"""Darker than this share of the paper is ink."""
_MIN_LETTER, _MAX_LETTER = 6, 80
"""How high and wide a letter is at least and at most, in pixels of a page of 2340."""
_FULL_HEIGHT = 2340

Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a word, in pixels."""


def clean_page(page: Page) -> Page:
    """Return a page with white paper and without spots."""
    import cv2

    shaded = _whiten(page)
    if _measure_spots(shaded) > _SPOTTED:
        shaded = np.asarray(cv2.medianBlur(shaded, 3), np.uint8)
        if _measure_spots(shaded) > _SPOTTED:
            shaded = np.asarray(cv2.medianBlur(shaded, 3), np.uint8)
    return shaded


def _whiten(page: Page) -> Page:
    # Divide by the paper, which is the light that is around each place.
    import cv2

    small = cv2.resize(page, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    kernel = np.ones((_PAPER_PIXELS // 4, _PAPER_PIXELS // 4), np.uint8)
    paper = cv2.medianBlur(cv2.dilate(small, kernel), 21)
    paper = cv2.resize(paper, (page.shape[1], page.shape[0]), interpolation=cv2.INTER_LINEAR)
    divided = cv2.divide(page, np.maximum(paper, 1), scale=255)
    low, high = np.percentile(divided[::4, ::4], (0.5, 60))
    if high - low < _LEAST_CONTRAST:
        return np.asarray(divided, np.uint8)
    stretched = (divided.astype(np.float32) - low) * (255 / (high - low))
    return np.asarray(np.clip(stretched, 0, 255), np.uint8)


def _measure_spots(page: Page) -> float:
    """Return the share of dark pixels that are alone: at most one of their eight neighbours is dark."""
    import cv2

    dark = (page < 128).astype(np.uint8)
    around = cv2.filter2D(dark, -1, np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32))
    return float(((dark == 1) & (around <= 1)).mean())


def measure_unread(page: Page, boxes: Sequence[Box]) -> tuple[int, int]:
    """Return how much ink like letters a cleaned page has in the words that were found, and elsewhere.

    Lines, frames, pictures and specks are not like letters.

    Args:
        page: As it was cleaned.
        boxes: Of all words.

    Returns:
        Numbers of pixels.
    """
    import cv2

    ink = (page < _INK * 255).astype(np.uint8)
    scale = max(page.shape) / _FULL_HEIGHT
    least, most = max(4, round(_MIN_LETTER * scale)), round(_MAX_LETTER * scale)
    n, labels, stats, _centres = cv2.connectedComponentsWithStats(ink, connectivity=8)
    width, height, area = (
        stats[:, index] for index in (cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT, cv2.CC_STAT_AREA)
    )
    is_letter = (height >= least) & (height <= most) & (width <= 2 * most) & (area >= 2 * least)
    is_letter[0] = False
    inside = np.zeros(page.shape, np.bool_)
    for box in boxes:
        left, top, right, bottom = (max(0, round(edge)) for edge in box)
        inside[top : bottom + 1, left : right + 1] = True
    is_inside = _count(labels, inside, n) * 2 >= area
    return int(area[is_letter & is_inside].sum()), int(area[is_letter & ~is_inside].sum())


def _count(labels: npt.NDArray[Any], chosen: npt.NDArray[np.bool_], n: int) -> npt.NDArray[np.int64]:
    return np.bincount(labels[chosen], minlength=n).astype(np.int64)
