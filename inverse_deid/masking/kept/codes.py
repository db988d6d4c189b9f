"""Codes of kept columns: values of closed lists that pass in columns of certain names, and units of doses.

A value such as `RAB`, `Bayer` or `White` can be a name. In a column of vaccine types, manufacturers or races
it is a code that many cases have.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from inverse_deid.core.packaged import packaged_path
from inverse_deid.core.phi import HyperClass
from inverse_deid.formats.icsr.standard.vocabulary import is_unit
from inverse_deid.formats.tables.columns import says, words_of
from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.medical_words import MedicalWords

_YEAR = re.compile(r"(?<!\d)(?:18|19|20)\d\d(?!\d)")
_PART_OF_A_DOSE = re.compile(
    r"\d{1,4}(?:[.,]\d{1,4})?|[^\W\d_]+(?:[/*][^\W_]+(?:\*\*2)?)*|[\s,;/()%+-]", re.ASCII
)
_OTHER_UNITS = re.compile(r"x\s?10[*^E]\d{1,2}/[uµmn]?L|MG/M\*\*2|I?U/[md]?L", re.IGNORECASE)
_NUMBER_OF_A_DRUG = re.compile(r"\s?/0\d{7}/$", re.ASCII)
_DATE_OR_PHONE = re.compile(
    r"\b\d{1,2}([/.-])\d{1,2}\1\d\d\b|\d{3}[\s-]\d{3}|\b0\d|\b[A-Z]\s[A-Z]\b", re.ASCII
)
_FREQUENCY = re.compile(r"Q\d{0,2}(?:H|HR|HRS|D|DAYS?|W|WK|WEEKS?|M|MONTHS?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _CodeList:
    """Values that pass in columns of these names, or with one of these words in their name."""

    columns: frozenset[str]
    words: frozenset[str]
    values: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]

    def has(self, value: str) -> bool:
        return value.casefold() in self.values or any(one.fullmatch(value) for one in self.patterns)


def is_listed_code(value: str, column: str) -> bool:
    r"""Return whether a value is a code that columns of this name have.

    Example:
        >>> is_listed_code("RAB", "VAX_TYPE"), is_listed_code("RAB", "seen_by")
        (True, False)
        >>> is_listed_code("1 DF, QD", "dose_vbm"), is_listed_code("1 DF, Ada", "dose_vbm")
        (True, False)
    """
    words = words_of(column)
    name = "".join(filter(str.isalnum, column.casefold()))
    if any(
        (name in one.columns or not words.isdisjoint(one.words)) and one.has(value) for one in _code_lists()
    ):
        return True
    if says(column, "unit") and (is_unit(value) or _OTHER_UNITS.fullmatch(value)):
        return len(value) > 1 and not value.isdigit()
    if says(column, "dose") and _is_dose(value):
        return True
    return says(column, "term") and value.isalpha() and _medical_words().among([value], HyperClass.NAME)


def plain_value(value: str, column: str) -> str:
    r"""Return a value as it is read: FAERS and VAERS join names by a backslash and add numbers of WHODrug.

    Example:
        >>> plain_value(r"AMOXICILLIN\CLAVULANATE", "prod_ai"), plain_value("ASPIRIN /00002701/", "drugname")
        ('AMOXICILLIN/CLAVULANATE', 'ASPIRIN')
    """
    is_drug = not words_of(column).isdisjoint(("drug", "drugname", "product"))
    return (_NUMBER_OF_A_DRUG.sub("", value) if is_drug else value).replace("\\", "/")


def _is_dose(value: str) -> bool:
    # Numbers, units and frequencies, not numbers alone.
    parts = re.findall(r"[^\W\d_]+(?:[/*][^\W\d_]+)*|Q\d+[A-Za-z]+", value)
    left = _PART_OF_A_DOSE.sub("", _FREQUENCY.sub("", value))
    if (
        left
        or not parts
        or _YEAR.search(value)
        or _DATE_OR_PHONE.search(value)
        or sum(map(str.isdigit, value)) > 8
    ):
        return False
    known = _words_of_doses()
    return all(part.casefold() in known or _FREQUENCY.fullmatch(part) for part in parts)


@cache
def _medical_words() -> MedicalWords:
    return MedicalWords(load_lexicon())


@cache
def _read_table() -> dict[str, Any]:
    return tomllib.loads(packaged_path("kept_codes.toml").read_text(encoding="utf-8"))


@cache
def _words_of_doses() -> frozenset[str]:
    return frozenset(_read_table()["doses"].split())


@cache
def _code_lists() -> tuple[_CodeList, ...]:
    return tuple(
        _CodeList(
            columns=frozenset(one.get("columns", ())),
            words=frozenset(one.get("words", ())),
            values=frozenset(
                value.strip().casefold() for value in one.get("values", "").splitlines() if value
            ),
            patterns=tuple(
                re.compile(pattern, re.IGNORECASE | re.ASCII) for pattern in one.get("patterns", ())
            ),
        )
        for one in _read_table()["list"]
    )
