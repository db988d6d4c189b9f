"""Run commands of one revision, without starting Python and loading models for each.

    python scripts/command_server.py FOLDER

Reads a command per line from standard input, as a JSON list of words, and prints its status. The package must
be that of FOLDER.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def answer(folder: Path) -> None:
    """Run the commands of standard input until it ends."""
    import inverse_deid
    from inverse_deid.cli.main import main

    if not Path(inverse_deid.__file__).resolve().is_relative_to(folder.resolve()):
        sys.exit(f"the package is not that of {folder}. Set PYTHONPATH")
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the command may print
    for line in sys.stdin:
        status: object = 0
        try:
            main(json.loads(line))
        except SystemExit as done:
            status = done.code
        print(json.dumps(status), file=replies, flush=True)


if __name__ == "__main__":
    answer(Path(sys.argv[1]))
