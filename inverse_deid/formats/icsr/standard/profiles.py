"""Profiles: what happens to each structured field, by recipient.

Built in (`profiles.toml`): `eudravigilance`, `fda`, `third-party`, `public`. A user's profile is a TOML file
with the same keys. Its `base` names a built-in profile, which decides where the file says nothing.

Free texts are masked in every profile. A profile cannot change that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import make_settings, read_toml
from inverse_deid.core.wording import _
from inverse_deid.formats.icsr.standard.elements import Element, ElementKind, elements

DEFAULT_PROFILE = "third-party"
"""Removes all that names a person and leaves a message that another system can load."""


class FieldAction(StrEnum):
    """What happens to one value."""

    KEEP = "keep"
    MASK = "mask"
    BLANK = "blank"
    DROP = "drop"
    PSEUDONYM = "pseudonym"
    DATE = "date"
    AGE = "age"
    TEXT = "text"


_LISTED = tuple(action for action in FieldAction if action != FieldAction.TEXT)
_ACTIONS_OF_KIND: Mapping[ElementKind, frozenset[FieldAction]] = {
    ElementKind.PRODUCT: frozenset({FieldAction.KEEP, FieldAction.BLANK, FieldAction.DROP}),
    ElementKind.IDENTIFIER: frozenset(_LISTED) - {FieldAction.DATE, FieldAction.AGE},
    ElementKind.DATE: frozenset(_LISTED) - {FieldAction.PSEUDONYM, FieldAction.AGE},
    ElementKind.AGE: frozenset({FieldAction.KEEP, FieldAction.DROP, FieldAction.AGE}),
}


UnknownAction = Literal["drop", "refuse"]
"""What happens to elements and attributes that the standard does not know: leave out, or refuse the case."""


class ProfileSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile as its file states it: settings, and ids of elements by action."""

    base: str | None = None
    otherwise: Literal["keep", "remove"] | None = None
    attachments: Literal["keep", "drop"] | None = None
    display_names: Literal["keep", "drop"] | None = None
    other_dates: Literal["keep", "date", "drop"] | None = None
    unknown: UnknownAction | None = None
    keep: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    pseudonym: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    age: tuple[str, ...] = ()

    def list_actions(self) -> dict[str, FieldAction]:
        """Return the actions of the elements that the file lists; the longer entry wins."""
        entries: dict[str, FieldAction] = {}
        for action in _LISTED:
            for entry in getattr(self, action):
                if entry in entries:
                    raise ConfigurationError(
                        _(
                            "{entry!r} is listed under {entrie} and {action}. List it once",
                            entry=entry,
                            entrie=entries[entry],
                            action=action,
                        )
                    )
                entries[entry] = action
        return {
            element.id: entries[entry]
            for entry in sorted(entries, key=len)
            for element in _find_elements(entry, entries[entry])
        }


@dataclass(frozen=True, slots=True)
class Profile:
    """What happens to the structured fields."""

    name: str  # of the profile
    actions: Mapping[str, FieldAction]  # by element id, for every known element
    attachments: FieldAction  # of embedded files, KEEP or DROP
    display_names: FieldAction  # of the words for a code, KEEP or DROP
    other_dates: FieldAction  # of dates where the table of elements names none: KEEP, DATE or DROP
    unknown: UnknownAction = (
        "refuse"  # what happens to elements and attributes that the standard does not know
    )

    def follow(self, replaced: Collection[str]) -> Profile:
        """Return the profile with kept dates and ages changed where those of the texts are replaced.

        Args:
            replaced: Some of "dates" and "ages".
        """
        profile = self.with_dates() if "dates" in replaced else self
        return profile.with_ages() if "ages" in replaced else profile

    def with_dates(self) -> Profile:
        """Return the profile with all kept dates changed, for a run that changes the dates of the texts."""
        other_dates = FieldAction.DATE if self.other_dates == FieldAction.KEEP else self.other_dates
        return replace(self._with(ElementKind.DATE, FieldAction.DATE), other_dates=other_dates)

    def with_ages(self) -> Profile:
        """Return the profile with all kept ages changed, for a run that changes the ages of the texts."""
        return self._with(ElementKind.AGE, FieldAction.AGE)

    def _with(self, kind: ElementKind, action: FieldAction) -> Profile:
        changed = {
            name: action if old == FieldAction.KEEP and elements()[name].kind == kind else old
            for name, old in self.actions.items()
        }
        return replace(self, actions=changed)

    def removes(self, element: str) -> bool:
        """Return whether the value of an element does not leave as it is."""
        return self.actions[element] != FieldAction.KEEP

    def asks_for(self, action: FieldAction) -> bool:
        return action in self.actions.values() or action == self.other_dates


def builtin_names() -> tuple[str, ...]:
    return tuple(_read_builtin())


def builtin_profile(name: str) -> Profile:
    """Return a built-in profile.

    Raises:
        ConfigurationError: No profile has this name.
    """
    settings = _read_builtin().get(name)
    if settings is None:
        known = ", ".join(builtin_names())
        raise ConfigurationError(
            _("unknown profile {name!r}. Choose one of {known}, or give a TOML file", name=name, known=known)
        )
    return _make_profile(name, settings)


def read_profile(path: Path) -> Profile:
    """Read a user's profile.

    Raises:
        ConfigurationError: The file cannot be read, or asks for what E2B does not allow.
    """
    return profile_from(path.stem, read_toml(path))


def profile_from(name: str, table: Mapping[str, Any]) -> Profile:
    """Make a profile of the values of a TOML file, see `ProfileSettings`.

    Raises:
        ConfigurationError: An unknown key, element or setting, two actions for one element, or an action
            that E2B does not allow for it.
    """
    try:
        return _make_profile(name, make_settings(table, ProfileSettings))
    except ConfigurationError as error:
        raise ConfigurationError(_("profile {name}: {error}", name=name, error=error)) from error


@lru_cache(maxsize=1)
def _read_builtin() -> Mapping[str, ProfileSettings]:
    with_tables = read_toml(Path(str(files("inverse_deid.formats.icsr.standard").joinpath("profiles.toml"))))
    return make_settings(with_tables, dict[str, ProfileSettings])


def _make_profile(name: str, settings: ProfileSettings) -> Profile:
    if settings.base is not None and settings.otherwise is not None:
        raise ConfigurationError(_("base and otherwise exclude each other. Give one of them"))
    listed = settings.list_actions()
    if settings.base is not None:
        base = builtin_profile(settings.base)
    else:
        removes = settings.otherwise != "keep"
        base = Profile(
            name=name,
            actions={
                element.id: _remove(element) if removes else _keep(element) for element in elements().values()
            },
            attachments=FieldAction.DROP,
            display_names=FieldAction.DROP if removes else FieldAction.KEEP,
            other_dates=FieldAction.DATE if removes else FieldAction.KEEP,
            unknown="drop" if removes else "refuse",
        )
    return Profile(
        name=name,
        actions={**base.actions, **listed},
        attachments=FieldAction(settings.attachments or base.attachments),
        display_names=FieldAction(settings.display_names or base.display_names),
        other_dates=FieldAction(settings.other_dates or base.other_dates),
        unknown=settings.unknown or base.unknown,
    )


def _keep(element: Element) -> FieldAction:
    return {ElementKind.FREE_TEXT: FieldAction.TEXT, ElementKind.ATTACHMENT: FieldAction.DROP}.get(
        element.kind, FieldAction.KEEP
    )


def _remove(element: Element) -> FieldAction:
    if element.kind in (ElementKind.FREE_TEXT, ElementKind.ATTACHMENT, ElementKind.PRODUCT):
        return _keep(element)
    if element.kind == ElementKind.AGE:
        return FieldAction.AGE
    if element.msk:
        return FieldAction.MASK
    if not element.required:
        return FieldAction.DROP
    return FieldAction.DATE if element.kind == ElementKind.DATE else FieldAction.PSEUDONYM


def _find_elements(entry: str, action: FieldAction) -> Iterator[Element]:
    is_start = entry.endswith("*")
    found = [e for e in elements().values() if (e.id.startswith(entry[:-1]) if is_start else e.id == entry)]
    if not found:
        raise ConfigurationError(
            _(
                "{entry!r} under {action} is not a known E2B element. See the list in docs/icsr.md",
                entry=entry,
                action=action,
            )
        )
    for element in found:
        problem = _find_problem(element, action)
        if problem and not is_start:
            raise ConfigurationError(
                _("{id} cannot be under {action}: {problem}", id=element.id, action=action, problem=problem)
            )
        if not problem:
            yield element


def _find_problem(element: Element, action: FieldAction) -> str:
    # "" = it is possible.
    if element.kind == ElementKind.FREE_TEXT:
        return "it is free text, which is always masked"
    if element.kind == ElementKind.ATTACHMENT:
        return "it is an embedded file. Use the key attachments"
    if action not in _ACTIONS_OF_KIND[element.kind]:
        return f"the action is not made for elements of the kind {element.kind}"
    if action == FieldAction.MASK and not element.msk:
        return "E2B does not allow MSK there. Use drop, blank or pseudonym"
    if action in (FieldAction.BLANK, FieldAction.DROP) and element.required:
        return "a message without it is not valid. Use mask, pseudonym or date"
    return ""
