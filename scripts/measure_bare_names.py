"""Measure how many surnames leak where a drug could stand, alone and inside a long narrative.

Usage: measure_bare_names.py [--operating-point balanced] [--sentences N]

Masks the invented sentences of `tests/golden/bare_names.toml` with the packaged model and prints
a table. Every surname is planted in N of the 56 sentences, taken in turn.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from bare_names import cases, outcomes, report

from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--operating-point", default="balanced", choices=["strict", "balanced", "lenient"])
    parser.add_argument("--sentences", type=int, default=6, help="sentences for each surname")
    options = parser.parse_args()
    deidentifier = build_deidentifier(
        MaskingSettings(reading="fast", operating_point=options.operating_point)
    )
    print(report(outcomes(deidentifier, cases(options.sentences))))


if __name__ == "__main__":
    main()
