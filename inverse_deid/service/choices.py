"""What a request may choose: read, checked, and held against what the operator permits.

Without a permit a request can only mask more than the operator's settings, never less. Errors name the
setting, never a value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import get_args

from inverse_deid.core.categories import ALL_CATEGORIES, parse_categories, permits_years
from inverse_deid.core.errors import ConfigurationError, FormatError, InverseDeidError, add_remedies
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.masking.choices import Chosen, choose_settings
from inverse_deid.replacement.ages import BAND_SCHEMES
from inverse_deid.replacement.markers import MarkerKind
from inverse_deid.replacement.settings import MAX_SPAN_YEARS, AgeMode, DateMode

OPERATING_POINTS = ("strict", "balanced", "lenient")
"""From the one that masks most to the one that masks least."""
MAX_WORDS = 1_000
MAX_WORD_CHARS = 200
MAX_LIST_CHARS = 20_000
"""Limits on a list of words: how many, how long each and together."""


class Permit(StrEnum):
    """A choice that may mask less, and that an operator can let requests make."""

    CATEGORIES = "categories"
    STRICTNESS = "strictness"
    DATES = "dates"
    AGES = "ages"
    REPLACEMENT = "replacement"
    ALLOW = "allow"
    COLUMNS = "columns"  # copy columns of tables unmasked


def parse_permits(text: str) -> frozenset[Permit]:
    """Return the permits of a list such as `categories,dates`; `all` and `none` are such lists.

    Raises:
        ConfigurationError: A name is unknown.

    Example:
        >>> sorted(parse_permits("dates, ages"))
        [<Permit.AGES: 'ages'>, <Permit.DATES: 'dates'>]
    """
    names = [name.strip().lower() for name in text.split(",")]
    if names in (["all"], ["none"]):
        return frozenset(Permit) if names == ["all"] else frozenset()
    unknown = [name for name in names if name not in set(Permit)]
    if unknown:
        raise ConfigurationError(
            f"{unknown[0]!r} is unknown. Give all, none, or some of {', '.join(Permit)}", choice="permit"
        )
    return frozenset(map(Permit, names))


@dataclass(frozen=True, slots=True)
class Operator:
    """What the operator set, and what requests may change."""

    masking: MaskingSettings = field(default_factory=MaskingSettings)
    permits: frozenset[Permit] = frozenset()

    @property
    def operating_point(self) -> str:
        """Its name."""
        return self.masking.operating_point or "balanced"

    def choose(self, given: object, today: date) -> Chosen:
        """Return the settings of a request.

        Args:
            given: The object `settings` of the request, None = nothing is chosen.
            today: No date is later, unless the request says otherwise.

        Raises:
            FormatError: A setting is unknown, malformed or not permitted.

        Example:
            >>> chosen = Operator().choose({"operating_point": "strict"}, date(2020, 1, 1))
            >>> chosen.masking.operating_point
            'strict'
            >>> permits = frozenset({Permit.DATES})
            >>> Operator(permits=permits).choose({"dates": "year"}, date(2020, 1, 1)).cases.dates
            <DateMode.YEAR: 'year'>
        """
        if given is None:
            return _choose_nothing(self.masking, today)
        problem = next(_problems(given), "")
        if problem or not isinstance(given, Mapping):
            raise FormatError(f"settings: {problem}")
        choices = {name: value for name, value in given.items() if value is not None}
        if "today" in choices:
            choices["today"] = date.fromisoformat(choices["today"])
        for name in ("allow", "deny"):
            # Words of a request are added to those of the operator.
            choices[name] = getattr(self.masking, name) | frozenset(choices.get(name, ()))
        try:
            chosen = choose_settings(self.masking, choices, today)
        except ConfigurationError as error:
            problem = describe_problem(error)
        problem = problem or self._find_refused(chosen)
        if problem:
            raise FormatError(f"settings: {problem}")
        return chosen

    def _find_refused(self, chosen: Chosen) -> str:
        """Say which choice would mask less than the operator permits, "" = none."""
        own, masking = self.masking, chosen.masking
        point = OPERATING_POINTS.index(masking.operating_point or "balanced")
        less = {
            Permit.CATEGORIES: (
                not masking.categories >= own.categories
                or (permits_years(masking.categories) and not permits_years(own.categories)),
                "categories may only be added",
            ),
            Permit.STRICTNESS: (
                point > OPERATING_POINTS.index(self.operating_point),
                f"the operating point must be {self.operating_point} or stricter",
            ),
            Permit.DATES: (chosen.cases.dates is not DateMode.MASK, "dates are masked here"),
            Permit.AGES: (chosen.cases.ages is not AgeMode.MASK, "ages are masked here"),
            Permit.REPLACEMENT: (
                masking.replace not in ("marker", own.replace),
                "categories are not shown here",
            ),
            Permit.ALLOW: (not masking.allow <= own.allow, "words to keep cannot be given here"),
        }
        for permit, (is_less, problem) in less.items():
            if is_less and permit not in self.permits:
                return f"{problem}. The operator does not permit it"
        return ""


def describe_problem(error: InverseDeidError, more_fields: Collection[str] = ()) -> str:
    """Return what is wrong and which fields mend it: the settings, and others of the request."""

    def name_field(choice: str, value: str) -> str | None:
        is_field = choice in _CHECKS or choice in more_fields
        return f"{choice} {value}".rstrip() if is_field else None

    return add_remedies(str(error), error.remedies, name_field)


@lru_cache(maxsize=4)
def _choose_nothing(masking: MaskingSettings, today: date) -> Chosen:
    return choose_settings(masking, {}, today)


def _problems(given: object) -> Iterator[str]:
    """Yield what is wrong with the settings of a request, before permits are looked at."""
    if not isinstance(given, Mapping):
        yield "must be an object"
        return
    if not given.keys() <= _CHECKS.keys():
        yield f"unknown setting; the settings are {', '.join(sorted(_CHECKS))}"
    for name, check in _CHECKS.items():
        value = given.get(name)
        problem = "" if value is None else check(value)
        if problem:
            yield f"{name} {problem}"


Check = Callable[[object], str]
"""Says why a value cannot be used, "" = it can."""


def _one_of(*allowed: str) -> Check:
    return lambda value: "" if value in allowed else f"must be one of {', '.join(allowed)}"


def _check_categories(value: object) -> str:
    listed = value.split(",") if isinstance(value, str) else value
    try:
        if isinstance(listed, list) and all(isinstance(one, str) for one in listed):
            parse_categories(",".join(listed))
            return ""
    except ConfigurationError:
        pass
    names = ", ".join(sorted(ALL_CATEGORIES))
    return f"must be all, hipaa, i2b2, everything, or a list with at least one of {names}"


def _check_dates(value: object) -> str:
    if value == DateMode.SHIFT:
        return "shift needs a key, which a request cannot give. Use inverse-deid mask"
    allowed = [mode.value for mode in DateMode if mode is not DateMode.SHIFT]
    return "" if value in allowed else f"must be one of {', '.join(allowed)}"


def _check_replacement(value: object) -> str:
    if value == "surrogate":
        return "surrogate needs a key, which a request cannot give. Use inverse-deid mask"
    return "" if value in get_args(MarkerKind) else "must be marker or category"


def _check_day(value: object) -> str:
    try:
        is_day = isinstance(value, str) and len(value) == 10 and bool(date.fromisoformat(value))
    except ValueError:
        is_day = False
    return "" if is_day else "must be a date such as 2020-01-31"


def _check_words(value: object) -> str:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return "must be a list of strings"
    if len(value) > MAX_WORDS:
        return f"must have at most {MAX_WORDS:,} entries"
    if max(map(len, value), default=0) > MAX_WORD_CHARS or sum(map(len, value)) > MAX_LIST_CHARS:
        return f"must have entries of at most {MAX_WORD_CHARS} characters, together {MAX_LIST_CHARS:,}"
    return ""


def _check_span(value: object) -> str:
    is_span = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_SPAN_YEARS
    return "" if is_span else f"must be a whole number from 1 to {MAX_SPAN_YEARS}"


def _check_marker(value: object) -> str:
    is_marker = isinstance(value, str) and 0 < len(value) <= 40 and value.isprintable()
    return "" if is_marker else "must be 1 to 40 printable characters"


_CHECKS: Mapping[str, Check] = {
    "categories": _check_categories,
    "operating_point": _one_of(*OPERATING_POINTS),
    "dates": _check_dates,
    "date_span_years": _check_span,
    "day_first": lambda value: "" if isinstance(value, bool) else "must be true or false",
    "today": _check_day,
    "ages": _one_of(*AgeMode),
    "age_bands": _one_of(*BAND_SCHEMES),
    "replace": _check_replacement,
    "marker": _check_marker,
    "allow": _check_words,
    "deny": _check_words,
}
"""The settings of a request, each with what says why a value cannot be used."""
