"""The table of choices: everything that a user can choose about masking, once.

A new choice is an entry here, a line in `MaskChoices`, a field of `MaskingSettings` or `CaseSettings`, and
the code that obeys it. Every surface derives the rest: options, keyword arguments, the schema of requests,
questions of pages, the fingerprint of a run and its description in reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Literal, TypedDict

from inverse_deid.choices.records import (
    Choice,
    Contradiction,
    Excludes,
    Needs,
    Permit,
    Surface,
    Table,
    Value,
)
from inverse_deid.core.wording import N_

Device = Literal["auto", "cpu", "cuda"]
"""Where the network runs; auto = on a GPU if it can, otherwise on the CPU."""
Policy = Literal["case-aware", "literal"]
"""How the rules judge words that may be names."""
ReadingMode = Literal["careful", "fast"]
"""Whether a second reader reads again what the network is unsure of."""

MAX_SPAN_YEARS = 17
MAX_MARKER_CHARS = 40

_MASKED, _REPLACED, _SPEED, _MODELS = (
    N_("What is masked"),
    N_("What replaces it"),
    "Speed",
    N_("Thresholds and models"),
)
_MASK, _REVIEW, _SERVE, _PYTHON = Surface.MASK, Surface.REVIEW, Surface.SERVE, Surface.PYTHON
_REQUEST, _TRY, _DESK = Surface.REQUEST, Surface.TRY, Surface.DESK
_OWN = frozenset({_MASK, _REVIEW, _PYTHON})
"""Where users mask for themselves, with files of their own."""
_CALIBRATE = Surface.CALIBRATE
_EVERYWHERE = frozenset(Surface) - {Surface.UTILITY, _CALIBRATE}

_WORDS = (
    Choice(
        name="categories",
        kind="categories",
        group=_MASKED,
        help=N_(
            "What is masked: all, hipaa, i2b2 or everything, or categories: name, place, date, age, "
            "contact, id, profession, origin. Add by commas, take out with a minus: all,-profession. "
            "Words of other categories are kept (docs/masking.md)."
        ),
        surfaces=_EVERYWHERE,
        default="all",
        usual=N_("all, which is without origin"),
        metavar="LIST",
        question=N_("What should be hidden?"),
        values=(
            Value(
                "all",
                N_("All personal details"),
                N_("Names, places, dates, ages, professions, contacts, id numbers."),
            ),
            Value(
                "everything",
                N_("These, and origin"),
                N_("And nationality, ethnic group, religion, language."),
            ),
            Value(
                "hipaa",
                N_("Only what US law (HIPAA) lists"),
                N_("Professions and ages up to 89 stay. Ages from 90 are hidden."),
            ),
            Value("i2b2", surfaces=frozenset(Surface) - {_DESK, _TRY}),
        ),
        permit=Permit("categories", N_("categories may only be added")),
    ),
    Choice(
        name="operating_point",
        kind="values",
        group=_MASKED,
        help=N_("How sure to be before a word is kept: strict masks most, lenient least."),
        surfaces=frozenset(Surface) - {_CALIBRATE},
        usual=N_("balanced"),
        question=N_("How strict should the tool be when it is not sure?"),
        values=(
            Value("strict", N_("Strict"), N_("Hides more, also some medical words. Less risk, less text.")),
            Value("balanced", N_("Balanced"), N_("The usual choice.")),
            Value("lenient", N_("Lenient"), N_("Shows more words. Read the result with more care.")),
        ),
        permit=Permit("strictness", N_("the operating point must be {own} or stricter")),
    ),
    Choice(
        name="reading",
        kind="values",
        group=_MASKED,
        help=N_("How words in doubt are read (docs/masking.md)."),
        surfaces=_OWN | {_SERVE, _DESK, _CALIBRATE, Surface.UTILITY},
        usual=N_("careful"),
        question=N_("Should words in doubt be read a second time?"),
        values=(
            Value(
                "careful",
                N_("Read twice"),
                N_("The usual choice. Finds more names that are also words, and hides fewer medical words."),
                N_("A second, larger network reads again what the first one is unsure of."),
            ),
            Value(
                "fast",
                N_("Once is enough"),
                N_("Several times as fast."),
                N_(
                    "The first network decides alone. It misses more names that are also words, and hides "
                    "more medical words."
                ),
            ),
        ),
        are_options=True,
    ),
    Choice(
        name="allow",
        kind="single words",
        group=_MASKED,
        help=N_("File with words to keep, one per line."),
        surfaces=_OWN | {_REQUEST, _TRY},
        value_help=N_("Single words to keep."),
        question=N_("Keep these words"),
        permit=Permit("allow", N_("words to keep cannot be given here")),
    ),
    Choice(
        name="deny",
        kind="words",
        group=_MASKED,
        help=N_("File with words or phrases to mask, one per line."),
        surfaces=_OWN | {_REQUEST, _TRY},
        value_help=N_("Words and phrases to mask as well."),
        question=N_("Mask these words as well"),
    ),
)

_REPLACEMENTS = (
    Choice(
        name="marker",
        kind="text",
        group=_REPLACED,
        help=N_("Text that replaces masked words."),
        surfaces=_OWN | {_REQUEST},
        default="PHI",
        limits=(1, MAX_MARKER_CHARS),
    ),
    Choice(
        name="replace",
        kind="values",
        group=_REPLACED,
        help=N_("What replaces masked words: the marker, or the suspected category ([NAME], [DATE] ...)."),
        surfaces=_EVERYWHERE,
        default="marker",
        question=N_("What should be written in place of hidden words?"),
        values=(
            Value("marker", "PHI", N_("The same sign for all.")),
            Value("category", N_("The kind of word"), N_("[NAME], [PLACE], [DATE] and so on.")),
            Value(
                "surrogate",
                note=N_(
                    "surrogate: made-up names and numbers that agree within a case and need a key "
                    "(docs/surrogates.md)."
                ),
                surfaces=frozenset({_MASK, _PYTHON}),
                needs_key=True,
            ),
        ),
        permit=Permit("replacement", N_("categories are not shown here")),
    ),
    Choice(
        name="dates",
        kind="values",
        group=_REPLACED,
        help=N_("What replaces dates: a mask, the year alone, or Day N from the first dose or date."),
        surfaces=_OWN | {_REQUEST, _TRY, _DESK},
        default="mask",
        question=N_("What should happen to dates?"),
        values=(
            Value("mask", N_("Hide them"), N_("No date is left.")),
            Value("year", N_("Leave the year"), N_("12 March 2021 becomes 2021.")),
            Value(
                "relative-day",
                N_("Count the days"),
                N_("Day 0 is the first date of the case, so intervals stay."),
            ),
            Value(
                "shift",
                N_("Move them"),
                N_("All dates of a case move by the same secret number of days."),
                N_("shift: dates moved by a secret number of days per case."),
                surfaces=_OWN | {_DESK},
                needs_key=True,
            ),
        ),
        permit=Permit("dates", N_("dates are masked here")),
    ),
    Choice(
        name="date_span_years",
        kind="count",
        group=_REPLACED,
        help=N_(
            "Where dates become days or are moved: mask those further than this from the other dates of "
            "a case, because one may be a birth."
        ),
        surfaces=_OWN | {_REQUEST},
        usual="10",
        limits=(1, MAX_SPAN_YEARS),
    ),
    Choice(
        name="day_first",
        kind="order",
        group=_REPLACED,
        help=N_("What 3/4/2020 means."),
        surfaces=_OWN | {_REQUEST},
        value_help=N_("What 3/4/2020 means: true = 3 April."),
        usual=N_("as the case shows"),
        option="day-first/month-first",
    ),
    Choice(
        name="today",
        kind="day",
        group=_REPLACED,
        help=N_("No date is later than this day."),
        surfaces=_OWN | {_REQUEST},
        value_help=N_("No date is later than this day, such as 2020-01-31."),
        usual=N_("as the case report says, or the day of the run"),
    ),
    Choice(
        name="ages",
        kind="values",
        group=_REPLACED,
        help=N_("What replaces ages."),
        surfaces=_OWN | {_REQUEST, _TRY, _DESK},
        default="mask",
        question=N_("What should happen to ages?"),
        values=(
            Value("mask", N_("Hide them"), N_("No age is left.")),
            Value("band", N_("Leave a band"), N_("67 becomes 60-69.")),
            Value("keep-under-90", N_("Leave them"), N_("Ages up to 89 stay. Ages from 90 are hidden.")),
        ),
        permit=Permit("ages", N_("ages are masked here")),
    ),
    Choice(
        name="age_bands",
        kind="values",
        group=_REPLACED,
        help=N_("With ages in bands: the scheme."),
        surfaces=_OWN | {_REQUEST, _TRY, _DESK},
        values=(
            Value("10-years", N_("Leave the decade"), N_("67 becomes 60-69.")),
            Value("5-years", N_("Leave 5 years"), N_("67 becomes 65-69.")),
            Value("e2b", N_("Leave the age group"), N_("43 becomes 18-64, with the groups of ICH E2B.")),
        ),
        detail_of=("ages", "band"),
    ),
    Choice(
        name="key",
        kind="key",
        group=_REPLACED,
        help=N_("File with 16 secret bytes or more, for shifts, surrogates, maps and pseudonyms of ids."),
        value_help=N_(
            "16 secret bytes or more, for shifts and surrogates. A string is encoded as UTF-8, and one "
            "line break at its end does not belong to it."
        ),
        surfaces=frozenset({_MASK, _PYTHON}),
    ),
)

_SPEEDS = (
    Choice(
        name="n_threads",
        kind="count",
        group=_SPEED,
        help=N_("Threads of the network. 0 = one per core, shared among the workers."),
        surfaces=_OWN | {_SERVE},
        default=0,
        defaults={_SERVE: 1},
        limits=(0, None),
        option="threads",
        shapes_output=False,
    ),
    Choice(
        name="device",
        kind="values",
        group=_SPEED,
        help=N_("Where the network runs. auto: on a GPU if there is one that can be used (docs/masking.md)."),
        surfaces=_OWN | {_SERVE, _CALIBRATE},
        default="cpu",
        values=(Value("auto"), Value("cpu"), Value("cuda")),
        shapes_output=False,
    ),
)

_NETWORKS = (
    Choice(
        name="low",
        kind="number",
        group=_MODELS,
        help=N_("Threshold of words that the rules call safe."),
        surfaces=_OWN,
        limits=(0, 1),
    ),
    Choice(
        name="high",
        kind="number",
        group=_MODELS,
        help=N_("Threshold of all other words."),
        surfaces=_OWN,
        limits=(0, 1),
    ),
    Choice(
        name="certificate",
        kind="file",
        group=_MODELS,
        help=N_("File with thresholds that inverse-deid calibrate guaranteed."),
        surfaces=_OWN,
    ),
    Choice(
        name="allow_low_thresholds",
        kind="flag",
        group=_MODELS,
        help=N_("Mask even with thresholds that keep words that are probably identifiers."),
        surfaces=_OWN | {_SERVE},
        default=False,
    ),
    Choice(
        name="policy",
        kind="values",
        group=_MODELS,
        help=N_(
            "How the rules judge words that may be names. `literal` follows the publication. It leaks "
            "more names."
        ),
        surfaces=_OWN,
        default="case-aware",
        values=(Value("case-aware"), Value("literal")),
    ),
    Choice(
        name="rules_only",
        kind="flag",
        group=_MODELS,
        help=N_("Decide by dictionaries and rules, without the network."),
        surfaces=_OWN,
        default=False,
    ),
    Choice(
        name="model",
        kind="folder",
        group=_MODELS,
        help=N_("Folder of another model."),
        surfaces=_OWN | {_SERVE, _CALIBRATE, Surface.UTILITY},
    ),
    Choice(
        name="second_reader",
        kind="folder",
        group=_MODELS,
        help=N_("Folder of another second reader, which was calibrated with the model."),
        surfaces=_OWN | {_CALIBRATE},
    ),
    Choice(
        name="lexicon",
        kind="file",
        group=_MODELS,
        help=N_("File of another lexicon."),
        surfaces=_OWN | {_SERVE, _CALIBRATE},
    ),
)

CHOICES: Table = (*_WORDS, *_REPLACEMENTS, *_SPEEDS, *_NETWORKS)
"""All choices, by heading, basics first."""

COLUMNS = "columns"
"""The permit to copy columns of tables unmasked."""
PERMITS = (*dict.fromkeys(one.permit.name for one in CHOICES if one.permit is not None), COLUMNS)
"""What an operator can let requests do that may mask less."""

CONTRADICTIONS: tuple[Contradiction, ...] = (
    Excludes("second_reader", ("reading",), N_("is asked only where words in doubt are read twice"), "fast"),
    Excludes(
        "rules_only",
        ("model", "reading", "second_reader", "operating_point", "low", "high", "allow_low_thresholds"),
        N_("decides without the network and its thresholds"),
    ),
    Needs("date_span_years", "dates", values=("relative-day", "shift")),
    Needs("day_first", "dates", values=("year", "relative-day", "shift")),
    Needs("today", "dates", values=("year", "relative-day", "shift")),
    Needs("age_bands", "ages", values=("band",)),
    Needs("ages", "age_bands", value="band"),
)
"""What makes a choice idle. Values that need a key say so themselves."""

REPLACED_CATEGORIES = {"dates": "date", "ages": "age"}
"""The category that a choice replaces. It must not be kept: a date beside a moved one tells the shift."""


class MaskChoices(TypedDict, total=False):
    """The keyword arguments of `inverse_deid.mask`; None = the default."""

    categories: str | Iterable[str] | None
    operating_point: Literal["strict", "balanced", "lenient"] | None
    reading: ReadingMode | None
    allow: Iterable[str] | None
    deny: Iterable[str] | None
    marker: str | None
    replace: Literal["marker", "category", "surrogate"] | None
    dates: Literal["mask", "year", "relative-day", "shift"] | None
    date_span_years: int | None
    day_first: bool | None
    today: date | None
    ages: Literal["mask", "band", "keep-under-90"] | None
    age_bands: str | None
    key: bytes | str | None
    n_threads: int | None
    device: Device | None
    low: float | None
    high: float | None
    certificate: str | Path | None
    allow_low_thresholds: bool | None
    policy: Policy | None
    rules_only: bool | None
    model: str | Path | None
    second_reader: str | Path | None
    lexicon: str | Path | None


def _describe_keyword(choice: Choice) -> str:
    """Return a line for the docstring of `MaskChoices`."""
    names = choice.names_on(_PYTHON) if choice.kind == "values" else ()
    usual = choice.usual or ("" if choice.default is None else str(choice.default))
    values = f" One of {', '.join(names)}." if names else ""
    return f"    {choice.name}: {choice.help_on(_PYTHON)}{values}{f' Default: {usual}.' if usual else ''}"


MaskChoices.__doc__ = "\n".join([f"{MaskChoices.__doc__}\n\nArgs:", *map(_describe_keyword, CHOICES)])
