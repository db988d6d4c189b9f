"""The revision of the code that runs."""

from __future__ import annotations

import subprocess
from pathlib import Path


def revision(folder: Path = Path(__file__).parent) -> str:
    """Return the commit of a checkout, with `+` if files differ from it; "" outside a checkout.

    Changed reports do not count. They are results of the code, and one would mark all others as changed.
    """
    here = str(folder)
    try:
        commit = _git("-C", here, "rev-parse", "HEAD")
        changed = ("status", "--porcelain", "-uno", "--", ":(top)", ":(top,exclude)reports")
        return commit + ("+" if commit and _git("-C", here, *changed) else "")
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, timeout=30)  # noqa: S603, S607
    return done.stdout.strip() if done.returncode == 0 else ""
