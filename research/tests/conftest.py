"""The fixtures of the tests of the product."""

from shared_fixtures import command, fake_assemble, pytest_make_parametrize_id

__all__ = ["command", "fake_assemble", "pytest_make_parametrize_id"]
