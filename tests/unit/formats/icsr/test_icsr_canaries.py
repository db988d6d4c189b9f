"""A canary in every text, tail and attribute of E2B messages: what survives is listed in docs/icsr.md."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
from icsr_canaries import CANARIES, SENTENCES, TAIL, TEXT, TOLD, Planter, Spot, is_left, sample, written_under

from inverse_deid.formats.icsr.standard.elements import Dialect, ElementKind, elements
from inverse_deid.formats.icsr.standard.profiles import FieldAction, builtin_names, builtin_profile

DIALECTS: list[Dialect] = ["r3", "r2"]
DOCS = Path(__file__).parents[4] / "docs" / "icsr.md"
FDA = sorted((Path(__file__).parents[5] / "shared" / "data" / "icsr" / "fda").glob("*.xml"))
EVERY = list(product(builtin_names(), CANARIES))

Survivor = tuple[str, str, str]
"""What survives (a row of the table), the letter of the profile, the shape."""


def documented() -> set[Survivor]:
    """The table of what survives."""
    table = DOCS.read_text(encoding="utf-8").split("## What a canary survives in", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (?P<what>[^|]+) \| (?P<profiles>[EFTP ]+) \| (?P<shapes>[^|]+) \|", table, re.M)
    return {
        (what.strip(), letter, shape.strip())
        for what, letters, shapes in rows
        for letter in letters.split()
        for shape in shapes.split(",")
    }


def row_of(element: str, spot: Spot, profile: str) -> str:
    """Which row of the table lets a canary stand in a place; "" = none."""
    if element:
        kind, is_kept = (
            elements()[element].kind,
            builtin_profile(profile).actions[element] == FieldAction.KEEP,
        )
        kept = {
            ElementKind.IDENTIFIER: "identifiers",
            ElementKind.PRODUCT: "product names",
            ElementKind.DATE: "dates",
        }
        return kept.get(kind, "") if is_kept else ""
    if spot.slot in ("displayName", "codeSystemName"):
        return "words beside a code"
    return "unnamed dates" if spot.slot == "value" else ""


def survivors(data: bytes, dialect: Dialect, runs: Iterable[tuple[Spot, str, str]]) -> set[Survivor]:
    planter = Planter(data, dialect)
    found = set()
    for spot, profile, shape in runs:
        canary = CANARIES[shape]
        if is_left(planter.planted(spot, canary), canary, builtin_profile(profile)):
            row = row_of(planter.element_of(spot), spot, profile)
            found.add((row or f"{profile}: {spot.name}", profile[0].upper(), shape))
    return found


@pytest.mark.parametrize(("dialect", "step"), [("r3", 27), ("r2", 9)])
def test_nothing_survives_that_is_not_listed(dialect, step):
    """Some places, each by another profile and shape, so that all kinds of places have a turn."""
    spots = Planter(sample(dialect), dialect).spots()[::step]
    runs = ((spot, *EVERY[number % len(EVERY)]) for number, spot in enumerate(spots))
    assert len(spots) > 20
    assert survivors(sample(dialect), dialect, runs) <= documented()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_shape_survives_in_no_attribute_of_the_vocabulary(dialect):
    spots = Planter(sample(dialect), dialect).spots()
    first_of_its_name = {spot.slot: spot for spot in spots if spot.slot not in (TEXT, TAIL)}.values()
    runs = [(s, "third-party", shape) for s in first_of_its_name for shape in CANARIES]
    assert survivors(sample(dialect), dialect, runs) <= documented()


@pytest.mark.parametrize("shape", CANARIES)
@pytest.mark.parametrize("profile", builtin_names())
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_tail_survives_though_all_stand_there_at_once(dialect, profile, shape):
    data = Planter(sample(dialect), dialect).with_all_tails(CANARIES[shape])
    written = written_under(data, builtin_profile(profile))
    assert written
    assert CANARIES[shape].encode() not in written


def sentences_left(dialect: Dialect, profile: str, spots: Iterable[tuple[Spot, str]]) -> set[tuple[str, str]]:
    """Return the places in which a sentence about a person survives a profile, and the sentence."""
    planter = Planter(sample(dialect), dialect)
    written = (
        (spot.name, sentence, written_under(planter.planted(spot, sentence), builtin_profile(profile)))
        for spot, sentence in spots
    )
    return {(name, sentence) for name, sentence, data in written if any(told in data for told in TOLD)}


@pytest.mark.slow
@pytest.mark.parametrize("profile", builtin_names())
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_sentence_survives_anywhere(dialect, profile):
    """All sentences in one place of every kept element; elsewhere one sentence and one profile in turn."""
    planter = Planter(sample(dialect), dialect)
    turn, n_profiles = builtin_names().index(profile), len(builtin_names())
    seen: set[str] = set()
    runs = []
    for number, spot in enumerate(planter.spots()):
        element = planter.element_of(spot)
        if row_of(element, spot, profile) and (element or spot.slot) not in seen:
            seen.add(element or spot.slot)
            runs += [(spot, sentence) for sentence in SENTENCES]
        elif number % n_profiles == turn:
            runs.append((spot, SENTENCES[number // n_profiles % len(SENTENCES)]))
    assert sentences_left(dialect, profile, runs) == set()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_survives_is_exactly_what_is_listed(dialect):
    """Every place: where something may survive with every profile and shape, elsewhere with one after the other."""
    planter, shapes = Planter(sample(dialect), dialect), list(CANARIES)
    runs = (
        (spot, profile, shape)
        for number, spot in enumerate(planter.spots())
        for turn, profile in enumerate(builtin_names())
        for place, shape in enumerate(shapes)
        if row_of(planter.element_of(spot), spot, profile)
        or number % len(EVERY) == turn * len(shapes) + place
    )
    found = survivors(sample(dialect), dialect, runs)
    missing = {"unnamed dates", "words beside a code"} if dialect == "r2" else {"unnamed dates"}
    assert found == {row for row in documented() if row[0] not in missing}


@pytest.mark.slow
@pytest.mark.skipif(not FDA, reason="the FDA test instances are not there")
@pytest.mark.parametrize("file", FDA, ids=lambda file: file.stem)
def test_nothing_else_survives_in_the_instances_of_the_fda(file):
    data = file.read_bytes()
    spots = Planter(data, "r3").spots()[:: 3 if len(data) < 2**20 else 60]  # one holds a large file
    runs = ((spot, *EVERY[(number + len(file.stem)) % len(EVERY)]) for number, spot in enumerate(spots))
    assert survivors(data, "r3", runs) <= documented()
