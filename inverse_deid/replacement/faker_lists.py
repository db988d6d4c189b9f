"""Lists of names, places and jobs out of Faker's locale providers (MIT licence)."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from pkgutil import iter_modules
from typing import Any

from inverse_deid.core.extras import missing_extra


def faker_words(kind: str, locales: Iterable[str], attributes: Iterable[str]) -> tuple[str, ...]:
    """The entries of some lists of some providers, sorted and each once (some providers order by hash).

    Args:
        kind: Of provider, for example `person`.
        locales: For example `de_DE`; "" = the provider of all. None need have all the lists.
        attributes: Names of the lists.

    Raises:
        ConfigurationError: Faker is not installed.

    Example:
        >>> "Anna" in faker_words("person", ["de_DE", "pl_PL"], ["first_names_female"])
        True
    """
    names = list(attributes)
    providers = [_provider(kind, locale) for locale in locales]
    lists = (getattr(provider, name, None) for provider in providers for name in names)
    entries = (entry for found in lists if isinstance(found, Mapping | Sequence) for entry in found)
    return tuple(sorted({str(entry[0] if isinstance(entry, tuple) else entry) for entry in entries}))


def person_locales() -> list[str]:
    """All locales that have names of persons, sorted.

    Raises:
        ConfigurationError: Faker is not installed.
    """
    package = _module("faker.providers.person")
    return sorted(module.name for module in iter_modules(package.__path__) if module.ispkg)


def faker_version() -> str:
    """The version of Faker; the lists change with it.

    Raises:
        ConfigurationError: Faker is not installed.
    """
    return str(_module("faker").VERSION)


def _provider(kind: str, locale: str) -> object:
    name = f"faker.providers.{kind}" + (f".{locale}" if locale else "")
    return _module(name).Provider


def _module(name: str) -> Any:  # noqa: ANN401 - Faker's modules have no types
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        missing = True
    if missing:
        raise missing_extra("making up names", "Faker", "surrogates")
    return None
