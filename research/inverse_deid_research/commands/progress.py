"""Lines of progress of the commands."""

from __future__ import annotations

from collections.abc import Callable

import click


def progress(*, quiet: bool) -> Callable[[str], None]:
    """Where lines of progress go: to standard output, or nowhere."""
    return (lambda line: None) if quiet else click.echo
