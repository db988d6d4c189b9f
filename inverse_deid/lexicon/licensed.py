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
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from inverse_deid.core.errors import FormatError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.lexicon.artefact import Artefact, extend_lexicon
from inverse_deid.lexicon.entries import PhraseKind, WordFlag, WordList, word_key
from inverse_deid.lexicon.lexicon import Lexicon
from inverse_deid.text.tokenizer import TOKEN_PATTERN

MEDDRA_FIELDS: Final = 11
NAME_COLUMN: Final = 30
"""0-based column at which the drug name begins in the fixed-width table."""

MIN_DRUG_CHARS: Final = 4
_NAME_FLAGS: Final = WordFlag.SURNAME | WordFlag.FIRST_NAME | WordFlag.CITY
_RECORD: Final = re.compile(r"\d{6}[0-9A-Z]{5}.{18}.\S")
_NAME_HEADERS: Final = {"medicinalproduct", "medicinalproductname"} | {
    f"{kind}name" for kind in ("drug", "trade", "product", "preferred", "generic", "")
}


def make_licensed_lists(meddra: Path | None, whodrug: Path | None, lexicon: Lexicon) -> tuple[WordList, ...]:
    """Return the lists made of the user's files.

    Args:
        meddra: Folder with `llt.asc` and `pt.asc`.
        whodrug: Table of drug names.
        lexicon: Tells which words are names of people and places.

    Raises:
        UnreadableInputError: A file is missing or cannot be decoded.
        FormatError: A file has another layout.
    """

    def is_name(word: str) -> bool:
        return bool(lexicon.flags(word) & _NAME_FLAGS)

    lists: list[WordList] = []
    if meddra is not None:
        terms = read_meddra(meddra)
        words, eponyms = medical_words(terms, is_name), eponym_phrases(terms, is_name)
        lists.append(_word_list("meddra", words, "MedDRA terms, as words", WordFlag.MEDICAL))
        lists.append(_word_list("meddra_eponyms", eponyms, "MedDRA eponyms", None, PhraseKind.EPONYM))
    if whodrug is not None:
        names = read_whodrug(whodrug)  # longer names often contain the name of a maker
        drugs = {word_key(n) for n in names if n.isalpha() and len(n) >= MIN_DRUG_CHARS and not is_name(n)}
        lists.append(_word_list("whodrug", drugs, "WHODrug names of one word", WordFlag.DRUG))
    return tuple(lists)


def merge_lists(lexicon: Lexicon, lists: Sequence[WordList]) -> Artefact:
    """Return a copy of the lexicon with `lists`, under a version that names them.

    Raises:
        FormatError: The lexicon already has licensed lists.
    """
    known = {source["name"] for source in lexicon.sources}
    twice = sorted(known & {word_list.name for word_list in lists})
    if twice:
        raise FormatError(
            _("the lexicon already has {twice}: start with the packaged one", twice=", ".join(twice))
        )
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
        raise FormatError(_("llt.asc and pt.asc have no terms: export them again"))
    return list(terms)


def read_whodrug(path: Path) -> list[str]:
    """Return the drug names of a table.

    Raises:
        UnreadableInputError: The file is missing or cannot be decoded.
        FormatError: The layout is unknown.
    """
    lines = [line for line in _read_text(path).splitlines() if line.strip()]
    if not lines:
        raise FormatError(_("{path} is empty", path=path.name))
    if _RECORD.match(lines[0]) and lines[0][:11].isalnum():
        return _read_fixed_width(lines, path.name)
    return _read_delimited(lines, path.name)


def _meddra_term(line: str, name: str, number: int) -> str:
    fields = line.split("$")
    if len(fields) == MEDDRA_FIELDS + 1 and not fields[-1].strip():
        fields.pop()
    if len(fields) != MEDDRA_FIELDS:
        raise FormatError(
            _(
                "{name}, line {number}: {n_fields} fields between $, expected {meddra_fields}",
                name=name,
                number=number,
                n_fields=len(fields),
                meddra_fields=MEDDRA_FIELDS,
            )
        )
    if not fields[0].isdecimal() or not fields[1].strip():
        raise FormatError(
            _("{name}, line {number}: expected a numeric code and a term first", name=name, number=number)
        )
    return fields[1].strip()


def _read_fixed_width(lines: Iterable[str], name: str) -> list[str]:
    names = []
    for number, line in enumerate(lines, start=1):
        if not _RECORD.match(line):
            raise FormatError(
                _(
                    "{name}, line {number}: expected a six-digit record number and a drug name from "
                    "column {name_column} on",
                    name=name,
                    number=number,
                    name_column=NAME_COLUMN + 1,
                )
            )
        names.append(line[NAME_COLUMN:].strip())
    return names


def _read_delimited(lines: Sequence[str], name: str) -> list[str]:
    delimiter = max("$|\t;,", key=lines[0].count)
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
    except csv.Error as error:
        raise FormatError(
            _("{name}: a quote is not closed or a cell is too long: export it again", name=name)
        ) from error
    columns = [i for i, cell in enumerate(rows[0]) if re.sub(r"[^a-z]", "", cell.lower()) in _NAME_HEADERS]
    first = 1
    if not columns and len(rows[0]) > 1 and re.fullmatch(r"\d{6}", rows[0][0].strip()):
        columns, first = [len(rows[0]) - 1], 0
    if not columns:
        raise FormatError(
            _(
                "{name}: neither the fixed-width DD table nor a table with a column of drug names: add a "
                "header line with a column 'drug_name'",
                name=name,
            )
        )
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise FormatError(
                _(
                    "{name}, line {number}: {n_row} columns, expected {n_row_2}",
                    name=name,
                    number=number,
                    n_row=len(row),
                    n_row_2=len(rows[0]),
                )
            )
    return [row[column].strip() for row in rows[first:] for column in columns]


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableInputError(
            _("cannot read {path}: {strerror}", path=path.name, strerror=error.strerror)
        ) from error
    if b"\0" in data:
        raise UnreadableInputError(_("{path} is not a text file", path=path.name))
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UnreadableInputError(_("{path} is neither UTF-8 nor Windows-1252 text", path=path.name))


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


_EPONYM_HEADS_TEXT: Final = """
    disease diseases syndrome syndromes disorder anomaly anomalies sign signs test tests
    lymphoma sarcoma tumor tumour carcinoma nevus palsy paralysis ataxia dystrophy contracture
    hernia fracture deformity malformation reaction reflex procedure operation thyroiditis
    arteritis granulomatosis encephalopathy neuropathy glomerulonephritis nephropathy anemia
    anaemia purpura esophagus oesophagus chorea epilepsy phenomenon cyst cysts gland glands
    bodies body cell cells catheter scale score index stain criteria classification dementia
    psychosis gangrene ulcer thrombasthenia ring rings canal duct node nodes nodule nodules tic
    tetralogy dysplasia amyotrophy fever virus keratosis myopathy cardiomyopathy leukodystrophy
    arthropathy joint
"""
_EPONYM_HEADS: Final = frozenset(_EPONYM_HEADS_TEXT.split())
_LINKS: Final = frozenset(["s", "de", "la", "von", "van", "der", "and", "of", "di", "le"])


def count_label_words(labels: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """Count how often each alphabetic word is in lower case and capitalised.

    A capitalised first word of a label says nothing and is not counted.

    >>> lower, title = count_label_words(["Acute pain", "Severe Crohn disease"])
    >>> sorted(lower), sorted(title)
    (['disease', 'pain'], ['crohn'])
    """
    lower: Counter[str] = Counter()
    title: Counter[str] = Counter()
    for label in labels:
        for position, word in enumerate(TOKEN_PATTERN.findall(label)):
            if not word.isalpha():
                continue
            if word.islower():
                lower[word_key(word)] += 1
            elif position > 0 and not word.isupper():
                title[word_key(word)] += 1
    return lower, title


def medical_words(labels: Iterable[str], is_name: Callable[[str], bool], *, min_chars: int = 3) -> set[str]:
    """Return the alphabetic words of `labels` that are not names of people or places.

    A word that is also a name must be in lower case in some label, and more often than with a capital.
    """
    labels = list(labels)
    lower, title = count_label_words(labels)
    keys = {word_key(w) for label in labels for w in TOKEN_PATTERN.findall(label) if w.isalpha()}
    return {key for key in keys if len(key) >= min_chars and (not is_name(key) or lower[key] > title[key])}


def eponym_phrases(labels: Iterable[str], is_name: Callable[[str], bool]) -> set[str]:
    """Return the eponyms in `labels`: a capitalised name up to its medical head noun.

    >>> sorted(eponym_phrases(["Juvenile Parkinson's disease"], {"parkinson"}.__contains__))
    ['parkinson s disease']
    """
    phrases: set[str] = set()
    for label in labels:
        words = TOKEN_PATTERN.findall(label)
        start = 0
        while start < len(words):
            end = _eponym_end(words, start, is_name)
            if end:
                phrases.add(" ".join(word_key(w) for w in words[start:end]))
            start = max(start + 1, end)
    return phrases


def _eponym_end(words: list[str], start: int, is_name: Callable[[str], bool]) -> int:
    # 0 if none does.
    if not _has_capital(words[start]) or not is_name(word_key(words[start])):
        return 0
    for position in range(start + 1, min(start + 5, len(words))):
        if word_key(words[position]) in _EPONYM_HEADS:
            return position + 1
        if not (_has_capital(words[position]) or words[position] in _LINKS):
            return 0
    return 0


def _has_capital(word: str) -> bool:
    return word[:1].isupper() and len(word) > 1 and not word.isupper()
