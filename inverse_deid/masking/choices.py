"""The keyword arguments of `inverse_deid.mask`: checked, and turned into settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

from inverse_deid.core.categories import Categories, Category, parse_categories, permits_years
from inverse_deid.core.errors import ConfigurationError, InverseDeidError, add_remedies
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.network.scorer import Device
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode
from inverse_deid.rules.analysis import POLICIES, Policy
from inverse_deid.text.tokenizer import tokenize

_SURROGATE = "surrogate"


class MaskChoices(TypedDict, total=False):
    """The keyword arguments of `mask`: the fields of `MaskingSettings`, then those of `CaseSettings`.

    `MaskingSettings` and `CaseSettings` describe them. None = the default. Here `replace` can be
    `surrogate` as well, paths can be strings, categories can be written as on the command line, and a
    key that is a string is encoded as UTF-8. As on the command line, one line break at the end of a key
    does not belong to it.
    """

    model: str | Path | None
    lexicon: str | Path | None
    policy: Policy | None
    rules_only: bool | None
    marker: str | None
    replace: Literal["marker", "category", "surrogate"] | None
    operating_point: str | None
    low: float | None
    high: float | None
    certificate: str | Path | None
    allow_low_thresholds: bool | None
    allow: Iterable[str] | None
    deny: Iterable[str] | None
    careful: bool | None
    second_reader: str | Path | None
    n_threads: int | None
    device: Device | None
    categories: str | Iterable[str] | None
    today: date | None
    dates: Literal["mask", "year", "relative-day", "shift"] | None
    ages: Literal["mask", "band", "keep-under-90"] | None
    age_bands: str | None
    day_first: bool | None
    key: bytes | str | None
    date_span_years: int | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the arguments of `mask` mean."""

    masking: MaskingSettings  # what is masked
    cases: CaseSettings  # what replaces dates and ages
    makes_surrogates: bool  # whether made-up values replace other masked words


_OF_MASKING = tuple(one.name for one in fields(MaskingSettings) if one.name != "keep_years")
"""The settings of a masking that can be chosen by name. `keep_years` follows from `dates`."""


def choose_settings(settings: MaskingSettings | None, choices: Mapping[str, Any], today: date) -> Chosen:
    """Return the settings that choices, on top of `settings`, stand for; `today` unless they name a day.

    Raises:
        ConfigurationError: A choice is unknown, of another type or out of range, contradicts another
            one, or lacks a key.
        TypeError: `settings` are not `MaskingSettings`.
    """
    if not isinstance(settings, MaskingSettings | None):
        raise TypeError(
            f"settings must be a MaskingSettings, and this is of type {type(settings).__name__}. Give single "
            'settings by name, as in operating_point="strict"'
        )
    known = MaskChoices.__annotations__
    unknown = [name for name in choices if name not in known]
    if unknown:
        raise ConfigurationError(f"unknown setting {unknown[0]!r}. The settings are {', '.join(known)}")
    base = settings or MaskingSettings()
    values = {name: getattr(base, name) for name in _OF_MASKING}
    values |= {one.name: one.default for one in fields(CaseSettings) if one.default is not MISSING}
    values["today"] = today
    defaults = {one.name: one.default for one in fields(MaskingSettings)}
    for name, value in choices.items():
        values[name] = defaults.get(name, values[name]) if value is None else value
    values = {name: None if value is None else _READERS[name](name, value) for name, value in values.items()}
    _refuse_contradictions(values)
    makes_surrogates = values["replace"] == _SURROGATE
    of_masking = {name: values[name] for name in _OF_MASKING}
    of_masking["replace"] = "marker" if makes_surrogates else values["replace"]
    of_cases = {one.name: values[one.name] for one in fields(CaseSettings)}
    # A year as written beside a moved date would tell how far it was moved.
    keep_years = values["dates"] == DateMode.MASK and permits_years(values["categories"])
    masking = MaskingSettings(**of_masking, keep_years=keep_years)
    return Chosen(masking, CaseSettings(**of_cases), makes_surrogates)


@contextmanager
def keyword_errors() -> Iterator[None]:
    """Name the keyword arguments that mend an error in its text.

    Example:
        >>> from inverse_deid.core.errors import Remedy
        >>> with keyword_errors():
        ...     raise ConfigurationError("shift needs a key", remedies=[Remedy("key"), Remedy("force")])
        Traceback (most recent call last):
        ...
        inverse_deid.core.errors.ConfigurationError: shift needs a key. Use key
    """
    try:
        yield
    except InverseDeidError as error:
        if not error.remedies:
            raise
        raise type(error)(add_remedies(str(error), error.remedies, _name_keyword)) from error.__cause__


def _name_keyword(choice: str, value: str) -> str | None:
    if choice not in MaskChoices.__annotations__:
        return None
    return f'{choice}="{value}"' if value else choice


def _refuse_contradictions(values: Mapping[str, Any]) -> None:
    """Refuse choices that contradict each other or lack a key, as the command line does."""
    if values["careful"] and values["rules_only"]:
        raise ConfigurationError("careful needs the network. Leave out rules_only")
    if values["second_reader"] is not None and not values["careful"]:
        raise ConfigurationError("second_reader is for careful=True. Give both")
    # A date as written beside a moved one would tell the shift.
    for name, category in (("dates", Category.DATE), ("ages", Category.AGE)):
        if values[name] != "mask" and category not in values["categories"]:
            raise ConfigurationError(
                f"categories keeps every {category}, and {name} replaces them. Leave out one"
            )
    for name, value in (("replace", _SURROGATE), ("dates", "shift")):
        if values[name] == value and values["key"] is None:
            raise ConfigurationError(f'{name}="{value}" needs a key: give key, at least 16 secret bytes')


def _read_value(expected: str, kinds: tuple[type, ...], name: str, value: object) -> object:
    """Return a value of one of these types; the message never shows it, because it can be a secret."""
    is_number_for_bool = isinstance(value, bool) and bool not in kinds
    if not isinstance(value, kinds) or is_number_for_bool:
        raise ConfigurationError(f"{name} must be {expected}, and is of type {type(value).__name__}")
    return value


def _read_one_of(allowed: Iterable[str], name: str, value: object) -> str:
    allowed = tuple(map(str, allowed))
    if not isinstance(value, str) or value not in allowed:
        raise ConfigurationError(f"{name} must be one of {', '.join(allowed)}")
    return value


def _read_path(name: str, value: object) -> Path:
    return Path(str(_read_value("a path", (str, Path), name, value)))


def _read_words(name: str, value: object) -> frozenset[str]:
    """Return the words or phrases of a list, each with a word in it; `allow` has single words only."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ConfigurationError(f"{name} must be a list of strings, and is of type {type(value).__name__}")
    entries = list(value)
    for entry in entries:
        found = tokenize(entry).words if isinstance(entry, str) else []
        if not found or (name == "allow" and found != [entry]):
            expected = "one word of letters and digits" if name == "allow" else "a word or phrase"
            raise ConfigurationError(f"{name} has an entry that is not {expected}. Correct or remove it")
    return frozenset(entries)


def _read_categories(name: str, value: object) -> Categories:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        value = ",".join(str(one) for one in value)
    return parse_categories(str(_read_value("a string or a list of categories", (str,), name, value)))


def _read_key(name: str, value: object) -> bytes:
    _read_value("bytes, or a string", (bytes, str), name, value)
    key = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
    return key.removesuffix(b"\n").removesuffix(b"\r") if key.endswith(b"\n") else key


def _read_count(name: str, value: object) -> int:
    count = _read_value("a whole number", (int,), name, value)
    if not isinstance(count, int) or count < 0:
        raise ConfigurationError(f"{name} must be a whole number, 0 or more")
    return count


def _read_day(name: str, value: object) -> object:
    day = _read_value("a date", (date,), name, value)
    return day.date() if isinstance(day, datetime) else day


_read_text = partial(_read_value, "a string", (str,))
_read_flag = partial(_read_value, "True or False", (bool,))
_read_number = partial(_read_value, "a number", (int, float))

_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "model": _read_path,
    "lexicon": _read_path,
    "policy": partial(_read_one_of, POLICIES),
    "rules_only": _read_flag,
    "marker": _read_text,
    "replace": partial(_read_one_of, ("marker", "category", _SURROGATE)),
    "operating_point": _read_text,
    "low": _read_number,
    "high": _read_number,
    "certificate": _read_path,
    "allow_low_thresholds": _read_flag,
    "allow": _read_words,
    "deny": _read_words,
    "careful": _read_flag,
    "second_reader": _read_path,
    "n_threads": _read_count,
    "device": partial(_read_one_of, get_args(Device)),
    "categories": _read_categories,
    "today": _read_day,
    "dates": lambda name, value: DateMode(_read_one_of(DateMode, name, value)),
    "ages": lambda name, value: AgeMode(_read_one_of(AgeMode, name, value)),
    "age_bands": _read_text,
    "day_first": _read_flag,
    "key": _read_key,
    "date_span_years": _read_count,
}
"""Checks the value of each choice, and returns it in the form that the settings have."""
