"""Names to measure with: planted one by one in public narratives, and words in sentences of our own.

The data are in `held_out_sets/`. None of them is trained on. No name of them is in the lists of the training
generator, in the annotated documents or in other sets (`tests/unit/training/test_held_out_sets.py`).

- `planted_names.tsv`: id and hash of the 2,500 narratives (the first 16 hexadecimal digits of the SHA-256).
- `planted_names.jsonl`: what is inserted in 60 of them: id, SHA-256, and for each insertion the half-open
  range of the narrative that it replaces, its text, and where names are in that text. No text of a narrative.
- `word_names.txt`: 300 sentences, each with one name that is a word.
- `clean_texts.txt`: texts without identifiers, which sentences are put into.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

from name_cases import Case

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.text.tokenizer import tokenize

FOLDER = Path(__file__).parent / "held_out_sets"
SEED = 48
N_NARRATIVES, N_CARRIERS = 2500, 60
FEWEST_TOKENS = 30
"""Of a narrative that names are planted in."""
Place = Literal["alone", "between clean sentences"]
PLACES: tuple[Place, ...] = ("alone", "between clean sentences")
KINDS = ("english", "clinical")
_HASH_CHARS = 16
_MARK = re.compile(r"\[\[(.+?)\]\]")
_SENTENCE_END = re.compile(r"(?<=[.?!]) (?=[A-Z])")


def draw(narratives: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Draw what is measured, by the seed alone.

    Args:
        narratives: Text by id.

    Returns:
        Sorted ids of the narratives, and of those among them that names are planted in.
    """
    rng = random.Random(SEED)
    chosen = sorted(rng.sample(sorted(narratives), N_NARRATIVES))
    long = [number for number in chosen if len(tokenize(narratives[number])) >= FEWEST_TOKENS]
    return chosen, sorted(rng.sample(long, N_CARRIERS))


@dataclass(frozen=True, slots=True)
class Insertion:
    """What replaces the half-open range `start` to `end` of a narrative. `names` are offsets in `text`."""

    start: int
    end: int
    text: str = field(repr=False)
    names: tuple[tuple[int, int, PhiType], ...]


@dataclass(frozen=True, slots=True)
class Planting:
    """The insertions of one narrative, from left to right, and the SHA-256 of its text in UTF-8."""

    id: str
    sha256: str
    insertions: tuple[Insertion, ...] = field(repr=False)


@cache
def read_plantings() -> tuple[Planting, ...]:
    """Return what is inserted in each narrative."""
    rows = map(json.loads, (FOLDER / "planted_names.jsonl").read_text(encoding="utf-8").splitlines())
    return tuple(Planting(row["id"], row["sha256"], _read_insertions(row["insertions"])) for row in rows)


def _read_insertions(rows: Iterable[Mapping[str, object]]) -> tuple[Insertion, ...]:
    return tuple(
        Insertion(
            row["start"], row["end"], row["text"], tuple((a, b, PhiType(kind)) for a, b, kind in row["names"])
        )  # type: ignore[arg-type, attr-defined]
        for row in rows
    )


@cache
def read_hashes() -> Mapping[str, str]:
    """Return the hash of each narrative by id."""
    lines = (FOLDER / "planted_names.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def read_narratives(path: Path) -> dict[str, str]:
    """Read the texts of JSON Lines of `{"id", "text"}`."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row["text"] for row in rows}


def plant(narrative: str, planting: Planting) -> Document:
    """Insert names in a narrative and mark them.

    Raises:
        ValueError: The narrative is another one than names were planted in.

    Example:
        >>> pt = Insertion(0, 2, "Wexa", ((0, 4, PhiType.PATIENT),))
        >>> plant("pt was well", Planting("a", sha256(b"pt was well").hexdigest(), (pt,))).text
        'Wexa was well'
    """
    if sha256(narrative.encode()).hexdigest() != planting.sha256:
        raise ValueError(f"{planting.id}: another text than names were planted in")
    text, spans, position = "", [], 0
    for insertion in planting.insertions:
        text += narrative[position : insertion.start]
        spans += [PhiSpan(len(text) + a, len(text) + b, kind) for a, b, kind in insertion.names]
        text += insertion.text
        position = insertion.end
    return Document(planting.id, text + narrative[position:], tuple(spans))


def build_documents(narratives: Mapping[str, str]) -> list[Document]:
    """Return the documents to measure, 60 of them with names.

    Args:
        narratives: Text by id. More than are needed may be there.

    Raises:
        ValueError: A narrative is missing or another one.
    """
    plantings = {planting.id: planting for planting in read_plantings()}
    docs = []
    for number, expected in read_hashes().items():
        narrative = narratives.get(number)
        if narrative is None:
            raise ValueError(f"{number}: missing")
        if hash_of(narrative) != expected:
            raise ValueError(f"{number}: another text than was drawn")
        planting = plantings.get(number)
        docs.append(plant(narrative, planting) if planting else Document(number, narrative))
    return docs


def hash_of(text: str) -> str:
    """Return the hash of a text as `narratives/README.md` describes it."""
    return sha256(text.encode()).hexdigest()[:_HASH_CHARS]


def planted_names() -> Iterator[str]:
    """Yield every name that is planted, as often as it is."""
    for planting in read_plantings():
        for insertion in planting.insertions:
            yield from (insertion.text[start:end] for start, end, _ in insertion.names)


@dataclass(frozen=True, slots=True)
class WordName:
    """A sentence with a name that is a word, at the half-open range `start` to `end`."""

    kind: str
    name: str = field(repr=False)
    text: str = field(repr=False)
    start: int
    end: int


@cache
def read_word_names() -> tuple[WordName, ...]:
    """Return the sentences with names that are words."""
    found, kind = [], ""
    for line in (FOLDER / "word_names.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            kind = line.removeprefix("## ")
        elif (mark := _MARK.search(line)) and not line.startswith("#"):
            text = _MARK.sub(r"\1", line)
            found.append(WordName(kind, mark[1], text, mark.start(), mark.start() + len(mark[1])))
    return tuple(found)


@cache
def read_clean_texts() -> tuple[str, ...]:
    """Return the texts without identifiers."""
    text = (FOLDER / "clean_texts.txt").read_text(encoding="utf-8")
    return tuple(part.strip() for part in text.split("***"))


def word_name_cases(words: Sequence[WordName], place: Place, *, lower: bool = False) -> Iterator[Case]:
    """Yield each sentence alone, or between two sentences of a clean text, taken in turn.

    Args:
        words: The sentences.
        place: Where they are.
        lower: In lower case, with all that is around them.
    """
    for number, word in enumerate(words):
        before, text, after = "", word.text, ""
        if place != "alone":
            clean = read_clean_texts()
            sentences = _SENTENCE_END.split(clean[number % len(clean)])
            at = 1 + number // len(clean) % (len(sentences) - 1)
            before, after = " ".join(sentences[:at]) + " ", " " + " ".join(sentences[at:])
        text = before + text + after
        labels = (word.kind, "beginning" if word.start == 0 else "inside")
        case = Case(
            place, labels, text.lower() if lower else text, len(before) + word.start, len(before) + word.end
        )
        yield case
