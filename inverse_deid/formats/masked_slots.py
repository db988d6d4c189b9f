"""The masks of a text, put back into the places of a layout that its characters came from."""

from __future__ import annotations

from collections.abc import Sequence

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.text.rendering import Piece


def list_pieces(text: str, masked: MaskedDocument) -> list[Piece]:
    """Return what replaces which range of a text.

    Raises:
        StageError: The masked text is not the text with these ranges replaced.
    """
    pieces: list[Piece] = []
    position = shown = 0
    ends = (len(text), len(text)), (len(masked.text), len(masked.text))
    ranges = zip((*masked.masks, ends[0]), (*masked.replaced, ends[1]), strict=True)
    for (start, end), (first, stop) in ranges:
        if not position <= start <= end <= len(text) or masked.text[shown:first] != text[position:start]:
            raise StageError(_("the masked text does not fit the text of the file"))
        pieces.append((start, end, masked.text[first:stop]))
        position, shown = end, stop
    return pieces[:-1]


def fill_slots(slots: Sequence[tuple[int, str]], pieces: Sequence[Piece]) -> list[str]:
    """Return the masked text of each slot; what is between slots is layout and stays.

    The replacement of a range goes into the first slot that has a character of it.

    Args:
        slots: Where each begins in the text of the file, and its text, in text order.
        pieces: Ranges of the text of the file and their replacements, in order.

    Raises:
        StageError: A range has no character in any slot.

    Example:
        >>> fill_slots([(0, "by Am"), (5, "ara "), (10, "well")], [(3, 8, "PHI")])
        ['by PHI', ' ', 'well']
    """
    left = iter(pieces)
    piece = next(left, None)
    is_put = False
    filled: list[str] = []
    for begin, text in slots:
        shown, position, end = [], begin, begin + len(text)
        while piece is not None and piece[0] < end:
            start, stop, words = piece
            shown.append(text[position - begin : max(start, position) - begin])
            if not is_put and stop > begin:
                shown.append(words)
                is_put = True
            position = max(position, min(stop, end))
            if stop > end:
                break
            if not is_put:
                raise StageError(_("a mask has no place in the file"))
            piece, is_put = next(left, None), False
        shown.append(text[position - begin :])
        filled.append("".join(shown))
    if piece is not None and (not is_put or next(left, None) is not None):
        raise StageError(_("a mask has no place in the file"))
    return filled
