"""The rules with the packaged lexicon: cases that must hold, one a row."""

from dataclasses import fields

import numpy as np
import pytest

from inverse_deid.core.values import RuleVerdicts
from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.analysis import FEATURE_NAMES, RuleAnalyser
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize


@pytest.fixture(scope="module")
def analysers():
    lexicon = load_lexicon()
    return {p: RuleAnalyser(lexicon, InternedWords(), p) for p in ("literal", "case-aware")}


def verdict(analysers, policy, text, word):
    tokens = tokenize(text)
    found = analysers[policy].analyse(tokens)
    i = tokens.words.index(word)
    return {one.name: bool(getattr(found.verdicts, one.name)[i]) for one in fields(RuleVerdicts)}


def feature(analysers, text, word, name):
    tokens = tokenize(text)
    found = analysers["case-aware"].analyse(tokens)
    return bool(found.features[tokens.words.index(word), FEATURE_NAMES.index(name)])


@pytest.mark.parametrize(
    ("policy", "text", "word", "safe"),
    [
        ("literal", "the rash was itchy", "itchy", True),
        ("literal", "walked with grace today", "grace", False),
        ("case-aware", "walked with grace today", "grace", True),
        ("case-aware", "seen by Grace today", "Grace", False),
        ("case-aware", "seen by Dr. Rash today", "Rash", False),
        ("case-aware", "He took amoxicillin twice", "amoxicillin", True),
        ("case-aware", "She has Parkinson's disease", "Parkinson", True),
        ("case-aware", "Mr. Parkinson has a rash", "Parkinson", False),
        ("literal", "She has Parkinson's disease", "Parkinson", False),
        ("case-aware", "Pain was severe.", "Pain", True),
        ("case-aware", "Will was severe.", "Will", True),
        ("case-aware", "Will: nausea", "Will", False),
        ("case-aware", "PT RECVD VAX WITHOUT PAIN OR FEVER", "PAIN", True),
        ("case-aware", "moved to new york last week", "york", False),
        ("case-aware", "took 40 tablets", "40", False),
        ("case-aware", "seen by Smіth today", "Smіth", False),
        ("case-aware", "seen by Xqzvor today", "Xqzvor", False),
    ],
)
def test_safe_flag(analysers, policy, text, word, safe):
    assert verdict(analysers, policy, text, word)["safe"] is safe


@pytest.mark.parametrize("policy", ["literal", "case-aware"])
@pytest.mark.parametrize(
    ("word", "veto"),
    [
        ("8149354", True),
        ("x189841103", True),
        ("1e9841103", True),
        ("250000", False),
        ("A123456", False),
        ("2400000", False),
    ],
)
def test_words_with_seven_digits_are_always_masked(analysers, policy, word, veto):
    assert verdict(analysers, policy, f"BP 104/66, P {word} 54", word)["veto"] is veto


@pytest.mark.parametrize(
    ("text", "word"),
    [("seen on Monday", "Monday"), ("in February again", "February"), ("lives in Elm Street", "Street")],
)
def test_words_that_are_never_kept(analysers, text, word):
    assert verdict(analysers, "case-aware", text, word)["never"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("write to ann.wu@clinic.example now", ["ann", "wu", "clinic", "example"]),
        ("call (555) 010-9999 today", ["555", "010", "9999"]),
        ("call +44 20 7946 0999 today", ["44", "20", "7946", "0999"]),
        ("see www.clinic.example/ann for it", ["www", "clinic", "ann"]),
        ("from 192.168.10.7 at", ["192", "168", "10", "7"]),
        ("SSN 078-05-1120 given", ["078", "05", "1120"]),
        ("on 12/31/2019 and", ["12", "31", "2019"]),
        ("on 2019-12-31 and", ["2019", "12", "31"]),
        ("vax 15MAR2021 then", ["15MAR2021"]),
        ("on March 5, 2020 and", ["March", "5", "2020"]),
        ("MRN: 4482-91 seen", ["4482", "91"]),
        ("A=1;EMPLOYER=Open Trial Group;SEX=f", ["Open", "Trial", "Group"]),
        ("the Smіth case", ["Smіth"]),
        ("her surname is spelled p e n n, and", ["p", "e", "n"]),
        ("written L-Ó-W-E. Then", ["L", "Ó", "W"]),
    ],
)
def test_veto_patterns(analysers, text, words):
    assert all(verdict(analysers, "case-aware", text, word)["veto"] for word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("BP 120/80 and pulse 72", ["120", "80", "72"]),
        ("took 2.5 mg three times", ["2", "5", "mg"]),
        ("pain 4/10, GCS 14/15", ["4", "10", "14", "15"]),
        ("fever of 101.3 F for 3 days", ["101", "3"]),
        ("lot number 1234A", ["1234A"]),
        ("I had a c-section, vitamin B then", ["I", "a", "c", "B"]),
        ("he is a T-cell donor, T S H low", ["a", "T", "S"]),
    ],
)
def test_what_vetoes_leave_alone(analysers, text, words):
    assert not any(verdict(analysers, "case-aware", text, word)["veto"] for word in words)


@pytest.mark.parametrize(
    ("name", "text", "word", "expected"),
    [
        ("is-possibly-city", "flew to New York soon", "York", True),
        ("has-capital-beginning", "seen by Ann", "Ann", True),
        ("is-sentence-beginning", "It hurt. Later it stopped", "Later", True),
        ("is-sentence-beginning", "It hurt. Later it stopped", "it", False),
        ("is-possibly-name", "seen by Smith", "Smith", True),
        ("is-common-word", "a large table", "table", True),
        ("is-digit", "took 40 tablets", "40", True),
        ("contains-digit", "took 40mg", "40mg", True),
        ("is-medical-term", "severe myocarditis", "myocarditis", True),
        ("is-weekday", "on Tuesday", "Tuesday", True),
        ("is-month", "in August", "August", True),
        ("is-top-level-domain", "at clinic.org today", "org", True),
        ("is-top-level-domain", "an org today", "org", False),
        ("is-street", "in Elm Street", "Street", True),
        ("is-holiday", "after Christmas", "Christmas", True),
        ("is-single-letter", "vitamin C tablets", "C", True),
        ("is-written-out-number", "seven days", "seven", True),
        ("is-drug", "took ibuprofen", "ibuprofen", True),
        ("after-salutation", "saw Mrs. Wu", "Wu", True),
        ("in-eponym", "Stevens-Johnson syndrome", "Johnson", True),
    ],
)
def test_features(analysers, name, text, word, expected):
    assert feature(analysers, text, word, name) is expected


def test_features_are_finite_and_in_range(analysers):
    text = "Dr. Zoë O'Neil\r\n\r\nDOB 3/4/61 😀 ΑΒΓ Smіth 15MAR2021. PT RECVD VAX.\n\u200bx"
    features = analysers["case-aware"].analyse(tokenize(text)).features
    assert np.isfinite(features).all()
    assert features.min() >= 0
    assert features.max() <= 1


def test_no_token_no_verdict(analysers):
    assert len(analysers["case-aware"].analyse(tokenize(" ... ")).verdicts.safe) == 0


@pytest.mark.parametrize(
    ("text", "word", "name", "maybe_name"),
    [
        ("After the second dose Whitfield felt dizzy", "Whitfield", True, True),
        ("I GAVE WHITFIELD IBUPROFEN", "WHITFIELD", True, True),
        ("after the second dose whitfield felt dizzy", "whitfield", False, False),
        ("on Doppler the flow was normal", "Doppler", False, False),
        ("seen by Dr. Doppler today", "Doppler", True, True),
        ("held with a Whitfield clamp", "Whitfield", False, False),
        ("held with Whitfield's clamp", "Whitfield", False, False),
        ("the TIA resolved overnight", "TIA", False, False),
        ("I gave Rose ibuprofen", "Rose", False, True),
        ("I gave Xqzvor ibuprofen", "Xqzvor", False, True),
        ("I gave Benadryl twice", "Benadryl", False, False),
        ("She has Parkinson's disease", "Parkinson", False, False),
        ("walked with grace today", "grace", False, False),
        ("no. Don't call me", "Don", False, False),
        ("I gave Don ibuprofen", "Don", False, True),
    ],
)
def test_names_that_only_lists_know(analysers, text, word, name, maybe_name):
    found = verdict(analysers, "case-aware", text, word)
    assert (found["name"], found["maybe_name"]) == (name, maybe_name)
    assert not any(verdict(analysers, "literal", text, word)[flag] for flag in ("name", "maybe_name"))


@pytest.mark.parametrize(
    ("text", "word", "opening"),
    [
        ("Rash again. Hope felt dizzy", "Hope", True),
        ("Hope felt dizzy", "Hope", True),
        ("rash\nHope took it twice", "Hope", True),
        ("we all hope he is well", "hope", False),
        ("I gave Hope ibuprofen", "Hope", False),  # not safe, so its threshold is higher anyway
        ("HOPE FELT DIZZY TODAY", "HOPE", False),  # all words have capitals
        ("Ibuprofen was given", "Ibuprofen", False),
        ("Symptoms began today", "Symptoms", False),  # in no list of names
        ("Parkinson's disease was known", "Parkinson", False),
    ],
)
def test_safe_words_of_name_lists_at_the_beginning_of_a_sentence(analysers, text, word, opening):
    assert verdict(analysers, "case-aware", text, word)["opening"] is opening
    assert not verdict(analysers, "literal", text, word)["opening"]


@pytest.mark.parametrize("text", ["a Johnson & Johnson vaccine", "a Johnson and Johnson vaccine"])
def test_an_ampersand_joins_a_phrase(analysers, text):
    assert verdict(analysers, "case-aware", text, "Johnson")["safe"]


@pytest.mark.parametrize(
    ("text", "word", "veto"),
    [
        ("write to ann.oyelaran@mail.example today", "oyelaran", True),
        ("write to ann.oyelaran@ward.local today", "ward", True),
        ("write to ann@10.0.0.17 today", "ann", True),
        ("write to oyelaran @ mail . example today", "oyelaran", True),
        ("write to oyelaran (at) mail (dot) com", "oyelaran", True),
        ("write to oyelaran@mail.com. Lungs clear", "Lungs", False),
        ("given orally @ home. Dad rushed him in", "Dad", False),
        ("saturation 99 % o2 @ RA. Lungs clear", "RA", False),
        ("threshold 0.75@0.4 V", "75", False),
        ("paced at 0.75 V @0.4 ms", "0", False),
        ("user @oyelaran8 wrote", "oyelaran8", True),
        ("call +44 20 7946 0123 at night", "7946", True),
        ("call +4420 7946012 at night", "4420", True),
        ("CPAP +6 0.45, intubated", "6", False),
        ("sent 18:42 +0800", "0800", False),
    ],
)
def test_addresses_and_phones_are_told_from_values(analysers, text, word, veto):
    assert verdict(analysers, "case-aware", text, word)["veto"] is veto
