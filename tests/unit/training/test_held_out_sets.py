"""Nothing of the held-out sets is trained on or in other sets: no name, word, sentence or narrative."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from attack_texts import FOLDER as ATTACKS
from attack_texts import FORMS, read_attacks, read_clean_sentences
from held_out_names import (
    FOLDER,
    KINDS,
    N_CARRIERS,
    N_NARRATIVES,
    PLACES,
    draw,
    planted_names,
    read_clean_texts,
    read_hashes,
    read_plantings,
    read_word_names,
    word_name_cases,
)
from name_cases import items, read_set

from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.evaluation.causality_set import packaged_causality_set, read_causality_set
from inverse_deid.lexicon.entries import word_key
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.corpora.mentions import words_that_are_names
from inverse_deid.training.corpora.people import load_name_pools
from inverse_deid.training.corpora.synthetic import generate_documents
from inverse_deid.training.corpora.templates import load_lookalikes
from inverse_deid.training.corpora.wordlists import load_lines, load_lists, read_data

ROOT = Path(__file__).parents[3]
NARRATIVES = ROOT / "narratives"
SECOND = NARRATIVES / "causality-second.jsonl"
DOCUMENTS = [
    NARRATIVES / f"{name}.jsonl"
    for name in ("invented", "letters-train", "letters-dev", "words-as-names", "forms-and-shorthand")
]
GOLDEN = ROOT / "tests" / "golden"
N_WORDS_SHARED = 9
"""A run of words that two texts do not share by chance."""
N_GENERATED = 200
_NAME_LIST = re.compile(r"name|given")
_NAME = re.compile(r"[^\W\d_]{2,}")
_WORD = re.compile(r"\w+")
_GOLDEN_MARK = re.compile(r"\[\[(.*?)\]\]")
_SPLIT = re.compile(r"(?<=[.?!]) +|\n+")


def parts(names: Iterable[str]) -> set[str]:
    """Return the words of names, folded. A single letter is not a name that a list could hold."""
    return {word_key(part) for name in names for part in _NAME.findall(name)}


@cache
def generated_names() -> frozenset[str]:
    """Return what the training generator draws names from, besides those that it coins."""
    names: list[str] = [name for _, name, _ in load_lookalikes()]
    for origin in load_name_pools().origins:
        names += (*origin.given, *origin.surnames)
    names += words_that_are_names()
    lists = {**load_lists("words"), **load_lists("origins")}
    names += (name for title, listed in lists.items() if _NAME_LIST.search(title) for name in listed)
    return frozenset(parts(names))


def names_of_documents(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        doc = json.loads(line)
        for span in doc["spans"]:
            if HYPER_CLASS_OF[span["type"]] is HyperClass.NAME:
                yield doc["text"][span["start"] : span["end"]]


@cache
def measured_names() -> frozenset[str]:
    """Return the names of the other sets: by region, words, golden tests, attacks, packaged narratives."""
    names: list[str] = []
    for lists in read_set("names").values():
        names += (name for value in lists.values() for name in items(value))  # type: ignore[attr-defined]
    lookalikes = read_set("lookalikes")
    names += (line.partition(":")[0] for kind in ("given", "surnames") for line in items(lookalikes[kind]))
    bare = tomllib.loads((GOLDEN / "bare_names.toml").read_text(encoding="utf-8"))
    names += (name for group in bare["surnames"].values() for name in group)
    cases = (path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.toml"))
    names += (name for text in cases for name in _GOLDEN_MARK.findall(text))
    for attack in read_attacks():
        for (start, end), kind in zip(attack.ranges, attack.types, strict=True):
            if kind in {"NAME", "PATIENT", "DOCTOR", "RELATIVE", "USERNAME"}:
                names.append(attack.text[start:end])
    return frozenset(parts(names))


def held_out_names() -> dict[str, set[str]]:
    causality = {
        doc.doc.text[span.start : span.end]
        for doc in read_causality_set(SECOND)
        for span in doc.doc.spans
        if HYPER_CLASS_OF[span.type] is HyperClass.NAME and span.type != "USERNAME"
    }
    return {
        "planted": parts(planted_names()),
        "words": parts(word.name for word in read_word_names()),
        "causality": {name for name in parts(causality) if len(name) > 2},
    }


@pytest.mark.parametrize("of", ["planted", "words", "causality"])
def test_no_name_is_drawn_by_the_training_generator(of: str) -> None:
    assert {"rose", "smith", "ng"} <= generated_names()
    assert not held_out_names()[of] & generated_names()


@pytest.mark.parametrize("of", ["planted", "words", "causality"])
def test_no_name_is_in_generated_documents(of: str) -> None:
    docs = generate_documents(N_GENERATED, seed=48)
    spans = [
        (doc, span) for doc in docs for span in doc.spans if HYPER_CLASS_OF[span.type] is HyperClass.NAME
    ]
    names = {name for name in parts(doc.text[span.start : span.end] for doc, span in spans) if len(name) > 3}
    assert len(names) > N_GENERATED
    assert not held_out_names()[of] & names


@pytest.mark.parametrize("of", ["planted", "words", "causality"])
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_no_name_is_in_the_annotated_documents(of: str, path: Path) -> None:
    names = parts(names_of_documents(path))
    assert len(names) > 100
    assert not held_out_names()[of] & names


@pytest.mark.parametrize("of", ["planted", "words", "causality"])
def test_no_name_is_in_another_set(of: str) -> None:
    assert {"meadow", "okonkwo", "grace"} <= measured_names()
    assert not held_out_names()[of] & (measured_names() | parts(names_of_documents(packaged_causality_set())))


def test_the_sets_do_not_share_names() -> None:
    planted, from_words, causality = held_out_names().values()
    assert not planted & from_words
    assert not causality & (planted | from_words)


def skeleton(text: str) -> str:
    """Return the words of a text, with a name or slot as one word, folded."""
    return " ".join(
        _WORD.findall(re.sub(r"\{[^{}]*\}|<<[^<>]*>>|\[\[.*?\]\]|⟦.*?⟧", " slot ", text).casefold())
    )


def sentences(text: str) -> Iterator[str]:
    yield from (part for part in map(skeleton, _SPLIT.split(text)) if part)


@cache
def other_texts() -> tuple[str, ...]:
    """Return all that is trained on or measured with, besides the held-out sets, in lower case without signs."""
    texts = [line for lists in load_lines("sentences").values() for line in lists]
    texts += [line for lists in load_lists("safe").values() for line in lists]
    texts += [
        read_data("layouts.txt"),
        *(phrase for _, _, phrases in load_lookalikes() for phrase in phrases),
    ]
    texts += [line for value in read_set("templates").values() for line in items(value)]
    texts += [line for value in read_set("lookalikes").values() for line in items(value)]
    files = [*GOLDEN.glob("*.toml"), *GOLDEN.glob("*.txt"), *ATTACKS.glob("*.toml"), ATTACKS / "clean.txt"]
    texts += [path.read_text(encoding="utf-8") for path in files]
    texts += [attack.text for form in FORMS for attack in read_attacks() if attack.form == form]
    texts += read_clean_sentences()
    texts += [
        json.loads(line)["text"] for path in (*DOCUMENTS, packaged_causality_set()) for line in lines_of(path)
    ]
    return tuple(texts)


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@cache
def runs(n_words: int) -> frozenset[str]:
    """Return all runs of a number of words of other texts."""
    found = set()
    for text in other_texts():
        listed = skeleton(text).split()
        found.update(" ".join(listed[i : i + n_words]) for i in range(len(listed) - n_words + 1))
    return frozenset(found)


def held_out_texts() -> dict[str, list[str]]:
    lines = [
        line for line in lines_of(FOLDER / "word_names.txt") if "[[" in line and not line.startswith("#")
    ]
    return {
        "sentences": lines,
        "clean texts": list(read_clean_texts()),
        "causality": [doc.doc.text for doc in read_causality_set(SECOND)],
        "insertions": [one.text for planting in read_plantings() for one in planting.insertions],
    }


@pytest.mark.parametrize("of", ["sentences", "clean texts", "causality", "insertions"])
def test_no_sentence_is_in_other_texts(of: str) -> None:
    other = {sentence for text in other_texts() for sentence in sentences(text)}
    assert skeleton("Yesterday {name} vomited twice after the tablets.") in other
    found = {sentence for text in held_out_texts()[of] for sentence in sentences(text)}
    assert not {sentence for sentence in found & other if len(sentence.split()) > 3}


@pytest.mark.parametrize("of", ["sentences", "clean texts", "causality"])
def test_no_run_of_words_is_in_other_texts(of: str) -> None:
    for text in held_out_texts()[of]:
        listed = skeleton(text).split()
        mine = {" ".join(listed[i : i + N_WORDS_SHARED]) for i in range(len(listed) - N_WORDS_SHARED + 1)}
        assert not mine & runs(N_WORDS_SHARED)


def test_no_measured_narrative_is_trained_on() -> None:
    trained = dict(
        line.split("\t") for path in (NARRATIVES / "carriers").glob("*.tsv") for line in lines_of(path)
    )
    for path in NARRATIVES.glob("*-marks.jsonl"):
        trained |= {row["id"]: row["sha256"] for row in map(json.loads, lines_of(path))}
    assert len(trained) > 40_000
    hashes = read_hashes()
    assert not set(hashes) & set(trained)
    assert not set(hashes.values()) & set(trained.values())


def test_the_planted_names_are_what_was_asked_for() -> None:
    names = list(planted_names())
    tokens = [word for name in names for word in tokenize(name).words]
    assert len(read_hashes()) == N_NARRATIVES
    assert len(read_plantings()) == N_CARRIERS
    assert len(tokens) == len(names) == 150
    assert sum(len(token) <= 3 for token in tokens) == 60
    assert 22 <= sum(token.islower() for token in tokens) <= 24
    for planting in read_plantings():
        assert read_hashes()[planting.id] == planting.sha256[:16]
        ends = [0]
        for one in planting.insertions:
            assert ends[-1] <= one.start <= one.end
            assert all(one.text[start:end].isalpha() for start, end, _ in one.names)
            ends.append(one.end)


def test_narratives_are_drawn_by_the_seed_alone() -> None:
    narratives = {f"v-{i:04}": "word " * (20 + i % 40) for i in range(3000)}
    chosen, carriers = draw(narratives)
    assert (len(chosen), len(carriers)) == (N_NARRATIVES, N_CARRIERS)
    assert set(carriers) < set(chosen)
    assert all(len(narratives[number].split()) >= 30 for number in carriers)
    assert draw(dict(reversed(narratives.items()))) == (chosen, carriers)


def test_there_are_three_hundred_sentences_with_names_that_are_words() -> None:
    found = read_word_names()
    assert len(found) == len({word.text for word in found}) == 300
    assert {word.kind for word in found} == set(KINDS)
    assert len({word.name for word in found}) == 150
    assert not any("[" in word.text for word in found)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("lower", [False, True])
def test_every_name_is_where_it_is_said_to_be(place: str, lower: bool) -> None:
    for word, case in zip(
        read_word_names(), word_name_cases(read_word_names(), place, lower=lower), strict=True
    ):
        name = case.text[case.start : case.end]
        assert name == (word.name.lower() if lower else word.name)
        assert place == "alone" or len(case.text) > len(word.text) + 500
