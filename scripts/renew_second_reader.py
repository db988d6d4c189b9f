"""Rewrite an encoder folder of format 1 in today's format, its graph and word pieces unchanged.

    python scripts/renew_second_reader.py OLD NEW

NEW says nothing of operating points: limits of doubt and thresholds of format 1 are for windows that are no
longer read. Pair it with its network (`python scripts/train_second_reader.py pair`) before masking with it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from inverse_deid.network.folder import read_checked_manifest
from inverse_deid.network.second_reader import EncoderParts, write_encoder

_OLD_FORMAT = "inverse-deid encoder 1"
_FILES = ("config.json", "pieces.txt", "encoder.onnx")
_OF_OLD_WINDOWS = ("calibration", "held_out")


def renew(old: Path, new: Path) -> None:
    """Read a folder of format 1 after checking it, and write it in today's format.

    Raises:
        ModelError: It is damaged or of another format, or the new folder exists and is not a model folder.
    """
    manifest = read_checked_manifest(old, _OLD_FORMAT, _FILES)
    config = json.loads((old / "config.json").read_text(encoding="utf-8"))
    parts = EncoderParts(
        class_names=tuple(config["class_names"]),
        feature_names=tuple(config["feature_names"]),
        pieces=tuple((old / "pieces.txt").read_text(encoding="utf-8").splitlines()),
        graph=(old / "encoder.onnx").read_bytes(),
        weight=float(config["weight"]),
        first_reader=str(config["first_reader"]),
        provenance={
            name: value for name, value in manifest["provenance"].items() if name not in _OF_OLD_WINDOWS
        },
    )
    write_encoder(parts, new)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    renew(Path(sys.argv[1]), Path(sys.argv[2]))
