"""What a user chose, as the settings of a masking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from inverse_deid.choices.categories import list_categories, permits_years
from inverse_deid.choices.reading import read_choices, refuse_contradictions
from inverse_deid.choices.records import Surface, find_choice
from inverse_deid.choices.table import CHOICES
from inverse_deid.core.errors import InverseDeidError, add_remedies
from inverse_deid.core.wording import _
from inverse_deid.masking.assemble import MaskingSettings, find_reading, lacks_second_reader
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode

_SURROGATE = "surrogate"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What choices mean."""

    masking: MaskingSettings  # what is masked
    cases: CaseSettings  # what replaces dates and ages
    makes_surrogates: bool  # whether made-up values replace other masked words

    def value_of(self, name: str) -> Any:  # noqa: ANN401
        """Return the value of a choice; that of the default where nothing was chosen."""
        if name == "replace" and self.makes_surrogates:
            return _SURROGATE
        if name == "reading":
            return find_reading(self.masking)
        value = getattr(self.masking if name in _OF_MASKING else self.cases, name)
        choice = find_choice(CHOICES, name)
        return choice.usual if value is None and choice.usual in choice.names_on(Surface.PYTHON) else value

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about choices that nobody made, as sentences without a full stop."""
        if not lacks_second_reader(self.masking):
            return ()
        return (_("no second reader was calibrated with this model, so words in doubt are read once"),)

    def describe(self, hide: Callable[[Iterable[str]], str | None]) -> dict[str, Any]:
        """Return what shapes the output, for reports: no key, no folder, and of words what `hide` returns."""
        described: dict[str, Any] = {}
        for choice in CHOICES:
            value = self.value_of(choice.name)
            if not choice.shapes_output:
                continue
            if choice.kind == "key":
                described[f"{choice.name}_given"] = value is not None
            elif choice.kind in ("words", "single words"):
                described[choice.name] = {"n": len(value), "hmac_sha256": hide(value)}
            elif choice.kind == "categories":
                described[choice.name] = list_categories(value)
            elif isinstance(value, Path):
                described[choice.name] = value.name
            else:
                described[choice.name] = value.isoformat() if isinstance(value, date) else value
        return described


_OF_MASKING = tuple(one.name for one in fields(MaskingSettings) if one.name != "keep_years")
"""The settings of a masking that can be chosen by name. `keep_years` follows from `dates`."""


def choose_settings(
    settings: MaskingSettings | None,
    choices: Mapping[str, Any],
    today: date,
    surface: Surface = Surface.PYTHON,
) -> Chosen:
    """Return the settings that choices, on top of `settings`, stand for.

    Args:
        settings: The base, None = the defaults.
        choices: By name, see `MaskChoices`; None = the default.
        today: The last day that a date can be, unless the choices name one.
        surface: That offers the choices.

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
    read = read_choices(choices, surface=surface)
    is_reset = {one for one, value in choices.items() if value is None}
    own = (
        {}
        if settings is None
        else {one: getattr(settings, one) for one in _OF_MASKING if one not in is_reset}
    )
    refuse_contradictions(own | read)
    values: dict[str, Any] = {
        one.name: one.default for one in (*fields(MaskingSettings), *fields(CaseSettings))
    }
    values |= {one.name: one.defaults[surface] for one in CHOICES if surface in one.defaults}
    values |= own | {"today": today} | read
    makes_surrogates = values["replace"] == _SURROGATE
    of_masking = {one: values[one] for one in _OF_MASKING}
    of_masking["replace"] = "marker" if makes_surrogates else values["replace"]
    of_cases = {one.name: values[one.name] for one in fields(CaseSettings)}
    of_cases |= {"dates": DateMode(values["dates"]), "ages": AgeMode(values["ages"])}
    # A year as written beside a moved date would tell how far it was moved.
    keep_years = values["dates"] == DateMode.MASK and permits_years(values["categories"])
    masking = MaskingSettings(**of_masking, keep_years=keep_years)
    return Chosen(masking, CaseSettings(**of_cases), makes_surrogates)


@contextmanager
def keyword_errors() -> Iterator[None]:
    """Name the keyword arguments that mend an error in its text.

    Example:
        >>> from inverse_deid.core.errors import ConfigurationError, Remedy
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
    if not any(one.name == choice and Surface.PYTHON in one.surfaces for one in CHOICES):
        return None
    return f'{choice}="{value}"' if value else choice
