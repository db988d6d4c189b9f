"""Words of origin: nationality, ethnicity, religion and language, which no class of the network covers.

Words come from the packaged list `data/origins.toml`. Around them, patterns find what no list has: what
follows a label (`ethnicity: ...`), `of ... descent`, `speaks ...`, `a practising ...`. A word of origin that
names a disease, an organism, an instrument or an institution (`Japanese encephalitis`) is left to the rest
of the pipeline. The list only masks more.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from inverse_deid.core.packaged import packaged_path
from inverse_deid.core.settings import read_settings
from inverse_deid.core.values import BoolArray, Tokens
from inverse_deid.text.matching import Sequences, fold
from inverse_deid.text.tokenizer import tokenize, tokens_touched

_NAMED = r"(?-i:[A-Z][^\W\d_]+)"
_NAMES = rf"({_NAMED}(?:(?:\s(?:and|or)\s|[\s/,&-]{{1,2}}){_NAMED}){{0,2}})"
_NO_LABEL_VALUE = (
    r"(?!(?:unknown|not|none|unspecified|undisclosed|nil|n/?a|declined|missing|other|no|and|or|was|is|of)\b)"
)
_PATTERNS = (
    rf"\bof\s(?:(?:mixed|part|partly|both)\s)?{_NAMES}\s(?:origin|descent|heritage|ancestry|extraction|ethnicity|"
    r"background|nationality|parentage|roots|faith)\b",
    rf"\b(?:speaks?|speaking|spoke|fluent\sin|understands)\s(?:(?:only|mainly|mostly|fluent|little|no|some|both)\s)?"
    rf"{_NAMES}(?!\s(?:with|to|about)\b)",
    rf"\b{_NAMES}[\s-](?:speaking|speaker|interpreter|translator)\b",
    rf"\b(?:practi[sc]ing|devout|observant|lapsed|strict|converted\sto|converts?\sto|baptised|baptized|raised\sas?\s?a?n?)\s"
    rf"{_NAMES}",
    rf"\b(?:member|adherent|follower)\sof\sthe\s{_NAMES}\s(?:church|faith|community|religion|congregation|tribe)\b",
)
_COUNTED = re.compile(r"\d\W{0,2}$")
_GAP = r"[\s'\u2019-]{1,3}"


class _OriginsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: dict[str, str]
    capitalised: dict[str, str]
    colours: dict[str, str]
    not_before: dict[str, str]
    not_in: dict[str, str]
    labels: dict[str, str]


def _split(entries: str) -> list[str]:
    return [entry.strip() for entry in entries.split(";") if entry.strip()]


def _sequences(entries: list[str], *, plural: bool = False) -> Sequences:
    words = [[fold(word) for word in tokenize(entry).words] for entry in entries]
    more = [[*one[:-1], f"{one[-1]}s"] for one in words] if plural else []
    return Sequences([*words, *more])


class OriginWords:
    """Finds words of origin.

    Raises:
        ConfigurationError: The list cannot be read.

    Example:
        >>> words = load_origins()
        >>> words.among(tokenize("A Sikh of Punjabi origin had German measles.")).tolist()
        [False, True, False, True, False, False, False, False]
    """

    def __init__(self, path: Path) -> None:
        found = read_settings(path, _OriginsFile)
        self._words = _sequences([one for part in found.words.values() for one in _split(part)], plural=True)
        self._capitalised = _sequences(_split(found.capitalised["words"]), plural=True)
        self._not_in = _sequences(_split(found.not_in["phrases"]))
        words = _split(found.not_before["words"])
        self._not_before = frozenset(map(fold, words))
        colours, people = _split(found.colours["words"]), _split(found.colours["people"])
        labels = "|".join(_split(found.labels["words"])).replace(" ", r"\s")
        patterns = [
            *_PATTERNS,
            rf"\b({'|'.join(colours)})(?:[\s/-]{{1,2}}(?:or\s)?(?:{'|'.join(colours)}|{'|'.join(people)}))+\b",
            rf"\b(?:{labels})\b(?:\s?[:=]\s?|\s[\u2013-]\s|\s(?:is|was|listed\sas|recorded\sas|given\sas)\s){_NO_LABEL_VALUE}"
            rf"([^\W\d_]+(?:{_GAP}(?-i:[A-Z])[^\W\d_]+){{0,2}})",
        ]
        self._patterns = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]

    def among(self, tokens: Tokens) -> BoolArray:
        """Return which tokens tell an origin: bool (n_tokens,)."""
        folded = [fold(word) for word in tokens.words]
        capital = np.fromiter((word[0].isupper() for word in tokens.words), np.bool_, len(tokens))
        listed = self._words.among(folded) | (self._capitalised.among(folded) & capital)
        listed &= ~self._find_exempt(tokens, folded)
        spans = [match.span(1) for pattern in self._patterns for match in pattern.finditer(tokens.text)]
        return np.asarray(listed | tokens_touched(tokens, spans))

    def _find_exempt(self, tokens: Tokens, folded: list[str]) -> BoolArray:
        """Return which tokens only name a disease, a size, a test or an institution: bool (n_tokens,)."""
        exempt = np.asarray(self._not_in.among(folded))
        for i, word in enumerate(folded):
            following = folded[i + 1] if i + 1 < len(folded) else ""
            if following in self._not_before:
                gap = tokens.text[int(tokens.ends[i]) : int(tokens.starts[i + 1])]
                exempt[i] |= gap in (" ", "-", "\n")
            if word == "french":  # 14 French, a size of catheters
                exempt[i] |= (
                    _COUNTED.search(tokens.text, max(0, int(tokens.starts[i]) - 4), int(tokens.starts[i]))
                    is not None
                )
        return exempt


@cache
def load_origins() -> OriginWords:
    return OriginWords(packaged_path("origins.toml"))
