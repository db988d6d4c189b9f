"""Identifiers that a case states in its structured fields, and finding them again as they stand.

Finding other spellings (initials, surname first, a slip of the pen) is not done here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from inverse_deid.formats.icsr.dates import parse_stamp
from inverse_deid.text.matching import Sequences, fold

MIN_FINDABLE = 4
"""Letters and digits that a value must have to be looked for: shorter ones stand in every text."""

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
    """An identifier that must be masked in every free text of the case.

    Args:
        element: The E2B element that states it.
        sort: name, initials, date, number, organisation, address, phone or email.
        value: As it is written, without `tel:` and the like; dates as digits.
    """

    element: str
    sort: str
    value: str = field(repr=False)


def known_value(element: str, sort: str, text: str) -> KnownValue | None:
    """The identifier that an element states, None if it states none that can be told from other words.

    Dates must be known to the day; numbers, phones and addresses need four letters or digits,
    since shorter ones (a telephone country code) stand in every text.

    Args:
        element: Id of the element.
        sort: As the table names it; `name or initials` is decided by the text.
        text: Its value.

    Example:
        >>> known_value("C.2.r.2.7", "phone", "tel:+44 20 5550 1")
        KnownValue(element='C.2.r.2.7', sort='phone')
        >>> known_value("D.1", "name or initials", "PRIVACY") is None
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
    """Says whether a text holds one of some values, in any case, with or without accents.

    A value is found where no letter or digit touches it; what separates its words does not
    matter. Values with fewer than four letters or digits are not looked for.

    Example:
        >>> finder = KnownValueFinder([KnownValue("C.2.r.1.4", "name", "Oyelaran-Smith")])
        >>> finder.finds("seen by OYELARAN SMITH"), finder.finds("Smithers")
        (True, False)
    """

    def __init__(self, values: Iterable[KnownValue]) -> None:
        runs = {tuple(_RUN.findall(fold(value.value))) for value in values}
        self._findable = Sequences(words for words in runs if sum(map(len, words)) >= MIN_FINDABLE)

    def finds(self, text: str) -> bool:
        """Whether one of the values stands in the text."""
        if not self._findable:
            return False
        plain = text.casefold() if text.isascii() else fold(text)
        return any(self._findable.endings(_RUN.findall(plain)))
