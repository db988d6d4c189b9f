"""Properties of tokenizing and rendering over any Unicode text."""

import itertools
import re

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import PhiSpan
from inverse_deid.text.rendering import (
    ALLOWED_GAP_CHARACTERS,
    FORBIDDEN_GAP_PATTERN,
    GAP_MARK,
    forbidden_gaps,
    render,
    replace_gap,
)
from inverse_deid.text.tokenizer import span_of_token, tokenize, tokens_touched

MARKER = "\x01"  # no letter or digit, so that it cannot hide an original run
HARD = "Zoë\u0301 took\r\n\ufeff40mg\u200b of 𝔸𝕓c ⓙ🄹 soft\u00adhyphen 😀 o_k"


def any_text():
    return st.text(st.characters(exclude_categories=("Cs",), exclude_characters=MARKER))


def rendered(text, keep):
    return render(tokenize(text), keep, lambda first, last: MARKER)


@given(any_text())
@example(HARD)
def test_offsets_are_exact(text):
    tokens = tokenize(text)
    slices = [text[a:b] for a, b in zip(tokens.starts, tokens.ends, strict=True)]
    assert slices == tokens.words == re.findall(r"[^\W_]+", text)


@given(any_text())
@example(HARD)
def test_with_everything_masked_no_run_of_letters_or_digits_is_left(text):
    masked = rendered(text, np.zeros(len(tokenize(text)), bool)).text
    assert not any(c.isalnum() for c in masked)
    assert set(masked) <= ALLOWED_GAP_CHARACTERS | {MARKER, GAP_MARK}


@given(any_text())
@example(HARD)
def test_with_everything_kept_only_forbidden_gaps_change(text):
    kept = rendered(text, np.ones(len(tokenize(text)), bool)).text
    assert kept == FORBIDDEN_GAP_PATTERN.sub(lambda gap: replace_gap(gap[0]), text)


@given(any_text(), st.randoms(use_true_random=False))
@example(HARD, None)
def test_the_offset_map_rebuilds_the_original(text, rng):
    tokens = tokenize(text)
    keep = np.array([bool(rng and rng.random() < 0.5) for _ in tokens.words], bool)
    result = rendered(text, keep)
    rebuilt, position = "", 0
    for (start, end), (new_start, new_end) in zip(result.masks, result.replaced, strict=True):
        rebuilt += result.text[position:new_start] + text[start:end]
        position = new_end
    assert rebuilt + result.text[position:] == text


@given(any_text(), st.randoms(use_true_random=False))
def test_masks_cover_exactly_what_is_not_kept(text, rng):
    tokens = tokenize(text)
    keep = np.array([rng.random() < 0.5 for _ in tokens.words], bool)
    masks = rendered(text, keep).masks
    assert tokens_touched(tokens, masks).tolist() == (~keep).tolist()
    covered = {i for start, end in masks for i in range(start, end)}
    assert all(i in covered for start, end in forbidden_gaps(text) for i in range(start, end))
    assert all(a[1] < b[0] for a, b in itertools.pairwise(masks))


@given(any_text(), st.data())
def test_a_token_touched_by_a_span_is_phi(text, data):
    tokens = tokenize(text)
    if not text:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    owners = span_of_token(tokens, [PhiSpan(start, end, PhiType.IDNUM)])
    expected = [a < end and b > start for a, b in zip(tokens.starts, tokens.ends, strict=True)]
    assert (owners == 0).tolist() == expected
