"""Sites that differ in what must be common are refused before anything is trained."""

import msgspec
import pytest

from inverse_deid.core.errors import UpdateError
from inverse_deid_research.federated.messages import (
    Declaration,
    Envelope,
    pack,
    unpack,
)

EAST = Declaration(
    site="east", version="0.1.0", network="n", training="t", lexicon="l", word_vectors="v", n_tokens=100
)


def site(**changed):
    return msgspec.structs.replace(EAST, site="west", **changed)


def test_like_sites_agree():
    assert site(n_tokens=7).find_problem(EAST) is None


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"network": "other"}, "another network"),
        ({"lexicon": "other"}, "another lexicon"),
        ({"word_vectors": "other"}, "other word vectors"),
        ({"training": "other"}, "other settings of training"),
        ({"version": "0.0.9"}, "another version"),
        ({"protocol": 0}, "another protocol"),
        ({"n_tokens": 0}, "no training document"),
    ],
)
def test_a_difference_is_named_in_one_line(changed, word):
    message = site(**changed).find_problem(EAST)
    assert word in message
    assert "\n" not in message


def test_the_first_site_may_be_the_empty_one():
    assert msgspec.structs.replace(EAST, n_tokens=0).find_problem(EAST)


@pytest.mark.parametrize("changed", [{"n_tokens": "many"}, {"surprise": 1}, {"site": None}])
def test_a_declaration_that_cannot_be_read_is_refused(changed):
    envelope = pack(EAST)
    assert unpack(envelope, Declaration) == EAST
    with pytest.raises(UpdateError, match="cannot be read"):
        unpack(Envelope({**envelope.header, **changed}), Declaration)
