"""The command with a slow stand-in for the model, to be killed by a test."""

import os
import sys
import types

from fake_maskers import mask_capitals

module = types.ModuleType("inverse_deid.assemble")
module.MaskingSettings = dict
module.build_deidentifier = lambda settings: mask_capitals(float(os.environ.get("SECONDS_A_BATCH", "0")))
sys.modules["inverse_deid.assemble"] = module

if __name__ == "__main__":
    from inverse_deid.cli.main import main

    main()
