"""A seal over JSON content: a hash that shows when something was edited or damaged.

A seal has no key. It stops accidents and careless edits, but anybody who can write the file can
also seal it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON content with the hash of its canonical form under `seal`; an earlier seal is replaced.

    Example:
        >>> seal({"version": 1})["seal"] == seal({"seal": "", "version": 1})["seal"]
        True
    """
    bare = json.loads(json.dumps({name: value for name, value in content.items() if name != "seal"}))
    canonical = json.dumps(bare, sort_keys=True).encode()
    return {**bare, "seal": hashlib.sha256(canonical).hexdigest()}


def is_sealed(content: Mapping[str, Any]) -> bool:
    """Tell whether the content is what was sealed.

    Example:
        >>> is_sealed(seal({"low": 0.9}))
        True
        >>> is_sealed({**seal({"low": 0.9}), "low": 0.0})
        False
    """
    return bool(content.get("seal") == seal(content)["seal"])
