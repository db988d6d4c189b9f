"""The texts that users read, in the language of the context.

`_("...")` returns a text in the language of the context, `ngettext` one of two by a number. `N_("...")`
only marks a text that is defined at import, such as a label in a table: where it is shown, `_` translates it.
Fields have names and are filled after the translation: `_("{path} is empty", path=path)`.

Texts are English where no other language was chosen, or its catalogue lacks them. Catalogues are
`data/locale/LANGUAGE/LC_MESSAGES/inverse_deid.mo`, or in the folder of `LOCALE_VARIABLE`.
`scripts/extract_messages.py` writes the list of texts.
"""

from __future__ import annotations

import gettext
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

LOCALE = Path(__file__).parent.parent / "data" / "locale"
LOCALE_VARIABLE = "INVERSE_DEID_LOCALE"
"""The environment variable with another folder of catalogues, to try one."""
ENGLISH = "en"

_DOMAIN = "inverse_deid"
_MAX_HEADER_CHARS = 200
_ENVIRONMENT = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


class Catalogue(gettext.GNUTranslations):
    """The texts of a language."""

    language = ENGLISH

    def gettext(self, message: str) -> str:
        """Return the translation of a text, also if it is the first form of one with a plural.

        Early versions of Python 3.11 do not find that.
        """
        found = super().gettext(message)
        return self.ngettext(message, message, 1) if found == message else found


_current: ContextVar[Catalogue | None] = ContextVar("catalogue", default=None)


def _(message: str, /, **fields: object) -> str:
    """Return a text in the language of the context, with its fields filled.

    Example:
        >>> _("{path} has {n:,} words", path="a.txt", n=2000)
        'a.txt has 2,000 words'
    """
    catalogue = _current.get()
    if catalogue is None or not message:
        return message.format(**fields) if fields else message
    return _fill(catalogue.gettext(message), message, fields)


def ngettext(one: str, many: str, n: int, /, **fields: object) -> str:
    """Return one of two texts by a number, in the language of the context, which may have more forms.

    Example:
        >>> ngettext("{n} case", "{n:,} cases", 2000, n=2000)
        '2,000 cases'
    """
    catalogue = _current.get()
    english = one if n == 1 else many
    return _fill(english if catalogue is None else catalogue.ngettext(one, many, n), english, fields)


def _fill(text: str, english: str, fields: Mapping[str, object]) -> str:
    """Fill the fields of a text, or of the English one if the translation has others."""
    if not fields:
        return text
    try:
        return text.format(**fields)
    except (LookupError, ValueError, TypeError, AttributeError):
        return english.format(**fields)


def N_(message: str) -> str:  # noqa: N802 - the name that gettext's tools look for
    """Mark a text that `_` translates where it is shown."""
    return message


def current_language() -> str:
    """Return the language of the context, as a tag such as `de` or `pt-BR`.

    Example:
        >>> current_language()
        'en'
    """
    catalogue = _current.get()
    return ENGLISH if catalogue is None else catalogue.language


def is_translated() -> bool:
    """Tell whether the context has a catalogue."""
    return _current.get() is not None


@contextmanager
def speaking(wanted: Iterable[str]) -> Iterator[None]:
    """Show texts in the first language with a catalogue, in this context alone; otherwise in English.

    Args:
        wanted: Languages such as `de-AT` or `de_AT.UTF-8`, the preferred ones first.
    """
    token = _current.set(find_catalogue(wanted))
    try:
        yield
    finally:
        _current.reset(token)


def speak_always(language: str) -> None:
    """Show texts in a language from now on, in this context: for a process that works for another one."""
    _current.set(find_catalogue([language]))


def find_catalogue(wanted: Iterable[str]) -> Catalogue | None:
    """Return the catalogue of the first language that has one, None = English."""
    folder = Path(os.environ.get(LOCALE_VARIABLE) or LOCALE)
    known = _list_languages(folder)
    for given in wanted:
        language = given.partition(".")[0].partition("@")[0].replace("-", "_").lower()
        for one in (language, language.partition("_")[0]):
            if one in ("en", "c", "posix"):
                return None
            if one in known:
                return _load(folder, known[one])
    return None


def languages_of(environment: Mapping[str, str]) -> list[str]:
    """Return the languages that variables of the environment ask for, as gettext reads them.

    Example:
        >>> languages_of({"LANGUAGE": "de:fr", "LANG": "en_GB.UTF-8"})
        ['de', 'fr']
        >>> languages_of({"LANG": "sv_SE.UTF-8"})
        ['sv_SE.UTF-8']
    """
    given = next((environment[name] for name in _ENVIRONMENT if environment.get(name)), "")
    return [one for one in given.split(":") if one]


def languages_accepted(header: str) -> list[str]:
    """Return the languages of a header `Accept-Language`, the preferred ones first.

    Example:
        >>> languages_accepted("en;q=0.5, de-AT, fr;q=0.8, *;q=0.1")
        ['de-AT', 'fr', 'en', '*']
    """
    weighed: list[tuple[float, str]] = []
    for one in header[:_MAX_HEADER_CHARS].split(","):
        language, _sign, weight = one.strip().partition(";q=")
        number = float(weight) if weight.replace(".", "", 1).isdecimal() and weight.isascii() else 1.0
        if language and number:
            weighed.append((number, language))
    return [language for _number, language in sorted(weighed, key=lambda one: -one[0])]


@cache
def _list_languages(folder: Path) -> dict[str, str]:
    """Return the names of the languages that have a catalogue, by their names in lower case."""
    found = folder.glob(f"*/LC_MESSAGES/{_DOMAIN}.mo")
    return {one.parts[-3].lower(): one.parts[-3] for one in found}


@cache
def _load(folder: Path, name: str) -> Catalogue:
    with (folder / name / "LC_MESSAGES" / f"{_DOMAIN}.mo").open("rb") as file:
        found = Catalogue(file)
    found.language = name.replace("_", "-")
    return found
