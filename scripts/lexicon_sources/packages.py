"""Where the data files of the pinned packages lie, and their versions."""

import bz2
import gzip
import io
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Packages:
    """The data files of packages installed in one folder.

    Args:
        folder: The folder of `pip install --target`, or a site-packages folder.
        pins: Normalised package name to the version that must be there.
    """

    def __init__(self, folder: Path, pins: dict[str, str]) -> None:
        self._folder = folder
        self._pins = pins

    def version(self, package: str) -> str:
        """Return the pinned version of `package`, checked against what is installed."""
        wanted = self._pins[normalised(package)]
        found = [
            parts[1]
            for path in self._folder.glob("*.dist-info")
            if normalised((parts := path.name.removesuffix(".dist-info").split("-"))[0])
            == normalised(package)
        ]
        if found != [wanted]:
            raise SystemExit(f"{package}: version {wanted} is pinned, found {found or 'none'}")
        return wanted

    def path(self, *parts: str) -> Path:
        """Return the path of a data file."""
        return self._folder.joinpath(*parts)

    def lines(self, *parts: str) -> Iterator[str]:
        """Yield the lines of a text file, gzipped or not, without line ends."""
        data = self.path(*parts).read_bytes()
        if parts[-1].endswith(".gz"):
            data = gzip.decompress(data)
        yield from io.StringIO(data.decode("utf-8", "replace")).read().splitlines()

    def json(self, *parts: str) -> Any:
        """Return the content of a JSON file, gzipped or not."""
        data = self.path(*parts).read_bytes()
        return json.loads(gzip.decompress(data) if parts[-1].endswith(".gz") else data)

    def plain_pickle(self, *parts: str) -> Any:
        """Return a pickle of built-in values; anything else in it is refused."""
        data = self.path(*parts).read_bytes()
        if parts[-1].endswith(".bz2"):
            data = bz2.decompress(data)
        return _PlainUnpickler(io.BytesIO(data)).load()


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) in {("builtins", "set"), ("__builtin__", "set")}:
            return set
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not allowed here")


def normalised(package: str) -> str:
    """Return the package name as the index compares it."""
    return re.sub(r"[-_.]+", "-", package).lower()


def read_pins(path: Path) -> dict[str, str]:
    """Return package name to version of a requirements file with exact pins."""
    lines = [line.split("#")[0].strip() for line in path.read_text("utf-8").splitlines()]
    return {normalised(n): v for n, _, v in (line.partition("==") for line in lines if line)}
