"""Run commands as if no extra were installed: `run_bare`.

As a program it prints status and output of each as JSON: python bare_install.py '[["mask", "--help"], ...]'
"""

import json
import subprocess
import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path

BROUGHT_BY_EXTRAS = {
    *(
        "argon2",
        "faker",
        "flwr",
        "fsspec",
        "httptools",
        "keras",
        "nltk",
        "onnx",
        "pycrfsuite",
    ),
    *(
        "ray",
        "seqeval",
        "sklearn",
        "sqlalchemy",
        "starlette",
        "tensorboard",
        "tensorflow",
        "uvicorn",
        "uvloop",
    ),
}


class Bare:
    """Finds every module but those."""

    find_distributions = PathFinder.find_distributions

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in BROUGHT_BY_EXTRAS:
            return None
        return PathFinder.find_spec(name, path, target)


def run_bare(*commands):
    """Return arguments, exit status and output of commands, by default of the help of all."""
    here = Path(__file__)
    done = subprocess.run(
        [sys.executable, str(here), json.dumps(commands)],
        capture_output=True, text=True, check=True, timeout=300, cwd=here.parents[1],
    )  # fmt: skip
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.meta_path[:] = [Bare if finder is PathFinder else finder for finder in sys.meta_path]

    import click
    from click.testing import CliRunner

    from inverse_deid.cli.main import main
    from inverse_deid.core.errors import InverseDeidError

    def paths(command, path):
        """Every command and subcommand that can be listed."""
        yield path
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                sub = None
                with suppress(InverseDeidError):  # it comes again when the command is run
                    sub = command.get_command(click.Context(command), name)
                yield from paths(sub, [*path, name])

    given = json.loads(sys.argv[1]) or [[*path, "--help"] for path in paths(main, [])]
    found = []
    for arguments in given:
        result = CliRunner().invoke(main, arguments)
        found.append([arguments, result.exit_code, result.output])
    sys.stdout.write(json.dumps(found))
