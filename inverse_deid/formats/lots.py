"""The form of a lot or batch number: a short code that cannot be a phone, record or insurance number."""

from __future__ import annotations

import re

MAX_CHARS = 20
_MAX_DIGITS = 7
_MAX_DIGITS_TOGETHER = 6
_MAX_SMALL_LETTERS_TOGETHER = 2
_MAX_LETTERS_TOGETHER = 5
_FORM = re.compile(r"[A-Za-z0-9]{1,15}(?:[-/._][A-Za-z0-9]{1,8}){0,2}", re.ASCII)
_AREAS = (
    "A[BL]|B[ABDHLNRSTBXF]?|C[ABFHMORTVW]|D[ADEGHLNTY]|E[CHNX]?|F[KY]|G[LUY]?|H[ADGPRSUX]|I[GMPV]|JE|K[ATWY]|"
    "L[ADELNSU]?|M[EKL]?|N[EGNPRW]?|O[LX]|P[AEHLOR]|R[GHM]|S[AEGKLMNOPRSTWY]?|T[ADFNQRSW]|UB|W[ACDFNRSV]?|YO|ZE"
)
POSTCODE = re.compile(
    rf"(?:{_AREAS})\d[A-Z\d]?\s?\d[A-Z]{{2}}|\d{{4}}\s[A-Z]{{2}}|[A-Z]\d[A-Z]\s?\d[A-Z]\d", re.ASCII
)
"""Of the United Kingdom, the Netherlands or Canada."""

INITIALS_AND_YEAR = re.compile(r"[A-Za-z]{1,4}[-_./]?(?:19|20)\d\d", re.ASCII)
_NATIONAL_INSURANCE = re.compile(r"[A-Z]{2}\d{6}[A-D]", re.ASCII)
_DIGITS = re.compile(r"[0-9]+")
_LETTERS = re.compile(r"[A-Za-z]+", re.ASCII)
_OTHER_NUMBER = frozenset(
    ("mrn", "nhs", "ssn", "tel", "ph", "phone", "fax", "dob", "id", "nr", "no", "pt", "pat", "case", "ref")
)


def is_lot_number(text: str) -> bool:
    """Return whether a text has the form of a lot number.

    It has at most 6 digits in a row, since longer ones may be the number of a record. Three to five letters
    in a row are capitals, and none may say that another number follows.

    Example:
        >>> [is_lot_number(lot) for lot in ("EW0173", "B23-117", "026L20A", "0403")]
        [True, True, True, True]
        >>> [is_lot_number(lot) for lot in ("4471922", "943-476-5919", "MRN4471922", "Okonkwo", "to Ada")]
        [False, False, False, False, False]
    """
    if len(text) > MAX_CHARS or _FORM.fullmatch(text) is None:
        return False
    if any(other.fullmatch(text) for other in (POSTCODE, INITIALS_AND_YEAR, _NATIONAL_INSURANCE)):
        return False
    words = _LETTERS.findall(text)
    numbers = _DIGITS.findall(text)
    if max(map(len, numbers), default=0) > _MAX_DIGITS_TOGETHER:
        return False
    if not words:
        return numbers == [text]
    are_capitals = all(len(word) <= _MAX_SMALL_LETTERS_TOGETHER or word.isupper() for word in words)
    is_short = max(map(len, words)) <= _MAX_LETTERS_TOGETHER and 0 < sum(map(len, numbers)) <= _MAX_DIGITS
    return is_short and are_capitals and _OTHER_NUMBER.isdisjoint(word.casefold() for word in words)
