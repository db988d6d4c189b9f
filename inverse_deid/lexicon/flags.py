"""The closed sets of the lexicon: the kinds of words and phrases."""

import enum
from typing import Final


class WordFlag(enum.IntFlag):
    """What the lists say about one word; a word may carry several flags.

    >>> bool((WordFlag.SURNAME | WordFlag.COMMON_ENGLISH) & SAFE_FLAGS)
    True
    """

    STOP_WORD = 1 << 0
    COMMON_ENGLISH = 1 << 1
    DRUG = 1 << 2
    MEDICAL = 1 << 3
    SHORTHAND = 1 << 4
    UNIT = 1 << 5
    CITY = 1 << 6
    COUNTRY = 1 << 7
    STATE = 1 << 8
    SURNAME = 1 << 9
    FIRST_NAME = 1 << 10
    HOSPITAL = 1 << 11
    WEEKDAY = 1 << 12
    MONTH = 1 << 13
    HOLIDAY = 1 << 14
    STREET = 1 << 15
    TOP_LEVEL_DOMAIN = 1 << 16
    NUMBER_WORD = 1 << 17
    SALUTATION = 1 << 18
    PHRASE_START = 1 << 19
    CLINICAL_NAME = 1 << 20
    EPONYM_HEAD = 1 << 21


SAFE_FLAGS: Final = (
    WordFlag.STOP_WORD
    | WordFlag.COMMON_ENGLISH
    | WordFlag.DRUG
    | WordFlag.MEDICAL
    | WordFlag.SHORTHAND
    | WordFlag.UNIT
)
"""Flags of words that may be let back."""

UNSAFE_FLAGS: Final = (
    WordFlag.CITY
    | WordFlag.COUNTRY
    | WordFlag.STATE
    | WordFlag.SURNAME
    | WordFlag.FIRST_NAME
    | WordFlag.HOSPITAL
    | WordFlag.WEEKDAY
    | WordFlag.MONTH
    | WordFlag.HOLIDAY
    | WordFlag.STREET
    | WordFlag.TOP_LEVEL_DOMAIN
    | WordFlag.NUMBER_WORD
)
"""Flags of words that may identify. Flags in neither set say nothing about safety:
`CLINICAL_NAME` (a name that clinical texts use alone: `Doppler`) and `EPONYM_HEAD` (the noun after an
eponym: `retractor`) only leave the decision on a name to the network."""


class PhraseKind(enum.IntEnum):
    """What a phrase of several tokens is."""

    CITY = 1
    EPONYM = 2
    HOLIDAY = 3
    COUNTRY = 4
    STATE = 5
