"""Options that `inverse-deid serve` and `inverse-deid review serve` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from inverse_deid.cli.parts.secret_files import read_secret
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.files import check_private
from inverse_deid.core.wording import _

METRICS_VARIABLE = "INVERSE_DEID_METRICS_TOKEN"
_MIN_TOKEN_BYTES = 16

_OPTIONS = (
    click.option(
        "--behind-proxy", "proxy", metavar="IP", help=_("Answer only a proxy at this address that ends TLS.")
    ),
    click.option(
        "--metrics-token",
        type=click.Path(dir_okay=False, path_type=Path),
        help=_(
            "File with a token (mode 600) for /metrics from other machines. Or set {metrics_variable}.",
            metrics_variable=METRICS_VARIABLE,
        ),
    ),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help=_("Lines of the log."),
    ),
)


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_private(path: Path | None, option: str, variable: str) -> bytes | None:
    """Return a secret of a file that nobody else can read, or of the environment. None = not given.

    Raises:
        UnreadableInputError: The file cannot be read.
        ConfigurationError: Other users can read it, or it is given twice.
    """
    if path is not None:
        check_private(path)
    return read_secret(path, option, variable)


def read_metrics_token(path: Path | None) -> bytes | None:
    """Return the token of the metrics, None = not given.

    Raises:
        UnreadableInputError: The file cannot be read.
        ConfigurationError: It is short, other users can read it, or it is given twice.
    """
    token = read_private(path, "--metrics-token", METRICS_VARIABLE)
    if token is not None and len(token) < _MIN_TOKEN_BYTES:
        raise ConfigurationError(
            _(
                "--metrics-token: the token needs {min_token_bytes} or more characters",
                min_token_bytes=_MIN_TOKEN_BYTES,
            )
        )
    return token
