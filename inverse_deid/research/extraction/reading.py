"""Reading documents with concepts, in whatever layout they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

from inverse_deid.core.errors import FormatError, InputError
from inverse_deid.core.values import Document
from inverse_deid.formats.brat import read_text_bound
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.research.extraction.bio_files import read_bio
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan
from inverse_deid.research.extraction.i2b2_concepts import read_i2b2_concepts
from inverse_deid.research.extraction.json_concepts import read_concept_json_lines, read_phee


class Layout(StrEnum):
    """How concepts are written down."""

    JSONL = "jsonl"
    PHEE = "phee"
    BRAT = "brat"
    I2B2_2010 = "i2b2-2010"
    BIO = "bio"


_PAIRED = {Layout.BRAT: ".ann", Layout.I2B2_2010: ".con"}
_BIO_SUFFIXES = (".bio", ".conll", ".iob", ".tsv")


def read_concepts(path: Path, layout: Layout | None = None) -> list[ConceptDocument]:
    """Read documents with concepts.

    Args:
        path: JSON Lines (also gzipped), a BIO file or a folder of them, or a folder of brat
            (PharmaCoNER) or i2b2-2010 files, whose annotations may lie in a folder of their own.
        layout: How it is written; None = by suffix, and of a folder by what it holds.

    Raises:
        InputError: Names the file, the line or document and the remedy.
    """
    try:
        with input_errors():
            docs = list(_read(path, layout or layout_of(path)))
    except InputError as error:
        raise error if str(path) in str(error) else type(error)(f"{path}: {error}") from error
    if not docs:
        raise FormatError(f"{path}: holds no document; give documents with concepts")
    return docs


def layout_of(path: Path) -> Layout:
    """The layout that a file's suffix or the files of a folder stand for.

    Raises:
        FormatError: None is known.
    """
    if path.is_dir():
        held = {file.suffix for file in path.rglob("*")}
        for layout, suffix in _PAIRED.items():
            if suffix in held:
                return layout
        if held & set(_BIO_SUFFIXES):
            return Layout.BIO
    elif path.name.endswith((".jsonl", ".jsonl.gz")):
        return Layout.JSONL
    elif path.suffix in _BIO_SUFFIXES:
        return Layout.BIO
    raise FormatError(
        "holds concepts in no layout that is known by its suffix; give .jsonl, .bio, or a folder of .txt "
        "with .ann or .con, or name the layout with --layout"
    )


def _read(path: Path, layout: Layout) -> Iterator[ConceptDocument]:
    match layout:
        case Layout.JSONL | Layout.PHEE:
            with open_input(path) as stream:
                yield from (read_phee if layout is Layout.PHEE else read_concept_json_lines)(stream)
        case Layout.BIO:
            inside = sorted(file for file in path.rglob("*") if file.suffix in _BIO_SUFFIXES)
            for file in inside if path.is_dir() else [path]:
                yield from _read_bio_file(file)
        case Layout.BRAT | Layout.I2B2_2010:
            read = _read_brat if layout is Layout.BRAT else read_i2b2_concepts
            yield from _read_pairs(path, _PAIRED[layout], read)


def _read_bio_file(file: Path) -> list[ConceptDocument]:
    try:
        with open_input(file) as stream:
            return list(read_bio(stream.read(), file.stem))
    except InputError as error:
        raise type(error)(f"{file}: {error}") from error


def _read_pairs(
    folder: Path, suffix: str, read: Callable[[bytes, bytes, str], ConceptDocument]
) -> Iterator[ConceptDocument]:
    """The documents of a folder: texts and annotations are matched by name."""
    texts = {file.stem: file for file in sorted(folder.rglob("*.txt"))}
    for file in sorted(folder.rglob(f"*{suffix}")):
        if file.stem not in texts:
            raise FormatError(f"{file}: has no text; put {file.stem}.txt beside it")
        yield read(texts[file.stem].read_bytes(), file.read_bytes(), file.stem)


def _read_brat(text: bytes, annotations: bytes, name: str) -> ConceptDocument:
    decoded, bound = read_text_bound(text, annotations, name)
    found = {ConceptSpan(start, end, kind) for kind, start, end in bound}
    return ConceptDocument(Document(name, decoded), tuple(sorted(found)))
