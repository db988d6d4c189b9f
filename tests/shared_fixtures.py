"""What tests of formats, engine, command and research share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_maskers import FakeMasker, mask_capitals
from hypothesis import HealthCheck, settings

from inverse_deid.masking import assemble, texts  # noqa: F401 - what `texts` imports stays the real one
from inverse_deid.masking.assemble import LoadedParts, MaskingSettings

if TYPE_CHECKING:
    from review_stores import Clock

    from inverse_deid.review.store.opening import ReviewStore

# A busy machine is no failure: no example has a deadline, and examples may be made slowly.
# Where no CI runs, a quarter of the examples is enough to notice a change.
settings.register_profile(
    "unhurried",
    deadline=None,
    max_examples=100 if os.environ.get("CI") else 25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unhurried")

# A second reading takes several times as long, so tests that do not care about it read once.
USUAL_READING = assemble.USUAL_READING
assemble.USUAL_READING = "fast"

# A shell starts what runs in the background with the interrupt ignored, and commands of the tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class CommandResult:
    status: int
    stdout: str
    stderr: str


def pytest_make_parametrize_id(val: object) -> str | None:
    """Names bytes by their kind alone: an archive holds the time it was made, and every process must find the same tests."""
    return "bytes" if isinstance(val, bytes) else None


@pytest.fixture
def fake_assemble(monkeypatch: pytest.MonkeyPatch) -> list[FakeMasker]:
    """The command gets the masker in this list instead of the real one, for settings that the real one would take."""
    maskers = [mask_capitals()]

    def build(settings: MaskingSettings, parts: LoadedParts | None = None) -> FakeMasker:
        assert isinstance(settings, MaskingSettings)
        return maskers[0]

    monkeypatch.setattr(assemble, "build_deidentifier", build)
    return maskers


@pytest.fixture
def usual_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words in doubt are read as the product does it if nobody chose a reading."""
    monkeypatch.setattr(assemble, "USUAL_READING", USUAL_READING)


@pytest.fixture
def full_cost() -> None:
    """Passwords are hashed as the product does it."""


@pytest.fixture(autouse=True)
def cheap_passwords(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords with as little work and memory as possible."""
    accounts = sys.modules.get("inverse_deid.review.people.accounts")
    if accounts and "full_cost" not in request.fixturenames:
        from argon2 import PasswordHasher

        cheap = partial(PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
        monkeypatch.setattr(accounts, "PasswordHasher", cheap)


@pytest.fixture
def clock() -> Clock:
    from review_stores import Clock

    return Clock()


@pytest.fixture(scope="session")
def store_templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stores that others are copies of."""
    return tmp_path_factory.mktemp("stores")


@pytest.fixture
def store(
    request: pytest.FixtureRequest, tmp_path: Path, store_templates: Path, clock: Clock
) -> Iterator[ReviewStore]:
    """A small review store, made as the `STORE` of the module says in the words of `store_of`."""
    from review_stores import copied_store

    said = getattr(request.module, "STORE", {})
    with copied_store(tmp_path, store_templates, **{"clock": clock, **said}) as made:
        yield made


@pytest.fixture
def alone(
    request: pytest.FixtureRequest, tmp_path: Path, store_templates: Path, clock: Clock
) -> Iterator[ReviewStore]:
    """A store in which one approval is enough, made as `ALONE` or else `STORE` of the module says."""
    from review_stores import copied_store

    said = getattr(request.module, "ALONE", getattr(request.module, "STORE", {}))
    with copied_store(tmp_path, store_templates, **{"clock": clock, "approvals": 1, **said}) as made:
        yield made


@pytest.fixture
def command(
    fake_assemble: list[FakeMasker], capsys: pytest.CaptureFixture[str]
) -> Callable[..., CommandResult]:
    """Runs `inverse-deid` in this process with a fake masker."""
    from inverse_deid.cli.main import main

    def run(*args: str | Path) -> CommandResult:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(arg) for arg in args])
        printed = capsys.readouterr()
        return CommandResult(int(stopped.value.code or 0), printed.out, printed.err)

    return run
