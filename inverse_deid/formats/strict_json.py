"""JSON without guesses: a key that stands twice in an object is an error, so are numbers that JSON has not.

Python takes the last of two keys. Another program may take the first, and the text that was masked
would not be the text that is read.

Source: RFC 8259, section 4 (names within an object should be unique), section 6 (numbers)
"""

from __future__ import annotations

import json
import math
from typing import Any


class RepeatedKeyError(ValueError):
    """An object has the same key twice; the message does not name it."""


def parse_json(data: str | bytes) -> Any:  # noqa: ANN401 - JSON, not yet looked at
    """Return the value that a JSON text holds.

    Raises:
        RepeatedKeyError: An object in it has the same key twice.
        ValueError: It is no JSON, or no Unicode text.
        RecursionError: It is nested too deeply.

    Example:
        >>> parse_json('{"a": {"b": 1, "b": 2}}')
        Traceback (most recent call last):
        inverse_deid.formats.strict_json.RepeatedKeyError: has the same key twice in one object
    """
    return json.loads(data, object_pairs_hook=_object, parse_constant=_refused, parse_float=_finite)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedKeyError("has the same key twice in one object")
    return found


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number
