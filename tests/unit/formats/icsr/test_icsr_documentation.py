"""docs/icsr.md lists every element and what the profiles do with it."""

from pathlib import Path

import pytest

from inverse_deid.formats.icsr.standard.elements import elements
from inverse_deid.formats.icsr.standard.profiles import builtin_profile

PAGE = (Path(__file__).parents[4] / "docs" / "icsr.md").read_text(encoding="utf-8")
LETTERS = {"keep": "k", "mask": "m", "blank": "b", "drop": "d", "pseudonym": "p"}
LETTERS |= {"date": "t", "age": "a", "text": "x"}
PROFILES = ("eudravigilance", "fda", "third-party", "public")
ROWS = {
    row[1].strip(): [cell.strip() for cell in row]
    for row in (line.split("|") for line in PAGE.splitlines())
    if len(row) == 10
}


@pytest.mark.parametrize("element", elements().values(), ids=lambda element: element.id)
def test_the_page_says_of_an_element_what_the_tables_say(element):
    lengths = " / ".join(f"{element.max_length[d]:,}" if element.max_length[d] else "-" for d in ("r3", "r2"))
    deeds = " ".join(LETTERS[builtin_profile(name).actions[element.id]] for name in PROFILES)
    flags = ["yes" if flag else "" for flag in (element.msk, element.required)]
    assert ROWS[element.id][2:9] == [element.name, element.kind, lengths, *flags, element.known, deeds]


def test_the_page_lists_no_other_element():
    assert set(ROWS) - {"element", "---"} == set(elements())
