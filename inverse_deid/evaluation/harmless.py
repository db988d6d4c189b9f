"""Tokens inside an identifier that identify nobody: an editable list, for the corrected recall."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.phi import HYPER_CLASS_OF, PhiType
from inverse_deid.text.folding import folded
from inverse_deid.text.tokenizer import tokenize

_TABLE = "harmless"
_ALL = "ALL"


@dataclass(frozen=True, slots=True)
class HarmlessTokens:
    """Which tokens are harmless inside an identifier of which type.

    Args:
        words: Folded words of each type; a type that is absent has none.

    Example:
        >>> HarmlessTokens({PhiType.AGE: frozenset({"years"})}).holds(PhiType.AGE, "Years")
        True
    """

    words: Mapping[PhiType, frozenset[str]]

    def holds(self, phi_type: PhiType, word: str) -> bool:
        """Whether a missed token of this type gives nothing away; case and accents do not matter."""
        return folded(word) in self.words.get(phi_type, ())


def read_harmless(path: Path | None = None) -> HarmlessTokens:
    """Read a list, by default the packaged one.

    Raises:
        UnreadableInputError: The file cannot be read.
        ConfigurationError: It is not TOML, names an unknown category, or an entry is
            not one token.

    Example:
        >>> read_harmless().holds(PhiType.PATIENT, "s")
        False
    """
    name = "the packaged list" if path is None else str(path)
    source = importlib.resources.files("inverse_deid") / "data" / "harmless.toml" if path is None else path
    values: Mapping[str, object] | None = None
    reason = ""
    try:
        values = tomllib.loads(source.read_bytes().decode("utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except ValueError:
        pass
    if reason:
        raise UnreadableInputError(f"{name}: cannot be read ({reason}); check the spelling")
    table = None if values is None else values.get(_TABLE)
    if not isinstance(table, dict) or set(values or ()) != {_TABLE}:
        raise ConfigurationError(f'{name}: is not TOML with one table [{_TABLE}] of lines TYPE = ["token"]')
    return HarmlessTokens(_by_type(table, name))


def _by_type(table: Mapping[str, object], name: str) -> Mapping[PhiType, frozenset[str]]:
    """The folded words of each type, from lists for types, hyper-classes and all."""
    words: dict[PhiType, frozenset[str]] = {}
    for category, listed in table.items():
        types = _types_of(category)
        if not types:
            raise ConfigurationError(
                f"{name}: unknown category {category!r}; give a PHI type (CITY), a group (NAME) or {_ALL}"
            )
        entries = frozenset(_entries(listed, f"{name}: {category}"))
        for fine in types:
            words[fine] = words.get(fine, frozenset()) | entries
    return MappingProxyType(words)


def _entries(listed: object, where: str) -> Iterator[str]:
    """The folded tokens of one list."""
    for position, entry in enumerate(listed if isinstance(listed, list) else [None], start=1):
        if not isinstance(entry, str) or tokenize(entry).words != [entry]:
            raise ConfigurationError(f"{where}, entry {position}: is not one token of letters and digits")
        yield folded(entry)


def _types_of(category: str) -> list[PhiType]:
    """The types that a key stands for, none if it is unknown."""
    return [fine for fine in PhiType if category in (_ALL, fine.value, HYPER_CLASS_OF[fine].value)]
