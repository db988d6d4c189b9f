"""What the commands that train share: asking for the packages of an extra, lines of progress."""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from inverse_deid.core.extras import need_modules


def need_training(purpose: str, extra: str, *more: str) -> None:
    """Make sure that Keras, TensorFlow and `more` modules of an extra are installed.

    Raises:
        ConfigurationError: One is missing; the line says how to install it.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    need_modules(purpose, extra, "keras", "tensorflow", *more)


def progress(*, quiet: bool) -> Callable[[str], None]:
    """Where lines of progress go: to standard output, or nowhere."""
    return (lambda line: None) if quiet else click.echo
