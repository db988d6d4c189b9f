from __future__ import annotations

import random
import re

import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.lexicon import load_lexicon
from inverse_deid.training.corpora.people import coin_name
from inverse_deid.training.corpora.writing import add_noise, in_capitals, in_haste, in_lower_case, recase

PARTS = [
    ("Seen: ", None), ("İdil Strauß", PhiType.PATIENT), (", aged ", None), ("44", PhiType.AGE),
    (". It's Dr. ", None), ("D'Arcy", PhiType.DOCTOR), ("'s patient; ", None), ("3/4/2019", PhiType.DATE),
    (" temp. 38.5, write to ", None), ("t.yarrow@post.example", PhiType.EMAIL), (". Next ", None),
    ("J.", PhiType.RELATIVE), (" ", None), (".", PhiType.IDNUM), (" considerable improvement afterwards", None),
]  # fmt: skip


def _doc(copies: int = 1) -> Document:
    text, spans = "", []
    for part, phi_type in PARTS * copies:
        if phi_type:
            spans.append(PhiSpan(len(text), len(text) + len(part), phi_type))
        text += part
    return Document("d1", text, tuple(spans), meta={"era": "modern"})


def _marked(doc: Document) -> list[tuple[PhiType, str]]:
    return [(span.type, doc.text[span.start : span.end]) for span in doc.spans]


def _bare(text: str) -> str:
    return re.sub(r"[^\w@]", "", text).casefold()


def test_lower_case_keeps_letters_whose_other_case_is_longer() -> None:
    marked = _marked(in_lower_case(_doc()))
    assert marked[0] == (PhiType.PATIENT, "İdil strauß")
    assert _marked(in_capitals(_doc()))[0] == (PhiType.PATIENT, "İDIL STRAUß")


@pytest.mark.parametrize("seed", range(40))
def test_spans_mark_the_same_words_after_typing_in_haste(seed: int) -> None:
    before, after = _doc(4), in_haste(_doc(4), random.Random(seed))
    assert [kind for kind, _ in _marked(after)] == [kind for kind, _ in _marked(before)]
    for (_, old), (_, new) in zip(_marked(before), _marked(after), strict=True):
        assert new and new == new.strip()
        assert _bare(new) == _bare(old)
    assert after.text.count("3/4/2019") == after.text.count("t.yarrow@post.example") == 4
    assert after.meta == {"era": "modern"}


def test_haste_drops_capitals_and_punctuation() -> None:
    texts = [in_haste(_doc(4), random.Random(seed)).text for seed in range(20)]
    assert any(text == text.lower().replace("i̇", "İ") for text in texts)
    assert all(text.count(",") + text.count(";") < 8 for text in texts)


@pytest.mark.parametrize("seed", range(40))
def test_noise_moves_spans_along(seed: int) -> None:
    before, after = _doc(12), add_noise(_doc(12), random.Random(seed))
    assert [span.type for span in after.spans] == [span.type for span in before.spans]
    same = [
        (old, new)
        for (_, old), (_, new) in zip(_marked(before), _marked(after), strict=True)
        if _bare(old) == _bare(new)
    ]
    assert len(same) > 0.6 * len(before.spans)


def test_noise_confuses_about_one_character_in_a_hundred() -> None:
    before = Document("d", "a simple narrative of no one, seen at noon " * 60)
    after = add_noise(before, random.Random(1)).text.replace("-\n", "")
    assert re.search(r"\w-\n\w", add_noise(before, random.Random(1)).text)
    assert 0.004 < sum(char.isdigit() or char in "|QZ" for char in after) / len(after) + 0.004 < 0.02
    assert after != before.text


def test_half_of_the_recased_are_in_lower_case() -> None:
    doc = Document("d", "Dr. Okafor saw Ada, again. " * 9)
    rng = random.Random(3)
    texts = [recase(doc, rng).text for _ in range(400)]
    lower = sum(text == doc.text.lower() for text in texts) / 400
    upper = sum(text == doc.text.upper() for text in texts) / 400
    assert 0.42 < lower < 0.58
    assert 0.19 < upper < 0.31


def test_coined_names_are_in_no_list() -> None:
    rng, lexicon = random.Random(5), load_lexicon()
    names = [coin_name(rng) for _ in range(3000)]
    assert sum(bool(lexicon.flags(name)) for name in names) < 3
    assert len(set(names)) > 2500
    assert all(name[0].isupper() and name.isalpha() and 3 <= len(name) <= 16 for name in names)
