"""A seal over JSON content: a hash that shows when something was edited or damaged.

There is no key in it. It stops accidents and careless edits. Whoever can write the file on
purpose can also seal it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON content with the hash of its canonical form under `seal`.

    Args:
        content: Anything that JSON can hold; an earlier seal is replaced.

    Example:
        >>> sealed({"version": 1})["seal"] == sealed({"seal": "", "version": 1})["seal"]
        True
    """
    bare = json.loads(json.dumps({name: value for name, value in content.items() if name != "seal"}))
    canonical = json.dumps(bare, sort_keys=True).encode()
    return {**bare, "seal": hashlib.sha256(canonical).hexdigest()}


def is_sealed(content: Mapping[str, Any]) -> bool:
    """Tell whether the content is what was sealed.

    Example:
        >>> is_sealed(sealed({"low": 0.9}))
        True
        >>> is_sealed({**sealed({"low": 0.9}), "low": 0.0})
        False
    """
    return bool(content.get("seal") == sealed(content)["seal"])
