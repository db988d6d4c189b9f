r"""Documents with concepts: readers of all layouts, and the writer of this project's own.

- `jsonl`, this project's form: `{"id", "text", "spans", "concepts": [{"start", "end", "type"}]}`. `spans`
  are identifiers, as everywhere in this project.
- `phee`: JSON Lines whose `spans` are the concepts, without identifiers.
- `brat`: a folder of `.txt` and `.ann` (PharmaCoNER).
- `i2b2-2010`: a folder of `.txt` and `.con`. A line is `c="chest pain" 5:3 5:4||t="problem"`: line (from 1)
  and token (from 0) of the first and of the last token. White space separates tokens.
- `bio`: one token per line with its label at the end. A blank line ends a sentence. `-DOCSTART-` (CoNLL
  2003) or `# newdoc id = NAME` (CoNLL-U) begins a document. Text: one space between tokens, one line per
  sentence.

Source: Uzuner, South, Shen and DuVall 2011, "2010 i2b2/VA challenge on concepts, assertions, and relations
in clinical text"; its annotation file formatting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

from inverse_deid.core.errors import AnnotationError, FormatError, Remedy
from inverse_deid.core.values import Document
from inverse_deid.evaluation.provenance import name_files
from inverse_deid.formats.beside.brat import read_text_bound
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.formats.tables.json_lines import gold_json_line, number_lines, read_gold_json_line
from inverse_deid.formats.tables.strict_json import parse_json
from inverse_deid_research.extraction.concepts import ConceptDocument, ConceptSpan, find_entities


class ConceptLayout(StrEnum):
    """How concepts are written."""

    JSONL = "jsonl"
    PHEE = "phee"
    BRAT = "brat"
    I2B2_2010 = "i2b2-2010"
    BIO = "bio"


_PAIRED = {ConceptLayout.BRAT: ".ann", ConceptLayout.I2B2_2010: ".con"}
_BIO_SUFFIXES = (".bio", ".conll", ".iob", ".tsv")
_CONCEPT = 'A concept is {"start", "end", "type"} with whole numbers and the name of a type'
_I2B2_LINE = re.compile(
    r'c=".*" (?P<line>\d+):(?P<token>\d+) (?P<last_line>\d+):(?P<last_token>\d+)\|\|t="(?P<type>[^"\s]+)"'
)
_WORD = re.compile(r"\S+")
_LABEL = re.compile(r"O|[BI]-\S+")
_NEW_DOCUMENT = re.compile(r"-DOCSTART-.*|# newdoc(?: id = (?P<id>\S+))?.*")


def read_concepts(path: Path, layout: ConceptLayout | None = None) -> list[ConceptDocument]:
    """Read documents with concepts; without a layout, in that of `guess_layout`.

    They are JSON Lines (also gzipped), a BIO file or a folder of them, or a folder of brat or i2b2-2010
    files, whose annotations may be in another folder than the texts.

    Raises:
        InputError: Names the file, the line or document and the remedy.
    """
    with name_files(path), input_errors():
        docs = list(_read(path, layout or guess_layout(path)))
        if not docs:
            raise FormatError("contains no documents. Give documents with concepts")
    return docs


def guess_layout(path: Path) -> ConceptLayout:
    """Return the layout of a file by its suffix, of a folder by the files in it.

    Raises:
        FormatError: The suffix is unknown.
    """
    if path.is_dir():
        suffixes = {file.suffix for file in path.rglob("*")}
        for layout, suffix in _PAIRED.items():
            if suffix in suffixes:
                return layout
        if suffixes & set(_BIO_SUFFIXES):
            return ConceptLayout.BIO
    elif path.name.endswith((".jsonl", ".jsonl.gz")):
        return ConceptLayout.JSONL
    elif path.suffix in _BIO_SUFFIXES:
        return ConceptLayout.BIO
    raise FormatError(
        "the suffix says nothing about the layout",
        remedies=[
            Remedy(step="give .jsonl, .bio, or a folder of .txt with .ann or .con"),
            Remedy("layout", step="name the layout with {}"),
        ],
    )


def _read(path: Path, layout: ConceptLayout) -> Iterator[ConceptDocument]:
    match layout:
        case ConceptLayout.JSONL | ConceptLayout.PHEE:
            with open_input(path) as stream:
                yield from (_read_phee if layout is ConceptLayout.PHEE else _read_json_lines)(stream)
        case ConceptLayout.BIO:
            inside = sorted(file for file in path.rglob("*") if file.suffix in _BIO_SUFFIXES)
            for file in inside if path.is_dir() else [path]:
                with name_files(file), open_input(file) as stream:
                    yield from _read_bio(_decode(stream.read()), file.stem)
        case ConceptLayout.BRAT | ConceptLayout.I2B2_2010:
            read = _read_brat if layout is ConceptLayout.BRAT else _read_i2b2
            texts = {file.stem: file for file in sorted(path.rglob("*.txt"))}
            for file in sorted(path.rglob(f"*{_PAIRED[layout]}")):
                with name_files(file):
                    if file.stem not in texts:
                        raise FormatError(f"has no text. Put {file.stem}.txt into the folder")
                    yield read(texts[file.stem].read_bytes(), file.read_bytes(), file.stem)


def _decode(data: bytes) -> str:
    with suppress(UnicodeError):  # the error contains text and is not passed on
        return data.decode("utf-8-sig")
    raise AnnotationError("not valid UTF-8. Save text and annotations as UTF-8")


def _read_json_lines(stream: BinaryIO) -> Iterator[ConceptDocument]:
    for number, line in number_lines(stream):
        doc = read_gold_json_line(number, line)
        listed = json.loads(line).get("concepts")
        if listed is None:
            raise FormatError(
                f'line {number} has no "concepts"',
                remedies=[
                    Remedy(step="give documents of `research extraction inject`"),
                    Remedy("layout", "phee", step="give {} if its spans are the concepts"),
                ],
            )
        yield ConceptDocument(doc, _read_listed(number, doc, listed))


def _read_phee(stream: BinaryIO) -> Iterator[ConceptDocument]:
    for number, line in number_lines(stream):
        parsed: Any = None
        with suppress(ValueError, RecursionError):
            parsed = parse_json(line)
        if not isinstance(parsed, dict) or not isinstance(parsed.get("text"), str):
            raise FormatError(f'line {number} is not a document. A document is {{"id", "text", "spans"}}')
        doc = Document(str(parsed.get("id", number)), parsed["text"])
        yield ConceptDocument(doc, _read_listed(number, doc, parsed.get("spans", [])))


def _read_listed(line: int, doc: Document, listed: object) -> tuple[ConceptSpan, ...]:
    where = f"line {line}, document {doc.id}"
    if not isinstance(listed, list):
        raise AnnotationError(f"{where}: its concepts are not a list. {_CONCEPT}")
    found = set()
    for number, span in enumerate(listed, start=1):
        if not isinstance(span, dict) or not all(type(span.get(key)) is int for key in ("start", "end")):
            raise AnnotationError(f"{where}: concept {number} cannot be read. {_CONCEPT}")
        start, end, kind = span["start"], span["end"], span.get("type")
        if not 0 <= start < end <= len(doc.text):
            raise AnnotationError(
                f"{where}: concept {start}-{end} is empty, reversed or outside the text ({len(doc.text)} "
                "characters). Offsets are half-open and count code points"
            )
        if not isinstance(kind, str) or not kind or not kind.isprintable() or " " in kind:
            raise AnnotationError(f"{where}: concept {start}-{end} has no type. {_CONCEPT}")
        found.add(ConceptSpan(start, end, kind))
    return tuple(sorted(found))


def render_json_line(doc: ConceptDocument) -> bytes:
    r"""Return a document as a line of the layout `jsonl`.

    Example:
        >>> render_json_line(ConceptDocument(Document("d", "rash"), (ConceptSpan(0, 4, "Effect"),)))
        b'{"id": "d", "text": "rash", "spans": [], "concepts": [{"start": 0, "end": 4, "type": "Effect"}]}\n'
    """
    concepts = [{"start": span.start, "end": span.end, "type": span.type} for span in doc.concepts]
    line = json.loads(gold_json_line(doc.doc)) | {"concepts": concepts}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _read_brat(text: bytes, annotations: bytes, name: str) -> ConceptDocument:
    decoded, bound = read_text_bound(text, annotations, name)
    found = {ConceptSpan(start, end, kind) for kind, start, end in bound}
    return ConceptDocument(Document(name, decoded), tuple(sorted(found)))


def _read_i2b2(text: bytes, concepts: bytes, name: str) -> ConceptDocument:
    decoded = _decode(text)
    lines = re.finditer(r"^.*$", decoded, re.MULTILINE)
    tokens = [[m.span() for m in _WORD.finditer(decoded, *line.span())] for line in lines]
    found = {
        _read_i2b2_line(line, tokens, f"line {number}")
        for number, line in enumerate(_decode(concepts).splitlines(), start=1)
        if line.strip()
    }
    return ConceptDocument(Document(name, decoded), tuple(sorted(found)))


def _read_i2b2_line(line: str, tokens: list[list[tuple[int, int]]], where: str) -> ConceptSpan:
    match = _I2B2_LINE.fullmatch(line.strip())
    if match is None:
        raise AnnotationError(f'{where}: cannot be read. A line is c="WORDS" L:T L:T||t="TYPE"')
    ends = []
    for row, column in (("line", "token"), ("last_line", "last_token")):
        line_number, number = int(match[row]), int(match[column])
        if not (1 <= line_number <= len(tokens) and number < len(tokens[line_number - 1])):
            raise AnnotationError(
                f"{where}: names a token that the text does not have. Lines count from 1, tokens from 0"
            )
        ends.append(tokens[line_number - 1][number])
    if ends[0] > ends[1]:
        raise AnnotationError(f"{where}: ends before it begins. Give the first token before the last")
    return ConceptSpan(ends[0][0], ends[1][1], match["type"])


def _read_bio(text: str, name: str) -> Iterator[ConceptDocument]:
    sentences: list[list[tuple[str, str]]] = [[]]
    doc_id, n_documents = None, 1
    for number, line in enumerate([*text.split("\n"), "-DOCSTART-"], start=1):
        start, columns = _NEW_DOCUMENT.fullmatch(line.rstrip()), line.split()
        if start is not None:
            if any(sentences):
                yield _build_document(doc_id or f"{name}-{n_documents}", sentences)
                n_documents += 1
            sentences, doc_id = [[]], start["id"]
        elif columns:
            label = re.sub(r"^(.)_", r"\1-", columns[-1])
            if len(columns) < 2 or not _LABEL.fullmatch(label):
                raise AnnotationError(
                    f"line {number} does not end with a label. "
                    "A line is a token and at its end O, B-TYPE or I-TYPE"
                )
            sentences[-1].append((columns[0], label))
        else:
            sentences.append([])


def _build_document(doc_id: str, sentences: Sequence[Sequence[tuple[str, str]]]) -> ConceptDocument:
    text, concepts = "", []
    for sentence in filter(None, sentences):
        words, labels = zip(*sentence, strict=True)
        starts = list(accumulate((len(word) + 1 for word in words), initial=len(text)))
        entities = find_entities(labels)
        concepts += [ConceptSpan(starts[first], starts[last] - 1, kind) for first, last, kind in entities]
        text += " ".join(words) + "\n"
    return ConceptDocument(Document(doc_id, text), tuple(concepts))
