"""The open benchmarks and the form of their files, which the user fetches or makes. Nothing is downloaded.

A text never enters a message: errors name file, line and document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lxml import etree

from inverse_deid.core.errors import FormatError, InputError
from inverse_deid.core.files import printable
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.formats.safe_xml import safe_parser
from inverse_deid_research.benchmarks.scorer import MarkedText, Range

_QUERY, _TAGS = "===QUERY===", "===PHI_TAGS==="
_TITLES = frozenset({"NAME_TITLE"})
"""Marks of GraSCCo that are left out: a title alone names nobody."""
_TITLE = re.compile(r"(?:Dr|Doctor|Prof|Professor|Mr|Mrs|Ms|Miss)\b\.?(?=\s)", re.IGNORECASE)
"""At the beginning of a name of ASQ-PHI."""
_BEYOND = 0xFFFF
"""A character above it has two units in UTF-16."""


@dataclass(slots=True)
class _Reading:
    docs: list[MarkedText] = field(default_factory=list)
    n_unplaced: int = 0  # marked values that are not in their text


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A set, how it is annotated, and how its files are read."""

    title: str
    language: str
    licence: str
    # What is masked: the first one is the choice that the set is annotated for.
    categories: tuple[str, ...]
    read: Callable[[Path], _Reading] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BenchmarkTexts:
    """The documents of a set."""

    name: str
    docs: Sequence[MarkedText] = field(repr=False)
    n_unplaced: int = 0


def read_benchmark(name: str, paths: Sequence[Path]) -> BenchmarkTexts:
    """Read all files of a set, a file or folder each.

    Raises:
        InputError: A file is missing, damaged, or of another form.
    """
    docs: list[MarkedText] = []
    n_unplaced = 0
    for path in paths:
        try:
            with input_errors():
                found = BENCHMARKS[name].read(path)
        except InputError as error:
            raise error.add_prefix(f"{printable(path)}: ") from error
        except (ValueError, RecursionError) as error:
            # A message of a decoder could quote the text; one of `MarkedText` names offsets.
            fault = printable(str(error)) if type(error) is ValueError else "not of the form of the set"
            raise FormatError(f"{printable(path)}: {fault}. Fetch the file again") from None
        docs += found.docs
        n_unplaced += found.n_unplaced
    ids = [doc.id for doc in docs]
    if not docs or len(set(ids)) < len(ids):
        fault = "the same document twice" if docs else "no documents"
        raise FormatError(f"{', '.join(map(printable, paths))}: {fault}. Give each part of {name} once")
    return BenchmarkTexts(name, docs, n_unplaced)


def _read_text(path: Path) -> str:
    """Return the text of a regular file, UTF-8, perhaps gzipped."""
    with open_input(path) as stream:
        return stream.read().decode("utf-8").replace("\r\n", "\n")


def _read_asq_phi(path: Path) -> _Reading:
    """Read queries and the values that are marked in them.

    Every occurrence of a value as whole words is marked.
    """
    found = _Reading()
    head, *blocks = _read_text(path).split(_QUERY)
    if head.strip() or not blocks:
        raise FormatError(f"the file does not begin with {_QUERY}. Give synthetic_clinical_queries.txt")
    for number, block in enumerate(blocks, start=1):
        text, mark, tags = block.partition(_TAGS)
        doc_id, text = f"asq-phi-{number:04}", text.strip()
        if not (mark and text):
            raise FormatError(f"query {number} has no text or no {_TAGS}. Fetch the file again")
        spans: list[tuple[int, int, str]] = []
        titles: list[Range] = []
        for line in filter(None, map(str.strip, tags.splitlines())):
            tag = _parse_object(line, f"query {number}")
            value, kind = tag.get("value"), tag.get("identifier_type")
            if not (isinstance(value, str) and value.strip() and isinstance(kind, str)):
                raise FormatError(f"query {number} has a tag without identifier_type and value")
            whole = rf"(?<![^\W_]){re.escape(value)}(?![^\W_])"
            places = [(one.start(), one.end(), kind) for one in re.finditer(whole, text)]
            spans += places
            if kind == "NAME" and (title := _TITLE.match(value)):
                titles += [(start, start + title.end()) for start, *_ in places]
            found.n_unplaced += not places
        found.docs.append(MarkedText(doc_id, text, tuple(sorted(set(spans))), tuple(sorted(set(titles)))))
    return found


def _parse_object(line: str, where: str) -> dict[str, Any]:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise FormatError(f"{where} has a line that is not a JSON object. Fetch the file again")
    return parsed


def _read_json_lines(path: Path) -> _Reading:
    """Read {"id", "text", "spans": [{"start", "end", "type" or "label"}]} per line."""
    found = _Reading()
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        if line.strip():
            row = _parse_object(line, f"line {number}")
            doc_id, text, spans = row.get("id"), row.get("text"), row.get("spans")
            if not (isinstance(doc_id, str) and isinstance(text, str) and isinstance(spans, list)):
                raise FormatError(f"line {number} has no id, text or spans")
            marked = tuple(_span(one, f"line {number}") for one in spans)
            found.docs.append(MarkedText(doc_id, text, marked))
    return found


def _span(found: object, where: str, names: Sequence[str] = ("start", "end")) -> tuple[int, int, str]:
    span = found if isinstance(found, dict) else {}
    start, end = (span.get(name) for name in names)
    kind = span.get("type", span.get("label", span.get("kind")))
    if type(start) is not int or type(end) is not int or not isinstance(kind, str):
        raise FormatError(f"{where} has a span without start, end and type")
    return start, end, kind


def _files(path: Path, ending: str) -> Iterator[Path]:
    files = sorted(file for file in path.rglob(f"*{ending}") if file.is_file())
    if not files:
        raise FormatError(f"the folder has no file with the ending {ending}")
    yield from files


def _read_meddocan(path: Path) -> _Reading:
    """Read JSON Lines, or a folder of the XML files that MEDDOCAN comes in."""
    if not path.is_dir():
        return _read_json_lines(path)
    found = _Reading()
    for file in _files(path, ".xml"):
        root: Any = None
        with suppress(etree.XMLSyntaxError):
            root = etree.fromstring(file.read_bytes(), safe_parser())
        if root is None or root.getroottree().docinfo.doctype or (text := root.findtext("TEXT")) is None:
            raise FormatError(f"{printable(file.name)} is not XML with a TEXT")
        keys = ("start", "end", "TYPE")
        tags = [tuple(tag.get(key, "") for key in keys) for tag in root.iterfind("TAGS/*")]
        if not all(start.isdecimal() and end.isdecimal() and kind for start, end, kind in tags):
            raise FormatError(f"{printable(file.name)} has a tag without start, end and TYPE")
        spans = tuple(sorted((int(start), int(end), kind) for start, end, kind in tags))
        found.docs.append(MarkedText(file.stem, text, spans))
    return found


def _read_grascco(path: Path) -> _Reading:
    """Read JSON Lines, or a folder of the JSON files that GraSCCo_PHI comes in."""
    if not path.is_dir():
        return _read_json_lines(path)
    found = _Reading()
    for file in _files(path, ".json"):
        where = printable(file.name)
        structures = _parse_object(_read_text(file), where).get("%FEATURE_STRUCTURES")
        listed = [one for one in structures if isinstance(one, dict)] if isinstance(structures, list) else []
        texts = [one.get("sofaString") for one in listed if one.get("%TYPE") == "uima.cas.Sofa"]
        if len(texts) != 1 or not isinstance(texts[0], str):
            raise FormatError(f"{where} is not a document of GraSCCo_PHI with one text")
        kinds = [one for one in listed if str(one.get("%TYPE")).endswith(".PHI")]
        marked = [_span(one, where, ("begin", "end")) for one in kinds]
        starts = _code_points(texts[0])
        if any(not 0 <= start < end < len(starts) for start, end, _ in marked):
            raise FormatError(f"{where} has a span outside its text")
        spans = {(starts[start], starts[end], kind) for start, end, kind in marked if kind not in _TITLES}
        found.docs.append(MarkedText(file.stem, texts[0], tuple(sorted(spans))))
    return found


def _code_points(text: str) -> list[int]:
    """Return the code point at every offset in UTF-16 units, which UIMA counts."""
    units = [2 if ord(sign) > _BEYOND else 1 for sign in text]
    return [*(number for number, n in enumerate(units) for _ in range(n)), len(text)]


BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {
        "asq-phi": Benchmark("ASQ-PHI", "English", "MIT", ("hipaa", "all"), _read_asq_phi),
        "outis": Benchmark("validation notes of outis", "English", "CC0", ("hipaa", "all"), _read_json_lines),
        "meddocan": Benchmark("MEDDOCAN", "Spanish", "CC BY 4.0", ("all",), _read_meddocan),
        "grascco": Benchmark("GraSCCo_PHI", "German", "CC BY 4.0", ("all",), _read_grascco),
    }
)
"""The sets by name, in the order of the report."""
