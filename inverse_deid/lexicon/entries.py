"""The entries of the lexicon: kinds of words and phrases, lookup keys, and the lists that they come from."""

import enum
import lzma
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inverse_deid.core.errors import LexiconError
from inverse_deid.core.wording import _
from inverse_deid.text.tokenizer import TOKEN_PATTERN


class WordFlag(enum.IntFlag):
    """What the lists say about one word; a word may carry several flags."""

    STOP_WORD = 1 << 0
    COMMON_ENGLISH = 1 << 1
    DRUG = 1 << 2
    MEDICAL = 1 << 3
    SHORTHAND = 1 << 4
    UNIT = 1 << 5
    CITY = 1 << 6
    COUNTRY = 1 << 7
    STATE = 1 << 8
    SURNAME = 1 << 9
    FIRST_NAME = 1 << 10
    HOSPITAL = 1 << 11
    WEEKDAY = 1 << 12
    MONTH = 1 << 13
    HOLIDAY = 1 << 14
    STREET = 1 << 15
    TOP_LEVEL_DOMAIN = 1 << 16
    NUMBER_WORD = 1 << 17
    SALUTATION = 1 << 18
    PHRASE_START = 1 << 19
    CLINICAL_NAME = 1 << 20
    EPONYM_HEAD = 1 << 21


SAFE_FLAGS: Final = (
    WordFlag.STOP_WORD | WordFlag.COMMON_ENGLISH | WordFlag.DRUG
    | WordFlag.MEDICAL | WordFlag.SHORTHAND | WordFlag.UNIT
)  # fmt: skip

UNSAFE_FLAGS: Final = (
    WordFlag.CITY | WordFlag.COUNTRY | WordFlag.STATE | WordFlag.SURNAME | WordFlag.FIRST_NAME
    | WordFlag.HOSPITAL | WordFlag.WEEKDAY | WordFlag.MONTH | WordFlag.HOLIDAY | WordFlag.STREET
    | WordFlag.TOP_LEVEL_DOMAIN | WordFlag.NUMBER_WORD
)  # fmt: skip
"""Flags of words that may identify. Flags in neither set say nothing about safety:
`CLINICAL_NAME` (a name that clinical texts use alone: `Doppler`) and `EPONYM_HEAD` (the noun after an
eponym: `retractor`) only leave the decision on a name to the network."""


class PhraseKind(enum.IntEnum):
    """The kind of a phrase of several tokens."""

    CITY = 1
    EPONYM = 2
    HOLIDAY = 3
    COUNTRY = 4
    STATE = 5


MAX_PHRASE_TOKENS: Final = 5
"""Longer phrases are not stored."""


def word_key(word: str) -> str:
    r"""Return the key under which `word` is stored: NFC and case-folded.

    >>> word_key("Cafe\u0301") == word_key("CAFÉ") == "café"
    True
    """
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFC", word).casefold()
    return unicodedata.normalize("NFC", folded)


def strip_accents(word: str) -> str:
    """Return `word` without combining marks, with a few letters spelled out.

    >>> strip_accents("Malmö"), strip_accents("Łódź"), strip_accents("Ærø")
    ('Malmo', 'Lodz', 'AEro')
    """
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    return bare.translate(_PLAIN_LETTERS)


_PLAIN_LETTERS: Final = str.maketrans(
    {
        "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D",
        "\N{LATIN SMALL LETTER DOTLESS I}": "i", "æ": "ae", "Æ": "AE", "œ": "oe",
        "Œ": "OE", "þ": "th", "Þ": "Th", "ħ": "h", "Ħ": "H", "ŋ": "n", "ß": "ss",
    }
)  # fmt: skip


def entry_tokens(entry: str) -> tuple[str, ...]:
    """Return the keys of the tokens (runs of letters and digits) of a list entry.

    >>> entry_tokens("Crohn's disease")
    ('crohn', 's', 'disease')
    """
    return tuple(TOKEN_PATTERN.findall(word_key(entry)))


def spellings(entry: str) -> tuple[tuple[str, ...], ...]:
    """Return the token keys of `entry` as written and, if different, unaccented.

    >>> spellings("Malmö")
    (('malmö',), ('malmo',))
    """
    written = entry_tokens(entry)
    plain = entry_tokens(strip_accents(entry))
    return (written,) if plain == written else (written, plain)


REQUIRED_KEYS: Final = ("name", "title", "origin", "licence", "retrieved", "count")
_INFO_KEYS: Final = (
    "title", "origin", "package", "package_version", "licence", "retrieved", "notice",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WordList:
    """One list, a folder with its origin in `SOURCE.toml`.

    The entries are in `words.txt` or `words.txt.xz`: UTF-8, one per line, sorted, optionally followed
    by a tab and a whole number (how often the name was counted).
    """

    name: str
    entries: Mapping[str, int]  # entry of one or more tokens to count; 0 = not counted
    flag: WordFlag | None  # of one-token entries
    phrase_kind: PhraseKind | None  # of entries of several tokens; None = they are skipped
    info: Mapping[str, Any]  # origin, version, licence and so on, as in `SOURCE.toml`

    @property
    def add_unaccented(self) -> bool:
        """Whether the entries also count without their accents (the default)."""
        return bool(self.info.get("add_unaccented", True))

    def describe(self) -> dict[str, Any]:
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
        LexiconError: The file is missing, is not TOML, or lacks a required key.
    """
    try:
        info = tomllib.loads((folder / "SOURCE.toml").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise LexiconError(_("{folder}/SOURCE.toml cannot be read as TOML", folder=folder.name)) from error
    missing = [key for key in REQUIRED_KEYS if key not in info]
    if missing:
        raise LexiconError(
            _("{folder}/SOURCE.toml lacks {missing}", folder=folder.name, missing=", ".join(missing))
        )
    return info


def read_entries(folder: Path) -> dict[str, int]:
    """Return entry to count of the list in `folder`.

    Raises:
        LexiconError: The list is missing or cannot be read.
    """
    plain, packed = folder / "words.txt", folder / "words.txt.xz"
    try:
        data = plain.read_bytes() if plain.exists() else lzma.decompress(packed.read_bytes())
        lines = (line.partition("\t") for line in data.decode("utf-8").splitlines() if line)
        return {entry: int(count or 0) for entry, _, count in lines}
    except (OSError, lzma.LZMAError, ValueError) as error:
        raise LexiconError(_("the list {folder} cannot be read", folder=folder.name)) from error


def read_list(folder: Path) -> WordList:
    """Return the list in `folder`.

    Raises:
        LexiconError: The folder is incomplete, or its count is wrong.
    """
    info = read_source(folder)
    entries = read_entries(folder)
    if len(entries) != info["count"]:
        raise LexiconError(
            _(
                "{folder}: SOURCE.toml counts {count} entries, the list has {n_entries}",
                folder=folder.name,
                count=info["count"],
                n_entries=len(entries),
            )
        )
    try:
        flag = WordFlag[info["flag"]] if "flag" in info else None
        kind = PhraseKind[info["phrase_kind"]] if "phrase_kind" in info else None
    except KeyError as error:
        raise LexiconError(
            _("{folder}/SOURCE.toml: unknown flag or kind {error}", folder=folder.name, error=error)
        ) from error
    return WordList(info["name"], entries, flag, kind, info)


def list_folders(root: Path) -> list[Path]:
    """Return the folders of `root` that have a list, sorted by name.

    Raises:
        LexiconError: No folder has a list.
    """
    folders = sorted(path.parent for path in root.glob("*/SOURCE.toml"))
    if not folders:
        raise LexiconError(_("no list with a SOURCE.toml in {root}", root=root.name))
    return folders
