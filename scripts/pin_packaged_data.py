"""Write the hashes of the packaged models and lexicon into the code, after they were built again.

python scripts/pin_packaged_data.py
"""

from __future__ import annotations

import re
from pathlib import Path

from inverse_deid.core import packaged
from inverse_deid.lexicon.artefact import parse_artefact
from inverse_deid.network.folder import model_fingerprint


def pin() -> None:
    """Replace the constants of `inverse_deid/core/packaged.py`."""
    path = Path(packaged.__file__)
    code = path.read_text(encoding="utf-8")
    found = {
        "MODEL_SHA256": model_fingerprint(packaged.packaged_path("model")),
        "LEXICON_SHA256": parse_artefact(packaged.packaged_path("lexicon.zip").read_bytes()).sha256,
        "SECOND_READER_SHA256": model_fingerprint(packaged.packaged_path("second_reader")),
    }
    for name, sha256 in found.items():
        code = re.sub(rf'^{name} = "\w*"$', f'{name} = "{sha256}"', code, flags=re.MULTILINE)
        print(f"{name} {sha256}")
    path.write_text(code, encoding="utf-8")


if __name__ == "__main__":
    pin()
