"""Facts stay whatever the typography, and names go; marks that nobody sees never leave."""

import pytest

from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.text.rendering import INVISIBLE_MARKS, LINE_SEPARATORS, TYPOGRAPHIC_SPACES

FACTS = "She took tramadol 100 mg daily and had severe nausea after ibuprofen."


@pytest.fixture(scope="module", params=["careful", "fast"])
def masked(request):
    deidentifier = build_deidentifier(MaskingSettings(reading=request.param))
    return lambda text: deidentifier.mask(Document("typography", text)).text


@pytest.mark.parametrize("space", TYPOGRAPHIC_SPACES + LINE_SEPARATORS)
def test_drug_dose_and_event_stay_between_any_spaces(masked, space):
    text = FACTS.replace("tramadol ", f"tramadol{space}").replace(" nausea", f"{space}nausea")
    assert masked(text) == text


@pytest.mark.parametrize("space", TYPOGRAPHIC_SPACES)
def test_identifiers_go_between_any_spaces(masked, space):
    text = f"Mrs{space}Okonkwo, seen on 12{space}March{space}2019, call +44{space}1632{space}960983."
    shown = masked(text)
    assert not any(word in shown for word in ("Okonkwo", "12", "March", "2019", "44", "1632", "960983"))


@pytest.mark.parametrize("mark", sorted(INVISIBLE_MARKS))
def test_words_with_marks_that_nobody_sees_leave_without_them(masked, mark):
    text = FACTS.replace("tramadol", f"trama{mark}dol").replace("severe", f"{mark}severe{mark}")
    assert masked(text.replace("100 mg", f"100{mark} mg{mark}")) == FACTS
    assert masked(f"Seen by Ok{mark}onkwo and {mark}Okonkwo{mark}.") == "Seen by PHI and PHI."


def test_lowered_and_raised_signs(masked):
    text = "SpO₂ 92 %, FEV₁ 1.2 L, HCO₃⁻ 22, CD4⁺ count 200, platelets 250 × 10⁹/L, BMI 24 kg/m², Ca²⁺ 2.1."
    assert masked(text) == text
    assert masked("Platelets were 250 x 10^9/L.") == "Platelets were 250 x 10^9/L."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She had &gt;3 episodes of pain after digoxin 0.25&nbsp;mg.<br/>No fever.", None),
        ("<p>The <b>patient</b> took <i>aspirin</i> 100 mg.</p><p>Rash &lt; 2 days &amp; itching.</p>", None),
        ("<p class=\"MsoNormal\"><span style=\"color:red\">Nausea</span> after tramadol.</p>", None),
        ("She had palpi&shy;tations and SpO<sub>2</sub> 92 %.", None),
        ("Seen by <b>Okonkwo</b> today.", "Seen by <b>PHI</b> today."),
    ],
)  # fmt: skip
def test_markup_stays_and_does_not_mask_facts(masked, text, expected):
    assert masked(text) == (expected or text)


@pytest.mark.parametrize(
    "name", ["<b>Oko</b>nkwo", "Oko<i class='x'>nkwo</i>", "Oko&shy;nkwo", "Ok&#111;nkwo", "O&#39;Konkwo"]
)
def test_names_that_markup_breaks_are_masked_as_a_whole(masked, name):
    shown = masked(f"The patient, {name}, had a rash.")
    assert not any(piece in shown for piece in ("Oko", "nkwo", "Konkwo", "111"))
