"""Word lists: one folder per list, with its origin in `SOURCE.toml`.

A list is `words.txt` or `words.txt.xz`: UTF-8, one entry per line, sorted, optionally
followed by a tab and a whole number (how often the name was counted).
"""

import lzma
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inverse_deid.core.errors import LexiconError
from inverse_deid.lexicon.flags import PhraseKind, WordFlag

REQUIRED_KEYS: Final = ("name", "title", "origin", "licence", "retrieved", "count")
_INFO_KEYS: Final = (
    "title", "origin", "package", "package_version", "licence", "retrieved", "notice",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WordList:
    """One list and the meaning of its entries.

    Args:
        name: Name of the folder.
        entries: Entry to count; 0 = not counted. Entries may have several tokens.
        flag: Of one-token entries; None = no flag.
        phrase_kind: Of entries of several tokens; None = they are skipped.
        info: Origin, version, licence and so on, as in `SOURCE.toml`.
    """

    name: str
    entries: Mapping[str, int]
    flag: WordFlag | None
    phrase_kind: PhraseKind | None
    info: Mapping[str, Any]

    @property
    def add_unaccented(self) -> bool:
        """Whether the entries count without their accents too (the default)."""
        return bool(self.info.get("add_unaccented", True))

    def describe(self) -> dict[str, Any]:
        """Return the entry of this list in the manifest."""
        return {
            "name": self.name,
            "flag": self.flag.name if self.flag else None,
            "phrase_kind": self.phrase_kind.name if self.phrase_kind else None,
            "count": len(self.entries),
            **{key: str(self.info[key]) for key in _INFO_KEYS if key in self.info},
        }


def read_source(folder: Path) -> dict[str, Any]:
    """Return the content of `SOURCE.toml` in `folder`.

    Raises:
        LexiconError: Missing, not TOML, or without a required key.
    """
    try:
        info = tomllib.loads((folder / "SOURCE.toml").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise LexiconError(f"{folder.name}/SOURCE.toml cannot be read as TOML") from error
    missing = [key for key in REQUIRED_KEYS if key not in info]
    if missing:
        raise LexiconError(f"{folder.name}/SOURCE.toml lacks {', '.join(missing)}")
    return info


def read_entries(folder: Path) -> dict[str, int]:
    """Return entry to count of the list in `folder`.

    Raises:
        LexiconError: There is no list, or it cannot be read.
    """
    plain, packed = folder / "words.txt", folder / "words.txt.xz"
    try:
        data = plain.read_bytes() if plain.exists() else lzma.decompress(packed.read_bytes())
        return dict(_entry(line) for line in data.decode("utf-8").splitlines() if line)
    except (OSError, lzma.LZMAError, ValueError) as error:
        raise LexiconError(f"the list {folder.name} cannot be read") from error


def read_list(folder: Path) -> WordList:
    """Return the list in `folder`.

    Raises:
        LexiconError: The folder is incomplete, or its count is wrong.
    """
    info = read_source(folder)
    entries = read_entries(folder)
    if len(entries) != info["count"]:
        raise LexiconError(
            f"{folder.name}: SOURCE.toml counts {info['count']} entries, the list has {len(entries)}"
        )
    try:
        flag = WordFlag[info["flag"]] if "flag" in info else None
        kind = PhraseKind[info["phrase_kind"]] if "phrase_kind" in info else None
    except KeyError as error:
        raise LexiconError(f"{folder.name}/SOURCE.toml: unknown flag or kind {error}") from error
    return WordList(info["name"], entries, flag, kind, info)


def list_folders(root: Path) -> list[Path]:
    """Return the folders of `root` that have a list, sorted by name.

    Raises:
        LexiconError: There is none.
    """
    folders = sorted(path.parent for path in root.glob("*/SOURCE.toml"))
    if not folders:
        raise LexiconError(f"no list with a SOURCE.toml in {root.name}")
    return folders


def _entry(line: str) -> tuple[str, int]:
    entry, _, count = line.partition("\t")
    return entry, int(count or 0)
