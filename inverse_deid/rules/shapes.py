"""What a word tells by its letters alone: casing, length, number, glued forms, and small closed classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from inverse_deid.core.values import BoolArray

_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec"
_GLUED_DATE = re.compile(rf"(?i:\d{{1,2}}(?:{_MONTH})(?:\d\d|\d{{4}})?|(?:{_MONTH})\d{{1,4}})")
_GLUED_AGE = re.compile(r"(?i:\d{1,3}(?:yo|y|yr|yrs|ym|yf|yom|yof|mo|mos|m|f|wk|wks|d|yrold|yearold))")
_GLUED_DOSE = re.compile(
    r"(?i:\d+(?:mg|mcg|ug|µg|g|kg|ml|cc|l|iu|u|mm|cm|kpa|bpm|mmhg|meq|mmol|hz|lb|lbs|oz|in|x|k|h|hr|hrs|min|mins|s|sec))"
)
_TIME = re.compile(r"(?i:\d{1,4}(?:am|pm|a|p|h|hr|hrs))")
_ORDINAL = re.compile(r"(?i:\d{1,3}(?:st|nd|rd|th))")
_LETTERS_THEN_DIGITS = re.compile(r"[^\W\d_]{1,4}\d{2,}")
_YEAR = re.compile(r"(?:19|20)\d\d")


def _in_range(low: int, high: int, n_digits: range) -> Callable[[str], bool]:
    return lambda word: word.isdecimal() and len(word) in n_digits and low <= int(word) <= high


SHAPES: dict[str, Callable[[str], bool]] = {
    "all-lower-case": str.islower,
    "all-upper-case": lambda word: word.isupper() and len(word) > 1,
    "has-capital-beginning": lambda word: word[:1].isupper(),
    "mixed-case": lambda word: not (word.islower() or word.isupper() or word.istitle()) and word.isalpha(),
    "is-digit": str.isdecimal,
    "contains-digit": lambda word: any(map(str.isdigit, word)),
    "letters-and-digits": lambda word: not word.isdigit() and not word.isalpha(),
    "is-single-letter": lambda word: len(word) == 1 and word.isalpha(),
    "is-two-letters": lambda word: len(word) == 2 and word.isalpha(),
    "is-three-letters": lambda word: len(word) == 3 and word.isalpha(),
    "is-long-word": lambda word: len(word) >= 8 and word.isalpha(),
    "has-non-ascii-letter": lambda word: not word.isascii(),
    "number-to-12": _in_range(1, 12, range(1, 3)),
    "number-13-to-31": _in_range(13, 31, range(2, 3)),
    "number-32-to-99": _in_range(32, 99, range(2, 3)),
    "number-of-3-digits": lambda word: word.isdecimal() and len(word) == 3,
    "number-like-year": lambda word: _YEAR.fullmatch(word) is not None,
    "number-of-4-digits": lambda word: word.isdecimal() and len(word) == 4,
    "number-of-5-digits": lambda word: word.isdecimal() and len(word) == 5,
    "number-of-6-or-more-digits": lambda word: word.isdecimal() and len(word) >= 6,
    "number-with-leading-zero": lambda word: word.isdecimal() and word[0] == "0",
    "glued-date": lambda word: _GLUED_DATE.fullmatch(word) is not None,
    "glued-age": lambda word: _GLUED_AGE.fullmatch(word) is not None,
    "glued-dose": lambda word: _GLUED_DOSE.fullmatch(word) is not None,
    "glued-time": lambda word: _TIME.fullmatch(word) is not None,
    "ordinal": lambda word: _ORDINAL.fullmatch(word) is not None,
    "letters-then-digits": lambda word: _LETTERS_THEN_DIGITS.fullmatch(word) is not None,
    "long-letters-and-digits": lambda word: len(word) >= 6 and not word.isdigit() and not word.isalpha(),
}
"""Name and test of every shape feature, in the order of the columns."""

_LONGEST_TOLD_APART = 8
"""The shapes of words without digits do not differ above this length."""


def shape_matrix(words: Sequence[str]) -> BoolArray:
    """Test every word for every shape: bool (n_words, len(SHAPES)).

    Example:
        >>> row = shape_matrix(["15MAR2021"])[0]
        >>> [name for name, hit in zip(SHAPES, row, strict=True) if hit][-2:]
        ['glued-date', 'long-letters-and-digits']
    """
    rows = [_test_shapes(_stand_in(word)) for word in words]
    return np.array(rows, np.bool_).reshape(len(words), len(SHAPES))


def _stand_in(word: str) -> str:
    """Return a word of the same shape, the same for most words: words without digits differ in few ways."""
    if not (word.isascii() and word.isalpha()):
        return word
    n_chars = min(len(word), _LONGEST_TOLD_APART)
    if word.islower():
        return "a" * n_chars
    if word.isupper():
        return "A" * n_chars
    # `Abc` and `AbC` are one of them in title case and one in mixed case.
    return ("A" if word[0].isupper() else "a") + (
        "a" * (n_chars - 1) if word.istitle() else "AaAaAaA"[: n_chars - 1]
    )


@lru_cache(4096)
def _test_shapes(word: str) -> list[bool]:
    return [bool(test(word)) for test in SHAPES.values()]


def is_glued_quantity(word: str) -> bool:
    """Tell whether a word is a number glued to a unit, an age, a date, a time or an ordinal.

    Example:
        >>> is_glued_quantity("50mg"), is_glued_quantity("5m1th")
        (True, False)
    """
    return any(p.fullmatch(word) for p in (_GLUED_DOSE, _GLUED_AGE, _GLUED_DATE, _TIME, _ORDINAL))


_LONG_NUMBER_DIGITS = 7
_ROUND = re.compile(r"[1-9]\d{0,3}0{3,6}")


def has_long_number(word: str) -> bool:
    """Tell whether a word has seven digits or more: a record, a phone, an account, rarely a result.

    Such words are always masked, since the network may take one among results for a result. A round
    number is a count or a dose (2500000 copies, 2400000 units), which the network may judge.

    Example:
        >>> [has_long_number(word) for word in ("8149354", "RN4481207", "250000", "2400000")]
        [True, True, False, False]
    """
    if len(word) < _LONG_NUMBER_DIGITS or _ROUND.fullmatch(word):
        return False
    return sum(map(str.isdigit, word)) >= _LONG_NUMBER_DIGITS


_LATIN_END, _GREEK_START, _GREEK_END = 0x24F, 0x370, 0x3FF


def _script(character: str) -> str:
    code = ord(character)
    if code <= _LATIN_END or 0x1E00 <= code <= 0x1EFF:
        return "latin"
    return "greek" if _GREEK_START <= code <= _GREEK_END else "other"


def in_foreign_script(word: str) -> bool:
    """Tell whether a word mixes scripts or has letters outside Latin and Greek.

    A name with look-alike letters of other scripts passes dictionaries and networks; such words
    are always masked.

    Example:
        >>> in_foreign_script("Smіth"), in_foreign_script("β"), in_foreign_script("Øst")
        (True, False, False)
    """
    if word.isascii():
        return False
    scripts = {_script(c) for c in word if not c.isdecimal()}
    if any(c.isdigit() and not ("0" <= c <= "9" or c in "²³¹") for c in word):
        return True
    return len(scripts) > 1 or "other" in scripts


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CLASSES = {
    "is-relation": """
        mother father mom mum mam dad mommy daddy parent parents wife husband spouse partner son
        daughter sister brother sibling twin aunt uncle niece nephew cousin grandmother
        grandfather grandma grandpa gran granny nana grandson granddaughter child baby infant
        girlfriend boyfriend fiance fiancee widow widower friend neighbour neighbor carer
        caregiver guardian roommate colleague coworker boss flatmate nok kin stepmother
        stepfather mil fil hubby gf bf
    """,
    "is-name-label": """
        name surname forename patient pt client signed sign signature cc attn attention
        attending consultant dictated dictating dict typed transcribed reviewed reported
        reporter referring referred physician doctor nurse pharmacist author witness contact
        dear regards sincerely yours faithfully thanks called spoke seen by from re
    """,
    "is-id-label": """
        mrn ssn nhs no nr num number numbers id ids ref reference record account acct licence
        license lic policy member passport medicare medicaid insurance registration reg gmc npi
        dea nmc chi plate vin serial sn case file control mfr manufacturer subject code ticket
        order accession specimen barcode uhid pesel device implant vehicle trial protocol study
        report hic hospital
    """,
    "is-contact-label": """
        tel telephone phone ph fax mob mobile cell call ext extension pager bleep page email
        mail e web website url www http https whatsapp text direct switchboard reach ring rang
        voicemail
    """,
    "is-lot-label": """
        lot batch lots batches expiry exp ch dose doses
    """,
    "is-credential": """
        md rn do phd np pa pac pharmd frcp mrcp mbbs mbchb lpn cnm dds dpm fnp aprn msc frcs spr
        sho mbbch bsc dphil facp frcpath mph cnp crnp rph bpharm registrar consultant gp
        resident fellow intern fy1 fy2 st3 ct2 hcp physio ot slp rd lcsw msw emt
    """,
    "is-time-unit": """
        sec secs second seconds min mins minute minutes hr hrs hour hours h day days d wk wks
        week weeks mo mos month months yr yrs year years y nights night morning evening
        afternoon noon midnight am pm
    """,
    "is-age-word": """
        yo old aged age ages yof yom yr yrs year month mo mos newborn infant toddler teen
        teenager elderly adult male female man woman boy girl m f lady gentleman dob born
        birthday
    """,
    "is-vital-or-score": """
        bp hr rr temp t pulse sats spo2 o2 bpm gcs apgar nyha asa pain power score scale grade
        stage type phase class vision va mmse moca phq gad bmi wt weight ht height hb wbc plt
        crp esr na k cr egfr inr alt ast tsh hba1c ef lvef ph pco2 po2 glucose troponin level
        levels dose x
    """,
    "is-preposition": """
        in at from near to via of on since until till by for with before after between during
        into around near through
    """,
}

WORD_CLASSES: dict[str, frozenset[str]] = {name: word_set(words) for name, words in _CLASSES.items()}
"""Case-folded words of each class, in the order of the feature columns."""

_CLASSES_OF = {
    word: [i for i, members in enumerate(WORD_CLASSES.values()) if word in members]
    for word in frozenset().union(*WORD_CLASSES.values())
}


def class_matrix(words: Sequence[str]) -> BoolArray:
    """Tell which classes each word belongs to: bool (n_words, len(WORD_CLASSES))."""
    matrix = np.zeros((len(words), len(WORD_CLASSES)), np.bool_)
    for i, word in enumerate(words):
        classes = _CLASSES_OF.get(word.casefold())
        if classes is not None:
            matrix[i, classes] = True
    return matrix
