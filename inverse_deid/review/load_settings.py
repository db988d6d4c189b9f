"""How a store's files were read, and how their dates, ages and fields leave: kept as JSON in the store."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import date
from typing import Any

from inverse_deid.formats.icsr.profiles import Action, Profile
from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.case_dates import DEFAULT_SPAN_YEARS
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """What a release needs to know of how a store was made.

    Args:
        cases: What stands in the place of dates, ages and ids.
        profile: What happens to the structured fields of case reports.
        read_options: How files are read.
    """

    cases: CaseSettings
    profile: Profile
    read_options: ReadOptions


def stored_settings(cases: CaseSettings, profile: Profile, options: ReadOptions) -> dict[str, Any]:
    """As JSON, without the key."""
    return {
        "cases": {
            "today": cases.today.isoformat(),
            "dates": cases.dates.value,
            "ages": cases.ages.value,
            "age_bands": cases.age_bands,
            "day_first": cases.day_first,
            "date_span_years": cases.date_span_years,
        },
        "profile": {**dataclasses.asdict(profile), "actions": dict(profile.actions)},
        "read_options": dataclasses.asdict(options),
    }


def output_settings(stored: dict[str, Any], key: bytes) -> OutputSettings:
    """What `stored_settings` wrote, with the key for shifts and pseudonyms."""
    cases, profile = stored["cases"], stored["profile"]
    settings = CaseSettings(
        today=date.fromisoformat(cases["today"]),
        dates=DateMode(cases["dates"]),
        ages=AgeMode(cases["ages"]),
        age_bands=cases["age_bands"],
        day_first=cases["day_first"],
        date_span_years=cases.get("date_span_years", DEFAULT_SPAN_YEARS),
        key=key,
    )
    actions = {element: Action(action) for element, action in profile["actions"].items()}
    chosen = {name: Action(profile[name]) for name in ("attachments", "display_names", "other_dates")}
    return OutputSettings(
        settings,
        Profile(name=profile["name"], actions=actions, **chosen),
        _read_options(stored["read_options"]),
    )


def _read_options(stored: dict[str, Any]) -> ReadOptions:
    """JSON has no tuples; a store of an older version names one text column, and drops all others now."""
    options = dict(stored)
    if "text_column" in options:
        options["text_columns"] = [options.pop("text_column")]
    tuples = {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
    return ReadOptions(**{**options, **tuples})
