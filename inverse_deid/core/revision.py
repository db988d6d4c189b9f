"""The revision of the code that runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError, Remedy
from inverse_deid.core.wording import N_, _


def revision(folder: Path = Path(__file__).parent) -> str:
    """Return the commit of a checkout, with `+` if files differ from it; "" outside a checkout.

    Changed reports do not count. They are results of the code, and one would mark all others as changed.
    """
    here = str(folder)
    try:
        commit = _git("-C", here, "rev-parse", "HEAD")
        changed = ("status", "-s", "-uno", "--", ":(top)", ":(top,exclude)reports")
        return commit + ("+" if commit and _git("-C", here, *changed) else "")
    except (OSError, subprocess.TimeoutExpired):
        return ""


def require_clean_revision(target: Path, folder: Path = Path(__file__).parent) -> None:
    """Check that a report in `reports/` of the checkout can name the commit that it comes from.

    `target` is the folder of the report. Any other folder may also show what changed code finds.

    Raises:
        ConfigurationError: Tracked files outside `reports/` differ from the commit.
    """
    top = next(
        (one for one in (folder.resolve(), *folder.resolve().parents) if (one / ".git").exists()), None
    )
    is_report = top is not None and target.resolve().is_relative_to(top / "reports")
    if is_report and (not (found := revision(folder)) or found.endswith("+")):
        raise ConfigurationError(
            _(
                "{target}: reports come from a clean revision, but tracked files have uncommitted changes",
                target=target,
            ),
            remedies=[
                Remedy(step=N_("commit them")),
                Remedy("out", step=N_("choose a folder outside reports/ with {}")),
            ],
        )


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, timeout=30)  # noqa: S603, S607
    return done.stdout.strip() if done.returncode == 0 else ""
