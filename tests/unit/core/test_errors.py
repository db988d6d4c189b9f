"""Errors keep their remedies when they are copied, sent to another process or told of a file."""

import copy
import pickle

import pytest
from refusals import refuses

from inverse_deid.cli.parts.messages import describe_error, describe_problem
from inverse_deid.core import errors
from inverse_deid.core.child_process import LimitedProcess, strip_error
from inverse_deid.core.errors import ConfigurationError, FormatError, InputError, Remedy, add_remedies

REMEDIES = (Remedy("encoding", "cp1252"), Remedy(step="save it as UTF-8"))
KINDS = [
    one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.InverseDeidError)
]


def raise_error():
    raise FormatError("is not UTF-8", choice="encoding", remedies=REMEDIES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("send", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_an_error_is_the_same_after_it_was_copied(kind, send):
    sent = send(kind("is not UTF-8", choice="encoding", remedies=REMEDIES))
    assert (type(sent), str(sent)) == (kind, "encoding: is not UTF-8")
    assert (sent.choice, sent.remedies) == ("encoding", REMEDIES)
    assert describe_error(sent) == ("--encoding: is not UTF-8. Use --encoding cp1252, or save it as UTF-8.")


def test_a_child_process_sends_the_remedies_as_well():
    process = LimitedProcess()
    try:
        with refuses(FormatError, match="Use --encoding cp1252, or save it as UTF-8.$"):
            process.call(raise_error)
    finally:
        process.end()


def test_an_error_that_is_stripped_or_told_of_a_file_keeps_its_kind_and_remedies():
    error = InputError("is not UTF-8", remedies=REMEDIES)
    named = error.add_prefix("a.csv ")
    assert (type(named), str(named), named.remedies) == (InputError, "a.csv is not UTF-8", REMEDIES)
    assert strip_error(error).remedies == REMEDIES
    assert strip_error(ValueError("Okonkwo")).remedies == ()


def test_a_surface_without_the_choice_leaves_the_remedy_out():
    assert add_remedies("is not UTF-8", REMEDIES[:1], lambda _choice, _value: None) == "is not UTF-8"
    assert add_remedies("is not UTF-8", REMEDIES, lambda _choice, _value: None) == (
        "is not UTF-8. Save it as UTF-8"
    )


def test_a_choice_that_needs_another_is_offered_with_it_or_not_at_all():
    both = [Remedy("certificate", also=("private_key",), step="give {}")]
    assert describe_problem("TLS is needed", both) == "TLS is needed. Give --certificate and --private-key."
    known = {"certificate": "the certificate"}
    assert add_remedies("TLS is needed", both, lambda choice, _: known.get(choice)) == "TLS is needed"


def test_a_value_that_a_shell_would_split_is_quoted():
    assert describe_problem("no column", [Remedy("text_column", "Case text")]) == (
        "no column. Use --text-column 'Case text'."
    )


def test_the_line_of_an_error_ends_with_one_stop():
    assert describe_error(ConfigurationError("is wrong")) == "is wrong."
    assert describe_error(ConfigurationError("is it wrong?")) == "is it wrong?"
