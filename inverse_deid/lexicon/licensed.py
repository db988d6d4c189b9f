"""The user's own MedDRA and WHODrug words, added to a copy of the lexicon.

MedDRA comes as ASCII tables, `$` between and after the fields (MedDRA Distribution File
Format Document): `llt.asc` and `pt.asc` have 11 fields per line, code first, name second.

WHODrug comes as tables of drug names (WHODrug Global technical description). This module reads:

- `DD.txt`, B format: fixed width, the six-digit drug record number first, sequence
  numbers and administrative fields, the drug name from column 31 on;
- `DD.csv`, B format: no header, record number first, drug name last;
- any table with a header (comma, semicolon, tab, `$` or `|`) that names a column of drug
  names, as exports of the C format have.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from inverse_deid.core.errors import FormatError, UnreadableInputError
from inverse_deid.lexicon.artefact import Artefact
from inverse_deid.lexicon.build import extend_lexicon
from inverse_deid.lexicon.flags import PhraseKind, WordFlag
from inverse_deid.lexicon.keys import word_key
from inverse_deid.lexicon.label_words import eponym_phrases, medical_words
from inverse_deid.lexicon.lexicon import Lexicon
from inverse_deid.lexicon.lists import WordList

MEDDRA_FIELDS: Final = 11
NAME_COLUMN: Final = 30
"""0-based column at which the drug name begins in the fixed-width table."""

MIN_DRUG_CHARS: Final = 4
_NAME_FLAGS: Final = WordFlag.SURNAME | WordFlag.FIRST_NAME | WordFlag.CITY
_RECORD: Final = re.compile(r"\d{6}[0-9A-Z]{5}.{18}.\S")
_NAME_HEADERS_TEXT: Final = """
    drugname tradename medicinalproduct medicinalproductname productname preferredname
    genericname name
"""
_NAME_HEADERS: Final = frozenset(_NAME_HEADERS_TEXT.split())


def licensed_lists(meddra: Path | None, whodrug: Path | None, lexicon: Lexicon) -> tuple[WordList, ...]:
    """Return the lists made of the user's files.

    Args:
        meddra: Folder with `llt.asc` and `pt.asc`; None = no MedDRA.
        whodrug: Table of drug names; None = no WHODrug.
        lexicon: Tells which words are names of people and places.

    Raises:
        UnreadableInputError: A file is missing or cannot be decoded.
        FormatError: A file has another layout.
    """
    lists: list[WordList] = []
    if meddra is not None:
        terms = read_meddra(meddra)
        lists += [_meddra_words(terms, lexicon), _meddra_eponyms(terms, lexicon)]
    if whodrug is not None:
        lists.append(_whodrug_words(read_whodrug(whodrug), lexicon))
    return tuple(lists)


def merge_lists(lexicon: Lexicon, lists: Sequence[WordList]) -> Artefact:
    """Return a copy of the lexicon with `lists`, under a version that names them.

    Raises:
        FormatError: The lexicon already has licensed lists.
    """
    known = {source["name"] for source in lexicon.sources}
    twice = sorted(known & {word_list.name for word_list in lists})
    if twice:
        raise FormatError(f"the lexicon already has {', '.join(twice)}: start with the packaged one")
    suffix = "+" + ".".join(word_list.name for word_list in lists)
    return extend_lexicon(lexicon.artefact, lists, version=lexicon.version + suffix)


def read_meddra(folder: Path) -> list[str]:
    """Return the lowest level and preferred terms of `folder`.

    Raises:
        UnreadableInputError: `llt.asc` or `pt.asc` is missing or cannot be decoded.
        FormatError: A line has another number of fields, or no code.
    """
    terms: dict[str, None] = {}
    for name in ("llt.asc", "pt.asc"):
        for number, line in enumerate(_read_text(folder / name).splitlines(), start=1):
            if line.strip():
                terms[_meddra_term(line, name, number)] = None
    if not terms:
        raise FormatError("llt.asc and pt.asc have no terms: export them again")
    return list(terms)


def read_whodrug(path: Path) -> list[str]:
    """Return the drug names of a table.

    Raises:
        UnreadableInputError: The file is missing or cannot be decoded.
        FormatError: The layout is unknown.
    """
    lines = [line for line in _read_text(path).splitlines() if line.strip()]
    if not lines:
        raise FormatError(f"{path.name} is empty")
    if _RECORD.match(lines[0]) and lines[0][:11].isalnum():
        return _fixed_width_names(lines, path.name)
    return _delimited_names(lines, path.name)


def _meddra_term(line: str, name: str, number: int) -> str:
    fields = line.split("$")
    if len(fields) == MEDDRA_FIELDS + 1 and not fields[-1].strip():
        fields.pop()
    if len(fields) != MEDDRA_FIELDS:
        raise FormatError(f"{name}, line {number}: {len(fields)} fields between $, expected {MEDDRA_FIELDS}")
    if not fields[0].isdecimal() or not fields[1].strip():
        raise FormatError(f"{name}, line {number}: expected a numeric code and a term first")
    return fields[1].strip()


def _fixed_width_names(lines: Iterable[str], name: str) -> list[str]:
    names = []
    for number, line in enumerate(lines, start=1):
        if not _RECORD.match(line):
            raise FormatError(
                f"{name}, line {number}: expected a six-digit record number and a drug name "
                f"from column {NAME_COLUMN + 1} on"
            )
        names.append(line[NAME_COLUMN:].strip())
    return names


def _delimited_names(lines: Sequence[str], name: str) -> list[str]:
    delimiter = max("$|\t;,", key=lines[0].count)
    rows = _rows(lines, delimiter, name)
    columns = [i for i, cell in enumerate(rows[0]) if _header_key(cell) in _NAME_HEADERS]
    first = 1
    if not columns and len(rows[0]) > 1 and re.fullmatch(r"\d{6}", rows[0][0].strip()):
        columns, first = [len(rows[0]) - 1], 0
    if not columns:
        raise FormatError(
            f"{name}: neither the fixed-width DD table nor a table with a column of drug "
            "names: add a header line with a column 'drug_name'"
        )
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise FormatError(f"{name}, line {number}: {len(row)} columns, expected {len(rows[0])}")
    return [row[column].strip() for row in rows[first:] for column in columns]


def _rows(lines: Sequence[str], delimiter: str, name: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
    except csv.Error as error:
        raise FormatError(f"{name}: a quote is not closed or a cell is too long: export it again") from error


def _header_key(cell: str) -> str:
    return re.sub(r"[^a-z]", "", cell.lower())


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableInputError(f"cannot read {path.name}: {error.strerror}") from error
    if b"\0" in data:
        raise UnreadableInputError(f"{path.name} is not a text file")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UnreadableInputError(f"{path.name} is neither UTF-8 nor Windows-1252 text")


def _meddra_words(terms: Sequence[str], lexicon: Lexicon) -> WordList:
    words = medical_words(terms, lambda word: bool(lexicon.flags(word) & _NAME_FLAGS))
    return _word_list("meddra", words, "MedDRA terms, as words", WordFlag.MEDICAL)


def _meddra_eponyms(terms: Sequence[str], lexicon: Lexicon) -> WordList:
    phrases = eponym_phrases(terms, lambda word: bool(lexicon.flags(word) & _NAME_FLAGS))
    return _word_list("meddra_eponyms", phrases, "MedDRA eponyms", None, PhraseKind.EPONYM)


def _whodrug_words(names: Iterable[str], lexicon: Lexicon) -> WordList:
    """Return one-word names only: longer names often contain the name of a maker."""
    words = {
        word_key(name)
        for name in names
        if name.isalpha() and len(name) >= MIN_DRUG_CHARS and not lexicon.flags(name) & _NAME_FLAGS
    }
    return _word_list("whodrug", words, "WHODrug names of one word", WordFlag.DRUG)


def _word_list(
    name: str,
    entries: Iterable[str],
    title: str,
    flag: WordFlag | None,
    kind: PhraseKind | None = None,
) -> WordList:
    info: dict[str, Any] = {
        "title": title,
        "origin": "the user's own licensed files",
        "licence": "licensed to the user, not to be passed on",
    }
    return WordList(name, dict.fromkeys(sorted(entries), 0), flag, kind, info)
