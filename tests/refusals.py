"""Errors as a user of the command line reads them."""

import re
from contextlib import contextmanager

import pytest

from inverse_deid.cli.parts.messages import describe_error


@contextmanager
def refuses(kind, match):
    """Check that a block raises an error of this kind, whose line matches, with the options that mend it."""
    with pytest.raises(kind) as caught:
        yield caught
    line = describe_error(caught.value)
    assert re.search(match, line), line
