"""What a kept category lifts: only the vetoes that belong to it."""

import numpy as np
import pytest

from inverse_deid.core.phi import HyperClass
from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.rules.patterns.search import LIFTED_BY, SILENT_VETO_PATTERNS, VETO_PATTERNS
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize

NAME, DATE, AGE = HyperClass.NAME, HyperClass.DATE, HyperClass.AGE
CONTACT, ID, PLACE, PROFESSION = HyperClass.CONTACT, HyperClass.ID, HyperClass.PLACE, HyperClass.PROFESSION
EVERY = frozenset(HyperClass) - {HyperClass.SAFE}


@pytest.fixture(scope="module")
def lexicon():
    return load_lexicon()


def analyse(lexicon, text, *kept):
    return RuleAnalyser(lexicon, InternedWords(), kept=frozenset(kept)).analyse(tokenize(text)).verdicts


@pytest.mark.parametrize(
    ("text", "word", "kept", "lifted"),
    [
        ("seen on 12 March 2019 again", "2019", {DATE}, True),
        ("seen on 12 March 2019 again", "March", {DATE}, True),
        ("seen on 12 March 2019 again", "2019", {AGE, ID, CONTACT}, False),
        ("seen on Monday again", "Monday", {DATE}, True),
        ("seen on Monday again", "Monday", {AGE}, False),
        ("seen by Dr. June again", "June", {DATE}, False),
        ("it was June's rash", "June", {DATE}, False),
        ("at Christmas she fell", "Christmas", {DATE}, False),
        ("call +44 1632 960983 now", "960983", {CONTACT}, True),
        ("call +44 1632 960983 now", "960983", {DATE}, False),
        ("mail lindero@clinic.example now", "lindero", {CONTACT}, False),
        ("mail lindero@clinic.example now", "lindero", {CONTACT, NAME}, True),
        ("MRN: 4481207 noted", "4481207", {ID}, True),
        ("MRN: 4481207 noted", "4481207", {CONTACT}, False),
        ("seen by Okonkwo today", "Okonkwo", EVERY - {NAME}, False),
        ("seen by Okonkwo today", "Okonkwo", {NAME}, True),
        ("seen by Smіth today", "Smіth", EVERY, False),
        ("name=Okonkwo; rash", "Okonkwo", EVERY, False),
        ("born in 1961 there", "1961", EVERY, False),
        ("aged ninety-four", "four", EVERY, False),
        ("no veto here", "veto", EVERY, False),
    ],
)
def test_only_its_own_vetoes_give_way(lexicon, text, word, kept, lifted):
    verdicts = analyse(lexicon, text, *kept)
    assert bool(verdicts.lifted[tokenize(text).words.index(word)]) is lifted


def test_kept_classes_change_no_feature_and_no_other_verdict(lexicon):
    tokens = tokenize("Ms. Okonkwo, seen 12 March 2019, call +44 1632 960983. MRN: 4481207")
    plain, kept = (
        RuleAnalyser(lexicon, InternedWords(), kept=some).analyse(tokens) for some in (frozenset(), EVERY)
    )
    assert np.array_equal(plain.features, kept.features)
    assert plain.verdicts.lifted.sum() == 0 < kept.verdicts.lifted.sum()
    for name in ("safe", "never", "veto", "titled", "name", "word", "maybe_name", "opening"):
        assert np.array_equal(getattr(plain.verdicts, name), getattr(kept.verdicts, name))


def test_every_lifted_pattern_exists():
    assert set(LIFTED_BY) <= {*VETO_PATTERNS, *SILENT_VETO_PATTERNS}
    assert HyperClass.SAFE not in frozenset().union(*LIFTED_BY.values())
