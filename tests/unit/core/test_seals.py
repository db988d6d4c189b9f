"""What is shipped is what the code names, and an artefact that was changed is refused."""

import pytest

from inverse_deid.core.errors import LexiconError
from inverse_deid.core.packaged import LEXICON_SHA256, packaged_path
from inverse_deid.core.seals import is_sealed, seal
from inverse_deid.lexicon import lexicon as lexicon_module
from inverse_deid.lexicon import load_lexicon
from inverse_deid.lexicon.artefact import parse_artefact


@pytest.mark.parametrize("content", [{}, {"a": (1, 2)}, {"a": {2: 1, 10: 0.1}}, {"seal": "x", "a": "é"}])
def test_what_is_read_again_is_sealed(content):
    assert is_sealed(seal(content))
    assert not is_sealed({**seal(content), "more": None})


def test_the_packaged_lexicon_is_the_one_that_the_code_names():
    """After a change on purpose: `python scripts/pin_packaged_data.py`."""
    assert load_lexicon().sha256 == LEXICON_SHA256


def test_another_lexicon_in_the_place_of_the_packaged_one_is_refused(monkeypatch):
    monkeypatch.setattr(lexicon_module, "LEXICON_SHA256", "0" * 64)
    with pytest.raises(LexiconError, match=r"not the one that this version was shipped with.*pin_packaged"):
        load_lexicon()


def test_no_flipped_bit_of_a_lexicon_changes_it():
    whole = packaged_path("lexicon.zip").read_bytes()
    sha256 = parse_artefact(whole).sha256
    for i in range(0, 8 * len(whole), 8 * len(whole) // 10):
        flipped = bytearray(whole)
        flipped[i // 8] ^= 1 << i % 8
        try:
            assert parse_artefact(bytes(flipped)).sha256 == sha256
        except LexiconError:
            continue
