"""What must hold of every masked document holds of fuzzed ones, and the harness sees where it does not.

`scripts/fuzz_invariants.py` checks many more documents than this.
"""

import dataclasses

import numpy as np
import pytest
from fuzzed_texts import Canary, FuzzedText, fuzzed_text
from masking_invariants import INVARIANTS, Harness, Seen

from inverse_deid.core.values import Decisions, Document, Reason
from inverse_deid.text.tokenizer import tokenize

N_DOCUMENTS = 300
TEXT = "Mr. Okonkwo, seen 3/4/2021 by Okonkwo, had a \x1frash and took ibuprofen; call 555-013-7788."


@pytest.fixture(scope="module")
def harness():
    return Harness()


@pytest.fixture
def seen(harness):
    """A document that is masked as it should be; its token 7 is the second mention of a titled name."""
    harness.recorded.answers_again = False
    doc = Document("seen", TEXT, known=("ibuprofen",))
    masked = harness.noting.mask(doc)
    analysis, scores = harness.recorded.analyses[TEXT], harness.recorded.scores[TEXT]
    canary = ("phone", TEXT.index("555"), TEXT.index("7788") + 4)
    return Seen(doc, masked, analysis.verdicts, scores.p_safe, (canary,))


def test_fuzzed_documents_break_no_invariant(harness):
    findings = harness.check([fuzzed_text(27, index) for index in range(N_DOCUMENTS)])
    assert not findings.broken
    assert set(INVARIANTS) < set(findings.checked)
    assert findings.figures["documents"] == N_DOCUMENTS


def test_a_fuzzed_document_depends_on_seed_and_index_alone():
    assert fuzzed_text(27, 5) == fuzzed_text(27, 5) != fuzzed_text(28, 5)


@pytest.mark.parametrize("name", INVARIANTS)
def test_a_document_that_is_masked_as_it_should_be_breaks_none(seen, name):
    assert INVARIANTS[name](seen)


def keeping(seen, word, reason=Reason.KEPT_BY_NETWORK):
    """The document as if a word had been kept wherever it stands, and shown."""
    masked, text = seen.masked, seen.doc.text
    chosen = np.array([one == word for one in masked.tokens.words])
    keep, reasons = masked.decisions.keep | chosen, masked.decisions.reasons.copy()
    reasons[chosen] = reason
    shown = [
        (mask, replaced)
        for mask, replaced in zip(masked.masks, masked.replaced, strict=True)
        if word not in text[mask[0] : mask[1]]
    ]
    pieces, position, ranges, length = [], 0, [], 0
    for (start, end), (first, last) in shown:
        pieces += (text[position:start], masked.text[first:last])
        length += start - position
        ranges.append((length, length + last - first))
        length, position = length + last - first, end
    changed = dataclasses.replace(
        masked,
        text="".join([*pieces, text[position:]]),
        masks=tuple(mask for mask, _ in shown),
        replaced=tuple(ranges),
        decisions=dataclasses.replace(masked.decisions, keep=keep, reasons=reasons),
    )
    return dataclasses.replace(seen, masked=changed)


def changed(seen, **fields):
    return dataclasses.replace(seen, masked=dataclasses.replace(seen.masked, **fields))


FAULTS = {
    "tokens_are_exact": lambda seen: changed(
        seen, tokens=dataclasses.replace(seen.masked.tokens, starts=seen.masked.tokens.starts + 1)
    ),
    "masks_are_in_order": lambda seen: changed(seen, masks=seen.masked.masks[::-1]),
    "rest_is_copied": lambda seen: changed(seen, text=seen.masked.text.upper()),
    "only_kept_leaves": lambda seen: changed(
        seen, masks=seen.masked.masks[1:], replaced=seen.masked.replaced[1:]
    ),
    "reasons_agree": lambda seen: keeping(seen, "2021", Reason.VETO_PATTERN),
    "kept_reached_threshold": lambda seen: keeping(seen, "Okonkwo"),
    "rules_are_heeded": lambda seen: keeping(seen, "2021"),
    "no_forbidden_sign_touches_what_is_kept": lambda seen: dataclasses.replace(
        seen, doc=dataclasses.replace(seen.doc, text=seen.doc.text.replace(" ", "\u200b"))
    ),
    "titled_names_are_masked_everywhere": lambda seen: changed(
        seen,
        decisions=dataclasses.replace(
            seen.masked.decisions,
            keep=np.array([i == 7 for i in range(len(seen.keep))]),
            reasons=np.full(len(seen.keep), Reason.KEPT_BY_NETWORK, np.uint8),
        ),
    ),
    "known_values_are_masked": lambda seen: keeping(seen, "ibuprofen"),
    "contacts_are_masked": lambda seen: keeping(seen, "7788"),
    "output_can_be_written": lambda seen: changed(seen, text="\ud800"),
    "stand_ins_repeat_nothing": lambda seen: changed(
        seen, masks=((0, len(TEXT)),), replaced=((0, 7),), text="Okonkwo"
    ),
    "nothing_shows_text": lambda seen: changed(seen, stand_ins={"Okonkwo": 1}),
    "nothing_failed": lambda seen: changed(seen, failed=True),
}


@pytest.mark.parametrize("name", INVARIANTS)
def test_each_invariant_sees_what_breaks_it(seen, name):
    assert not INVARIANTS[name](FAULTS[name](seen))


@pytest.mark.parametrize(
    ("name", "text", "planted"),
    [
        ("no_forbidden_sign_touches_what_is_kept", "Pain \x12Â± 3 and swelling of the hands.", ""),
        ("contacts_are_masked", "She was given the vaccine, lot R77068828, on arrival.", "R77068828"),
    ],
    ids=["a sign read in a wrong encoding is no word", "the number of a lot is a fact"],
)
def test_what_only_looks_broken(harness, name, text, planted):
    at = text.index(planted)
    canaries = (Canary("glued digits", at, at + len(planted)),) if planted else ()
    findings = harness.check([FuzzedText(0, text, (), canaries, ())])
    assert findings.checked[name] == 1
    assert not findings.broken


def test_a_letter_read_in_a_wrong_encoding_is_part_of_a_word(seen):
    text = "was \x12Ã¼ber"
    tokens = tokenize(text)
    columns = {
        one.name: getattr(seen.masked.decisions, one.name)[:2] for one in dataclasses.fields(Decisions)
    }
    decisions = Decisions(**columns | {"keep": np.array([False, True])})
    masked = dataclasses.replace(seen.masked, tokens=tokens, decisions=decisions)
    doc = dataclasses.replace(seen.doc, text=text)
    letters = frozenset({5, 6})
    shown = dataclasses.replace(seen, doc=doc, masked=masked, excused=letters)
    assert not INVARIANTS["no_forbidden_sign_touches_what_is_kept"](shown)


@pytest.mark.parametrize(("number", "holds"), [("07700900662", True), ("07911123456", False)])
def test_only_a_fictional_phone_number_may_stand_for_one(seen, number, holds):
    repeated = changed(seen, tokens=tokenize(number), masks=((0, 11),), replaced=((0, 11),), text=number)
    repeated = dataclasses.replace(repeated, doc=dataclasses.replace(seen.doc, text=number))
    assert INVARIANTS["stand_ins_repeat_nothing"](repeated) is holds


def test_a_word_that_shares_a_run_with_a_forbidden_sign_is_masked_whole(harness):
    # Two wrong encodings: part of the word was shown beside its mask.
    assert not harness.check([fuzzed_text(20261201, 189902)]).broken
