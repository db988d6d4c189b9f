"""The revision of the code that runs."""

from __future__ import annotations

import subprocess
from pathlib import Path


def revision(folder: Path = Path(__file__).parent) -> str:
    """The commit that is checked out, with `+` if files differ from it; "" outside a checkout.

    Reports do not count: they come of the rest, and the first part of one would mark all others.

    Args:
        folder: In the checkout.
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
