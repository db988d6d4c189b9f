"""The command with a slow stand-in for the model, to be killed by a test."""

import os
from pathlib import Path

from fake_maskers import mask_capitals
from kill_points import kill_at
from worker_maskers import failing

from inverse_deid.masking import assemble


def build(settings):
    """A masker that takes its time, or one that fails by words of its documents."""
    if folder := os.environ.get("FAILING_FOLDER"):
        return failing(Path(folder))()
    return mask_capitals(float(os.environ.get("SECONDS_A_BATCH", "0")))


assemble.build_deidentifier = build  # at import, so that worker processes get the same

if __name__ == "__main__":
    from inverse_deid.cli.main import main

    if point := os.environ.get("KILL_AT"):
        kill_at(point)
    main()
