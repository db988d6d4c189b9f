"""Profiles: what happens to each structured field, by recipient.

Built in (`profiles.toml`): `eudravigilance`, `fda`, `third-party`, `public`. A user's own
profile is a TOML file of the same keys, without the table around them; `base` names a
profile whose entries hold where the file says nothing.

Free texts go through the masker in every profile; a profile cannot say otherwise.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.formats.icsr.elements import Element, Kind, elements


class Action(StrEnum):
    """What happens to one value."""

    KEEP = "keep"
    MASK = "mask"
    BLANK = "blank"
    DROP = "drop"
    PSEUDONYM = "pseudonym"
    DATE = "date"
    AGE = "age"
    TEXT = "text"


DEFAULT_PROFILE = "third-party"
"""Removes all that names a person and leaves a message that another system can load."""

REMOVE = "remove"
_SETTINGS = {
    "otherwise": ("keep", REMOVE),
    "attachments": ("keep", "drop"),
    "display_names": ("keep", "drop"),
    "other_dates": ("keep", "date", "drop"),
}
_LISTED: tuple[Action, ...] = tuple(action for action in Action if action != Action.TEXT)
_ACTIONS_OF_KIND: Mapping[Kind, frozenset[Action]] = {
    Kind.FREE_TEXT: frozenset(),
    Kind.ATTACHMENT: frozenset(),
    Kind.PRODUCT: frozenset({Action.KEEP, Action.BLANK, Action.DROP}),
    Kind.IDENTIFIER: frozenset(_LISTED) - {Action.DATE, Action.AGE},
    Kind.DATE: frozenset(_LISTED) - {Action.PSEUDONYM, Action.AGE},
    Kind.AGE: frozenset({Action.KEEP, Action.DROP, Action.AGE}),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What happens to the structured fields.

    Args:
        name: Of the profile.
        actions: By element id, for every known element.
        attachments: Of embedded files, KEEP or DROP.
        display_names: Of the words beside a code, KEEP or DROP.
        other_dates: Of dates where the table of elements names none: KEEP, DATE or DROP.

    Example:
        >>> builtin_profile("eudravigilance").actions["C.2.r.1.4"]
        <Action.MASK: 'mask'>
    """

    name: str
    actions: Mapping[str, Action]
    attachments: Action
    display_names: Action
    other_dates: Action

    def with_dates(self) -> Profile:
        """Return the same profile, but every date that it keeps goes through the date function.

        For a run that changes the dates of the narratives: structured dates must agree with them.
        """
        actions = {
            name: Action.DATE if action == Action.KEEP and elements()[name].kind == Kind.DATE else action
            for name, action in self.actions.items()
        }
        other_dates = Action.DATE if self.other_dates == Action.KEEP else self.other_dates
        return replace(self, actions=actions, other_dates=other_dates)

    def with_ages(self) -> Profile:
        """Return the same profile, but every age that it keeps goes through the age function.

        For a run that changes the ages of the narratives: a kept field beside them would tell the age.
        """
        actions = {
            name: Action.AGE if action == Action.KEEP and elements()[name].kind == Kind.AGE else action
            for name, action in self.actions.items()
        }
        return replace(self, actions=actions)

    def removes(self, element: str) -> bool:
        """Return whether the value that an element states does not leave as it is."""
        return self.actions[element] != Action.KEEP

    def asks_for(self, action: Action) -> bool:
        """Return whether the action is used anywhere."""
        return action in self.actions.values() or action == self.other_dates


def builtin_names() -> tuple[str, ...]:
    """Return names of the built-in profiles."""
    return tuple(_builtin_tables())


def builtin_profile(name: str) -> Profile:
    """Return a built-in profile.

    Raises:
        ConfigurationError: There is none of that name.
    """
    table = _builtin_tables().get(name)
    if table is None:
        known = ", ".join(builtin_names())
        raise ConfigurationError(f"there is no profile {name!r}; known are {known}, or give a TOML file")
    return _profile(name, table)


def read_profile(path: Path) -> Profile:
    """Return a user's own profile.

    Raises:
        ConfigurationError: The file cannot be read, or asks for what E2B does not allow.
    """
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError):
        table = None
    if table is None:
        raise ConfigurationError(f"{path}: cannot be read as TOML; see docs/icsr.md for what a profile holds")
    return profile_from(path.stem, table)


def profile_from(name: str, table: Mapping[str, Any]) -> Profile:
    """Return a profile from what a TOML file says.

    Args:
        name: Of the profile.
        table: Keys as in `profiles.toml`, and `base`, the name of a built-in profile.

    Raises:
        ConfigurationError: An unknown key, element or setting, two actions for one element, or an
            action that E2B does not allow for it.
    """
    _check_keys(name, table)
    if "base" not in table:
        return _profile(name, table)
    if "otherwise" in table:
        raise ConfigurationError(f"profile {name}: has both base and otherwise; give one of them")
    base = builtin_profile(str(table["base"]))
    own = _profile(name, {"otherwise": "keep", **table})
    listed = set(_listed(name, table))
    settings = {key: Action(table[key]) for key in _SETTINGS if key in table and key != "otherwise"}
    actions = {**base.actions, **{e: a for e, a in own.actions.items() if e in listed}}
    return replace(base, name=name, actions=actions, **settings)


@lru_cache(maxsize=1)
def _builtin_tables() -> Mapping[str, Mapping[str, Any]]:
    source = files("inverse_deid.formats.icsr").joinpath("profiles.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _profile(name: str, table: Mapping[str, Any]) -> Profile:
    listed = _listed(name, table)
    remove = table.get("otherwise", REMOVE) == REMOVE
    choose: Callable[[Element], Action] = _removal if remove else _kept
    actions = {element.id: listed.get(element.id) or choose(element) for element in elements().values()}
    return Profile(
        name=name,
        actions=actions,
        attachments=Action(table.get("attachments", Action.DROP)),
        display_names=Action(table.get("display_names", Action.DROP if remove else Action.KEEP)),
        other_dates=Action(table.get("other_dates", Action.DATE if remove else Action.KEEP)),
    )


def _kept(element: Element) -> Action:
    match element.kind:
        case Kind.FREE_TEXT:
            return Action.TEXT
        case Kind.ATTACHMENT:
            return Action.DROP
        case _:
            return Action.KEEP


def _removal(element: Element) -> Action:
    """Return what takes the value away and leaves a valid message."""
    if element.kind in (Kind.FREE_TEXT, Kind.ATTACHMENT, Kind.PRODUCT):
        return _kept(element)
    if element.kind == Kind.AGE:
        return Action.AGE
    if element.msk:
        return Action.MASK
    if not element.required:
        return Action.DROP
    return Action.DATE if element.kind == Kind.DATE else Action.PSEUDONYM


def _listed(name: str, table: Mapping[str, Any]) -> dict[str, Action]:
    """Return what the lists of a profile say; the longer entry wins."""
    entries: dict[str, Action] = {}
    for action in _LISTED:
        for entry in table.get(action, ()):
            if entry in entries:
                raise ConfigurationError(
                    f"profile {name}: {entry!r} is listed under {entries[entry]} and {action}; list it once"
                )
            entries[entry] = action
    listed: dict[str, Action] = {}
    for entry in sorted(entries, key=len):
        for element in _matching(name, entry, entries[entry]):
            listed[element.id] = entries[entry]
    return listed


def _matching(name: str, entry: str, action: Action) -> Iterator[Element]:
    """Yield the elements that an entry stands for."""
    is_start = entry.endswith("*")
    found = [e for e in elements().values() if (e.id.startswith(entry[:-1]) if is_start else e.id == entry)]
    if not found:
        raise ConfigurationError(
            f"profile {name}: {entry!r} under {action} is no known E2B element; docs/icsr.md lists them"
        )
    for element in found:
        problem = _problem(element, action)
        if problem and not is_start:
            raise ConfigurationError(f"profile {name}: {element.id} cannot be under {action}: {problem}")
        if not problem:
            yield element


def _problem(element: Element, action: Action) -> str:
    """Return why an action is not possible, "" = it is."""
    if element.kind == Kind.FREE_TEXT:
        return "it is free text and always goes through the masker"
    if element.kind == Kind.ATTACHMENT:
        return "it is an embedded file; use the key attachments"
    if action not in _ACTIONS_OF_KIND[element.kind]:
        return f"it is not made for elements of the kind {element.kind}"
    if action == Action.MASK and not element.msk:
        return "E2B does not allow MSK there; use drop, blank or pseudonym"
    if action in (Action.BLANK, Action.DROP) and element.required:
        return "a message without it is not valid; use mask, pseudonym or date"
    return ""


def _check_keys(name: str, table: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if key in _SETTINGS:
            if value not in _SETTINGS[key]:
                choices = " or ".join(_SETTINGS[key])
                raise ConfigurationError(f"profile {name}: {key} must be {choices}")
        elif key in _LISTED:
            if not (isinstance(value, list) and all(isinstance(entry, str) for entry in value)):
                raise ConfigurationError(f"profile {name}: {key} must be a list of element ids")
        elif key != "base":
            raise ConfigurationError(f"profile {name}: unknown key {key!r}; see docs/icsr.md")
