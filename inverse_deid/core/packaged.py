"""The data that are shipped with the package, and the hashes that they must have.

After rebuilding the lexicon or the model, run `python scripts/pin_packaged_data.py`. It writes the
new hashes into this file. Until then rebuilt data are refused.
"""

from __future__ import annotations

import importlib.resources
from pathlib import Path

MODEL_SHA256 = "0b5083b049b6d7693b8ee756d0f52e4e4c42accb075986063777575f0621871e"
"""Of the model's `manifest.json`, which contains the hash of every other file of the model."""

LEXICON_SHA256 = "1f40f9edb694d9a2c8559a4601eeb981d0107203aa40e0c6b0ebf9933403416c"
"""Of the `manifest.json` in `lexicon.zip`, which contains the hash of every other member."""

SECOND_READER_SHA256 = "3c4f9863e0337c63a9d4208629d040b41e5fbe330229e8004990b7052f42d09e"
"""Of the second reader's `manifest.json`."""


SHARED_PAGES = Path(__file__).parent / "pages" / "static"
"""The style sheets and the icon of all pages; nothing of a case."""


def packaged_path(name: str) -> Path:
    """Return the path of a file or folder of the packaged data.

    Example:
        >>> packaged_path("lexicon.zip").name
        'lexicon.zip'
    """
    return Path(str(importlib.resources.files("inverse_deid") / "data" / name))
