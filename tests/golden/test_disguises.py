"""Encoded, interrupted and glued identifiers: recall by kind, and what may not be taken for one."""

from collections import defaultdict

import pytest
from disguised_texts import DEVELOPMENT, HELD_OUT, disguised_texts

from inverse_deid.core.values import Document, Reason
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier

FLOOR = 0.98


@pytest.fixture(scope="module", params=[pytest.param("careful", marks=pytest.mark.slow), "fast"])
def deidentifier(request):
    return build_deidentifier(MaskingSettings(reading=request.param))


def recall_by_kind(deidentifier, texts):
    """Of the identifiers of each kind, the share of which no letter and no digit leaves."""
    masked = deidentifier.mask_many([Document(str(i), one.text) for i, one in enumerate(texts)])
    recalled = defaultdict(list)
    for one, found in zip(texts, masked, strict=True):
        hidden = {i for start, end in found.masks for i in range(start, end)}
        for start, end in one.ranges:
            told = [i for i in range(start, end) if one.text[i].isalnum()]
            recalled[one.kind].append(hidden.issuperset(told))
    return {kind: sum(hits) / len(hits) for kind, hits in recalled.items()}


@pytest.mark.parametrize("material", [DEVELOPMENT, HELD_OUT], ids=["development", "held-out"])
def test_recall_of_every_kind(deidentifier, material):
    texts = disguised_texts(material)
    assert len(texts) > 1000
    recall = recall_by_kind(deidentifier, texts)
    assert {kind: share for kind, share in recall.items() if share < FLOOR} == {}


ORDINARY = [
    "Dextrose 10% was given, 50% of the dose, p=0.05, WBC=12, HR=80bpm, dose=50mg, <5 and >3, 0.9%NaCl.",
    "Pain & fever, A&E visit, R&D, N&V, pain &amp; fever, BP &lt; 120, 38&deg;C, 5 &micro;g, patient&#39;s arm.",
    "Hepatitis A, B, C were negative. Vitamins A, C, D, E. She took it q.i.d., b.i.d., t.i.d., p.o., e.g., i.e.",
    "C/S done, S/P fall, N/V/D, H/O asthma, c/o N/V, s/p MI, R/O PE, w/o fever, C.O.P.D., A/C/Y/W-135.",
    "H<sub>2</sub>O, CO<sub>2</sub>, 10<sup>9</sup>/L, <p>Rash</p><p>Fever</p>, rash<br>fever, <b>Plan</b>: fine.",
    "HbA1c, SpO2, CYP3A4, CYP2D6, T4N1M0, B12, COVID19, IL2R, mRNA1273, q4hours, x3days, 2pills, 10cmx7cm.",
    "Crohn's disease, Parkinson's disease, Bell's palsy, Baker's cyst, patient's arm, mother's milk, today's dose.",
    "The initials were not given. Initial VS: stable. Initial ECG normal. The patient IS allergic. Patient IV fluids.",
    "Nausea/vomiting, fever,chills,rash, rash.The patient, tab(s), drug(s), patient_id, he/she, and/or.",
    "pt@home, meds@bedtime, 5@night, US$50, rash!Then, rash;fever, 3*5, ~5, #3, {rash}",
    "SoluMedrol, MedDRA, PatientReported rash, patientreported rash, login: failed, his temp was one hundred.",
    "Will he recover? It's a C/S and I'd say it's a go. grades a, b, c, d. q a.m.",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_no_disguise(deidentifier, text):
    decisions = deidentifier.mask(Document("ordinary", text)).decisions
    assert not (decisions.reasons == Reason.VETO_PATTERN).any()


DISGUISED = [
    "Ok&amp;#111;nkwo had fever, Ok%256Fnkwo too.",
    "Sm[i]th and Sm(i)th and Oko/nkwo and Oko nkwo had fever.",
    "U+0053mith had fever.",
    "Ok&lt;b&gt;onkwo had fever.",
    "192 dot 168 dot 1 dot 77",
]
"""Of each, every word but these is an identifier or stands for one."""
PLAIN = {"had", "fever", "too", "and"}


@pytest.mark.parametrize("text", DISGUISED)
def test_disguises_of_disguises(deidentifier, text):
    masked = deidentifier.mask(Document("disguised", text))
    kept = [word for word, keep in zip(masked.tokens.words, masked.decisions.keep, strict=True) if keep]
    assert set(kept) <= PLAIN


def test_nothing_encoded_remains(deidentifier):
    text = "Seen by Ok&#111;nkwo, %4Fkonkwo, Ok=6Fnkwo, Ok<b>on</b>kwo and Ok\\u006fnkwo."
    shown = deidentifier.mask(Document("remains", text)).text
    assert not any(piece in shown for piece in ("111", "4F", "6F", "006", "kwo", "Ok", "<b>"))


def test_what_a_character_that_may_not_leave_touches(deidentifier):
    text = "\u202erash and rash\ufffd and fe\u0301ver and rash"
    keep = deidentifier.mask(Document("touched", text)).decisions.keep
    assert keep.tolist() == [False, True, False, True, False, False, True, True]
