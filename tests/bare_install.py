"""Run commands as if no extra were installed; prints status and last line of each as JSON.

python bare_install.py '[["mask", "--help"], ...]'
"""

import json
import sys
from contextlib import suppress
from importlib.machinery import PathFinder

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

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in BROUGHT_BY_EXTRAS:
            return None
        return PathFinder.find_spec(name, path, target)


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
