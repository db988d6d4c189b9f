import gzip
import json
import random

import numpy as np
import pytest
from fake_maskers import CANARY
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.core.errors import AnnotationError, InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.causality_set import (
    CausalityDocument,
    DrugRole,
    Item,
    ItemKind,
    OnsetPart,
    UtilitySpan,
    read_causality_set,
)
from inverse_deid.evaluation.masked_files import MaskedOutput
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.evaluation.utility import COLUMNS, count_best_case, count_days, count_kept

TEXT = (
    "Aspirin 100 mg, begun 3 May 2020; also iron. On 8 May 2020, five days later, rash. Stopped. It cleared."
)


def at(piece, text=TEXT):
    """Where a piece stands, once."""
    assert text.count(piece) == 1, piece
    return text.index(piece), text.index(piece) + len(piece)


def item(kind, *pieces, role=None, text=TEXT):
    return Item(kind, tuple(UtilitySpan(*at(piece, text)) for piece in pieces), role)


def onset(*, start=None, reaction=None, duration=(), days=None, text=TEXT):
    parts = [(OnsetPart.DURATION, piece) for piece in duration]
    parts += [(OnsetPart.START, start), (OnsetPart.REACTION, reaction)] if start else []
    return Item(
        ItemKind.ONSET, tuple(UtilitySpan(*at(piece, text), part) for part, piece in parts), days=days
    )


ITEMS = (
    item(ItemKind.DRUG, "Aspirin", role=DrugRole.SUSPECT),
    item(ItemKind.DOSE, "100 mg"),
    item(ItemKind.DRUG, "iron", role=DrugRole.CONCOMITANT),
    onset(start="3 May 2020", reaction="8 May 2020", duration=["five days later"], days=5),
    item(ItemKind.REACTION, "rash"),
    item(ItemKind.DECHALLENGE, "Stopped", "It cleared"),
)
DATES = tuple(PhiSpan(*at(piece), PhiType.DATE) for piece in ("3 May 2020", "8 May 2020"))
DOC = CausalityDocument(Document("a", TEXT, DATES), ITEMS)


def masks(*pieces, text=TEXT):
    return tuple(at(piece, text) for piece in pieces)


def replaced(pieces, text=TEXT, doc_id="a"):
    """An output in which each piece was replaced."""
    written = text
    for piece, stand_in in pieces.items():
        written = written.replace(piece, stand_in)
    return MaskedOutput(doc_id, masks(*pieces, text=text), written)


def counts(result, column):
    figures = result.figures(column)
    return [(share.part, share.whole) for share in (figures.items, figures.tokens, figures.narratives)]


def test_two_documents_counted_by_hand():
    other = "Iron 5 ml. Rash at once."
    second = CausalityDocument(
        Document("b", other),
        (
            item(ItemKind.DRUG, "Iron", role=DrugRole.SUSPECT, text=other),
            item(ItemKind.DOSE, "5 ml", text=other),
            item(ItemKind.REACTION, "Rash", text=other),
        ),
    )
    outputs = [
        MaskedOutput("a", masks("100", "3 May 2020", "8 May 2020", "cleared")),
        MaskedOutput("b", masks("Iron", text=other)),
    ]
    result = count_kept([DOC, second], outputs)
    # a loses the dose (1 of 2 tokens) and the dechallenge (1 of 3); onset lives by its duration (3 of 9);
    # b loses the drug.
    assert counts(result, "ALL") == [
        (6, 9),
        (1 + 1 + 1 + 3 + 1 + 2 + 0 + 2 + 1, 1 + 2 + 1 + 9 + 1 + 3 + 4),
        (0, 2),
    ]
    assert counts(result, "DRUG") == [(2, 3), (2, 3), (1, 2)]
    assert counts(result, "SUSPECT") == [(1, 2), (1, 2), (1, 2)]
    assert counts(result, "CONCOMITANT") == [(1, 1), (1, 1), (1, 1)]
    assert counts(result, "DOSE") == [(1, 2), (3, 4), (1, 2)]
    assert counts(result, "ONSET") == [(1, 1), (3, 9), (1, 1)]
    assert counts(result, "REACTION") == [(2, 2), (2, 2), (2, 2)]
    assert counts(result, "DECHALLENGE") == [(0, 1), (2, 3), (0, 1)]
    assert counts(result, "LAB") == [(0, 0), (0, 0), (0, 0)]
    assert result.figures("LAB").narratives.value is None
    assert result.ids == ("a", "b")
    assert result.items.shape == (2, len(COLUMNS))


def test_of_no_document_everything_is_undefined():
    result = count_kept([], [])
    assert [result.figures(column).items for column in COLUMNS] == [Share(0, 0)] * len(COLUMNS)
    assert result.figures().narratives.value is None


def test_at_best_only_the_dates_are_gone():
    alone = CausalityDocument(DOC.doc, (onset(start="3 May 2020", reaction="8 May 2020", days=5),))
    assert counts(count_best_case([alone]), "ONSET") == [(0, 1), (0, 6), (0, 1)]
    assert counts(count_best_case([DOC]), "ALL") == [(6, 6), (11, 17), (1, 1)]


BOTH = {"3 May 2020": "PHI", "8 May 2020": "PHI", "five days later": "PHI"}


@pytest.mark.parametrize(
    ("output", "is_kept"),
    [
        (MaskedOutput("a", ()), True),
        (MaskedOutput("a", masks("five days later")), True),
        (MaskedOutput("a", masks("five")), True),
        (MaskedOutput("a", masks("3 May 2020", "8 May 2020")), True),
        (MaskedOutput("a", masks(*BOTH)), False),
        (MaskedOutput("a", masks(*BOTH), TEXT), False),
        (MaskedOutput("a", masks("five days later", "3 May 2020")), False),
        (MaskedOutput("a", masks("five", "8 May 2020")), False),
        (MaskedOutput("a", ((0, len(TEXT)),), "PHI"), False),
        (replaced(BOTH), False),
        (replaced(BOTH | {"3 May 2020": "[DATE]", "8 May 2020": "[DATE]"}), False),
        (replaced(BOTH | {"3 May 2020": "Day 1", "8 May 2020": "Day 6"}), True),
        (replaced(BOTH | {"3 May 2020": "Day 0", "8 May 2020": "Day +5"}), True),
        (replaced(BOTH | {"3 May 2020": "day -5", "8 May 2020": "day 0"}), True),
        (replaced(BOTH | {"3 May 2020": "Day 1", "8 May 2020": "Day 7"}), False),
        (replaced(BOTH | {"3 May 2020": "Day 1", "8 May 2020": "PHI"}), False),
        (replaced(BOTH | {"3 May 2020": "29 Dec 2021", "8 May 2020": "3 Jan 2022"}), True),
        (replaced(BOTH | {"3 May 2020": "29 Dec 2021", "8 May 2020": "4 Jan 2022"}), False),
        (replaced({"8 May 2020": "Day 6", "five days later": "PHI"}), False),
        (replaced({"3 May 2020": "Day 1", "five days later": "PHI"}), False),
        (replaced({"8 May 2020": "8 May 2020", "five days later": "PHI"}), True),
        (replaced({"3 May 2020": "June 2020", "8 May 2020": "June 2020", "five": "PHI"}), False),
    ],
)
def test_time_to_onset_counts_as_long_as_it_can_be_computed(output, is_kept):
    assert count_kept([DOC], [output]).figures("ONSET").items == Share(int(is_kept), 1)


@pytest.mark.parametrize(
    "text", [None, TEXT.replace("2020;", "PHI;").replace("2020,", "PHI,").replace("five", "PHI")]
)
def test_dates_of_which_a_part_is_masked_are_lost(text):
    years = [(TEXT.index("2020;"), TEXT.index(";")), (TEXT.index("2020,"), TEXT.index(", five"))]
    output = MaskedOutput("a", (*years, *masks("five")), text)
    assert count_kept([DOC], [output]).figures("ONSET").items == Share(0, 1)


def test_a_clock_time_of_two_words_needs_both():
    text = "Given at 10:05, wheeze at 10:20."
    doc = CausalityDocument(Document("a", text), (onset(duration=["10:05", "10:20"], text=text),))
    kept = [
        count_kept([doc], [MaskedOutput("a", found)]).figures("ONSET").items.part
        for found in ((), masks("10:05", text=text), masks(":20", text=text))
    ]
    assert kept == [1, 0, 0]


@pytest.mark.parametrize(
    ("text", "found", "written", "is_kept"),
    [
        ("Li 3 May 8 May ill", ["Li", "3 May", "8 May"], "PHI Day 1 Day 6 ill", True),
        ("Li 3 May 8 May ill", ["Li", "3 May", "8 May"], "PHI Day 1 Day 5 ill", False),
        ("3 May Li 8 May", ["3 May", "Li", "8 May"], "1 Jan 2000 PHI 6 Jan 2000", True),
        ("3 May 2020 Li 8 May 2020 Li ", ["3 May", "8 May"], "30 Dec 2020 Li 4 Jan 2020 Li ", True),
        ("3 May 2020 Li 8 May 2020 Li ", ["3 May", "8 May"], "10 May 2020 Li 15 May 2020 Li ", True),
        ("3 May, 8 May", ["3 May", "8 May"], ", ", False),
    ],
)
def test_stand_ins_are_found_between_short_kept_pieces(text, found, written, is_kept):
    dates = [
        UtilitySpan(*at(p, text), part)
        for p, part in zip(["3 May", "8 May"], list(OnsetPart)[1:], strict=True)
    ]
    doc = CausalityDocument(Document("a", text), (Item(ItemKind.ONSET, tuple(dates), days=5),))
    output = MaskedOutput("a", masks(*found, text=text), written)
    assert count_kept([doc], [output]).figures("ONSET").items.part == int(is_kept)


@pytest.mark.parametrize(
    ("start", "reaction", "days"),
    [
        ("Day 3", "Day 10", {7}),
        ("2020-02-28", "2020-03-01", {2}),
        ("20200228", "20200301", {2}),
        ("2023/5/10", "2023/7/10", {61}),
        ("12-OCT-2019", "15OCT2019", {3}),
        ("28AUG98", "06SEP98", {9}),
        ("1st of Sept. 2021", "September 9th, 2021", {8}),
        ("June 5", "12 June", {7}),
        ("12 June", "5 June", {358, 359}),
        ("4 July", "4 July", {0}),
        ("28 Feb", "1 Mar", {1, 2}),
        ("28 Feb 2024", "1 Mar", {2}),
        ("31 Dec 2019", "2 Jan", {2}),
        ("31 Dec", "2 Jan 2020", {2}),
        ("9/18/2020", "9/20", {2}),
        ("12 May 2020", "2 May 2020", {-10}),
        ("14/04/2021", "20/04/2021", {6}),
        ("3/1", "9/1", {6, 184}),
        ("1/2/2020", "2/3/2020", {30, 32}),
    ],
)
def test_days_between_dates_as_they_are_written(start, reaction, days):
    assert count_days(start, reaction) == days


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PHI",
        "[DATE]",
        "May",
        "May 2020",
        "2020",
        "12",
        "30 Feb 2020",
        "12 May PHI",
        "12 ██ 2020",
        "7 days",
    ],
)
def test_what_is_no_whole_date_tells_no_days(text):
    assert count_days(text, "12 May 2020") == frozenset()
    assert count_days("Day 3", text) == frozenset()


def test_a_span_that_cuts_a_word_asks_for_its_own_part_alone():
    text = "took 40mg"
    doc = CausalityDocument(Document("a", text), (item(ItemKind.DOSE, "40", text=text),))
    for mask, kept in (((7, 9), 1), ((5, 6), 0)):
        assert count_kept([doc], [MaskedOutput("a", (mask,))]).figures("DOSE").items.part == kept


def test_characters_between_words_may_be_masked():
    output = MaskedOutput("a", ((TEXT.index("; also"), TEXT.index("; also") + 1),))
    assert count_kept([DOC], [output]).figures().items == Share(6, 6)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([], "only in the gold or only in the masks: document a."),
        ([MaskedOutput("a", ()), MaskedOutput("c", ())], "document c."),
        ([MaskedOutput("a", ()), MaskedOutput("a", ())], "masked more than once: document a"),
        ([MaskedOutput("a", ((0, 999),))], "mask 0-999"),
        ([MaskedOutput("a", masks("iron"), "Something else")], "does not fit"),
    ],
)
def test_masks_that_do_not_belong_to_the_gold_are_refused(outputs, message):
    with pytest.raises(AnnotationError, match=message) as caught:
        count_kept([DOC], outputs)
    assert "Aspirin" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "spans", "options"),
    [
        (ItemKind.DRUG, [(0, 1)], {}),
        (ItemKind.DOSE, [(0, 1)], {"role": DrugRole.SUSPECT}),
        (ItemKind.DOSE, [], {}),
        (ItemKind.DOSE, [(0, 1, OnsetPart.DURATION)], {}),
        (ItemKind.DOSE, [(0, 1)], {"days": 3}),
        (ItemKind.ONSET, [(0, 1)], {}),
        (ItemKind.ONSET, [], {}),
        (ItemKind.ONSET, [(0, 1, OnsetPart.START)], {"days": 3}),
        (ItemKind.ONSET, [(0, 1, OnsetPart.START), (2, 3, OnsetPart.REACTION)], {}),
        (ItemKind.ONSET, [(0, 1, OnsetPart.START), (2, 3, OnsetPart.REACTION)], {"days": True}),
        (
            ItemKind.ONSET,
            [(0, 1, OnsetPart.START), (2, 3, OnsetPart.REACTION), (4, 5, OnsetPart.START)],
            {"days": 3},
        ),
        (ItemKind.ONSET, [(0, 1, OnsetPart.DURATION)], {"days": 3}),
    ],
)
def test_an_item_whose_marks_do_not_go_together_is_refused(kind, spans, options):
    with pytest.raises(AnnotationError):
        Item(kind, tuple(UtilitySpan(*span) for span in spans), **options)


@pytest.mark.parametrize("span", [(-1, 3), (3, 3), (100, 999), (14, 16)])
def test_a_span_outside_of_the_text_or_without_a_word_is_refused(span):
    with pytest.raises(AnnotationError, match="document a: span"):
        CausalityDocument(Document("a", TEXT), (Item(ItemKind.DOSE, (UtilitySpan(*span),)),))


LINE = {
    "id": "a",
    "text": f"{CANARY} fainted on 4 May after 2 days",
    "spans": [{"start": 0, "end": len(CANARY), "type": "PATIENT"}],
    "utility": [{"start": 11, "end": 18, "kind": "REACTION", "item": 1}],
}


def write(path, *lines):
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def test_marks_of_both_kinds_are_read_plain_and_gzipped(tmp_path):
    path = write(tmp_path / "a.jsonl", LINE)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for file in (path, packed):
        (read,) = read_causality_set(file)
        assert read.items == (Item(ItemKind.REACTION, (UtilitySpan(11, 18),)),)
        assert read.doc.spans == (PhiSpan(0, len(CANARY), PhiType.PATIENT),)
        assert CANARY not in repr(read)


@pytest.mark.parametrize(
    "rows",
    [
        CANARY,
        [CANARY],
        [{"start": 0, "end": 3, "kind": "DOSE"}],
        [{"start": "0", "end": 3, "kind": "DOSE", "item": 1}],
        [{"start": 0, "end": True, "kind": "DOSE", "item": 1}],
        [{"start": 0, "end": 3, "kind": CANARY, "item": 1}],
        [{"start": 0, "end": 3, "kind": [CANARY], "item": 1}],
        [{"start": 0, "end": 3, "item": 1}],
        [{"start": 0, "end": 3, "kind": "DRUG", "item": 1}],
        [{"start": 0, "end": 3, "kind": "DRUG", "role": CANARY, "item": 1}],
        [{"start": 0, "end": 3, "kind": "DRUG", "role": [CANARY], "item": 1}],
        [{"start": 0, "end": 3, "kind": "ONSET", "part": CANARY, "item": 1}],
        [{"start": 0, "end": 3, "kind": "DOSE", "item": 1}, {"start": 4, "end": 6, "kind": "LAB", "item": 1}],
        [{"start": 0, "end": 999, "kind": "DOSE", "item": 1}],
        [{"start": 0, "end": 3, "kind": "ONSET", "part": "duration", "days": CANARY, "item": 1}],
        [],
    ],
)
def test_bad_utility_marks_are_named_and_not_shown(tmp_path, rows):
    path = write(tmp_path / "a.jsonl", LINE | {"utility": rows})
    with pytest.raises(AnnotationError, match=r"a\.jsonl: (document a|no utility marks found)") as caught:
        read_causality_set(path)
    assert CANARY not in str(caught.value)


def test_other_bad_files_are_named_and_not_shown(tmp_path):
    bad = [write(tmp_path / "twice.jsonl", LINE, LINE), tmp_path / "none.jsonl", tmp_path / "text.jsonl"]
    bad[2].write_text(CANARY)
    for path in bad:
        with pytest.raises(InputError, match=path.name) as caught:
            read_causality_set(path)
        assert CANARY not in str(caught.value)


@given(st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 12)), max_size=6), st.randoms())
def test_more_masks_never_keep_more(starts, rng: random.Random):
    found = [(start, min(start + length, len(TEXT))) for start, length in starts]
    few = count_kept([DOC], [MaskedOutput("a", tuple(rng.sample(found, len(found) // 2)))])
    many = count_kept([DOC], [MaskedOutput("a", tuple(found))])
    assert (many.items_kept <= few.items_kept).all()
    assert (many.tokens_kept <= few.tokens_kept).all()
    assert np.array_equal(many.items, few.items)


@given(st.permutations(range(4)))
def test_the_order_of_documents_and_masks_changes_nothing(order):
    docs = [CausalityDocument(Document(f"d{i}", TEXT, DATES), ITEMS[: i + 1]) for i in range(4)]
    outputs = [MaskedOutput(f"d{i}", masks(*["iron", "five", "100 mg"][:i])) for i in range(4)]
    expected = count_kept(docs, outputs)
    shuffled = count_kept([docs[i] for i in order], [outputs[i] for i in reversed(order)])
    assert [expected.figures(c) for c in COLUMNS] == [shuffled.figures(c) for c in COLUMNS]
