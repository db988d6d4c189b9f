from __future__ import annotations

import random
import re

import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.training.corpora.ages import AGE_FORMS
from inverse_deid.training.corpora.people import FORMS
from inverse_deid.training.corpora.places import WORK_FORMS
from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.synthetic import load_layouts, synthetic_document
from inverse_deid.training.corpora.templates import draw_cast, draw_safe
from inverse_deid.training.corpora.wordlists import load_lines, load_lists, read_data

_SLOT = re.compile(r"\{([A-Za-z_]+)(?:\.([a-z_]+))?\}")
_LITERAL = re.compile(r"\{([A-Z_]+)=([^{}]+)\}")
_TWIN_FORMS = {"twin", "twin_full", "twin_lower", "twin_caps", "twin_full_lower"}


def _all_slots() -> set[tuple[str, str]]:
    text = "\n".join(read_data(name) for name in ("sentences.toml", "layouts.txt", "sites.toml"))
    return {(name, form) for name, form in _SLOT.findall(text)}


def test_every_slot_of_the_templates_exists() -> None:
    slots = list(_all_slots())
    assert slots
    for name, form in slots:
        if name.islower():
            assert (name in load_lists("safe") or name == "twin") and not form, name
        elif name in ("PATIENT", "RELATIVE", "DOCTOR"):
            assert not form or form in FORMS or form in _TWIN_FORMS, form
        elif name == "DATE":
            assert not form or form in load_lists("dates"), form
        elif name in ("AGE", "PROFESSION"):
            assert not form or form in (AGE_FORMS if name == "AGE" else WORK_FORMS), (name, form)
        else:
            assert PhiType[name] and not form, (name, form)


def test_literal_identifiers_have_a_type() -> None:
    literals = _LITERAL.findall(read_data("lookalikes.toml"))
    assert literals and {name for name, _ in literals} <= set(PhiType.__members__)


def test_layouts_use_known_styles() -> None:
    styles = {
        match
        for layout in load_layouts()
        for line in layout.lines
        for match in re.findall(r"^%% (\w+)", line)
    }
    assert styles <= set(load_lines("sentences"))
    assert all(layout.case in ("", "upper", "lower") for layout in load_layouts())


def test_there_are_many_sentences() -> None:
    assert sum(map(len, load_lines("sentences").values())) > 250


def test_no_template_syntax_is_left() -> None:
    rng = random.Random(0)
    maker = SurrogateMaker(rng)
    for _ in range(300):
        text = synthetic_document(rng, maker).text
        assert not re.search(r"\{[A-Za-z]|>>|<<|%% ", text)


def test_every_type_occurs() -> None:
    rng = random.Random(1)
    maker = SurrogateMaker(rng)
    seen = {span.type for _ in range(500) for span in synthetic_document(rng, maker).spans}
    assert seen == set(PhiType)


@pytest.mark.parametrize("slot", sorted(load_lists("safe")))
def test_safe_slots_are_filled(slot: str) -> None:
    rng = random.Random(2)
    filled = [draw_safe(slot, rng) for _ in range(200)]
    assert all(text and not re.search(r"\[[\d.,]+-[\d.,]+\]|¤", text) for text in filled)


def test_family_shares_surnames_at_times() -> None:
    rng = random.Random(3)
    maker = SurrogateMaker(rng)
    casts = [draw_cast(rng, maker) for _ in range(50)]
    shared = [
        relative.surname == cast.people[PhiType.PATIENT][0].surname
        for cast in casts
        for relative in cast.people[PhiType.RELATIVE]
    ]
    assert 0.3 < sum(shared) / len(shared) < 0.9
