"""The lookup key of a word and the tokens of an entry."""

import re
import unicodedata
from typing import Final

_TOKEN: Final = re.compile(r"[^\W_]+")


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
    """Return the keys of the tokens of a list entry.

    The tokens are those of the tokenizer: maximal runs of letters and digits.

    >>> entry_tokens("Crohn's disease")
    ('crohn', 's', 'disease')
    """
    return tuple(_TOKEN.findall(word_key(entry)))


def spellings(entry: str) -> tuple[tuple[str, ...], ...]:
    """Return the token keys of `entry` as written and, if different, unaccented.

    >>> spellings("Malmö")
    (('malmö',), ('malmo',))
    """
    written = entry_tokens(entry)
    plain = entry_tokens(strip_accents(entry))
    return (written,) if plain == written else (written, plain)
