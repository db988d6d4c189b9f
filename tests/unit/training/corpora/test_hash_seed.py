from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import random, zlib
from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.synthetic import synthetic_document
rng = random.Random(3)
maker = SurrogateMaker(rng)
print(zlib.crc32("".join(synthetic_document(rng, maker).text for _ in range(200)).encode()))
"""


def test_documents_do_not_depend_on_the_hash_seed() -> None:
    def run(hash_seed: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True
        ).stdout

    assert run("1") == run("77")
