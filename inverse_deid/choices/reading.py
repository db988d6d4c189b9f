"""Reads what was chosen: checks each value by the kind of its choice, and refuses contradictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from inverse_deid.choices.categories import Categories, Category, parse_categories
from inverse_deid.choices.records import Choice, Contradiction, Given, Kind, Needs, Surface, Table
from inverse_deid.choices.table import CHOICES, CONTRADICTIONS, REPLACED_CATEGORIES
from inverse_deid.core.errors import ConfigurationError, Remedy
from inverse_deid.core.wording import N_, _
from inverse_deid.text.tokenizer import tokenize


def read_choices(
    given: Mapping[str, Any], table: Table = CHOICES, surface: Surface = Surface.PYTHON
) -> dict[str, Any]:
    """Return what was chosen, in the types of the settings; what is None is not chosen.

    Raises:
        ConfigurationError: A choice is unknown, or its value of another type or out of range.

    Example:
        >>> read_choices({"deny": ["Mill Lane"], "dates": "year", "low": None})
        {'deny': frozenset({'Mill Lane'}), 'dates': 'year'}
    """
    known = {one.name: one for one in table if surface in one.surfaces}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ConfigurationError(
            _(
                "unknown setting {unknown!r}. The settings are {known}",
                unknown=unknown[0],
                known=", ".join(known),
            )
        )
    return {
        name: _READERS[known[name].kind](known[name], value)
        for name, value in given.items()
        if value is not None
    }


def refuse_contradictions(
    given: Given, table: Table = CHOICES, contradictions: tuple[Contradiction, ...] = CONTRADICTIONS
) -> None:
    """Refuse choices that make others idle, that lack a key, or that replace what is kept.

    Args:
        given: As `read_choices` returns it.
        table: All choices.
        contradictions: Between them.

    Raises:
        ConfigurationError: There is such a choice; its remedies say which one to make or to leave out.
    """
    by_name = {one.name: one for one in table}
    chosen = {one: value for one, value in given.items() if by_name[one].is_given(value)}
    for rule in contradictions:
        if isinstance(rule, Needs):
            _refuse_need(rule, chosen, by_name[rule.other])
        elif rule.choice in chosen:
            for one in rule.others:
                if one in chosen and rule.value in (None, chosen[one]):
                    value = chosen[one] if by_name[one].are_options else ""
                    raise ConfigurationError(rule.why, choice=rule.choice, remedies=[_leave_out(one, value)])
    kept = frozenset(Category) - chosen.get("categories", frozenset(Category))
    for one, category in REPLACED_CATEGORIES.items():
        if one in chosen and category in kept:
            raise ConfigurationError(
                _("every {category} is kept, so nothing can replace it", category=category),
                choice="categories",
                remedies=[_leave_out("categories"), _leave_out(one)],
            )
    for one, value in chosen.items():
        if "key" not in chosen and value in [known.name for known in by_name[one].values if known.needs_key]:
            raise ConfigurationError(
                _("{value} needs a key of at least 16 secret bytes", value=value),
                choice=one,
                remedies=[Remedy("key", step=N_("give {}"))],
            )


def _leave_out(name: str, value: str = "") -> Remedy:
    return Remedy(name, value, step=N_("leave out {}"))


def _refuse_need(rule: Needs, chosen: Given, other: Choice) -> None:
    """Refuse a choice that lacks another one."""
    if rule.choice not in chosen or rule.value not in (None, chosen[rule.choice]):
        return
    if other.name in chosen and (not rule.values or chosen[other.name] in rule.values):
        return
    wanted = [one.name for one in other.values] if other.kind == "values" and not rule.values else rule.values
    needed = [
        Remedy(other.name, value if isinstance(value, str) else "", step=N_("add {}")) for value in wanted
    ]
    problem = _("{rule} needs another choice", rule=rule.value) if rule.value else _("has no effect alone")
    raise ConfigurationError(problem, choice=rule.choice, remedies=[*needed, _leave_out(rule.choice)])


def _read_type(expected: str, kinds: tuple[type, ...], choice: Choice, value: object) -> Any:  # noqa: ANN401
    """Return a value of one of these types; the message never shows it, because it can be a secret."""
    is_number_for_bool = isinstance(value, bool) and bool not in kinds
    if not isinstance(value, kinds) or is_number_for_bool:
        raise ConfigurationError(
            _(
                "{choice} must be {expected}, and is of type {kind}",
                choice=choice.name,
                expected=_(expected),
                kind=type(value).__name__,
            )
        )
    return value


def _read_one_of(choice: Choice, value: object) -> str:
    allowed = choice.names_on(Surface.PYTHON)
    if not isinstance(value, str) or value not in allowed:
        raise ConfigurationError(
            _("{choice} must be one of {allowed}", choice=choice.name, allowed=", ".join(allowed))
        )
    return str(value)


def _read_number(expected: str, kinds: tuple[type, ...], choice: Choice, value: object) -> float:
    number: float = _read_type(expected, kinds, choice, value)
    least, most = choice.limits or (None, None)
    if (least is not None and not number >= least) or (most is not None and not number <= most):
        least_or_more = (
            _("{least} or more", least=least)
            if most is None
            else _("from {least} to {most}", least=least, most=most)
        )
        raise ConfigurationError(
            _(
                "{choice} must be {expected}, {range}",
                choice=choice.name,
                expected=_(expected),
                range=least_or_more,
            )
        )
    return number


def _read_path(choice: Choice, value: object) -> Path:
    return Path(str(_read_type(N_("a path"), (str, Path), choice, value)))


def _read_words(choice: Choice, value: object) -> frozenset[str]:
    """Return the words or phrases of a list, each with a word in it."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ConfigurationError(
            _(
                "{choice} must be a list of strings, and is of type {name}",
                choice=choice.name,
                name=type(value).__name__,
            )
        )
    entries = list(value)
    is_single = choice.kind == "single words"
    for entry in entries:
        found = tokenize(entry).words if isinstance(entry, str) else []
        if not found or (is_single and found != [entry]):
            expected = _("one word of letters and digits") if is_single else _("a word or phrase")
            raise ConfigurationError(
                _(
                    "{choice} has an entry that is not {expected}. Correct or remove it",
                    choice=choice.name,
                    expected=expected,
                )
            )
    return frozenset(entries)


def _read_categories(choice: Choice, value: object) -> Categories:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        value = ",".join(str(one) for one in value)
    return parse_categories(str(_read_type(N_("a string or a list of categories"), (str,), choice, value)))


def _read_key(choice: Choice, value: object) -> bytes:
    given: bytes | str = _read_type(N_("bytes, or a string"), (bytes, str), choice, value)
    key = given.encode("utf-8", "surrogateescape") if isinstance(given, str) else bytes(given)
    return key.removesuffix(b"\n").removesuffix(b"\r") if key.endswith(b"\n") else key


def _read_day(choice: Choice, value: object) -> date:
    day: date = _read_type(N_("a date"), (date,), choice, value)
    return day.date() if isinstance(day, datetime) else day


_read_flag = partial(_read_type, N_("True or False"), (bool,))

_READERS: Mapping[Kind, Callable[[Choice, Any], Any]] = {
    "values": _read_one_of,
    "flag": _read_flag,
    "order": _read_flag,
    "text": partial(_read_type, N_("a string"), (str,)),
    "number": partial(_read_number, N_("a number"), (int, float)),
    "count": partial(_read_number, N_("a whole number"), (int,)),
    "file": _read_path,
    "folder": _read_path,
    "words": _read_words,
    "single words": _read_words,
    "categories": _read_categories,
    "day": _read_day,
    "key": _read_key,
}
"""Checks a value of each kind, and returns it in the type that the settings have."""
