"""Copies of annotated documents in another writing: lower case, capitals, typed in haste, badly scanned.

Letters whose other case has another length (`ß`, `İ`) are kept. Spans move along.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Sequence

from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training.corpora.wordlists import load_lists

_CONFUSED_SHARE = 0.01
_WORDS_BETWEEN_BREAKS = 60
_SENTENCE_SIGN = re.compile(r"[.,;:!?](?=\s|$)|['\u2019](?=\w)|[\"\u201c\u201d]")
_WORD = re.compile(r"[^\W\d_]+")
_LONG_WORD = re.compile(r"[^\W\d_]{6,}")


def recase(doc: Document, rng: random.Random) -> Document:
    """Return the document in lower case (half of them), in capitals or as typed in haste.

    Example:
        >>> recase(Document("d", "Seen by Dr. Okafor"), random.Random(1)).text
        'seen by dr. okafor'
    """
    return rng.choice((in_lower_case, in_lower_case, in_capitals, in_haste))(doc, rng)


def in_lower_case(doc: Document, _rng: random.Random | None = None) -> Document:
    """Return the document in lower case."""
    return dataclasses.replace(doc, text=_in_case(doc.text, str.lower))


def in_capitals(doc: Document, _rng: random.Random | None = None) -> Document:
    """Return the document in capitals."""
    return dataclasses.replace(doc, text=_in_case(doc.text, str.upper))


def _in_case(text: str, change: Callable[[str], str]) -> str:
    return "".join(other if len(other := change(char)) == 1 else char for char in text)


def in_haste(doc: Document, rng: random.Random) -> Document:
    """Return the document with few capitals and little punctuation, as spoken or typed in haste.

    Signs inside numbers, dates and addresses of the net stay.
    """
    lowered, dropped = rng.choice((1.0, 1.0, 0.9, 0.7)), rng.choice((1.0, 0.9, 0.6))
    pieces = list(doc.text)
    for match in _WORD.finditer(doc.text):
        if rng.random() < lowered:
            pieces[match.start() : match.end()] = _in_case(match.group(), str.lower)
    for match in _SENTENCE_SIGN.finditer(doc.text):
        if rng.random() < dropped:
            pieces[match.start()] = ""
    return _assemble(doc, pieces)


def add_noise(doc: Document, rng: random.Random) -> Document:
    r"""Return the document as a bad scan: words parted by hyphens at line ends, confused characters.

    About one character in a hundred is confused, as optical recognition does.

    Example:
        >>> add_noise(Document("d", "hospital " * 40), random.Random(1)).text.count("-\n") > 0
        True
    """
    pieces = list(doc.text)
    confusions = load_lists("confusions")
    confusable = [i for i, char in enumerate(pieces) if char in confusions]
    wanted = min(len(confusable), round(_CONFUSED_SHARE * len(pieces)))
    for i in rng.sample(confusable, wanted):
        pieces[i] = rng.choice(confusions[pieces[i]])
    long_words = list(_LONG_WORD.finditer(doc.text))
    wanted = min(len(long_words), 1 + len(_WORD.findall(doc.text)) // _WORDS_BETWEEN_BREAKS)
    for match in rng.sample(long_words, wanted):
        pieces[rng.randint(match.start() + 2, match.end() - 3)] += "-\n"
    return _assemble(doc, pieces)


def _assemble(doc: Document, pieces: Sequence[str]) -> Document:
    """Join what each character became. A span that would be lost keeps its characters."""
    pieces = list(pieces)
    for span in doc.spans:
        if not "".join(pieces[span.start : span.end]).strip():
            pieces[span.start : span.end] = doc.text[span.start : span.end]
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    text = "".join(pieces)
    spans = []
    for span in doc.spans:
        start, end = offsets[span.start], offsets[span.end]
        written = text[start:end]
        start += len(written) - len(written.lstrip())
        spans.append(PhiSpan(start, end - len(written) + len(written.rstrip()), span.type))
    return dataclasses.replace(doc, text=text, spans=tuple(spans))
