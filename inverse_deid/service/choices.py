"""What a request may choose: read, checked, and held against what the operator permits.

Without a permit a request can only mask more than the operator's settings, never less. Errors name the
setting, never a value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from inverse_deid.choices.categories import ALL_CATEGORIES, parse_categories, permits_years
from inverse_deid.choices.records import Choice, Kind, Surface, Table, list_choices
from inverse_deid.choices.table import CHOICES, PERMITS
from inverse_deid.core.errors import ConfigurationError, FormatError, InverseDeidError, add_remedies
from inverse_deid.core.wording import _
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.masking.choices import Chosen, choose_settings

MAX_WORDS = 1_000
MAX_WORD_CHARS = 200
MAX_LIST_CHARS = 20_000
"""Limits on a list of words: how many, how long each and together."""


def parse_permits(text: str) -> frozenset[str]:
    """Return the permits of a list such as `categories,dates`; `all` and `none` are such lists.

    Raises:
        ConfigurationError: A name is unknown.

    Example:
        >>> sorted(parse_permits("dates, ages"))
        ['ages', 'dates']
    """
    names = [name.strip().lower() for name in text.split(",")]
    if names in (["all"], ["none"]):
        return frozenset(PERMITS) if names == ["all"] else frozenset()
    unknown = [name for name in names if name not in PERMITS]
    if unknown:
        raise ConfigurationError(
            _(
                "{unknown!r} is unknown. Give all, none, or some of {permits}",
                unknown=unknown[0],
                permits=", ".join(PERMITS),
            ),
            choice="permit",
        )
    return frozenset(names)


@dataclass(frozen=True, slots=True)
class Operator:
    """What the operator set, and what requests may change."""

    masking: MaskingSettings = field(default_factory=MaskingSettings)
    permits: frozenset[str] = frozenset()

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
            >>> permits = frozenset({"dates"})
            >>> Operator(permits=permits).choose({"dates": "year"}, date(2020, 1, 1)).cases.dates
            <DateMode.YEAR: 'year'>
        """
        if given is None:
            return _choose_nothing(self.masking, today)
        problem = next(_problems(given, CHOICES), "")
        if problem or not isinstance(given, Mapping):
            raise FormatError(_("settings: {problem}", problem=problem))
        choices = {name: value for name, value in given.items() if value is not None}
        if "today" in choices:
            choices["today"] = date.fromisoformat(choices["today"])
        for name in ("allow", "deny"):
            # Words of a request are added to those of the operator.
            choices[name] = getattr(self.masking, name) | frozenset(choices.get(name, ()))
        try:
            chosen = choose_settings(self.masking, choices, today, surface=Surface.REQUEST)
        except ConfigurationError as error:
            problem = describe_problem(error)
        problem = problem or self._find_refused(chosen, today)
        if problem:
            raise FormatError(_("settings: {problem}", problem=problem))
        return chosen

    def value_of(self, name: str) -> Any:  # noqa: ANN401
        """Return the operator's own value of a choice."""
        return _choose_nothing(self.masking, date.min).value_of(name)

    def may_choose(self, choice: Choice, value: str) -> bool:
        """Tell whether a request may choose a value: one that masks less than the own one needs a permit."""
        if choice.permit is None or choice.permit.name in self.permits:
            return True
        return not _is_less(choice, value, self.value_of(choice.name))

    def _find_refused(self, chosen: Chosen, today: date) -> str:
        """Say which choice would mask less than the operator permits, "" = none."""
        own = _choose_nothing(self.masking, today)
        for choice in list_choices(CHOICES, Surface.REQUEST):
            permit = choice.permit
            if permit is None or permit.name in self.permits:
                continue
            if _is_less(choice, chosen.value_of(choice.name), own.value_of(choice.name)):
                problem = _(permit.refusal).format(own=own.value_of(choice.name))
                return _("{problem}. The operator does not permit it", problem=problem)
        return ""


def describe_problem(error: InverseDeidError, more_fields: Collection[str] = ()) -> str:
    """Return what is wrong and which fields mend it: the settings, and others of the request."""
    known = {one.name for one in list_choices(CHOICES, Surface.REQUEST)} | set(more_fields)

    def name_field(choice: str, value: str) -> str | None:
        return f"{choice} {value}".rstrip() if choice in known else None

    return add_remedies(str(error), error.remedies, name_field)


def _is_less(choice: Choice, value: Any, own: Any) -> bool:  # noqa: ANN401
    """Tell whether a value of a choice masks less than another one."""
    if choice.kind == "values":
        names = [one.name for one in choice.values]
        return names.index(value) > names.index(own)
    if choice.kind == "categories":
        return not value >= own or (permits_years(value) and not permits_years(own))
    return not value <= own  # words to keep


@lru_cache(maxsize=4)
def _choose_nothing(masking: MaskingSettings, today: date) -> Chosen:
    return choose_settings(masking, {}, today)


def _problems(given: object, table: Table) -> Iterator[str]:
    """Yield what is wrong with the settings of a request, before permits are looked at."""
    if not isinstance(given, Mapping):
        yield _("must be an object")
        return
    known = {one.name: one for one in list_choices(table, Surface.REQUEST)}
    if not given.keys() <= known.keys():
        yield _("unknown setting; the settings are {known}", known=", ".join(sorted(known)))
    for name, choice in known.items():
        value = given.get(name)
        problem = "" if value is None else _find_problem(choice, value)
        if problem:
            yield f"{name} {problem}"


def _find_problem(choice: Choice, value: object) -> str:
    """Say why a value cannot be used, "" = it can."""
    if any(one.name == value and one.needs_key for one in choice.values):
        return _("{value} needs a key, which a request cannot give. Use inverse-deid mask", value=value)
    try:
        msgspec.convert(value, value_type(choice))
        is_right = _CHECKS.get(choice.kind, lambda _value: True)(value)
    except (ValueError, ConfigurationError):
        is_right = False
    return "" if is_right else _("must be {expected}", expected=_describe_expected(choice))


def _check_categories(value: Any) -> bool:  # noqa: ANN401
    return bool(parse_categories(value if isinstance(value, str) else ",".join(value)))


def _check_words(value: Any) -> bool:  # noqa: ANN401
    return sum(map(len, value)) <= MAX_LIST_CHARS


_CHECKS: Mapping[Kind, Callable[[Any], bool]] = {
    "text": str.isprintable,
    "categories": _check_categories,
    "day": lambda value: bool(date.fromisoformat(value)),
    "words": _check_words,
    "single words": _check_words,
}
"""What the type of a kind does not say."""


def value_type(choice: Choice) -> Any:  # noqa: ANN401 - a type as msgspec reads it
    """Return the type of a value in a request."""
    least, most = choice.limits or (None, None)
    if choice.kind == "values":
        return Literal[choice.names_on(Surface.REQUEST)]
    words = Annotated[list[Annotated[str, Meta(max_length=MAX_WORD_CHARS)]], Meta(max_length=MAX_WORDS)]
    types: dict[str, Any] = {
        "text": Annotated[str, Meta(min_length=least, max_length=most)],
        "count": Annotated[int, Meta(ge=least, le=most)],
        "number": Annotated[float, Meta(ge=least, le=most)],
        "day": Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")],
        "categories": str | Annotated[list[str], Meta(min_length=1)],
        "words": words,
        "single words": words,
    }
    return types.get(choice.kind, bool)


def _describe_expected(choice: Choice) -> str:
    """Return in words what a value must be."""
    least, most = choice.limits or (None, None)
    words = _(
        "a list of at most {max_words:,} strings of at most {max_word_chars} characters, together "
        "{max_list_chars:,}",
        max_words=MAX_WORDS,
        max_word_chars=MAX_WORD_CHARS,
        max_list_chars=MAX_LIST_CHARS,
    )
    known = {
        "values": _("one of {on}", on=", ".join(choice.names_on(Surface.REQUEST))),
        "text": _("{least} to {most} printable characters", least=least, most=most),
        "count": _("a whole number from {least} to {most}", least=least, most=most),
        "number": _("a number from {least} to {most}", least=least, most=most),
        "day": _("a date such as 2020-01-31"),
        "categories": _(
            "all, hipaa, i2b2, everything, or a list with at least one of {all_categories}",
            all_categories=", ".join(sorted(ALL_CATEGORIES)),
        ),
        "words": words,
        "single words": words,
    }
    return known.get(choice.kind, "true or false")


def settings_type(table: Table = CHOICES) -> type[msgspec.Struct]:
    """Return the type of the settings of a request, with a description of each."""

    def describe(choice: Choice) -> str:
        permit = (
            _(" Needs the permit {permit} to mask less.", permit=choice.permit.name) if choice.permit else ""
        )
        usual = _(" Otherwise {usual}.", usual=_(choice.usual)) if choice.usual and not choice.permit else ""
        return f"{choice.help_on(Surface.REQUEST)}{usual}{permit}"

    fields = [
        (one.name, Annotated[value_type(one) | None, Meta(description=describe(one))], None)
        for one in list_choices(table, Surface.REQUEST)
    ]
    return msgspec.defstruct("Settings", fields, forbid_unknown_fields=True)
