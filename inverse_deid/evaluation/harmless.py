"""Tokens inside an identifier that identify nobody: an editable list, for the corrected recall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import msgspec

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.packaged import packaged_path
from inverse_deid.core.phi import HYPER_CLASS_OF, PhiType
from inverse_deid.core.settings import read_settings
from inverse_deid.text.matching import fold
from inverse_deid.text.tokenizer import tokenize

_ALL = "ALL"


@dataclass(frozen=True, slots=True)
class HarmlessTokens:
    """The folded harmless words inside identifiers of each type. A type without words is absent.

    Example:
        >>> HarmlessTokens({PhiType.AGE: frozenset({"years"})}).holds(PhiType.AGE, "Years")
        True
    """

    words: Mapping[PhiType, frozenset[str]]

    def holds(self, phi_type: PhiType, word: str) -> bool:
        """Return whether a missed token of this type reveals nothing. Case and accents do not matter."""
        return fold(word) in self.words.get(phi_type, ())


class _HarmlessFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list as TOML: tokens by PHI type, group or ALL."""

    harmless: dict[str, list[str]]


def read_harmless(path: Path | None = None) -> HarmlessTokens:
    """Read a list, by default the packaged one.

    Raises:
        ConfigurationError: The file cannot be read, names an unknown category, or has an entry
            that is not one token.

    Example:
        >>> read_harmless().holds(PhiType.PATIENT, "s")
        False
    """
    path = packaged_path("harmless.toml") if path is None else path
    words: dict[PhiType, frozenset[str]] = {}
    for category, entries in read_settings(path, _HarmlessFile).harmless.items():
        types = [fine for fine in PhiType if category in (_ALL, fine.value, HYPER_CLASS_OF[fine].value)]
        if not types:
            raise ConfigurationError(
                f"{path}: unknown category {category!r}. Give a PHI type (CITY), a group (NAME) or {_ALL}."
            )
        for position, entry in enumerate(entries, start=1):
            if tokenize(entry).words != [entry]:
                raise ConfigurationError(
                    f"{path}: {category}, entry {position}: not a token. Give one run of letters and digits."
                )
        for fine in types:
            words[fine] = words.get(fine, frozenset()) | frozenset(map(fold, entries))
    return HarmlessTokens(MappingProxyType(words))
