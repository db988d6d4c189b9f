"""The fixtures, which the tests of the research share."""

from shared_fixtures import (
    alone,
    cheap_passwords,
    clock,
    command,
    fake_assemble,
    full_cost,
    pytest_make_parametrize_id,
    store,
    store_templates,
    usual_reading,
)

__all__ = [
    "alone",
    "cheap_passwords",
    "clock",
    "command",
    "fake_assemble",
    "full_cost",
    "pytest_make_parametrize_id",
    "store",
    "store_templates",
    "usual_reading",
]
