"""Options of `inverse-deid mask` for what stands in the place of words, and for case safety reports."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.formats.registry import input_errors

if TYPE_CHECKING:
    from inverse_deid.formats.icsr.profiles import Profile
    from inverse_deid.replacement.settings import CaseSettings
    from inverse_deid.replacement.surrogates import SurrogatesFor

KEY_VARIABLE = "INVERSE_DEID_KEY"
_MAX_KEY_BYTES = 4096

_FILE = click.Path(dir_okay=False, path_type=Path)

_OPTIONS = (
    click.option(
        "--replace",
        type=click.Choice(["marker", "category", "surrogate"]),
        help="What stands for masked words: the marker, the suspected category ([NAME], [DATE] ...), or "
        "made-up names and numbers that agree within a case (needs --key; docs/surrogates.md).  "
        "[default: marker]",
    ),
    click.option(
        "--map",
        "maps",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        help="Write NAME.map for inverse-deid reveal: the originals, encrypted with --key. Confidential.",
    ),
    click.option(
        "--profile",
        metavar="NAME|FILE.toml",
        help="Case reports: what happens to structured fields. eudravigilance, fda, third-party, public, "
        "or a file of your own (docs/icsr.md). third-party takes all persons out and keeps a message that "
        "other systems can load.  [default: third-party]",
    ),
    click.option(
        "--dates",
        type=click.Choice(["mask", "year", "relative-day", "shift"]),
        help="Dates: masked, the year alone, Day N from the first dose, or moved by a secret number of days "
        "a case.  [default: mask]",
    ),
    click.option(
        "--date-span-years",
        type=click.IntRange(1, 17),
        help="relative-day and shift: dates further than this from the other dates of a case are masked, "
        "since one may be a birth.  [default: 10]",
    ),
    click.option(
        "--day-first/--month-first", default=None, help="What 3/4/2020 means.  [default: as a case shows]"
    ),
    click.option(
        "--ages", type=click.Choice(["mask", "band", "keep-under-90"]), help="Ages.  [default: mask]"
    ),
    click.option("--age-bands", metavar="SCHEME", help="With --ages band: 5-years, 10-years or e2b."),
    click.option(
        "--key",
        type=_FILE,
        help="File with 16 secret bytes or more, for shifts, surrogates, maps and pseudonyms of ids; or set "
        f"{KEY_VARIABLE}.",
    ),
    click.option(
        "--today",
        type=click.DateTime(["%Y-%m-%d"]),
        help="No date lies after this day.  [default: what a case report says, else the day of the run]",
    ),
    click.option(
        "--known",
        type=_FILE,
        help="CSV or JSON Lines with the id of a document and identifiers that it must not show "
        "(docs/icsr.md). Confidential.",
    ),
    click.option(
        "--run-report", type=_FILE, help="Write what was done to which element (JSON, no values, mode 600)."
    ),
)


def case_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOptions:
    """What was given on the command line."""

    replace: str | None = None
    maps: Path | None = None
    profile: str | None = None
    dates: str | None = None
    date_span_years: int | None = None
    day_first: bool | None = None
    ages: str | None = None
    age_bands: str | None = None
    key: Path | None = None
    today: datetime | None = None
    known: Path | None = None
    run_report: Path | None = None

    @property
    def makes_surrogates(self) -> bool:
        """Whether made-up values stand for masked words."""
        return self.replace == "surrogate"

    @property
    def profile_file(self) -> Path | None:
        """The file of a profile of the user's own, None = one of ours."""
        name = self.profile or ""
        is_file = name.endswith(".toml") or "/" in name or "\\" in name
        return Path(name) if is_file else None

    def check(self) -> None:
        """Refuse what lacks a key or a package, before anything is planned.

        Raises:
            ConfigurationError: It does.
        """
        from inverse_deid.replacement.faker_names import load_surrogate_names
        from inverse_deid.replacement.reversal import check_cryptography

        has_key = self.key is not None or KEY_VARIABLE in os.environ
        for option, is_given in (
            ("--replace surrogate", self.makes_surrogates),
            ("--map", self.maps is not None),
        ):
            if is_given and not has_key:
                raise ConfigurationError(f"{option} needs a key: give --key FILE or set {KEY_VARIABLE}")
        if self.makes_surrogates:
            load_surrogate_names()
        if self.maps is not None:
            check_cryptography()

    def secret(self) -> bytes | None:
        """The key, None = none was given.

        Raises:
            UnreadableInputError: The file cannot be read.
            ConfigurationError: File and environment variable are both given, or the key is too long.
        """
        from_environment = os.environ.get(KEY_VARIABLE)
        if self.key is None:
            return None if from_environment is None else _without_line_break(os.fsencode(from_environment))
        if from_environment is not None:
            raise ConfigurationError(f"--key and {KEY_VARIABLE} are both given; leave one of them out")
        try:
            with input_errors(), self.key.open("rb") as stream:
                key = _without_line_break(stream.read(_MAX_KEY_BYTES + 3))
        except UnreadableInputError as error:
            raise UnreadableInputError(f"{self.key} {error}") from None
        if len(key) > _MAX_KEY_BYTES:
            raise ConfigurationError(f"{self.key} is no key: it is longer than {_MAX_KEY_BYTES} bytes")
        return key

    def settings(self, secret: bytes | None) -> CaseSettings:
        """What stands in the place of dates, ages and ids.

        Raises:
            ConfigurationError: Options that contradict each other.
        """
        from inverse_deid.replacement.case_dates import DEFAULT_SPAN_YEARS
        from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode

        return CaseSettings(
            today=date.today() if self.today is None else self.today.date(),  # noqa: DTZ011, RUF100 - a person's day
            dates=DateMode(self.dates or DateMode.MASK),
            ages=AgeMode(self.ages or AgeMode.MASK),
            age_bands=self.age_bands,
            day_first=self.day_first,
            key=secret,
            date_span_years=self.date_span_years or DEFAULT_SPAN_YEARS,
        )

    def surrogates(self, secret: bytes | None, lexicon: Path | None) -> SurrogatesFor | None:
        """What gives every case its surrogates, None = markers.

        Args:
            secret: The key.
            lexicon: Tells drugs and medical terms; None = the packaged one.

        Raises:
            LexiconError: The lexicon cannot be used.
        """
        if not self.makes_surrogates:
            return None
        from inverse_deid.lexicon import load_lexicon
        from inverse_deid.replacement.surrogates import KeyedSurrogates
        from inverse_deid.rules.medical_words import MedicalWords

        return KeyedSurrogates(secret or b"", MedicalWords(load_lexicon(lexicon)).among)

    def report_profile(self) -> Profile:
        """What happens to the structured fields of case reports; their dates and ages agree with the texts.

        Raises:
            ConfigurationError: No such profile, or its file cannot be used.
        """
        from inverse_deid.engine.run_settings import DEFAULT_PROFILE
        from inverse_deid.formats.icsr.profiles import builtin_profile, read_profile

        file = self.profile_file
        profile = builtin_profile(self.profile or DEFAULT_PROFILE) if file is None else read_profile(file)
        profile = profile if self.dates in (None, "mask") else profile.with_dates()
        return profile if self.ages in (None, "mask") else profile.with_ages()


def _without_line_break(key: bytes) -> bytes:
    """The key without one line break at its end; all else may be part of a raw key."""
    return key.removesuffix(b"\n").removesuffix(b"\r") if key.endswith(b"\n") else key
