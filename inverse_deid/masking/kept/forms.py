"""What the form of a value and the name of its column say: it passes, is a date or age, or must not leave."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, partial
from typing import Literal

from inverse_deid.core.wording import N_
from inverse_deid.formats.icsr.standard.vocabulary import is_country, is_language
from inverse_deid.formats.lots import INITIALS_AND_YEAR, POSTCODE, is_lot_number
from inverse_deid.formats.records import Record
from inverse_deid.formats.tables.columns import (
    column_words,
    has_known_words,
    is_age_column,
    is_header,
    says,
    words_of,
)
from inverse_deid.formats.tables.kept_cells import KeptCell
from inverse_deid.lexicon import load_lexicon
from inverse_deid.lexicon.entries import PhraseKind, WordFlag
from inverse_deid.lexicon.lexicon import Lexicon
from inverse_deid.masking.kept.codes import is_listed_code
from inverse_deid.masking.kept.dates import (
    NO_CLOCK,
    DateDoubt,
    KeptDate,
    is_date_column,
    is_month,
    read_kept_date,
)
from inverse_deid.replacement.ages import read_age

A_NAME = N_("a name")
"""Why a value with a name of a person must not leave."""
MAX_CHARS = 120
MAX_WORDS = 10
_MAX_WORDS_WITHOUT_SENTENCE = 3
_MAX_DIGITS = 6
_MAX_DIGITS_OF_A_CODE_SYSTEM = 8
_MAX_DIGITS_OF_A_CODE = 5
_MAX_LETTERS_TOGETHER = 5
_LETTERS_OF_A_NAME = 3
_LETTERS_OF_A_COUNTRY = 2
_MAX_WORDS_OF_A_PLACE = 5

_NUMBER = re.compile(
    r"[<>≤≥~=+-]{0,2}\s?(?P<whole>\d+(?:[,' ]\d{3})*)(?:[.,]\d+)?(?:[eE][+-]?\d+)?\s?%?", re.ASCII
)
_ROUND = re.compile(r"[1-9]\d?0{3,}|[1-9]\d{0,3}0{5,}", re.ASCII)
_RANGE = re.compile(r"\d{1,4}(?:\.\d+)?\s?[-\u2013]\s?\d{1,4}(?:\.\d+)?", re.ASCII)
_YEAR = re.compile(r"(?<!\d)(?:18|19|20)\d\d(?!\d)")
_LONG_NUMBER = re.compile(r"\d{5}")
_COORDINATE = re.compile(r"[+-]?(?!0)\d{1,3}\.\d{5,}", re.ASCII)
_MEDDRA = re.compile(r"10\d{6}", re.ASCII)
_ATC = re.compile(r"[A-Z]\d\d[A-Z]{2}\d\d", re.ASCII)
_CODE = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9]{1,12}(?:[-_./#+][A-Za-z0-9]{1,8}){0,3}", re.ASCII)
_LETTERS = re.compile(r"[A-Za-z]+", re.ASCII)
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_WORD_OF_A_PLACE = re.compile(r"[^\W_]+")
_CODE_OF_A_PLACE = re.compile(r"[A-Z]{2}", re.ASCII)
_SENTENCE_END = re.compile(r"[.;!?]\s+\S|[\n\r]")
_DAY_OF_A_YEAR = re.compile(r"(?:(?:day|week|wk|tag|jour|semaine|kw|w)\s?)?\d{1,3}", re.ASCII | re.IGNORECASE)
_SIZE = re.compile(r"\d{1,4}(?:[.,]\d{1,3})?\s?(?:k?g|lbs?|oz|[cm]?m)?", re.ASCII | re.IGNORECASE)
_AGE = re.compile(
    r"P?\d{1,4}\s?(?:y|a|yo|y/o|yrs?|years?|mo|mos|mths?|months?|jahre?|ans?|a\u00f1os?|anni|anos)|[MFmf]/?\d\d|\d\d\s?/?[MF]",
    re.IGNORECASE,
)
_NOT_OF_PERSONS = ("count", "measure", "code", "dose", "unit", "day")
_MAX_AGE = 131
_SHORT_PHONE = re.compile(r"[2-9]\d\d[-\u2013]\d{4}", re.ASCII)
_PAIR_OF_COORDINATES = re.compile(
    r"[+-]?\d{1,3}\.\d+\u00b0?\s?[NSns]?[,;/\s]+[+-]?\d{1,3}\.\d+\u00b0?\s?[EWew]?", re.ASCII
)
_AGE_IN_YEARS = re.compile(r"(?P<years>\d{1,3})\.\d+", re.ASCII)


_SPLIT_NAMES = (("d", "dd", "day"), ("m", "mm", "month"), ("y", "yy", "yyyy", "year"))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a value: dates and ages follow the text, others pass or are refused."""

    sort: Literal["", "date", "age"] = ""
    refusal: str = ""  # what it contains, "" = it is not refused


PASSES = Verdict()


def judge_form(cell: KeptCell, day_first: bool | None) -> Verdict | None:
    """Judge a value by its form and the name of its column.

    Returns:
        None if its words must be read.

    Example:
        >>> judge_form(KeptCell("onset", "2019-10-12"), None).sort
        'date'
        >>> judge_form(KeptCell("mrn", "4471922"), None).refusal
        'an identifier'
    """
    value = cell.value.strip()
    if not value:
        return PASSES
    if cell.type == "bytes":
        return Verdict(refusal=N_("bytes that cannot be read"))
    if cell.type == "key":
        return _judge_key(cell, value, day_first)
    verdict = (
        _judge_person(value, cell.column) or _judge_date(cell, day_first) or _judge_place(value, cell.column)
    )
    if verdict is None and (
        value.casefold() in column_words("passing") or is_listed_code(value, cell.column)
    ):
        return PASSES
    return verdict or _judge_code(value, cell.column)


def _judge_key(cell: KeptCell, value: str, day_first: bool | None) -> Verdict | None:
    # It passes if it consists of words that names of columns have.
    has_number = re.search(r"\d{2}", value) is not None
    if has_number and any(says(value, sort) for sort in ("age", "date", "birth")):
        return Verdict(refusal=N_("a date or age in a key"))
    if is_header([value]) or (has_known_words(value) and not any(map(str.isdigit, value))):
        return PASSES
    verdict = judge_form(replace(cell, type="text"), day_first)
    return Verdict(refusal=N_("a date or age in a key")) if verdict and verdict.sort else verdict


def _judge_person(value: str, column: str) -> Verdict | None:
    has_digit = any(map(str.isdigit, value))
    if says(column, "birth") and has_digit:
        is_size = says(column, "size") and _SIZE.fullmatch(value)
        return None if is_size else Verdict(refusal=N_("a date of birth"))
    if _names_people(words_of(column)) and value.casefold() not in column_words("passing"):
        return Verdict(refusal=A_NAME)
    if not has_digit:
        return None
    if not is_age_column(column):
        numbers = map(int, re.findall(r"\d{1,4}", value))
        is_coded = says(column, "age") and any(number in range(10, _MAX_AGE) for number in numbers)
        is_written = _AGE.fullmatch(value) and not any(map(partial(says, column), _NOT_OF_PERSONS))
        return Verdict(refusal=N_("an age")) if is_coded or is_written else None
    is_age = read_age(years_of(value)) is not None
    return Verdict("age") if is_age else Verdict(refusal=N_("a number or text that can be an age"))


def _judge_date(cell: KeptCell, day_first: bool | None) -> Verdict | None:
    found = read_date(cell, day_first)
    if isinstance(found, KeptDate):
        return Verdict("date")
    value = cell.value.strip()
    is_day = says(cell.column, "day") and not says(cell.column, "count") and not is_age_column(cell.column)
    if found is None and is_day and _DAY_OF_A_YEAR.fullmatch(value):
        found = DateDoubt.UNSURE
    if found is None and is_date_column(cell.column) and (_YEAR.search(value) or _LONG_NUMBER.search(value)):
        found = DateDoubt.UNSURE
    if says(cell.column, "month") and not says(cell.column, "count") and is_month(value):
        return Verdict(refusal=N_("a part of a date"))
    if not isinstance(found, DateDoubt):
        return None
    return Verdict(refusal=str(found))


def read_date(cell: KeptCell, day_first: bool | None, today: date = NO_CLOCK) -> KeptDate | DateDoubt | None:
    """Read a value as a date; see `read_kept_date`."""
    is_named = is_date_column(cell.column) or cell.type == "date"
    return read_kept_date(cell.value.strip(), is_named=is_named, day_first=day_first, today=today)


def read_certain_dates(record: Record) -> tuple[str, ...]:
    """Return the dates in the kept columns of a record as fields of case reports have them."""
    found = (read_date(cell, None) for cell in record.kept if cell.type in ("text", "date", "number"))
    return tuple(one.structured for one in found if isinstance(one, KeptDate))


def find_split_date(cells: Sequence[KeptCell]) -> KeptCell | None:
    """Return the month of a date that is in three columns named `d`, `m` and `y`, None = there is none."""
    named = {cell.column.casefold(): cell for cell in cells if cell.value.strip().isdecimal()}
    parts = [next((named[name] for name in names if name in named), None) for names in _SPLIT_NAMES]
    return parts[1] if all(parts) else None


def years_of(value: str) -> str:
    """Return the whole years of an age with a fraction, others as they are written.

    Example:
        >>> years_of("43.5"), years_of("43 y")
        ('43', '43 y')
    """
    match = _AGE_IN_YEARS.fullmatch(value)
    return match["years"] if match else value


def _names_people(words: frozenset[str]) -> bool:
    people = _words_of_people()
    is_name = "name" in words and words <= people
    initials = words & column_words("initials")
    is_initials = initials and words <= people | initials and words != {"initial"}
    return is_name or bool(is_initials) or not words.isdisjoint(column_words("name"))


def _numbers_people(words: frozenset[str]) -> bool:
    # With a product, a code or a measure in its name it does not.
    person, number = column_words("person"), column_words("number")
    is_number = words <= person | number and not words.isdisjoint(person)
    is_record = words <= person | number | column_words("record") and not words.isdisjoint(number)
    is_number = is_number or (is_record and not words <= number)
    return (is_number or not words.isdisjoint(column_words("id"))) and words.isdisjoint(column_words("thing"))


def _judge_place(value: str, column: str) -> Verdict | None:
    is_named = says(column, "coordinate") and _NUMBER.fullmatch(value)
    is_pair = _PAIR_OF_COORDINATES.fullmatch(value) and not says(column, "measure")
    is_place = is_named or is_pair or _COORDINATE.fullmatch(value)
    return Verdict(refusal=N_("a number that can be a place")) if is_place else None


def _judge_code(value: str, column: str) -> Verdict | None:
    # None = the words must be read.
    words = words_of(column)
    if _numbers_people(words) and any(map(str.isdigit, value)):
        return Verdict(refusal=N_("an identifier"))
    if not words.isdisjoint(("lot", "batch")) and is_lot_number(value) and not _has_first_name(value):
        return PASSES
    if (match := _NUMBER.fullmatch(value)) is not None:
        digits = re.sub(r"\D", "", match["whole"])
        is_short = len(digits) <= (_MAX_DIGITS_OF_A_CODE_SYSTEM if says(column, "code") else _MAX_DIGITS)
        passes = is_short or _MEDDRA.fullmatch(value) or _ROUND.fullmatch(digits)
        return PASSES if passes else Verdict(refusal=N_("a number that can identify a person"))
    if POSTCODE.fullmatch(value) and not _ATC.fullmatch(value):
        return Verdict(refusal=N_("a postcode"))
    return PASSES if _is_short_code(value, column) or _is_place(value, column) else _judge_length(value)


def _is_short_code(value: str, column: str) -> bool:
    # A range, one sign, a code, a country in two letters or a language.
    return (
        _is_range(value, column)
        or (len(value) == 1 and value.isalnum())
        or _ATC.fullmatch(value) is not None
        or _is_code(value)
        or (_is_code_of_a_country(value) and not words_of(column) <= _words_of_people())
        or (says(column, "language") and is_language(value))
    )


def _is_code_of_a_country(value: str) -> bool:
    return len(value) == _LETTERS_OF_A_COUNTRY and value.isupper() and is_country(value)


def _is_range(value: str, column: str) -> bool:
    # Neither of years nor a short telephone number.
    is_phone = _SHORT_PHONE.fullmatch(value) is not None and not says(column, "measure")
    return _RANGE.fullmatch(value) is not None and _YEAR.search(value) is None and not is_phone


def _words_of_people() -> frozenset[str]:
    return column_words("of_names") | column_words("person")


def _has_first_name(lot: str) -> bool:
    runs = (run for run in _LETTERS.findall(lot) if len(run) >= _LETTERS_OF_A_NAME)
    return any(_lexicon().flags(run) & WordFlag.FIRST_NAME for run in runs)


def _is_code(value: str) -> bool:
    # Few digits, and no word of it is long enough for a name.
    if _CODE.fullmatch(value) is None or INITIALS_AND_YEAR.fullmatch(value):
        return False
    runs = [run for run in _LETTERS.findall(value) if len(run) >= _LETTERS_OF_A_NAME]
    if any(not run.isupper() or len(run) > _MAX_LETTERS_TOGETHER or _is_name(run) for run in runs):
        return False
    return sum(map(str.isdigit, value)) <= _MAX_DIGITS_OF_A_CODE


def _is_name(word: str) -> bool:
    return bool(_lexicon().flags(word) & (WordFlag.FIRST_NAME | WordFlag.SURNAME))


def _judge_length(value: str) -> Verdict | None:
    words = [word.casefold() for word in _WORD.findall(value)]
    has_verb = not column_words("sentence").isdisjoint(words)
    is_sentence = len(words) > _MAX_WORDS_WITHOUT_SENTENCE and (has_verb or _SENTENCE_END.search(value))
    is_long = len(value) > MAX_CHARS or len(words) > MAX_WORDS
    return Verdict(refusal=N_("free text")) if is_sentence or is_long else None


def _is_place(value: str, column: str) -> bool:
    # One that is also a name counts in its own column only.
    if says(column, "place") and _CODE_OF_A_PLACE.fullmatch(value):
        return True
    parts = _WORD_OF_A_PLACE.findall(value.casefold())
    if not 0 < len(parts) <= _MAX_WORDS_OF_A_PLACE or any(map(str.isdigit, value)):
        return False
    if len(parts) == 1:
        flags = _lexicon().flags(parts[0])
        is_place = bool(flags & (WordFlag.COUNTRY | WordFlag.STATE))
        return is_place and (says(column, "place") or not (_is_name(parts[0]) or flags & WordFlag.CITY))
    found = _lexicon().longest_phrase(parts)
    return found is not None and found[0] in (PhraseKind.COUNTRY, PhraseKind.STATE) and found[1] == len(parts)


@cache
def _lexicon() -> Lexicon:
    return load_lexicon()
