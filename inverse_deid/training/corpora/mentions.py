"""Plant a few bare names in a narrative without names: surnames and first names that are often words.

In narratives without names, a network learns that there are none. These are as people write them there:
without a title, as subject and object, at the beginning of a sentence, after a drug, in lists, in the plural
and possessive, in lower case.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from functools import cache

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document
from inverse_deid.training.corpora.people import NamePools, draw_given, draw_surname
from inverse_deid.training.corpora.surrogates import TextBuilder
from inverse_deid.training.corpora.wordlists import read_data, words

_NAME = "{NAME}"
_MATCH = "{0}"
_MOST = 3
"""Mentions that are planted in a document."""
_SENTENCE_END = re.compile(r"(?<=[a-zA-Z)%][.;])\s+(?=[A-Za-z]{2})|\Z")
_TYPES = (PhiType.PATIENT, PhiType.PATIENT, PhiType.RELATIVE, PhiType.DOCTOR)
_SAME_SHARE = 0.4
"""How often a name is that of the mention before."""


def mention_names(doc: Document, pools: NamePools, rng: random.Random) -> Document:
    """Plant one to three mentions of names in a document. Its own spans move along.

    Example:
        >>> from inverse_deid.training.corpora.people import load_name_pools
        >>> doc = mention_names(Document("d", "The patient had a rash."), load_name_pools(), random.Random(1))
        >>> len(doc.spans) > 0
        True
    """
    sites = _choose_sites(doc, rng)
    is_plain_case = doc.text.upper() != doc.text and doc.text.lower() != doc.text
    builder = TextBuilder()
    name = draw_mention(rng, pools)
    position = 0
    for start, end, template in sites:
        builder.copy(doc, position, start)
        for i, part in enumerate(template.replace(_MATCH, doc.text[start:end]).split(_NAME)):
            if i:
                builder.mark(name if is_plain_case else _in_case_of(doc.text, name), rng.choice(_TYPES))
                name = name if rng.random() < _SAME_SHARE else draw_mention(rng, pools)
            builder.add(part if is_plain_case else _in_case_of(doc.text, part))
        position = end
    builder.copy(doc, position, len(doc.text))
    planted = builder.document(doc.id)
    return Document(doc.id, planted.text, planted.spans, meta=doc.meta)


def draw_mention(rng: random.Random, pools: NamePools) -> str:
    """Draw a name as narratives write it: often a word, a short name or initials; in any case."""
    draw = rng.random()
    if draw < 0.5:
        name = rng.choice(words_that_are_names()).capitalize()
    elif draw < 0.62:
        name = rng.choice(words("short_names"))
    elif draw < 0.7:
        return "".join(rng.choices("ABCDEFGHIJKLMNOPRSTVWY", k=rng.choice((2, 2, 2, 3))))
    elif draw < 0.75:
        name = rng.choice(words("nicknames"))
    else:
        name = draw_surname(rng, pools) if rng.random() < 0.6 else draw_given(rng, pools)
    draw = rng.random()
    return name.lower() if draw < 0.25 else name.upper() if draw < 0.33 else name


@cache
def words_that_are_names() -> tuple[str, ...]:
    """Return the words of `name_words.txt`."""
    lines = read_data("name_words.txt").splitlines()
    return tuple(word for line in lines if not line.startswith("#") for word in line.split())


def _in_case_of(text: str, piece: str) -> str:
    return piece.upper() if text.upper() == text else piece.lower()


def _choose_sites(doc: Document, rng: random.Random) -> list[tuple[int, int, str]]:
    """Choose up to three places, sorted, apart from each other and from existing spans."""
    candidates = list(_find_sites(doc.text, rng))
    rng.shuffle(candidates)
    taken = [(span.start, span.end) for span in doc.spans]
    chosen: list[tuple[int, int, str]] = []
    wanted = rng.randint(1, _MOST)
    for start, end, template in candidates:
        if len(chosen) < wanted and all(end < first or last < start for first, last in taken):
            chosen.append((start, end, template))
            taken.append((start, end))
    return sorted(chosen)


def _find_sites(text: str, rng: random.Random) -> Iterator[tuple[int, int, str]]:
    for regex, templates in _load_mentions():
        if regex is not None:
            matches = list(regex.finditer(text))
            for match in rng.sample(matches, min(1, len(matches))):
                yield match.start(), match.end(), rng.choice(templates)
            continue
        ends = [match.start() for match in _SENTENCE_END.finditer(text)]
        for offset in rng.sample(ends, min(2, len(ends))):
            yield offset, offset, " " + rng.choice(templates)


@cache
def _load_mentions() -> tuple[tuple[re.Pattern[str] | None, tuple[str, ...]], ...]:
    table = tomllib.loads(read_data("mentions.toml"))
    return tuple(
        (re.compile(one["find"]) if one["find"] else None, tuple(one["write"])) for one in table["mention"]
    )
