"""Every command of a study that README and docs print exists, with each of its options."""

import pytest
from documented_commands import list_commands, list_unknown_options


@pytest.mark.parametrize("words", list(list_commands(of_research=True)))
def test_a_documented_command_has_only_known_options(words):
    assert not list_unknown_options(words)
