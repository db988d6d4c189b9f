"""Strict JSON: a repeated key in an object is an error, and so is a number that JSON does not have.

Python takes the last of two equal keys. Another program may take the first, and would then read another text
than the one that was masked.

Source: RFC 8259, section 4 (names within an object should be unique), section 6 (numbers)
"""

from __future__ import annotations

import json
import math
from typing import Any

from inverse_deid.core.wording import _


class RepeatedKeyError(ValueError):
    """An object has the same key twice; the message does not name it."""


def parse_json(data: str | bytes) -> Any:  # noqa: ANN401 - JSON, not yet looked at
    """Return the value that a JSON text holds.

    Raises:
        RepeatedKeyError: An object in it has the same key twice.
        ValueError: It is not JSON, or not Unicode text.
        RecursionError: It is nested too deeply.

    Example:
        >>> parse_json('{"a": {"b": 1, "b": 2}}')
        Traceback (most recent call last):
        inverse_deid.formats.tables.strict_json.RepeatedKeyError: has the same key twice in one object
    """
    if isinstance(data, str):
        return _DECODER.decode(data)
    return json.loads(data, object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedKeyError(_("has the same key twice in one object"))
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large or not a JSON number")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite)
"""Built once, since building one takes longer than reading a short line."""
