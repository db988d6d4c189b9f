"""Files of one token a line with a BIO label at its end; a blank line ends a sentence.

The text is built of the tokens: one space between them, one line a sentence. `-DOCSTART-`
begins a document (CoNLL 2003), and so does a line `# newdoc id = NAME` (CoNLL-U).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.values import Document
from inverse_deid.research.extraction.bio import OUTSIDE, entities
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan

_LABEL = re.compile(r"O|[BI]-\S+")
_NEW_DOCUMENT = re.compile(r"-DOCSTART-.*|# newdoc(?: id = (?P<id>\S+))?.*")


@dataclass(slots=True)
class _Growing:
    """A document that is being read."""

    name: str
    pieces: list[str] = field(default_factory=list, repr=False)
    concepts: list[ConceptSpan] = field(default_factory=list, repr=False)
    n_chars: int = 0

    def add(self, words: list[str], labels: list[str]) -> None:
        """Append a sentence."""
        starts, position = [], self.n_chars
        for word in words:
            starts.append(position)
            position += len(word) + 1
        self.concepts += [
            ConceptSpan(starts[first], starts[last - 1] + len(words[last - 1]), kind)
            for first, last, kind in entities(labels)
        ]
        self.pieces.append(" ".join(words) + "\n")
        self.n_chars = position

    def document(self) -> ConceptDocument:
        return ConceptDocument(Document(self.name, "".join(self.pieces)), tuple(self.concepts))


def read_bio(data: bytes, name: str) -> Iterator[ConceptDocument]:
    r"""Read the documents of a file.

    Args:
        data: The file, UTF-8; columns are separated by white space, the token is the first, the label the last.
        name: Of the file; a document without an id is called `NAME-1` and so on.

    Raises:
        AnnotationError: Not UTF-8, or a line without token and label (the message names it).

    Example:
        >>> doc, = read_bio(b"mild O\nrash B-Effect\n", "f")
        >>> doc.doc.text, doc.concepts
        ('mild rash\n', (ConceptSpan(start=5, end=9, type='Effect'),))
    """  # noqa: E501
    text: str | None = None
    with suppress(UnicodeError):
        text = data.decode("utf-8-sig")
    if text is None:
        raise AnnotationError("is not UTF-8; save it as UTF-8")
    n_documents = 1
    doc, words, labels = _Growing(f"{name}-1"), [], []
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        start = _NEW_DOCUMENT.fullmatch(line.rstrip())
        columns = line.split()
        if columns and start is None:
            words.append(columns[0])
            labels.append(_label(columns, number))
            continue
        if words:
            doc.add(words, labels)
            words, labels = [], []
        if start is not None:
            if doc.pieces:
                n_documents += 1
                yield doc.document()
            doc = _Growing(start["id"] or f"{name}-{n_documents}")
    if doc.pieces:
        yield doc.document()


def _label(columns: list[str], number: int) -> str:
    label = columns[-1].replace("_", "-", 1) if columns[-1][1:2] == "_" else columns[-1]
    if len(columns) < 2 or not _LABEL.fullmatch(label):
        raise AnnotationError(
            f"line {number} does not end in a label; a line is a token and at its end {OUTSIDE}, B-TYPE or "
            "I-TYPE"
        )
    return label
