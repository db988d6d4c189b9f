"""Looking for known values in linear time finds what holding each value against each place finds."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

import numpy as np
import pytest
from typo_reference import is_within

from inverse_deid.core.values import KnownIdentifier, KnownSort, Tokens
from inverse_deid.masking.document_passes import PhraseList
from inverse_deid.rules.known_identifiers import (
    MIN_FUZZY_LETTERS,
    DateWords,
    KnownIdentifiers,
    Spellings,
    plain,
    spellings,
)
from inverse_deid.rules.people import BEFORE_PEOPLE, BEFORE_THINGS, GRAMMAR, SPEECH
from inverse_deid.text.matching import NearNames, Sequences, count_allowed_typos, fold
from inverse_deid.text.tokenizer import tokenize

COMMON = frozenset(("rose", "lane", "brown", "march", "ab", "to", "it", "harrow", "roses"))
BEFORE_INITIALS = frozenset(
    ("initials", "initial", "patient", "pt", "dr", "mr", "mrs", "ms", "prof", "signed")
)
NAMES = (
    "Amara",
    "Okonkwo",
    "Rose",
    "Brown",
    "Lindqvist",
    "Ng",
    "van",
    "Der",
    "Berg",
    "O",
    "Ana",
    "José",
    "Søn",
)
ODD = ("\u00df", "\u0130", "\u00e6", "\u01c6", "b", "5", "19", "62", "may", "twelfth", "12th", "sept")
GAPS = (
    " ",
    " the ",
    " told ",
    " said ",
    "",
    ". ",
    ".",
    "-",
    ", ",
    "\n",
    "/",
    " of ",
    " the ",
    "  ",
    " (",
    ") ",
    "+",
    "____",
    ".-",
    "'",
)
SORTS = tuple(KnownSort)


def by_brute_force(known: list[KnownIdentifier], tokens: Tokens) -> np.ndarray:
    """Which tokens belong to a known value."""
    found = spellings(known)
    words = [plain(word) for word in tokens.words]
    chosen = np.zeros(len(words), np.bool_)
    always = found.glued | {one[0] for one in found.sequences if len(one) == 1}
    for i, word in enumerate(words):
        has_capital = tokens.words[i][0].isupper()
        stem = word[:-1] if word.endswith("s") else word
        holds = any(len(inner) < len(word) and inner in word for inner in found.inside)
        near = any(
            is_within(word, name, count_allowed_typos(name))
            for name in found.fuzzy
            if count_allowed_typos(name)
        )
        if word in always or (len(stem) > 3 and stem in always):
            chosen[i] = True
        elif word in found.parts or (word.endswith("s") and stem in found.parts) or holds or near:
            chosen[i] |= has_capital or word not in COMMON
        if word in found.parts and word not in always:
            chosen[i] |= _is_person(tokens, words, i)
        if has_capital and word in (found.capitalised | found.parts):
            chosen[i] = True
        for stop in _longer(found, tokens, words, i):
            chosen[i:stop] = True
    return chosen


def _is_person(tokens: Tokens, words: list[str], i: int) -> bool:
    gaps = (" ", ". ", "'", "\u2019", "/")
    gap = [
        tokens.text[end:start] for end, start in zip(tokens.ends, [*tokens.starts[1:], 10**6], strict=True)
    ]
    before = words[i - 1] if i and gap[i - 1] in gaps else ""
    after = words[i + 1] if i + 1 < len(words) and gap[i] in gaps else ""
    owns = after == "s" and gap[i] != " "
    reads_as_name = after in SPEECH if words[i] in GRAMMAR else before not in BEFORE_THINGS
    return before in BEFORE_PEOPLE or owns or reads_as_name


def _longer(found: Spellings, tokens: Tokens, words: list[str], i: int) -> Iterator[int]:
    def gap(j: int) -> str:
        return tokens.text[tokens.ends[j - 1] : tokens.starts[j]]

    yield from (i + len(one) for one in found.sequences if tuple(words[i : i + len(one)]) == one)
    yield from _run_together(found, words, gap, i)
    letters, j = words[i], i + 1
    if _are_initials(found, tokens, words, (i, j), letters) and len(letters) > 1:
        yield j
    while len(words[i]) == 1 and j < len(words) and len(words[j]) == 1:
        if gap(j) not in (".", ". ", " ", "-", ".-"):
            break
        letters += words[j]
        j += 1
        if _are_initials(found, tokens, words, (i, j), letters):
            yield j
    for day in found.dates:
        yield from _as_date(day, words, gap, i)
    yield from _as_phone(found, words, gap, i)


def _run_together(found: Spellings, words: list[str], gap, i: int) -> Iterator[int]:
    always = found.glued | {one[0] for one in found.sequences if len(one) == 1}
    runs = always | {part for part in found.parts if len(part) >= MIN_FUZZY_LETTERS}
    whole = words[i]
    for j in range(i + 1, min(i + 8, len(words))):
        if not any(run.startswith(whole) and run != whole for run in runs) or len(gap(j)) > 3:
            break
        whole += words[j]
        if whole in runs:
            yield j + 1


def _as_phone(found: Spellings, words: list[str], gap, i: int) -> Iterator[int]:
    if words[i].isdigit() and found.phones:
        digits, j = words[i], i + 1
        while j < len(words) and words[j].isdigit() and len(gap(j)) <= 3:
            if not set(" -./()+\u00a0\u2011\u2013").issuperset(gap(j)):
                break
            digits += words[j]
            j += 1
        if any(tail in digits for tail in found.phones):
            yield j


def _are_initials(
    found: Spellings, tokens: Tokens, words: list[str], where: tuple[int, int], letters: str
) -> bool:
    i, stop = where
    written = "".join(tokens.words[i:stop])
    if letters in found.initials:
        return written.isupper() or letters not in COMMON
    if letters not in found.derived_initials or not written.isupper():
        return False
    return letters not in COMMON or not BEFORE_INITIALS.isdisjoint(words[max(i - 2, 0) : i])


def _as_date(day: DateWords, words: list[str], gap, i: int) -> Iterator[int]:
    if words[i] not in day.days | day.months | day.month_names | day.years:
        return
    places = [i]
    for j in range(i + 1, min(i + 5, len(words))):
        if len(gap(j)) > 4 or len(places) == 3:
            break
        if words[j] not in ("of", "the", "de", "del", "di", "den"):
            places.append(j)
    named = [words[place] in day.month_names for place in places]
    months = day.months | day.month_names
    orders = ((day.days, months, day.years), (months, day.days, day.years), (day.years, months, day.days))
    is_date = any(named) or all(gap(place) in tuple(" /-.") for place in places[1:])
    if is_date and len(places) == 3 and any(_are(words, places, order) for order in orders):
        yield places[2] + 1
    if len(places) > 1:
        first, second = words[places[0]], words[places[1]]
        if (first in day.days and named[1]) or (named[0] and second in day.days):
            yield places[1] + 1


def _are(words: list[str], places: list[int], order: tuple[frozenset[str], ...]) -> bool:
    return all(words[place] in part for place, part in zip(places, order, strict=True))


def invented_known(rng: random.Random) -> list[KnownIdentifier]:
    known = []
    for _ in range(rng.randint(1, 6)):
        sort = rng.choice(SORTS)
        if sort is KnownSort.DATE:
            value = f"{rng.choice((1962, 2019, 1919))}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"
        elif sort in (KnownSort.NUMBER, KnownSort.PHONE):
            value = "".join(rng.choice("0123456789 -") for _ in range(rng.randint(4, 14)))
        elif sort is KnownSort.INITIALS:
            value = rng.choice(("AB", "A.N.O.", "to", "IT", "abcde", "abcdef"))
        else:
            value = " ".join(rng.choice(NAMES) for _ in range(rng.randint(1, 4)))
            value += rng.choice(("", "", " 43", "@example.org"))
        known.append(KnownIdentifier(value, sort))
    return known


def invented_text(known: list[KnownIdentifier], rng: random.Random) -> str:
    pieces = []
    for _ in range(rng.randint(1, 14)):
        piece = rng.choice(
            (
                lambda: rng.choice(known).value,
                lambda: rng.choice(NAMES),
                lambda: rng.choice(ODD),
                lambda: rng.choice(sorted(COMMON)),
                lambda: rng.choice(string.ascii_letters),
                lambda: str(rng.randint(0, 40)),
                lambda: rng.choice(rng.choice(known).value.split() or ["x"]),
                lambda: _slipped(rng.choice(NAMES) + rng.choice(NAMES), rng),
                lambda: known[0].value.replace("0", " ", 1)[: rng.randint(1, 9)],
                lambda: f"{rng.randint(1, 28)} {rng.choice(('May', 'Oct', 'maj', 'styczeń'))} 1962",
            )
        )()
        pieces.append(rng.choice((str, str.upper, str.lower, str.title))(piece))
    return "".join(piece + rng.choice(GAPS) for piece in pieces)


def _slipped(word: str, rng: random.Random) -> str:
    for _ in range(rng.randrange(4)):
        i = rng.randrange(len(word))
        word = (
            rng.choice((word[:i] + word[i + 1 :], word[:i] + "x" + word[i:], word[:i] + word[i:][::-1]))
            or "y"
        )
    return word


@pytest.mark.parametrize("seed", range(30))
def test_the_search_finds_what_brute_force_finds(seed: int) -> None:
    rng = random.Random(seed)
    n_found = 0
    for _ in range(60):
        known = invented_known(rng)
        tokens = tokenize(invented_text(known, rng))
        chosen = KnownIdentifiers(known, lambda word: word.lower() in COMMON).among(tokens)
        expected = by_brute_force(known, tokens)
        assert chosen.tolist() == expected.tolist(), (known, [one.value for one in known], tokens.text)
        n_found += int(chosen.sum())
    assert n_found > 60


@pytest.mark.parametrize("seed", range(20))
def test_names_with_typos_are_found_in_bulk_as_one_by_one(seed: int) -> None:
    """Of four letters, so that most words are near some name: many pairs at once and few."""
    rng = random.Random(seed)
    names = {"".join(rng.choices("abcé", k=rng.randint(3, 11))) for _ in range(rng.choice((3, 60)))}
    words = {"".join(rng.choices("abcé", k=rng.randint(1, 13))) for _ in range(60)} | set(sorted(names)[:9])
    near = NearNames(names).among(words)
    limits = {name: count_allowed_typos(name) for name in names if count_allowed_typos(name)}
    assert near == {
        word for word in words if any(is_within(word, name, limit) for name, limit in limits.items())
    }


@pytest.mark.parametrize("seed", range(20))
def test_phrases_are_found_wherever_they_stand(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        phrases = ["-".join(rng.choices("ABá", k=rng.randint(0, 4))) for _ in range(rng.randint(0, 6))]
        tokens = tokenize(" ".join(rng.choices("aBáb", k=rng.randint(0, 20))))
        words = [fold(word) for word in tokens.words]
        expected = [False] * len(words)
        for phrase in phrases:
            parts = [fold(word) for word in tokenize(phrase).words]
            for i in range(len(words) - len(parts) + 1) if parts else ():
                if words[i : i + len(parts)] == parts:
                    expected[i : i + len(parts)] = [True] * len(parts)
        assert PhraseList(phrases).among(tokens).tolist() == expected


def test_of_sequences_that_end_together_the_longest_counts() -> None:
    found = Sequences(["b", "ab", "", "abcab", "cab"])
    assert list(found.endings("abcabb")) == [(2, 2), (5, 5), (6, 1)]
    assert not Sequences([""])
