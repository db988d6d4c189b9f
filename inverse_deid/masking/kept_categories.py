"""What stays masked in categories that the user keeps: high ages, births, old dates, and words of others.

HIPAA names ages over 89, and every date that tells such an age, as identifiers. A date of birth identifies
a person as few other dates do. A name in a web address, or a room number that reads as an id, belongs to a
category that is not kept. The passes only mask more, and where they are in doubt, they mask.

Where dates are masked as HIPAA asks, `keep_years_alone` returns the years that have no day and no month.

Source: 45 CFR 164.514(b)(2)(i)(C).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import numpy as np

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import BoolArray, Decisions, Reason, Tokens
from inverse_deid.masking.document_passes import mask_more
from inverse_deid.replacement.dates.layouts import find_readings
from inverse_deid.replacement.dates.reading import DEFAULT_SPAN_YEARS
from inverse_deid.replacement.dates.replacing import born_on
from inverse_deid.rules.people import BEFORE_PEOPLE, SPEECH
from inverse_deid.rules.shapes import WORD_CLASSES, word_set

_AGE, _DATE, _NAME = (
    tuple(HyperClass).index(one) for one in (HyperClass.AGE, HyperClass.DATE, HyperClass.NAME)
)
_HIGH_AGE_YEARS = 90
_HIGH_WORD = re.compile(
    r"(?:mid|late|early)?(?:ninet(?:y|ies|ieth)|ninty|hundred(?:th|s)?)\w*|nonagenarians?|"
    r"(?:super)?centenarians?|fourscore|(?-i:XC[IVX]*|CI{0,3}|CIV)",
    re.IGNORECASE,
)
_LATE_DECADE = re.compile(r"(?:10(?:th)?|11(?:th)?|tenth|eleventh|X|XI)", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_PLAIN_AGE = re.compile(
    r"[mf]?\d{1,3}(?:s|st|nd|rd|th|[mfdw]|y(?:o[fm]?|rs?|ears?)?(?:old)?|mo?s?|mths?|months?|wks?|weeks?|days?)?",
    re.IGNORECASE,
)
"""A number that can be read in one way; `9O` and `1l2` are not, and may hide an age over 89."""
_JOINING_WORDS = frozenset(("and", "a", "one", "to", "or"))
_MAX_AGE_GAP = 3
_YEARS_FOLLOW = re.compile(r"\W{0,3}(?:y/?o\b|yrs?\b|years?\b)", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|2[01])\d\d(?!\d)")
_YEAR_ALONE = re.compile(r"(?:19|20)\d\d")
_JOINED_BEFORE = re.compile(r"[\w/.'\u2019#*-]\Z")
_JOINED_AFTER = re.compile(r"[\w/'\u2019-]|\.\d|\W{1,3}(?:[mf]|(?:fe)?male)\b", re.IGNORECASE)
_LABEL_BEFORE = re.compile(r"([^\W_]+)\W{1,4}\Z")
_LABELS = (
    WORD_CLASSES["is-id-label"]
    | WORD_CLASSES["is-contact-label"]
    | word_set(
        "pin room ward flat apt unit bed b born birth dob yob birthday m f male female man woman boy girl"
    )
)
"""Words before a number of a record or a place, or before a year of birth."""
_APART = re.compile(r"[)\];\n]")
_BETWEEN_YEARS = re.compile(r"\s?[-\u2013/,]\s?|\s(?:to|and|or)\s")
_WITHIN_DATE = re.compile(r"[^\w]{0,4}(?:(?:\d{1,4}(?:st|nd|rd|th)?|of|the)[^\w]{1,3}){0,2}", re.IGNORECASE)
_NO_CLOCK = date(2030, 1, 1)
"""Decides the century of two-digit years in a text without a year of four digits."""
_CONTACT, _ID, _PLACE = (
    tuple(HyperClass).index(one) for one in (HyperClass.CONTACT, HyperClass.ID, HyperClass.PLACE)
)
_SURELY_OTHER = 0.5
_SAID_IN_MANY_SENSES = (HyperClass.SAFE, HyperClass.DATE, HyperClass.AGE)
_LEAST_OF_NUMBER = 5
_LEAST_OF_LABEL = 3
"""Letters in a row, in an id, that may be a name: `MRN`; two are a prefix, `AB-4471`."""
_LEAST_OF_ADDRESS = 2
"""The same in a web address or account: `jo`."""
_LEAST_IN_CODE = 4
"""The same in a word with digits: `hope4471`."""
_WORDS_OF_ADDRESSES = word_set(
    """http https ftp ftps www mailto tel com org net gov edu int info biz nhs ac co uk us eu de fr ie ca au
    nz in ch at nl be es it se no dk fi pl example html htm php pdf ext fax phone"""
)
_DWELLINGS = word_set(
    """apartment apt berth bungalow bunk cabin chalet cottage deck door dormitory floor flat hostel hotel
    house hut lodge lot motel plot room rm site suite tent trailer unit villa ward wing"""
)
_BIRTHS = word_set("born birth dob b")
_TIMES_THAT_ARE_NAMES = word_set(
    """april august autumn christmas dawn easter january june july march may noel season spring summer
    winter"""
)
_CAPITALISED_TIMES_THAT_ARE_NAMES = word_set("day days eve month week weeks")
_WEEKDAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
_BEFORE_WEEKDAYS = BEFORE_PEOPLE | {"by", "named", "with"}
_BEFORE_TIMES = word_set(
    """a about after around before between beginning by during each early end every fifth first following
    fourth from in last late later mid middle next of on or previous second since start that the then third
    this through throughout till to until"""
)
_PLACE_GAP = re.compile(r"[^\w/\-]{1,2}")
"""Between the number and the words of an address; a hyphen or slash is one within an id: `US-2020-11803`."""
_EARLIEST_YEAR = _NO_CLOCK.year - 89
"""A year before it may be the birth of a person over 89."""


def mask_births_and_high_ages(tokens: Tokens, decisions: Decisions) -> Decisions:
    """Mask ages over 89, dates of birth and old dates that are kept only because of their category.

    A date is old if it is more than ten years before the latest date of the text, since it may be a birth
    that no word reveals.
    """
    kept = decisions.reasons == Reason.KEPT_CATEGORY
    if not kept.any():
        return decisions
    high = _find_high_ages(tokens, decisions, kept)
    return mask_more(decisions, high | _find_births(tokens, decisions, kept), Reason.VETO_PATTERN)


def mask_words_of_others(
    tokens: Tokens, plain: BoolArray, decisions: Decisions, kept: frozenset[HyperClass]
) -> Decisions:
    """Mask what is kept only because of its category, and may be of a category that is masked.

    These are words in web addresses and ids that are in no safe list alone, numbers of dwellings and next
    to masked places, years of birth that read as ages, names that are also times, and words that are
    surely of a masked category elsewhere in the text.

    Args:
        tokens: Of one document.
        plain: bool (n_tokens,), see `RuleVerdicts`.
        decisions: On these tokens.
        kept: Classes that the user keeps.
    """
    by_category = decisions.reasons == Reason.KEPT_CATEGORY
    if not by_category.any():
        return decisions
    found = by_category & _find_mentions(tokens, plain, decisions, kept)
    if not {HyperClass.NAME, HyperClass.PLACE} <= kept:
        found |= by_category & ~plain & _find_wordy(tokens, decisions)
    if HyperClass.PLACE not in kept:
        found |= _find_numbers_of_places(tokens, decisions, by_category)
    if HyperClass.DATE not in kept:
        found |= by_category & (decisions.categories == _AGE) & _follow(tokens, _BIRTHS)
    if HyperClass.NAME not in kept:
        found |= _find_bare_times(tokens, decisions, by_category)
    return mask_more(decisions, found, Reason.BELOW_THRESHOLD)


def _find_mentions(
    tokens: Tokens, plain: BoolArray, decisions: Decisions, kept: frozenset[HyperClass]
) -> BoolArray:
    """Return which tokens repeat a word that is surely of a masked category elsewhere: bool (n_tokens,).

    Numbers of a few digits and words of time mean another thing elsewhere.
    """
    masked = [number for number, one in enumerate(HyperClass) if one not in (*kept, *_SAID_IN_MANY_SENSES)]
    surely = ~decisions.keep & ~plain & (decisions.p_safe < _SURELY_OTHER)
    surely &= np.isin(decisions.categories, masked)
    words = {tokens.words[i].casefold() for i in np.flatnonzero(surely).tolist()}
    words = {word for word in words if len(word) >= (_LEAST_OF_LABEL if word.isalpha() else _LEAST_OF_NUMBER)}
    return np.fromiter((word.casefold() in words for word in tokens.words), np.bool_, len(tokens))


def _find_wordy(tokens: Tokens, decisions: Decisions) -> BoolArray:
    """Return the tokens of contacts and ids whose letters may be a name or a place: bool (n_tokens,)."""
    found = np.zeros(len(tokens), np.bool_)
    for i in np.flatnonzero(np.isin(decisions.categories, (_CONTACT, _ID))).tolist():
        word = tokens.words[i]
        is_contact = decisions.categories[i] == _CONTACT
        if not word.isalpha():
            found[i] = any(len(run) >= _LEAST_IN_CODE for run in _LETTERS.findall(word))
        elif not (is_contact and word.casefold() in _WORDS_OF_ADDRESSES):
            found[i] = len(word) >= (_LEAST_OF_ADDRESS if is_contact else _LEAST_OF_LABEL)
    return found


def _find_numbers_of_places(tokens: Tokens, decisions: Decisions, by_category: BoolArray) -> BoolArray:
    """Return kept tokens that number a dwelling, or touch a masked place as an id may: bool (n_tokens,)."""
    has_digit = np.fromiter((any(map(str.isdigit, word)) for word in tokens.words), np.bool_, len(tokens))
    found = by_category & has_digit & _follow(tokens, _DWELLINGS)
    place = ~decisions.keep & (decisions.categories == _PLACE)
    may_be_place = by_category & np.isin(decisions.categories, (_ID, _AGE))
    for step in (-1, 1):
        touched = place.copy()
        for i in np.flatnonzero(may_be_place).tolist()[::step]:
            if not 0 <= i - step < len(tokens) or not touched[i - step]:
                continue
            left = min(i, i - step)
            between = tokens.text[int(tokens.ends[left]) : int(tokens.starts[left + 1])]
            if _PLACE_GAP.fullmatch(between):
                touched[i] = found[i] = True
    return found


def _find_bare_times(tokens: Tokens, decisions: Decisions, by_category: BoolArray) -> BoolArray:
    """Return kept times that are also names, such as `May`, where they may be a person: bool (n_tokens,).

    A weekday needs a word that shows a person. The others need one that shows a time.
    """
    found = np.zeros(len(tokens), np.bool_)
    is_date = decisions.categories == _DATE
    may_be_name = by_category & (is_date | (decisions.categories == _NAME))
    for i in np.flatnonzero(may_be_name).tolist():
        word = tokens.words[i].casefold()
        before = tokens.words[i - 1] if i > 0 and _is_near(tokens, i - 1, i) else ""
        after = tokens.words[i + 1] if i + 1 < len(tokens) and _is_near(tokens, i, i + 1) else ""
        if word in _WEEKDAYS:
            found[i] = (_is_beside(tokens, i - 1) and before.casefold() in _BEFORE_WEEKDAYS) or (
                _is_beside(tokens, i) and after in SPEECH
            )
        elif word in _TIMES_THAT_ARE_NAMES or (
            word in _CAPITALISED_TIMES_THAT_ARE_NAMES and tokens.words[i][0].isupper()
        ):
            is_time = before.casefold() in _BEFORE_TIMES or before[:1].isdigit() or after[:1].isdigit()
            of_holiday = before[:1].isupper() and is_date[i - 1] and not found[i - 1]
            found[i] = not is_time and not of_holiday
    return found


def _is_beside(tokens: Tokens, i: int) -> bool:
    return 0 <= i < len(tokens) - 1 and int(tokens.starts[i + 1] - tokens.ends[i]) == 1


def _follow(tokens: Tokens, words: frozenset[str]) -> BoolArray:
    """Return which tokens come closely after one of some words: bool (n_tokens,)."""
    found = np.zeros(len(tokens), np.bool_)
    for i in range(1, len(tokens)):
        found[i] = tokens.words[i - 1].casefold() in words and _is_near(tokens, i - 1, i)
    return found


def keep_years_alone(tokens: Tokens, decisions: Decisions) -> Decisions:
    """Keep masked years without day and month, such as `in 2019` or `2018-2019`.

    Years of birth stay masked, and years that may be the birth of a person over 89. So does what a pattern
    masks, and what the network does not take for a date.
    """
    masked_dates = ~decisions.keep & (decisions.categories == _DATE)
    runs = [part for run in _find_dates(tokens, masked_dates) for part in _split_years(tokens, *run)]
    ranges = [(int(tokens.starts[first]), int(tokens.ends[stop - 1])) for first, stop in runs]
    births = born_on(tokens.text, ranges)
    chosen = np.zeros(len(tokens), np.bool_)
    for number, (first, stop) in enumerate(runs):
        if number not in births and is_year_alone(tokens.text, *ranges[number]):
            chosen[first:stop] = True
    chosen &= decisions.reasons == Reason.BELOW_THRESHOLD
    if not chosen.any():
        return decisions
    reasons = decisions.reasons.copy()
    reasons[chosen] = Reason.KEPT_CATEGORY
    return replace(decisions, keep=decisions.keep | chosen, reasons=reasons)


def is_year_alone(text: str, start: int, end: int) -> bool:
    """Tell whether a date is one year or several, joined to nothing, that tell no age over 89.

    Example:
        >>> text = "since 2019, 3/2019, in 1931, 2018-2019"
        >>> [is_year_alone(text, *span) for span in ((6, 10), (14, 18), (23, 27), (29, 38))]
        [True, False, False, True]
    """
    years = _BETWEEN_YEARS.split(text[start:end])
    if not all(_YEAR_ALONE.fullmatch(one) and int(one) >= _EARLIEST_YEAR for one in years):
        return False
    before = text[max(0, start - 20) : start]
    label = _LABEL_BEFORE.search(before)
    is_labelled = label is not None and label[1].casefold() in _LABELS
    return not (is_labelled or _JOINED_BEFORE.search(before) or _JOINED_AFTER.match(text, end))


def _split_years(tokens: Tokens, first: int, stop: int) -> Iterator[tuple[int, int]]:
    # The end of a sentence, a bracket or a line separates parts.
    for i in range(first, stop - 1):
        gap = tokens.text[int(tokens.ends[i]) : int(tokens.starts[i + 1])]
        is_year = _YEAR_ALONE.fullmatch(tokens.words[i]) is not None
        if _APART.search(gap) or (is_year and gap.startswith(". ")):
            yield first, i + 1
            first = i + 1
    yield first, stop


def names_high_age(words: str) -> bool:
    """Tell whether the words of an age contain a number of 90 or more, in whatever unit.

    Example:
        >>> [names_high_age(words) for words in ("43", "ninety-four years", "94F")]
        [False, True, True]
    """
    found = _WORD.findall(words)
    return any(_HIGH_WORD.fullmatch(word) or _has_high_number(word) for word in found)


def _has_high_number(word: str) -> bool:
    return any(int(digits[:9]) >= _HIGH_AGE_YEARS for digits in _DIGITS.findall(word))


def _find_high_ages(tokens: Tokens, decisions: Decisions, kept: BoolArray) -> BoolArray:
    """Return the kept tokens that belong to an age over 89: bool (n_tokens,)."""
    found = np.zeros(len(tokens), np.bool_)
    walked: set[tuple[int, int, bool]] = set()  # a later walk would find the same
    for i in np.flatnonzero(kept | ~decisions.keep).tolist():
        if not _is_high(tokens, decisions, i):
            continue
        found[i] = kept[i]
        is_word = tokens.words[i].isalpha()
        joining = _JOINING_WORDS if is_word else frozenset[str]()
        for step in (-1, 1):
            j = i + step
            while 0 <= j < len(tokens) and _is_near(tokens, j, j - step) and (j, step, is_word) not in walked:
                walked.add((j, step, is_word))
                if kept[j]:
                    found[j] = True
                elif decisions.keep[j] and tokens.words[j].casefold() not in joining:
                    break
                j += step
    return found


def _is_near(tokens: Tokens, i: int, j: int) -> bool:
    left, right = min(i, j), max(i, j)
    return int(tokens.starts[right]) - int(tokens.ends[left]) <= _MAX_AGE_GAP


def _is_high(tokens: Tokens, decisions: Decisions, i: int) -> bool:
    # Outside of dates, in whatever unit.
    word = tokens.words[i]
    if decisions.categories[i] == _DATE and not _YEARS_FOLLOW.match(tokens.text, int(tokens.ends[i])):
        return False
    if _HIGH_WORD.fullmatch(word):
        return True
    following = tokens.words[i + 1].casefold() if i + 1 < len(tokens) else ""
    if following.startswith("decade") and _LATE_DECADE.fullmatch(word):
        return True
    if decisions.categories[i] not in (_AGE, _DATE):
        return False
    has_digit = any(map(str.isdigit, word))
    is_odd = decisions.categories[i] == _AGE and has_digit and not _PLAIN_AGE.fullmatch(word)
    return is_odd or _has_high_number(word) or _has_high_number(_spaced_number(tokens, i))


def _spaced_number(tokens: Tokens, i: int) -> str:
    # Digit by digit, as `9 5`.
    if not (len(tokens.words[i]) == 1 and tokens.words[i].isdecimal()):
        return ""
    first = last = i
    while first > 0 and _continues_number(tokens, first - 1, first):
        first -= 1
    while last + 1 < len(tokens) and _continues_number(tokens, last + 1, last):
        last += 1
    return "".join(tokens.words[first : last + 1])


def _continues_number(tokens: Tokens, i: int, j: int) -> bool:
    word, left = tokens.words[i], min(i, j)
    between = tokens.text[int(tokens.ends[left]) : int(tokens.starts[left + 1])]
    return len(word) == 1 and word.isdecimal() and between.isspace()


def _find_births(tokens: Tokens, decisions: Decisions, kept: BoolArray) -> BoolArray:
    """Return the tokens of dates of birth and of old dates: bool (n_tokens,)."""
    found = np.zeros(len(tokens), np.bool_)
    if not (kept & (decisions.categories == _DATE)).any():
        return found
    runs = list(_find_dates(tokens, (decisions.categories == _DATE) & (kept | ~decisions.keep)))
    ranges = [(int(tokens.starts[first]), int(tokens.ends[stop - 1])) for first, stop in runs]
    written = [tokens.text[start:end] for start, end in ranges]
    given = [int(year) for text in written for year in _YEAR.findall(text)]
    reference = date(max(given), 12, 31) if given else _NO_CLOCK
    years = [_years_of(text, reference) for text in written]
    latest = max((max(some) for some in years if some), default=0)
    births = born_on(tokens.text, ranges)
    for number, (first, stop) in enumerate(runs):
        is_old = bool(years[number]) and min(years[number]) < latest - DEFAULT_SPAN_YEARS
        found[first:stop] = is_old or number in births
    return found


def _find_dates(tokens: Tokens, chosen: BoolArray) -> Iterator[tuple[int, int]]:
    # From `first` up to `stop`, with the numbers between them.
    first = last = -1
    for i in np.flatnonzero(chosen).tolist():
        between = tokens.text[int(tokens.ends[last]) : int(tokens.starts[i])] if first >= 0 else ""
        if first >= 0 and (i == last + 1 or i - last <= 2) and _WITHIN_DATE.fullmatch(between):
            last = i
            continue
        if first >= 0:
            yield first, last + 1
        first = last = i
    if first >= 0:
        yield first, last + 1


def _years_of(text: str, reference: date) -> set[int]:
    # Empty = it names no year.
    years = {int(year) for year in _YEAR.findall(text)}
    for reading in find_readings(text, reference) if not years else ():
        if any(map(str.isdigit, text)) and reading.first.year is not None:
            years.add(reading.first.year)
    return years
