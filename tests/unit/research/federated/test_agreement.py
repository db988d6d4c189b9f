"""Sites that differ in what must be common are refused before anything is trained."""

import dataclasses

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.research.federated.agreement import Declaration, check_agreement, problem_with

EAST = Declaration(
    site="east", version="0.1.0", network="n", training="t", lexicon="l", word_vectors="v", n_tokens=100
)


def site(**changed):
    return dataclasses.replace(EAST, site="west", **changed)


def test_like_sites_agree():
    check_agreement([EAST, site(n_tokens=7)])


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
def test_the_site_and_what_differs_are_named_in_one_line(changed, word):
    with pytest.raises(ConfigurationError, match=word) as caught:
        check_agreement([EAST, site(**changed)])
    message = str(caught.value)
    assert message.startswith("site west: ")
    assert "\n" not in message


def test_a_name_is_given_once():
    with pytest.raises(ConfigurationError, match="east: named twice"):
        check_agreement([EAST, EAST])


def test_the_first_site_may_be_the_empty_one():
    assert problem_with(dataclasses.replace(EAST, n_tokens=0), EAST)
