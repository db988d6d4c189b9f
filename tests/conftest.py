"""The fixtures, which the tests of the research share."""

from shared_fixtures import alone, clock, command, fake_assemble, pytest_make_parametrize_id, store

__all__ = ["alone", "clock", "command", "fake_assemble", "pytest_make_parametrize_id", "store"]
