"""Packages that only an extra installs: check for them early, and say how to install them.

The project is not on a package index, where a stranger could register its name. Every message
therefore names the copy that the user has.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError

_TOOLS = {
    "pipx_metadata.json": "pipx install --force '.[{}]'",
    "uv-receipt.toml": "uv tool install '.[{}]', with the extras that you have, as others are removed",
}
"""The files with which pipx and uv mark an environment of theirs, and how they install an extra into it."""


def install_hint(extra: str, environment: Path | None = None) -> str:
    """Say how to install an extra into an environment, None = the one of this program.

    Example:
        >>> install_hint("review", Path("/nowhere"))
        "in the folder of your copy of inverse-deid, run pip install '.[review]'"
    """
    place = Path(sys.prefix) if environment is None else environment
    command = next((how for mark, how in _TOOLS.items() if (place / mark).exists()), "pip install '.[{}]'")
    return f"in the folder of your copy of inverse-deid, run {command.format(extra)}"


def missing_extra(purpose: str, package: str | None, extra: str) -> ConfigurationError:
    """Return the error for a package, None = unknown, that is not installed.

    Example:
        >>> str(missing_extra("the review", "sqlalchemy", "review"))[:40]
        'the review needs the package sqlalchemy:'
    """
    named = f"the package {package.partition('.')[0]}" if package else "more packages"
    return ConfigurationError(f"{purpose} needs {named}: {install_hint(extra)}")


def need_modules(purpose: str, extra: str, *modules: str) -> None:
    """Import modules that an extra installs, before anything is read.

    Raises:
        ConfigurationError: A module is missing; the line names `purpose` and says how to install it.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise missing_extra(purpose, error.name or module, extra) from error
