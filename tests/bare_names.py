"""Surnames where a drug could stand: how many leak, alone and inside a long narrative.

Sentences, names and narratives are invented (`golden/bare_names.toml`,
`golden/bare_names_narratives.txt`). The same slots with drugs and eponym phrases say what
masking more there costs.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from inverse_deid.core.values import Document
from inverse_deid.lexicon.entries import SAFE_FLAGS, WordFlag
from inverse_deid.lexicon.lexicon import load_lexicon
from inverse_deid.masking.pipeline import Deidentifier

FOLDER = Path(__file__).parent / "golden"
PLACES = ("alone", "inside")
SURNAMES = ("ordinary", "unlisted", "words", "clinical_words", "eponyms")
COSTS = ("drugs", "eponym phrases")
_MARK = re.compile(r"<<(.*?)>>")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_BATCH = 256


@dataclass(frozen=True)
class Case:
    """A text with planted words.

    Args:
        group: Of the planted words, one of `SURNAMES` or `COSTS`.
        place: One of `PLACES`.
        sentence: Number of the sentence in its list.
        word: What was planted.
        text: The whole text.
        planted: Half-open ranges of the planted words in it.
    """

    group: str
    place: str
    sentence: int
    word: str
    text: str
    planted: tuple[tuple[int, int], ...]


@dataclass
class Rate:
    """How many of the planted words were kept."""

    kept: int = 0
    n: int = 0

    def __str__(self) -> str:
        return f"{self.kept:5d} of {self.n:5d} = {100 * self.kept / max(1, self.n):5.1f} %"


@lru_cache
def lists() -> dict:
    """What `bare_names.toml` holds."""
    return tomllib.loads((FOLDER / "bare_names.toml").read_text(encoding="utf-8"))


@lru_cache
def narratives() -> list[str]:
    """The long invented narratives; none names a person, a place or a date."""
    text = (FOLDER / "bare_names_narratives.txt").read_text(encoding="utf-8")
    return [narrative.strip() for narrative in text.split("***")]


def cases(n_sentences: int | None = None) -> Iterator[Case]:
    """All cases, or those of `n_sentences` sentences for each word, taken in turn."""
    words = [(group, word) for group in SURNAMES for word in lists()["surnames"][group]]
    words += [("drugs", word) for word in lists()["drugs"]]
    for number, (group, word) in enumerate(words):
        sentences = lists()["drug_sentences" if group == "drugs" else "sentences"]
        chosen = range(len(sentences))
        if n_sentences is not None:
            chosen = [(number * n_sentences + k) % len(sentences) for k in range(n_sentences)]
        for i in chosen:
            marked = sentences[i].replace("{name}", f"<<{word}>>")
            for place in PLACES:
                yield _case(group, place, i, word, marked, number + i)
    for i, marked in enumerate(lists()["eponym_phrases"]):
        for place in PLACES:
            yield _case("eponym phrases", place, i, _MARK.findall(marked)[0], marked, i)


def _case(group: str, place: str, sentence: int, word: str, marked: str, turn: int) -> Case:
    if place == "inside":
        marked = _inside(narratives()[turn % len(narratives())], marked, turn)
    text, planted, position = "", [], 0
    for match in _MARK.finditer(marked):
        text += marked[position : match.start()]
        planted.append((len(text), len(text) + len(match[1])))
        text += match[1]
        position = match.end()
    return Case(group, place, sentence, word, text + marked[position:], tuple(planted))


def _inside(narrative: str, sentence: str, turn: int) -> str:
    """The sentence between two of the narrative, or, for a note, as a line of its own."""
    paragraphs = narrative.split("\n\n")
    if sentence[-1] not in ".?":
        after = 1 + turn % (len(paragraphs) - 1)
        return "\n\n".join([*paragraphs[:after], sentence, *paragraphs[after:]])
    row = turn % len(paragraphs)
    inner = _SENTENCE_END.split(paragraphs[row])
    after = 1 + turn // len(paragraphs) % (len(inner) - 1)
    paragraphs[row] = " ".join([*inner[:after], sentence, *inner[after:]])
    return "\n\n".join(paragraphs)


def kept_ranges(deidentifier: Deidentifier, texts: Sequence[str]) -> Iterator[list[tuple[int, int]]]:
    """The ranges of the kept tokens of each text."""
    for first in range(0, len(texts), _BATCH):
        docs = [Document(str(i), text) for i, text in enumerate(texts[first : first + _BATCH])]
        for masked in deidentifier.mask_many(docs):
            tokens, keep = masked.tokens, masked.decisions.keep
            yield list(zip(tokens.starts[keep].tolist(), tokens.ends[keep].tolist(), strict=True))


def outcomes(deidentifier: Deidentifier, chosen: Iterable[Case]) -> list[tuple[Case, bool]]:
    """Each case and whether a token of its planted words was kept."""
    chosen = list(chosen)
    found = []
    for case, kept in zip(chosen, kept_ranges(deidentifier, [case.text for case in chosen]), strict=True):
        hit = any(start < last and end > first for start, end in kept for first, last in case.planted)
        found.append((case, hit))
    return found


def rates(found: Iterable[tuple[Case, bool]]) -> dict[tuple[str, str], Rate]:
    """The share of kept words by group and place: leaks of surnames, and what is kept of `COSTS`."""
    table: dict[tuple[str, str], Rate] = defaultdict(Rate)
    for case, kept in found:
        rate = table[case.group, case.place]
        rate.n += 1
        rate.kept += kept
    return table


def listing(word: str) -> str:
    """In which lists of the lexicon a surname stands."""
    flags = load_lexicon().flags(word)
    if flags & SAFE_FLAGS:
        return "in a safe list"
    return "in name lists only" if flags & (WordFlag.SURNAME | WordFlag.FIRST_NAME) else "in no list of names"


def report(found: Sequence[tuple[Case, bool]], n_worst: int = 12) -> str:
    """The figures as plain text: by group, by list of the lexicon, the worst sentences and words."""
    lines = ["planted words kept (a leak for surnames, right for drugs and eponym phrases)"]
    table = rates(found)
    for group in (*SURNAMES, *COSTS):
        lines += [f"{group:20} {place:7} {table[group, place]}" for place in PLACES]
    surnames = [(case, kept) for case, kept in found if case.group in SURNAMES]
    by_list: dict[tuple[str, str], Rate] = defaultdict(Rate)
    for case, kept in surnames:
        rate = by_list[listing(case.word), case.place]
        rate.n += 1
        rate.kept += kept
    lines += ["", "surnames, by what the lexicon knows of them"]
    lines += [f"{kind:20} {place:7} {rate}" for (kind, place), rate in sorted(by_list.items())]
    leaked = [case for case, kept in surnames if kept]
    lines += ["", "leaks by sentence (alone and inside)"]
    for sentence, n in Counter(case.sentence for case in leaked).most_common(n_worst):
        lines.append(f"{n:5d} {lists()['sentences'][sentence]}")
    lines += ["", "leaks by surname (alone and inside)"]
    for group in SURNAMES:
        worst = Counter(case.word for case in leaked if case.group == group).most_common(n_worst)
        lines.append(f"{group:20} " + ", ".join(f"{word} {n}" for word, n in worst))
    missed = Counter(case.word for case, kept in found if case.group in COSTS and not kept)
    lines.append(
        f"{'masked in vain':20} " + ", ".join(f"{word} {n}" for word, n in missed.most_common(3 * n_worst))
    )
    return "\n".join(lines)
