"""What tests of formats, engine, command and research share."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_maskers import FakeMasker, mask_capitals
from hypothesis import settings

from inverse_deid.masking import assemble

# A busy machine is no failure: no example has a deadline.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

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
def fake_assemble(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeMasker]]:
    """The command gets the masker in this list instead of the real one."""
    maskers = [mask_capitals()]
    monkeypatch.setattr(assemble, "build_deidentifier", lambda _settings: maskers[0])
    yield maskers


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
