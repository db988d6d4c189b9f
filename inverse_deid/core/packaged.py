"""The data that are shipped with the package, and the hashes that they must have.

After rebuilding the lexicon or the model, run `python scripts/pin_packaged_data.py`. It writes the
new hashes into this file. Until then rebuilt data are refused.
"""

from __future__ import annotations

import importlib.resources
from pathlib import Path

MODEL_SHA256 = "3ccd17673210781443d854237d0b2b1893ba3660c20db899e9c72a3e21fcec11"
"""Of the model's `manifest.json`, which contains the hash of every other file of the model."""

LEXICON_SHA256 = "1f40f9edb694d9a2c8559a4601eeb981d0107203aa40e0c6b0ebf9933403416c"
"""Of the `manifest.json` in `lexicon.zip`, which contains the hash of every other member."""

SECOND_READER_SHA256 = "b970558b5ec844ee4d5b7d21445472b8b57f0967b2cfe138df8911f85a20f03b"
"""Of the second reader's `manifest.json`."""


def packaged_path(name: str) -> Path:
    """Return the path of a file or folder of the packaged data.

    Example:
        >>> packaged_path("lexicon.zip").name
        'lexicon.zip'
    """
    return Path(str(importlib.resources.files("inverse_deid") / "data" / name))
