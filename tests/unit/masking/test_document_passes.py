"""Passes over a document mask the other mentions of a name, and only what is enough of one."""

import dataclasses

import numpy as np
import pytest

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import Decisions, Reason, RuleVerdicts
from inverse_deid.masking.document_passes import mask_names_everywhere
from inverse_deid.text.tokenizer import join, tokenize

NAME = tuple(HyperClass).index(HyperClass.NAME)


@pytest.mark.parametrize(
    ("p_safe", "opening", "masked"), [(0.95, False, True), (0.95, True, False), (0.8, True, True)]
)
def test_a_word_that_is_masked_for_its_place_masks_no_other_mention(p_safe, opening, masked):
    tokens = join([tokenize("Caller rang. Then Caller left.")])
    n = len(tokens)
    keep = np.arange(n) > 0
    decisions = Decisions(
        keep,
        np.where(keep, Reason.KEPT_BY_NETWORK, Reason.BELOW_THRESHOLD).astype(np.uint8),
        np.where(keep, 0.999, p_safe).astype(np.float32),
        np.full(n, 0.9, np.float32),
        np.full(n, NAME, np.uint8),
    )
    verdicts = dataclasses.replace(RuleVerdicts.silent(n), opening=np.arange(n) == (0 if opening else n))
    found = mask_names_everywhere(tokens, verdicts, decisions)
    assert bool(found.keep[3]) is not masked
