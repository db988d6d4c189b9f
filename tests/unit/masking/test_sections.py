"""Long documents are read in sections: the same tokens, whole-document passes, and what fails, masks."""

import dataclasses
import weakref

import numpy as np
import pytest
from test_pipeline import Rules as PlainRules

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Decisions, Document, RuleVerdicts
from inverse_deid.masking import combine as combining
from inverse_deid.masking import original_tokens, pipeline, sections
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.combine import combine
from inverse_deid.masking.original_tokens import decide_on_original, hide_gaps
from inverse_deid.masking.pipeline import Deidentifier, Scores, Stages
from inverse_deid.masking.sections import cut
from inverse_deid.replacement.markers import fixed_marker
from inverse_deid.text.reading import read_text
from inverse_deid.text.tokenizer import tokenize

SENTENCES = (
    "Mrs Adaeze Okonkwo had a rash on day {n}.",
    "She took ibuprofen 400 mg until 3 March 20{n:02}.",
    "MRN {n}4438812, seen at Lakeview Hospital (room {n}).",
    "Nausea resolved; no other event was reported.\n",
)


def long_text(n_sentences):
    return " ".join(SENTENCES[n % 4].format(n=n) for n in range(n_sentences))


@pytest.fixture
def small(monkeypatch):
    for module in (sections, pipeline):
        monkeypatch.setattr(module, "SECTION_TOKENS", 500)
    monkeypatch.setattr(sections, "MARGIN", 100)


@pytest.mark.parametrize("n_sentences", [1, 60, 61, 400])
def test_every_token_is_of_one_section_and_has_its_word_and_place(small, n_sentences):
    tokens = tokenize("(" + long_text(n_sentences) + ")\n")
    found = []
    for section, own in cut(tokens):
        assert section.words == tokenize(section.text).words
        assert section.starts.tolist() == tokenize(section.text).starts.tolist()
        found += section.words[own]
    assert found == tokens.words


def test_the_first_and_the_last_section_have_the_signs_at_the_ends(small):
    tokens = tokenize("((" + long_text(200) + "))")
    parts = [section for section, _ in cut(tokens)]
    assert parts[0].text.startswith("((")
    assert parts[-1].text.endswith("))")


def test_a_document_reads_in_sections_as_it_reads_whole(monkeypatch):
    doc = Document("1", long_text(500))
    whole = build_deidentifier(MaskingSettings(reading="fast")).mask(doc)
    for module in (sections, pipeline):
        monkeypatch.setattr(module, "SECTION_TOKENS", 700)
    read = build_deidentifier(MaskingSettings(reading="fast")).mask(doc)
    assert len(whole.tokens) > 5 * 700
    assert np.mean(whole.decisions.keep == read.decisions.keep) > 0.999
    assert "Okonkwo" not in read.text
    assert not read.failed


class Rules(PlainRules):
    """`seltsam` is a word of another language."""

    def analyse(self, tokens):
        return dataclasses.replace(super().analyse(tokens), other_language="seltsam" in tokens.words)


class Network:
    def __init__(self, fault=None):
        self.fault = fault

    def score(self, tokens, analyses):
        found = []
        for one in analyses:
            p = np.where(one.verdicts.titled, 0.01, 0.99).astype(np.float32)
            p_classes = np.zeros((len(p), 8), np.float32)
            if self.fault == "short":
                p = p[:-1]
            found.append(Scores(p, np.full(len(p), 1, np.uint8), p_classes))
        return [] if self.fault == "missing" else found


def deidentifier(fault=None, **options):
    return Deidentifier(
        Stages(
            analyser=Rules(),
            scorer=Network(fault),
            thresholds=Thresholds(0.8, 0.95),
            marker_for=fixed_marker("PHI"),
            **options,
        )
    )


def test_a_name_in_one_section_is_masked_in_all_others(small):
    text = "Mr Grace left. " + "the rash faded. " * 1_000 + "Then Grace fell."
    masked = deidentifier().mask(Document("1", text))
    assert masked.text == text.replace("Grace", "PHI")


def test_one_section_in_another_language_makes_the_document_so(small):
    text = "the rash faded. " * 1_000
    assert not deidentifier().mask(Document("1", text)).other_language
    assert deidentifier().mask(Document("1", text + "seltsam. " + text)).other_language


@pytest.mark.parametrize("fault", ["short", "missing"])
def test_a_section_without_a_score_for_every_token_masks_the_document(small, fault):
    masked = deidentifier(fault).mask(Document("1", "the rash faded. " * 1_000))
    assert masked.failed
    assert not masked.decisions.keep.any()


def test_a_section_that_fails_masks_the_whole_document_and_no_other(small):
    long = "the rash faded. " * 1_000
    masked = deidentifier().mask_many([Document("1", long + "explode " + long), Document("2", long)])
    assert [one.failed for one in masked] == [True, False]
    assert "rash" not in masked[0].text
    assert masked[1].text == long


def test_caches_are_kept_within_bounds_between_sections(small):
    calls = []
    deidentifier(between_batches=lambda: calls.append(1)).mask(Document("1", "the rash faded. " * 1_000))
    assert len(calls) == 2 + 1  # six sections, four at a time, and once after the batch


def test_words_are_numbered_anew_between_sections_without_harm(monkeypatch):
    for module in (sections, pipeline):
        monkeypatch.setattr(module, "SECTION_TOKENS", 300)
    texts = [" ".join(f"word{n}x{m} rash" for m in range(900)) + " Mrs Okonkwo" for n in range(3)]
    docs = [Document(str(n), text) for n, text in enumerate([*texts, "Mrs Okonkwo had a rash."])]
    one = build_deidentifier(MaskingSettings(reading="careful"))
    first = one.mask_many(docs)
    assert [m.text for m in one.mask_many(docs)] == [m.text for m in first]
    assert not any(m.failed or "Okonkwo" in m.text for m in first)


@pytest.mark.parametrize("with_kept", [False, True])
def test_tokens_are_decided_in_pieces_as_at_once(monkeypatch, with_kept):
    rng = np.random.default_rng(1)
    n = 1_000
    verdicts = RuleVerdicts(*(rng.random(n) < 0.2 for _ in RuleVerdicts.__slots__))
    p_safe, p_kept = rng.random(n).astype(np.float32), None
    if with_kept:
        p_kept = (rng.random(n) * (1 - p_safe)).astype(np.float32)
    categories = rng.integers(0, 8, n).astype(np.uint8)
    thresholds = Thresholds(0.5, 0.7, 0.45)
    for densities in (None, rng.normal(size=n)):
        given = (verdicts, p_safe, categories, thresholds, densities, p_kept)
        whole = combine(*given)
        with monkeypatch.context() as patch:
            patch.setattr(combining, "_AT_ONCE", 7)
            pieces = combine(*given)
        for name in whole.__slots__:
            np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))


@pytest.mark.parametrize("n_words", [1, 255, 256, 257])
def test_decisions_on_the_original_are_made_in_pieces_as_at_once(monkeypatch, n_words):
    edit = "\u00c3\u00a9\u00c2\u00a0" * n_words  # reads as so many words
    reading = read_text(f"a head-\nache, {edit} and fl\u00c3\u00bc", {"headache"}.__contains__)
    read, tokens = tokenize(reading.text), tokenize(reading.original)
    rng = np.random.default_rng(n_words)
    keep, numbers = rng.random(len(read)) < 0.5, rng.random((2, len(read))).astype(np.float32)
    keep[read.words.index("\u00e9")] = False
    given = Decisions(keep, keep.astype(np.uint8), *numbers, np.arange(len(read)).astype(np.uint8))
    whole, gaps = decide_on_original(reading, read, given, tokens), hide_gaps(reading, read, keep, tokens)
    monkeypatch.setattr(original_tokens, "_TOKENS_AT_ONCE", 7)
    pieces = decide_on_original(reading, read, given, tokens)
    assert hide_gaps(reading, read, keep, tokens) == gaps
    for name in whole.__slots__:
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))
    at = reading.original.index(edit)
    hidden = [one for one in gaps if at <= one[0] < at + len(edit)]
    assert hidden == [(i, i + 1) for i in range(at, at + len(edit)) if not reading.original[i].isalnum()]


def test_what_was_found_is_gone_when_it_is_no_longer_needed(small, monkeypatch):
    # Otherwise it is in memory together with the masks, which take the most.
    found, gone = {}, {}

    def join(analyses, real=pipeline.join_analyses):
        joined = real(analyses)
        found["verdicts"] = weakref.ref(joined.verdicts.safe)
        return joined

    def decide(reading, read, decisions, tokens, real=pipeline.decide_on_original):
        gone["on the original"] = [name for name, one in found.items() if one() is None]
        found.update(decisions=weakref.ref(decisions.keep), tokens=weakref.ref(read.starts))
        return real(reading, read, decisions, tokens)

    def render(*given, real=pipeline.render):
        gone["in the rendering"] = [name for name, one in found.items() if one() is None]
        return real(*given)

    monkeypatch.setattr(pipeline, "join_analyses", join)
    monkeypatch.setattr(pipeline, "decide_on_original", decide)
    monkeypatch.setattr(pipeline, "render", render)
    one = deidentifier(read=lambda text: read_text(text, {"headache"}.__contains__))
    assert not one.mask(Document("1", long_text(400) + "A head-\nache.")).failed
    assert gone == {
        "on the original": ["verdicts"],
        "in the rendering": ["verdicts", "decisions", "tokens"],
    }
