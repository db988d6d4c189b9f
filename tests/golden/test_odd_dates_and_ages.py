"""Dates and ages in unusual writing: recall by kind, and the durations and counts that must stay."""

from collections import defaultdict
from pathlib import Path

import pytest

from inverse_deid.core.values import Document, Reason
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.text.tokenizer import tokenize

FILE = Path(__file__).parent / "odd_dates_and_ages.txt"
FLOOR = 0.95
BEFORE = (
    "The rash was itchy and raised, and covered the trunk and both arms. There was no previous reaction to this product. "
    "Blood pressure was 128/76, pulse 88 and oxygen saturation 98 % on room air. The tablets were stopped and not started "
    "again. On examination the lungs were clear and the abdomen was soft. "
)
BEHIND = (
    " An electrocardiogram showed sinus rhythm without changes. Headache and fatigue lasted for four days and then resolved. "
    "Liver enzymes were raised to twice the upper limit and returned to normal. Pain at the injection site was mild."
)


def read_texts():
    """Return (kind, text, half-open ranges of its identifiers) of every line; those are in [[ ]]."""
    kind, found = "", []
    for line in FILE.read_text("utf-8").splitlines():
        if line.startswith("# "):
            kind = line[2:]
            continue
        text, ranges = "", []
        for i, piece in enumerate(line.replace("]]", "[[").split("[[")):
            if i % 2:
                ranges.append((len(text), len(text) + len(piece)))
            text += piece
        found.append((kind, text, ranges))
    return found


@pytest.fixture(scope="module", params=[pytest.param("careful", marks=pytest.mark.slow), "fast"])
def deidentifier(request):
    return build_deidentifier(MaskingSettings(reading=request.param))


@pytest.mark.parametrize(("before", "behind"), [("", ""), (BEFORE, BEHIND)], ids=["alone", "in a narrative"])
def test_recall_of_every_kind(deidentifier, before, behind):
    texts = read_texts()
    assert len(texts) > 400
    docs = [Document(str(i), before + text + behind) for i, (_, text, _) in enumerate(texts)]
    hits = defaultdict(list)
    for (kind, _, ranges), masked in zip(texts, deidentifier.mask_many(docs), strict=True):
        hidden = {i for start, end in masked.masks for i in range(start, end)}
        for token in zip(masked.tokens.starts.tolist(), masked.tokens.ends.tolist(), strict=True):
            if any(a + len(before) < token[1] and token[0] < b + len(before) for a, b in ranges):
                hits[kind].append(hidden.issuperset(range(*token)))
    recall = {kind: sum(some) / len(some) for kind, some in hits.items()}
    assert len(recall) == 6
    assert {kind: share for kind, share in recall.items() if share < FLOOR} == {}


FACTS = [
    "Treatment was given for 3 weeks and stopped. At week 12 of treatment the rash resolved.",
    "On day 5 of therapy she had fever. Cycle 3 was delayed by one week. Week 1 day 2; D15 of cycle 1.",
    "Delivery was at gestational week 41. At the week 24 visit ALT was normal. By week 8 the pain had improved.",
    "In week 2 of treatment he had a rash; during week 1 of dosing she vomited.",
    "After the 2nd dose she felt faint. On the 2nd and 3rd days the swelling increased.",
    "Fracture of the 5th metatarsal and the 4th toe, pain in the 4th intercostal space.",
    "Temp 99F, 101 F, T 98.6 F, pulse 94, RR 20. Heart rate in the 90s, BP in the 120s.",
    "The patient turned 90 degrees. The dose was 2000 mg, then 1500 mg and 1900 mL of fluid.",
    "Two tablets every 6 hours, Q6H, q4 hours, Q 8 hours, Q4 PRN. It may cause nausea. This may be related.",
    "March in place test was normal. Sun exposure made it worse. He sat up; on sat 95 % he felt better.",
    "The fall caused a hip fracture; after the fall he had pain. New moon face, full mouth, he lent his inhaler.",
    "The 90-day mortality; ninety percent; a hundred times; over one hundred lesions; 98th percentile.",
    "Pain 3-4/10, H/H 9.2/26.9, range 0.0-24.9, 5 x 10 cm, 1.25/250 b.i.d., potassium 4.1. Troponin normal.",
    "For the past 12 years; fever reached 105; glucose from 100 to 120; 2 years ago, 3 episodes; lot 040601.",
    "He is on 40 mg; the patient is 3 days post dose; her pulse was about 90. It was over 100.",
    "Three days after the first dose, symptoms began on the second day and ended on the fourth.",
]
"""The rules mask nothing in them; the network may."""


@pytest.mark.parametrize("text", FACTS)
def test_durations_doses_and_findings_are_no_dates(deidentifier, text):
    masked = deidentifier.mask(Document("facts", text))
    vetoed = masked.decisions.reasons == Reason.VETO_PATTERN
    assert [word for word, is_vetoed in zip(masked.tokens.words, vetoed, strict=True) if is_vetoed] == []


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("She called at 08:00 NPT (UTC+05:45).", "NPT 05 45"),
        ("Onset 14:30:00+05:45, seen 2024-03-04T14:30:00+05:45.", "05 45"),
        ("Onset 08.15 (GMT+9:30), at 10:00 JST.", "9 30 JST"),
        ("The clock was set to Asia/Kathmandu.", "Kathmandu"),
    ],
)
def test_time_zones_of_few_countries(deidentifier, text, hidden):
    shown = tokenize(deidentifier.mask(Document("zone", text)).text).words
    assert set(hidden.split()).isdisjoint(shown)


@pytest.mark.parametrize(
    ("reading", "zone"),
    [("fast", "GMT"), pytest.param("careful", "PHI", id="careful-masks-one-without-need")],
)
def test_other_time_zones_stay(reading, zone):
    text = "She called at 08:00 GMT and at 10:15 (UTC+1)."
    deidentifier = build_deidentifier(MaskingSettings(reading=reading))
    assert deidentifier.mask(Document("zone", text)).text == text.replace("GMT", zone)
