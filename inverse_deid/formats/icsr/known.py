"""Identifiers in the structured fields of a case, and searching for them in the same spelling.

Other spellings (initials, surname first, typos) are not searched for here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from inverse_deid.formats.icsr.standard.dates import parse_stamp
from inverse_deid.text.matching import Sequences, fold

MIN_FINDABLE = 4
"""A value needs this many letters and digits to be searched for: shorter ones are in every text."""

_SAY_NOTHING = frozenset(
    (
        *("privacy", "unknown", "unk", "none", "na", "n/a", "nos", "masked", "msk", "asku", "nask"),
        *("anonymous", "anonymised", "anonymized", "confidential", "withheld", "notavailable"),
        *("aggregate", "aggregrate"),
    )
)
_SCHEME = re.compile(r"(?:tel|fax|mailto):", re.IGNORECASE)
_RUN = re.compile(r"[^\W_]+")
_INITIALS = re.compile(r"(?:[^\W\d_][.\s-]*){1,4}")


@dataclass(frozen=True, slots=True)
class KnownValue:
    """An identifier that must be masked in every free text of the case."""

    element: str  # the E2B element that states it
    sort: str  # name, initials, date, number, organisation, address, phone or email
    value: str = field(repr=False)  # as it is written, without `tel:` and the like; dates as digits


def find_known_value(element: str, sort: str, text: str) -> KnownValue | None:
    """Return the identifier that an element states, None = none that differs from ordinary words.

    Dates must be known to the day; numbers, phones and addresses need four letters or digits,
    since shorter ones (a telephone country code) are in every text.

    Example:
        >>> find_known_value("C.2.r.2.7", "phone", "tel:+44 20 5550 1")
        KnownValue(element='C.2.r.2.7', sort='phone')
        >>> find_known_value("D.1", "name or initials", "PRIVACY") is None
        True
    """
    value = _SCHEME.sub("", text.strip(), count=1).strip()
    n_signs = sum(map(len, _RUN.findall(value)))
    if not n_signs or "".join(value.casefold().split()) in _SAY_NOTHING:
        return None
    if sort in ("name", "name or initials"):
        return KnownValue(element, _sort_of_name(sort, value, n_signs), value)
    if sort == "date":
        date = parse_stamp(value)
        return KnownValue(element, sort, date.digits) if date is not None and date.day is not None else None
    return KnownValue(element, sort, value) if n_signs >= MIN_FINDABLE else None


def _sort_of_name(sort: str, value: str, n_letters: int) -> str:
    if n_letters == 1:
        return "initials"
    is_short = _INITIALS.fullmatch(value) is not None and (value.isupper() or n_letters == 2)
    return "initials" if sort != "name" and is_short else "name"


class KnownValueFinder:
    """Finds values in texts, in upper or lower case, with or without accents.

    A value is found where no letter or digit touches it, whatever separates its words. Values with fewer
    than four letters or digits are not searched for.

    Example:
        >>> finder = KnownValueFinder([KnownValue("C.2.r.1.4", "name", "Oyelaran-Smith")])
        >>> finder.finds("seen by OYELARAN SMITH"), finder.finds("Smithers")
        (True, False)
    """

    def __init__(self, values: Iterable[KnownValue]) -> None:
        runs = {tuple(_RUN.findall(fold(value.value))) for value in values}
        self._findable = Sequences(words for words in runs if sum(map(len, words)) >= MIN_FINDABLE)

    def finds(self, text: str) -> bool:
        """Return whether the text contains one of the values."""
        if not self._findable:
            return False
        plain = text.casefold() if text.isascii() else fold(text)
        return any(self._findable.endings(_RUN.findall(plain)))
