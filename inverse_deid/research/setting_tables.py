"""Settings of research that are dataclasses: checks of their tables in TOML files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError


@contextmanager
def name_file(path: Path) -> Iterator[None]:
    """Put the file's name before what is wrong with its settings."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def check_table(values: Mapping[str, Any], section: str, kind: type) -> dict[str, Any]:
    """Refuse names that `kind` does not have and values of another type.

    Args:
        values: A table of a TOML file.
        section: Its name.
        kind: A dataclass with a default for every field.

    Raises:
        ConfigurationError: One of them.
    """
    if not isinstance(values, Mapping):
        raise ConfigurationError(f"{section} is a table. Begin it with the line [{section}]")
    known = {field.name: field for field in dataclasses.fields(kind)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ConfigurationError(
            f"[{section}] has no setting {', '.join(unknown)}. Known: {', '.join(known)}"
        )
    defaults = kind()
    for name, value in values.items():
        default = getattr(defaults, name)
        wanted = dict if isinstance(default, Mapping) else type(default)
        fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and wanted is not bool):
            raise ConfigurationError(
                f"{section}.{name} is a {wanted.__name__}, given a {type(value).__name__}"
            )
    return dict(values)
