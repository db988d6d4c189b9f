"""The mechanism of replacement: the first proposal wins, and the marker is the last resort."""

from __future__ import annotations

import pytest
from case_maskers import masked_by, masker_of, spans_by

from inverse_deid.replacement.masked_words import MaskedWords, Proposal
from inverse_deid.replacement.replacers import replace_masks
from inverse_deid.text.rendering import substitute

TEXT = "seen by Ann Li on 12 May"
MASKER = masker_of(spans_by(NAME="(Ann Li)", DATE="(12 May)"))


class Fixed:
    """Proposes what the test says."""

    def __init__(self, *proposals: Proposal) -> None:
        self._proposals = proposals

    def propose(self, text: MaskedWords) -> tuple[Proposal, ...]:
        return self._proposals


def replaced(*replacers: Fixed):
    return replace_masks(MaskedWords(masked_by(MASKER, TEXT)), replacers)


def test_a_mask_without_a_proposal_keeps_its_marker():
    assert replaced(Fixed()).text == "seen by PHI on PHI"
    assert replaced(Fixed(Proposal(2, 4, "Jo Bloggs", "surrogate"))).text == "seen by Jo Bloggs on PHI"


def test_the_first_proposal_for_a_word_wins():
    first, second = Proposal(5, 7, "2019", "date"), Proposal(5, 7, "room 4", "surrogate")
    name = Proposal(2, 4, "Jo Bloggs", "surrogate")
    found = replaced(Fixed(first), Fixed(name, second))
    assert found.text == "seen by Jo Bloggs on 2019"
    assert found.stand_ins == {"date": 1, "surrogate": 1}


def test_a_proposal_that_cannot_be_shown_gives_its_words_to_no_other():
    first, second = Proposal(5, 7, "20\u200b19", "date"), Proposal(5, 7, "room 4", "surrogate")
    assert replaced(Fixed(first), Fixed(second)).text == "seen by PHI on PHI"


def test_the_rest_of_a_longer_mask_keeps_its_marker():
    found = replaced(Fixed(Proposal(2, 3, "Jo", "surrogate")))
    assert found.text == "seen by Jo PHI on PHI"
    assert [TEXT[start:end] for start, end in found.masks] == ["Ann", "Li", "12 May"]


@pytest.mark.parametrize("pieces", [[(0, 5, "a"), (4, 6, "b")], [(5, 6, "a"), (0, 1, "b")], [(20, 30, "a")]])
def test_ranges_that_overlap_are_refused(pieces):
    with pytest.raises(ValueError, match="overlap"):
        substitute(TEXT, pieces)
