"""The forms of structured values: what is kept looks like a value of its element and fits its length.

A value that does not (words in the place of a lot number) is masked, left out or replaced, in every profile.
A form cannot tell one name from another: it stops sentences, contacts and numbers that do not belong there.

Source: ICH E2B(R3) implementation guide, core data elements (lengths, values); E.164 (telephone numbers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from inverse_deid.formats.icsr.standard.vocabulary import is_country
from inverse_deid.formats.lots import is_lot_number

MAX_CHARS_OF_A_DISPLAY = 250


class Form(StrEnum):
    """The form of an element's values, as `elements.toml` names it."""

    COUNTRY = "country"
    LOT = "lot"
    DEVICE_LOT = "device-lot"
    ID = "id"
    """A number or code of a report, study or authorisation."""
    ROUTE = "route"
    """The identifier of a sender or receiver of messages."""
    CODE_NAME = "code-name"
    """A name, initials or a code for a person."""
    NAME = "name"
    TITLE = "title"
    PLACE = "place"
    ORGANISATION = "organisation"
    ADDRESS = "address"
    POSTCODE = "postcode"
    PHONE = "phone"
    EMAIL = "email"
    PRODUCT = "product"
    """The name of a substance or device."""


_NO_LOT = frozenset(
    ("unk", "unknown", "asku", "na", "n/a", "not available", "not applicable", "none", "privacy")
)
_TITLE = re.compile(r"\b(?:M(?:r|rs|s|x|iss|me)|MRS?|Dr|DR|Prof|Herr|Frau|Sra?)\b\.?\s+[^\W\d_]")
_SPOKEN = re.compile(
    r"\b(?:he|she|his|her|hers|him|they|them|their|my|our|you|your|who|said|told|called|lives?|lived"
    r"|fell|felt|took|died|admitted|developed|handed"
    r"|tel|phone|telephone|fax|mrn|nhs|ssn|dob|e-?mail)\b",
    re.IGNORECASE,
)
_BETWEEN_PERSONS = re.compile(
    r"\b(?:by|to|from|at|on|after|before|when|this|that|given|seen|patient)\b", re.IGNORECASE
)
_TOLD = re.compile(r"\b(?:by|to|from|at|on|after|before|when|this|that|given|seen|born)\b", re.IGNORECASE)
_DAY = re.compile(
    r"\b(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{2}|\d{4})|\d{4}[./-]\d{1,2}[./-]\d{1,2}"
    r"|\d{1,2}\.?\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:\s\d{2,4})?)\b",
    re.IGNORECASE,
)
_NAMED_DAY = re.compile(
    r"\b\d{1,2}[.\s-]{0,2}(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[.\s-]{1,2}(?:19|20)?\d\d\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[;!?]\s+\w+\s+\w|[^\W\d_]{4,}[.:]\s+[^\W\d_]\w+\s+\w|[\n\r\t]")
_ID = re.compile(r"[A-Za-z0-9(][A-Za-z0-9 ._/:#()+&,=~*-]*")
_ROUTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/:#()+&@=~*-]*")
_DEVICE_LOT = re.compile(r"(?=.*\d)[A-Za-z0-9]{1,12}(?:[-./_][A-Za-z0-9]{1,12}){0,4}", re.ASCII)
_TITLES = frozenset(("professor", "doctor", "pharmacist", "physician", "sister", "associate", "assistant"))
_DEVICE_WORDS = frozenset(("product", "device", "lot", "batch", "kit", "part"))
_POSTCODE = re.compile(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9 -]{1,14}", re.ASCII)
_PHONE = re.compile(
    r"(?:tel:|fax:)?\s?(?=(?:\D*\d){2})[+(]?[0-9][0-9 ()./+-]{0,32}(?:(?:;ext=|\s?x|\s?ext\.?)\s?\d{1,6})?",
    re.I,
)
_EMAIL = re.compile(
    r"(?:mailto:)?[^\s@,;<>()]{1,64}@[^\s@,;<>()]{1,63}(?:\.[^\s@,;<>()]{1,63})*", re.IGNORECASE
)


def has_form(form: str, text: str, max_length: int | None = None) -> bool:
    """Return whether a value has the form of its element and is not longer than the standard allows.

    Args:
        form: A `Form`, "" = only the length counts.
        text: The value.
        max_length: In characters, None = no limit stated.

    Example:
        >>> has_form("lot", "EW0173", 35), has_form("lot", "given to Mrs Okonkwo", 35)
        (True, False)
        >>> has_form("id", "SE-ACME-2020-7", 100), has_form("product", "insulin glargine", 8)
        (True, False)
    """
    value = text.strip()
    if max_length is not None and len(value) > max_length:
        return False
    return not form or _TESTS[Form(form)](value)


def is_display(text: str) -> bool:
    """Return whether a text can be the words beside a code: a term, not a sentence about somebody.

    Example:
        >>> is_display("Injection site pain"), is_display("told Mrs Okonkwo, tel 5550147")
        (True, False)
    """
    return len(text) <= MAX_CHARS_OF_A_DISPLAY and _is_term(text, n_words=30, n_digits=4)


def _is_term(text: str, *, n_words: int, n_digits: int, has_title: bool = False) -> bool:
    # Few of them, without a title, pronoun, day, contact or long number.
    is_short = len(text.split()) <= n_words and re.search(rf"\d{{{n_digits + 1}}}", text) is None
    told = (_SPOKEN, _DAY, _SENTENCE_END) if has_title else (_TITLE, _SPOKEN, _DAY, _SENTENCE_END)
    return is_short and "@" not in text and not any(pattern.search(text) for pattern in told)


def _is_id(text: str) -> bool:
    # A day in it is allowed, but not alone.
    words = text.split()
    is_told = any(pattern.search(text) for pattern in (_TITLE, _SPOKEN, _BETWEEN_PERSONS))
    return (
        _ID.fullmatch(text) is not None
        and len(words) <= 5
        and not is_told
        and ", " not in text
        and not _is_day(text)
    )


def _is_day(text: str) -> bool:
    return _DAY.fullmatch(text) is not None or _NAMED_DAY.search(text) is not None


def _is_phone(text: str) -> bool:
    # Groups of digits, and not a code of a person.
    is_grouped = _PHONE.fullmatch(text) is not None and re.search(r"[+()\s]", text) is not None
    return is_grouped and sum(map(str.isdigit, text)) >= 9


def _is_route(text: str) -> bool:
    is_told = _SPOKEN.search(text) is not None or _is_day(text)
    return _ROUTE.fullmatch(text) is not None and len(text.split()) <= 5 and not is_told


def _is_device_lot(text: str) -> bool:
    # Or a code of several parts, such as `45BN2-device-1`.
    words = re.findall(r"[A-Za-z]{3,}", text)
    are_plain = all(word.isupper() or word.casefold() in _DEVICE_WORDS for word in words)
    is_code = _DEVICE_LOT.fullmatch(text) is not None and re.search(r"\d{7}", text) is None
    return _TESTS[Form.LOT](text) or (is_code and are_plain)


def _is_title(text: str) -> bool:
    words = re.findall(r"\w+", text)
    are_short = all(len(word) <= 5 or word.casefold() in _TITLES for word in words)
    return are_short and _is_term(text, n_words=4, n_digits=0, has_title=True)


_INITIALS = re.compile(r"[A-Z](?:[. -]{0,2}[A-Z]){0,3}\.?", re.ASCII)
"""They may read as a word: `ON`, `TO`."""


def _is_code_name(text: str) -> bool:
    if _INITIALS.fullmatch(text):
        return True
    return _is_term(text, n_words=5, n_digits=10, has_title=True) and not (
        _TOLD.search(text) or _is_phone(text)
    )


def _is_product(text: str) -> bool:
    return not _BETWEEN_PERSONS.search(text) and _is_term(
        re.sub(r"[A-Z]{2,}-?\d+\w*", "", text), n_words=15, n_digits=4
    )


_TESTS: Mapping[Form, Callable[[str], bool]] = {
    Form.COUNTRY: is_country,
    Form.LOT: lambda text: is_lot_number(text) or text.casefold() in _NO_LOT,
    Form.DEVICE_LOT: _is_device_lot,
    Form.ID: _is_id,
    Form.ROUTE: _is_route,
    Form.CODE_NAME: _is_code_name,
    Form.NAME: lambda text: _is_term(f" {text}", n_words=6, n_digits=0) and not _BETWEEN_PERSONS.search(text),
    Form.TITLE: _is_title,
    Form.PLACE: lambda text: _is_term(text, n_words=6, n_digits=3) and not _BETWEEN_PERSONS.search(text),
    Form.ORGANISATION: lambda text: _is_term(text, n_words=12, n_digits=4) and not _TOLD.search(text),
    Form.ADDRESS: lambda text: _is_term(text, n_words=14, n_digits=6) and not _is_phone(text),
    Form.POSTCODE: lambda text: (
        bool(_POSTCODE.fullmatch(text)) and not _SPOKEN.search(text) and not _is_day(text)
    ),
    Form.PHONE: lambda text: _PHONE.fullmatch(text) is not None,
    Form.EMAIL: lambda text: _EMAIL.fullmatch(text) is not None,
    Form.PRODUCT: _is_product,
}
