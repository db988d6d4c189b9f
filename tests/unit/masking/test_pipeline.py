"""The pipeline with stand-in stages: what fails, masks; what one document does, harms no other."""

import dataclasses

import numpy as np
import pytest

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document, Reason, RuleAnalysis, RuleVerdicts
from inverse_deid.masking.document_passes import PhraseList
from inverse_deid.masking.pipeline import Deidentifier, Scores, Stages
from inverse_deid.replacement.markers import category_marker, fixed_marker

CANARY = "Zebulonova"
NAME, AGE = 1, 4


class Rules:
    """Calls every word safe that is in lower case; a word after `Mr` stands with a title."""

    def analyse_many(self, tokens):
        return [self.analyse(one) for one in tokens]

    def analyse(self, tokens):
        words = tokens.words
        if "explode" in words:
            raise RuntimeError(tokens.text)
        lower = np.array([w.islower() for w in words], bool)
        titled = np.array([i > 0 and words[i - 1] == "Mr" for i in range(len(words))], bool)
        digits = np.array([w.isdigit() for w in words], bool)
        verdicts = dataclasses.replace(
            RuleVerdicts.silent(len(lower)), safe=lower, veto=digits, titled=titled
        )
        return RuleAnalysis(np.zeros(len(words), np.int32), np.zeros((len(words), 1), np.float32), verdicts)


class Network:
    """p_safe is 0 for the canary with a title, 0.99 for the rest."""

    def __init__(self, fault=None):
        self.fault = fault

    def score(self, tokens, analyses):
        found = []
        for a in analyses:
            p = np.where(a.verdicts.titled, 0.01, 0.99).astype(np.float32)
            if self.fault == "nan":
                p[:] = np.nan
            if self.fault == "short":
                p = p[:-1]
            found.append(Scores(p, np.where(a.verdicts.titled, NAME, 2).astype(np.uint8)[: len(p)]))
        return found[:-1] if self.fault == "missing" else found


class Halves:
    """Masks `3`, `forty` (an age) and `Lindero` and keeps the rest."""

    def score(self, tokens, analyses):
        found = []
        for t in tokens:
            low = np.array([w in ("3", "forty", "Lindero") for w in t.words], bool)
            kind = np.array([AGE if w == "forty" else NAME for w in t.words], np.uint8)
            found.append(Scores(np.where(low, 0.01, 0.99).astype(np.float32), kind))
        return found


def deidentifier(network=None, marker=None, **options):
    stages = Stages(
        analyser=Rules(),
        scorer=network or Network(),
        thresholds=Thresholds(0.8, 0.95),
        marker_for=marker or fixed_marker("PHI"),
        **options,
    )
    return Deidentifier(stages)


def test_masks_what_is_not_safe():
    assert deidentifier().mask(Document("1", f"Mr {CANARY} had 3 rashes")).text == "Mr PHI had PHI rashes"


def test_words_that_were_hard_to_read_are_masked_whatever_else_is_said_of_them():
    doc = Document("1", "a rash of 12 days and fever", unsure=((2, 6), (10, 12)))
    masked = deidentifier(allow=PhraseList(["rash", "fever"])).mask(doc)
    hard = masked.decisions.reasons == Reason.HARD_TO_READ
    assert [word for word, is_hard in zip(masked.tokens.words, hard, strict=True) if is_hard] == [
        "rash",
        "12",
    ]
    assert masked.text == "a PHI of PHI days and fever"


def test_a_name_with_a_title_is_masked_everywhere_but_not_in_lower_case():
    masked = deidentifier().mask(Document("1", "Mr Grace walked with grace. GRACE is well"))
    assert masked.text == "Mr PHI walked with grace. PHI is well"
    assert masked.decisions.reasons[5] == Reason.NAME_WITH_TITLE


@pytest.mark.parametrize("fault", ["nan", "short", "missing"])
def test_a_network_that_breaks_its_contract_masks_everything(fault):
    masked = deidentifier(Network(fault)).mask_many([Document("1", f"{CANARY} well"), Document("2", "ok")])
    assert [m.text for m in masked] == ["PHI", "PHI"]
    assert all(m.failed for m in masked) or fault == "nan"


def test_a_document_that_fails_is_masked_whole_and_the_others_are_done():
    docs = [Document("1", "well"), Document("2", f"explode, {CANARY}"), Document("3", "rash")]
    masked = deidentifier().mask_many(docs)
    assert [(m.id, m.text, m.failed) for m in masked] == [
        ("1", "well", False),
        ("2", "PHI, PHI", True),
        ("3", "rash", False),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seen 3/71 by", "seen PHI by"),
        ("a 43-year-old", "a PHI-year-old"),
        ("a 94-year-old", "a PHI"),
        ("Lindero-a-b-c-d-e-f-g-h left", "PHI left"),
        ("Mr Lindero-smith", "Mr PHI"),
        ("Mr Lindero - smith", "Mr PHI - smith"),
        ("forty-three-year-old", "PHI-three-year-old"),
    ],
)
def test_the_other_half_of_a_date_or_double_name_is_masked(text, expected):
    assert deidentifier(Halves()).mask(Document("1", text)).text == expected


def test_known_identifiers_are_masked_in_any_case():
    masked = deidentifier().mask(
        Document("1", "anna maria sat; ANNA-MARIA left; anna stayed", known=("Anna Maria",))
    )
    assert masked.text == "PHI sat; PHI left; PHI stayed"
    assert masked.decisions.reasons[0] == Reason.KNOWN_IDENTIFIER


def test_allow_list_keeps_words_but_never_digits():
    masked = deidentifier(Network("nan"), allow=PhraseList({"wardname", "3"})).mask(
        Document("1", "Wardname 3 rash")
    )
    assert masked.text == "Wardname PHI"


@pytest.mark.parametrize("text", ["san jose ward", "SAN JOSÉ ward", "san jose\u0301 ward", "san-jose ward"])
def test_deny_phrases_are_found_in_any_case_accent_and_gap(text):
    masked = deidentifier(deny=PhraseList({"San José"})).mask(Document("1", text))
    assert masked.decisions.keep.tolist() == [False, False, True]


def test_deny_list_wins_over_allow_list():
    both = {"allow": PhraseList({"rash"}), "deny": PhraseList({"rash"})}
    assert deidentifier(**both).mask(Document("1", "Rash")).text == "PHI"


def test_category_markers():
    masked = deidentifier(marker=category_marker("PHI")).mask(Document("1", f"Mr {CANARY} took 3"))
    assert masked.text == "Mr [NAME] took [PLACE]"


def test_empty_text_is_a_document():
    assert deidentifier().mask(Document("1", "")).text == ""


def test_repr_shows_no_text():
    masked = deidentifier().mask(Document("1", f"Mr {CANARY} kept quiet"))
    assert "quiet" not in repr(masked)
    assert CANARY not in repr(masked)


class Classes:
    """A network that takes `nurse` for a profession and `Lindero` for a name."""

    def __init__(self, fault=None):
        self.fault = fault

    def score(self, tokens, analyses):
        found = []
        for t in tokens:
            p = np.zeros((len(t), 8), np.float32)
            for i, word in enumerate(t.words):
                p[i, {"nurse": 7, "Lindero": 1}.get(word, 0)] = 1
            classes = {"none": None, "short": p[:-1], "nan": p * np.nan}.get(self.fault, p)
            found.append(Scores(p[:, 0], (p[:, 1:].argmax(axis=1) + 1).astype(np.uint8), classes))
        return found


KEPT = frozenset({HyperClass.PROFESSION})


def test_words_of_a_kept_class_are_kept_and_say_so():
    masked = deidentifier(Classes(), kept=KEPT).mask(Document("1", "the nurse Lindero left"))
    assert masked.text == "the nurse PHI left"
    assert masked.decisions.reasons[1] == Reason.KEPT_CATEGORY
    assert masked.decisions.p_safe[1] == 0


def test_all_classes_are_masked_by_default():
    assert deidentifier(Classes()).mask(Document("1", "the nurse left")).text == "the PHI left"


@pytest.mark.parametrize("fault", ["none", "nan"])
def test_unknown_probabilities_of_classes_keep_nothing(fault):
    assert (
        deidentifier(Classes(fault), kept=KEPT).mask(Document("1", "the nurse left")).text == "the PHI left"
    )


def test_probabilities_of_another_shape_mask_the_document():
    assert deidentifier(Classes("short"), kept=KEPT).mask(Document("1", "the nurse left")).failed


def test_known_and_denied_words_of_a_kept_class_are_masked():
    masker = deidentifier(Classes(), kept=KEPT, deny=PhraseList(["nurse"]))
    assert masker.mask(Document("1", "the nurse left")).text == "the PHI left"
    masker = deidentifier(Classes(), kept=KEPT)
    assert masker.mask(Document("1", "the nurse left", known=("nurse",))).text == "the PHI left"


def test_words_of_origin_are_masked_unless_the_user_allows_them():
    origins = {"origins": lambda tokens: np.array([word == "sikh" for word in tokens.words])}
    masked = deidentifier(Classes(), **origins).mask(Document("1", "a sikh left"))
    assert (masked.text, masked.decisions.reasons[1]) == ("a PHI left", Reason.CHOSEN_CATEGORY)
    assert masked.decisions.suspect(1, 2) is None
    allowed = deidentifier(Classes(), allow=PhraseList(["sikh"]), **origins)
    assert allowed.mask(Document("1", "a sikh left")).text == "a sikh left"
