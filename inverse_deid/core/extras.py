"""Packages that only an extra installs: check for them early, and say how to install them.

The project is not on a package index, where a stranger could register its name. Every message
therefore names the copy that the user has.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.wording import _

_TOOLS = {
    "pipx_metadata.json": "`pipx install -f '.[{}]'`",
    "uv-receipt.toml": "`uv tool install '.[{}]'`, with the extras that you have, as others are removed",
}
"""The files with which pipx and uv mark an environment of theirs, and how they install an extra into it."""
_RESEARCH_BY_TOOL = {
    "pipx_metadata.json": "`pipx inject inverse-deid {}`",
    "uv-receipt.toml": "`uv tool install . -w {}`, with the extras that you have, as others are removed",
}
"""The same for the research."""


def install_hint(extra: str, environment: Path | None = None) -> str:
    """Say how to install an extra into an environment, None = the one of this program.

    Example:
        >>> install_hint("review", Path("/nowhere"))
        "in the folder of your copy of inverse-deid, run `pip install '.[review]'`"
    """
    return _hint(_TOOLS, "`pip install '.[{}]'`", extra, environment)


def research_hint(extra: str | None = None, environment: Path | None = None) -> str:
    """Say how to install the research, perhaps with an extra of its own; the environment as above.

    Example:
        >>> research_hint(environment=Path("/nowhere"))
        'in the folder of your copy of inverse-deid, run `pip install . ./research`'
    """
    # With `.` first, so that the product is never looked for in a package index.
    package = "./research" if extra is None else f"'./research[{extra}]'"
    return _hint(_RESEARCH_BY_TOOL, "`pip install . {}`", package, environment)


def _hint(tools: Mapping[str, str], pip: str, what: str, environment: Path | None) -> str:
    place = Path(sys.prefix) if environment is None else environment
    command = next((how for mark, how in tools.items() if (place / mark).exists()), pip)
    return _("in the folder of your copy of inverse-deid, run {value}", value=command.format(what))


def missing_extra(purpose: str, package: str | None, extra: str) -> ConfigurationError:
    """Return the error for a package, None = unknown, that is not installed.

    Example:
        >>> str(missing_extra("the review", "sqlalchemy", "review"))[:40]
        'the review needs the package sqlalchemy:'
    """
    named = _("the package {package}", package=package.partition(".")[0]) if package else _("more packages")
    return ConfigurationError(
        _("{purpose} needs {named}: {hint}", purpose=purpose, named=named, hint=install_hint(extra))
    )


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
