"""The pages of a picture file, in grey, upright as the file says, and not larger than a scan has to be.

A file says how large its pictures are before they are unpacked. Larger ones than any scan are refused.

Source: Pillow handbook, image file formats; TIFF 6.0, sections 8 (NewSubfileType) and 2 (resolution).
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import FormatError
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.wording import N_, _

if TYPE_CHECKING:
    from PIL import Image

Page = npt.NDArray[np.uint8]
"""A grey page, (height, width), 255 = white."""

MAX_PIXELS = 40_000_000
"""The most pixels of a page: A4 at 600 dpi has 35 million."""
MAX_PAGES = 200
MAX_SIDE = 2400
"""Larger pages are made smaller: A4 at 200 dpi is 2340 pixels high."""
_MIN_SIDE = 32
_QUALITY = 75
"""Of pictures that are shown, from 0 to 95: letters of 6 points stay sharp."""
_MAX_ODD = 4.0
"""The greatest ratio of the two resolutions of a fax that is believed."""
_FORMATS = ("PNG", "JPEG", "TIFF")
_DAMAGED = N_("is not a PNG, JPEG or TIFF picture, or is damaged. Scan it again")
_REDUCED = 1
_SUBFILE_TYPE = 254


def count_left_out(data: bytes) -> int:
    """Return how many pictures of a file are not pages: frames of an animation, and thumbnails.

    Raises:
        FormatError: Not such a picture.
        ConfigurationError: Pillow is not installed.
    """
    with _opened(data) as picture:
        return getattr(picture, "n_frames", 1) - len(_list_frames(picture))


def read_pages(data: bytes) -> Iterator[Page]:
    """Yield the pages of a PNG, JPEG or TIFF file.

    Raises:
        FormatError: Not such a picture, damaged, or too large.
        ConfigurationError: Pillow is not installed.
    """
    with _opened(data) as picture:
        frames = _list_frames(picture)
        if len(frames) > MAX_PAGES:
            raise FormatError(_("has more than {max_pages} pages. Split it", max_pages=MAX_PAGES))
        for frame in frames:
            picture.seek(frame)
            yield _make_grey(picture)


def list_scans(data: bytes) -> list[int]:
    """Return the numbers of the pages of a picture file, from 1; raises as `read_pages`."""
    with _opened(data) as picture:
        return list(range(1, len(_list_frames(picture)) + 1))


def draw_scan(data: bytes, number: int) -> bytes:
    """Return a page of a picture file as a new JPEG file; raises as `read_pages`."""
    with _opened(data) as picture:
        frames = _list_frames(picture)
        if not 0 < number <= len(frames):
            raise FormatError(_("has no page {number} that is a picture", number=number))
        picture.seek(frames[number - 1])
        return encode_page(_make_grey(picture))


def encode_page(page: Page) -> bytes:
    """Return a page as a JPEG file that has nothing of the file it came from but its dots."""
    from PIL import Image

    target = io.BytesIO()
    Image.fromarray(page).save(target, "JPEG", quality=_QUALITY)
    return target.getvalue()


@contextmanager
def _opened(data: bytes) -> Iterator[Image.Image]:
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_extra(_("reading scans"), error.name, "scans") from error
    is_damaged = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Pillow, which may quote the file
        try:
            with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
                yield picture
        except FormatError:
            raise
        except MemoryError:
            raise  # the child process says it
        except Exception:  # noqa: BLE001 - Pillow raises many kinds for damaged files
            is_damaged = True
    if is_damaged:
        raise FormatError(_(_DAMAGED))


def _list_frames(picture: Image.Image) -> list[int]:
    # Of a TIFF all but thumbnails; of others the first, as they are animations or previews.
    if picture.format != "TIFF":
        return [0]
    frames = []
    for frame in range(min(getattr(picture, "n_frames", 1), MAX_PAGES + 1)):
        picture.seek(frame)
        kind = getattr(picture, "tag_v2", {}).get(_SUBFILE_TYPE, 0)
        if not isinstance(kind, int) or not kind & _REDUCED:
            frames.append(frame)
    return frames


def _make_grey(picture: Image.Image) -> Page:
    from PIL import Image, ImageOps

    width, height = picture.size
    if width * height > MAX_PIXELS:
        raise FormatError(
            _("has a page of more than {n} million pixels. Scan it at 300 dpi", n=MAX_PIXELS // 1_000_000)
        )
    if min(width, height) < _MIN_SIDE:
        raise FormatError(_("has a page that is too small to be read. Scan it at 300 dpi"))
    if picture.format == "JPEG":
        picture.draft("L", (MAX_SIDE, MAX_SIDE))
    dpi = picture.info.get("dpi", (1, 1))
    picture.load()
    page = picture
    if page.mode in ("RGBA", "LA", "PA") or "transparency" in page.info:  # what is behind is white
        page = page.convert("RGBA")
        paper = Image.new("RGBA", page.size, "white")
        paper.alpha_composite(page)
        page = paper
    if page.mode.startswith(("I", "F")):
        page = _squeeze(page)
    page = page.convert("L")
    page = ImageOps.exif_transpose(_make_square(page, dpi))
    scale = MAX_SIDE / max(page.size)
    if scale < 1:
        size = (max(1, round(page.width * scale)), max(1, round(page.height * scale)))
        page = page.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    return np.asarray(page, np.uint8).copy()


def _squeeze(page: Image.Image) -> Image.Image:
    # 16 or 32 bits a pixel to 8.
    from PIL import Image

    values = np.nan_to_num(np.asarray(page, np.float32))
    low, high = float(values.min()), float(values.max())
    if high > low:
        values = (values - low) * (255 / (high - low))
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def _make_square(page: Image.Image, dpi: object) -> Image.Image:
    # A fax of standard resolution has half as many rows as columns per inch.
    from PIL import Image

    if not (isinstance(dpi, tuple) and len(dpi) == 2 and min(dpi) > 0):
        return page
    ratio = float(dpi[0]) / float(dpi[1])
    if 1.2 < ratio <= _MAX_ODD and page.width * page.height * ratio <= MAX_PIXELS:
        return page.resize((page.width, round(page.height * ratio)), Image.Resampling.BICUBIC)
    if 1.2 < 1 / ratio <= _MAX_ODD and page.width * page.height / ratio <= MAX_PIXELS:
        return page.resize((round(page.width / ratio), page.height), Image.Resampling.BICUBIC)
    return page
