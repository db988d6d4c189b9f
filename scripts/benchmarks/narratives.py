"""Texts to mask, any number of any length: invented ones, or those of a file, changed when they are "
"repeated."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from inverse_deid.core.errors import FormatError, InputError
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.formats.tables.json_lines import read_json_lines
from inverse_deid.text.tokenizer import TOKEN_PATTERN
from inverse_deid.training.corpora.synthetic import generate_documents

RENAMED_SHARE = 0.05
"""Of the capitalised words of a repeated text, those that become new words."""
_LEAST_PIECE_TOKENS = 10

_CAPITALISED = re.compile(r"\b[A-Z][a-z]{2,}\b")
_DIGITS = "3456789"
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnprstvwz"


@dataclass(frozen=True, slots=True)
class Sample:
    """Documents in a JSON Lines file.

    Args:
        path: The file.
        n_documents: How many it holds.
        n_tokens: Their tokens, by our tokenizer.
    """

    path: Path
    n_documents: int
    n_tokens: int


def first_texts(files: Sequence[Path], n_invented: int, seed: int) -> list[str]:
    """Return the texts of the files in random order, or invented ones if there are no files.

    Raises:
        InputError: A file cannot be read.
    """
    if not files:
        return [doc.text for doc in generate_documents(n_invented, seed)]
    texts = [text for file in files for text in _texts_of(file)]
    if not texts:
        raise FormatError("the files contain no text. Give JSON Lines with the key text")
    random.Random(seed).shuffle(texts)
    return texts


def _texts_of(file: Path) -> list[str]:
    try:
        with input_errors(), open_input(file) as stream:
            docs = [record.doc for record in read_json_lines(stream, ReadOptions()).records()]
    except InputError as error:
        raise error.add_prefix(f"{file} ") from error
    return [doc.text for doc in docs if doc is not None and TOKEN_PATTERN.search(doc.text)]


def endless(texts: Sequence[str], seed: int) -> Iterator[str]:
    """The texts as they are, then again and again, each time changed.

    Example:
        >>> stream = endless(["fever of 39.4 C in 1987"], 1)
        >>> next(stream), next(stream) == next(stream)
        ('fever of 39.4 C in 1987', False)
    """
    yield from texts
    rng = random.Random(seed)
    for _ in count():
        yield from (changed(text, rng) for text in texts)


def changed(text: str, rng: random.Random) -> str:
    """The text with other digits, and with a made-up word for one in twenty capitalised ones.

    The digits 0, 1 and 2 stay, so that most dates and years still look like some.
    New words grow with the number of texts, as they do in real ones: without them every
    word would soon be one whose vector is known.
    """
    digits = str.maketrans(_DIGITS, "".join(rng.choices(_DIGITS, k=len(_DIGITS))))
    return _CAPITALISED.sub(lambda found: _renamed(found[0], rng), text.translate(digits))


def _renamed(word: str, rng: random.Random) -> str:
    if rng.random() >= RENAMED_SHARE:
        return word
    letters = (rng.choice(_VOWELS if letter in _VOWELS else _CONSONANTS) for letter in word.lower())
    return "".join(letters).capitalize()


def pieces(texts: Iterable[str], n_tokens: int) -> Iterator[str]:
    """Cut texts into short narratives of `n_tokens`; a rest of fewer than ten tokens is left out.

    Example:
        >>> list(pieces(["one two three"], 2)), list(pieces(["a b c d e f g h i j k"], 10))
        ([], ['a b c d e f g h i j'])
    """
    for text in texts:
        ends = [found.end() for found in TOKEN_PATTERN.finditer(text)]
        for first in range(0, len(ends), n_tokens):
            last = min(first + n_tokens, len(ends))
            if last - first >= _LEAST_PIECE_TOKENS:
                yield text[ends[first - 1] if first else 0 : ends[last - 1]].strip()


def of_length(texts: Iterator[str], n_tokens: int) -> str:
    """One text of exactly `n_tokens`, put together from an endless stream.

    Example:
        >>> of_length(iter(["one two", "three four"]), 3)
        'one two\\nthree'
    """
    parts: list[str] = []
    n_found = 0
    while n_found < n_tokens:
        parts.append(next(texts))
        n_found += len(TOKEN_PATTERN.findall(parts[-1]))
    ends = [found.end() for found in TOKEN_PATTERN.finditer(parts[-1])]
    parts[-1] = parts[-1][: ends[len(ends) - 1 - (n_found - n_tokens)]]
    return "\n".join(parts)


def write_sample(path: Path, texts: Iterable[str]) -> Sample:
    """Write the texts to a JSON Lines file, numbered from 0."""
    n_documents = n_tokens = 0
    with path.open("w", encoding="utf-8") as stream:
        for text in texts:
            stream.write(json.dumps({"id": n_documents, "text": text}, ensure_ascii=False) + "\n")
            n_documents += 1
            n_tokens += len(TOKEN_PATTERN.findall(text))
    return Sample(path, n_documents, n_tokens)
