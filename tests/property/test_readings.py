"""Whatever the text: the alignment covers it, and no token leaves whose reading is masked."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document, Reason, RuleAnalysis, RuleVerdicts
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.document_passes import PhraseList
from inverse_deid.masking.pipeline import Deidentifier, Scores, Stages
from inverse_deid.replacement.markers import fixed_marker
from inverse_deid.text.reading import read_text
from inverse_deid.text.rendering import ALLOWED_GAP_CHARACTERS
from inverse_deid.text.tokenizer import tokenize

PIECES = (
    "rash", "Whit", "field", "pa", "tient", "-\n", "-\r\n ", "\n", " ", ". ", "é", "JosÃ©", "MÃ¼ller", "â€™", "â€œ", "â€\ufffd", "Â°",
    "Â ", "â€‹", "\u200b", "Ã", "\x9d", "12", "Ã¢â‚¬â„¢", "日本", "- ", "A", "\ufffd", "s",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
WORDS = frozenset({"patient", "pa", "rash", "whitfield"})


def read(text):
    return read_text(text, lambda word: word.lower() in WORDS)


class Rules:
    def analyse_many(self, tokens):
        return [
            RuleAnalysis(
                np.zeros(len(t), np.int32),
                np.zeros((len(t), 1), np.float32),
                dataclasses.replace(RuleVerdicts.silent(len(t)), safe=np.ones(len(t), bool)),
            )
            for t in tokens
        ]


class Coin:
    """Masks the tokens of the reading that a list of flips says."""

    def __init__(self, flips):
        self.flips = flips

    def score(self, tokens, analyses):
        found = []
        for t in tokens:
            p = np.array(
                [0.99 if self.flips[i % len(self.flips)] else 0.01 for i in range(len(t))], np.float32
            )
            found.append(Scores(p, np.full(len(t), 2, np.uint8)))
        return found


def deidentifier(flips=(True,), **options):
    stages = Stages(
        analyser=Rules(), scorer=Coin(flips), thresholds=Thresholds(0.8, 0.95), marker_for=fixed_marker("PHI"),
        **{"read": read, **options},
    )  # fmt: skip
    return Deidentifier(stages)


@given(TEXTS)
def test_the_alignment_covers_the_text(text):
    reading = read(text)
    if reading is None:
        return
    position = shown = 0
    for (start, end), (begin, stop) in zip(reading.edited, reading.edits, strict=True):
        assert position <= start < end
        assert text[position:start] == reading.text[shown:begin]
        position, shown = end, stop
    assert text[position:] == reading.text[shown:]
    tokens = tokenize(reading.text)
    starts, ends = reading.originals(tokens)
    assert (starts < ends).all()
    covered = np.zeros(len(text), bool)
    covered |= reading.covered()
    for start, end in zip(starts, ends, strict=True):
        covered[start:end] = True
    original = tokenize(text)
    assert all(covered[a:b].all() for a, b in zip(original.starts, original.ends, strict=True))


@given(TEXTS, st.lists(st.booleans(), min_size=1, max_size=7))
def test_no_token_is_kept_of_which_a_reading_is_masked(text, flips):
    reading = read(text)
    if reading is None:
        return
    masked = deidentifier(flips).mask(Document("1", text))
    assert not masked.failed
    tokens = tokenize(reading.text)
    (alone,) = deidentifier(flips, read=lambda text: None).mask_many([Document("1", reading.text)])
    hidden = np.zeros(len(text), bool)
    for start, end in masked.masks:
        hidden[start:end] = True
    for start, end, keep in zip(*reading.originals(tokens), alone.decisions.keep, strict=True):
        assert keep or hidden[start:end].all()
    excused = reading.covered()
    for start, end in reading.harmful():
        excused[start:end] = False
    for character, is_hidden, is_excused in zip(text, hidden, excused, strict=True):
        assert is_hidden or is_excused or character.isalnum() or character in ALLOWED_GAP_CHARACTERS
    decisions = masked.decisions
    assert [Reason(reason).keeps for reason in decisions.reasons] == decisions.keep.tolist()


def test_reason_and_probability_are_those_of_the_worst_reading():
    masked = deidentifier((True, False)).mask(Document("1", "rash Whit-\nfield rash"))
    assert masked.decisions.keep.tolist() == [True, False, False, True]
    assert masked.decisions.p_safe.tolist() == pytest.approx([0.99, 0.01, 0.01, 0.99])
    assert masked.text == "rash PHI rash"


def test_a_repair_that_fails_leaves_the_text_as_it_is_written():
    def fail(text):
        raise RuntimeError(text)

    masked = deidentifier(read=fail).mask(Document("1", "pa-\ntient"))
    assert (masked.failed, masked.text) == (False, "pa-\ntient")


def test_signs_that_read_as_a_quotation_mark_leave_as_they_are():
    masked = deidentifier().mask(Document("1", "a â€œrashâ€\ufffd."))
    assert masked.text == "a â€œrashâ€\ufffd."
    assert deidentifier((False,)).mask(Document("1", "JosÃ©.")).text == "PHI."
    assert "\ufffd" not in deidentifier().mask(Document("1", "a\ufffdb JosÃ©")).text
    assert "â€‹" not in deidentifier().mask(Document("1", "Whitâ€‹field")).text


@pytest.mark.parametrize("name", ["Okonk-\nwo", "Okonk-\r\n   wo", "OkonkwÃ©"])
def test_known_identifiers_and_denied_words_are_found_in_the_reading(name):
    plain = read(name).text
    known = deidentifier().mask(Document("1", f"rash {name} rash", known=(plain,)))
    denied = deidentifier(deny=PhraseList([plain])).mask(Document("1", f"rash {name} rash"))
    assert known.text == denied.text == "rash PHI rash"


def test_denied_words_are_found_in_the_original_as_well():
    masked = deidentifier(deny=PhraseList(["tient"])).mask(Document("1", "pa-\ntient"))
    assert masked.decisions.keep.tolist() == [True, False]


@pytest.fixture(scope="module")
def packaged():
    return build_deidentifier(MaskingSettings())


@pytest.mark.parametrize(
    "name",
    [
        "Whit-\nfield",
        "Okonk-\nwo",
        "Linde-\n  qvist",
        "MÃ¼ller",
        "GarcÃ\xada",
        "KovaÅ¡eviÄ‡",
        "Whitfield-\nJones",
    ],
)
def test_broken_names_stay_masked(packaged, name):
    text = f"The patient was seen by Dr. {name}, who noted a head-\nache and the patientâ€™s rash."
    masked = packaged.mask(Document("1", text))
    hidden = {i for start, end in masked.masks for i in range(start, end)}
    start = text.index(name)
    assert {i for i in range(start, start + len(name)) if text[i].isalnum()} <= hidden
    assert "head-\nache and the patientâ€™s rash." in masked.text
