"""From the addresses that the user gave to the files that are masked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from inverse_deid.core.errors import FormatError, InputError, OutputExistsError
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import format_of, without_gz
from inverse_deid.scale.storage import Place, fingerprint_of, name_below, place_of, storage_errors


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to be masked.

    Args:
        place: Where it is.
        name: Its place in the output folder, without `.gz`.
        format: Its format.
        n_bytes: Its size as it lies there.
        fingerprint: See `fingerprint_of`.
    """

    place: Place
    name: str
    format: Format
    n_bytes: int
    fingerprint: str

    @property
    def is_packed(self) -> bool:
        """Whether it is gzip, which cannot be read from its middle."""
        return self.place.path.lower().endswith(".gz")


def find_inputs(addresses: Sequence[str], out: Place, kind: Format | None) -> tuple[list[InputFile], Tally]:
    """All files, in a fixed order, and a tally of what cannot be masked.

    Args:
        addresses: Files or folders.
        out: The output folder; what lies there is no input.
        kind: Of all files; None: by suffix.
    """
    tally = Tally()
    found: dict[str, InputFile] = {}
    for address in addresses:
        place = place_of(address)
        try:
            files = list(_files(place, out))
        except InputError as error:
            tally.fail(place.printable, str(error))
            continue
        if not files:
            tally.fail(place.printable, "holds no files; give a folder with case narratives")
        for file, name in files:
            try:
                one = _input_file(file, name, kind)
                if one.name in found:
                    raise OutputExistsError(
                        f"would become {one.name}, as would {found[one.name].place.printable}; "
                        "mask one into another folder"
                    )
                found[one.name] = one
            except InputError as error:
                tally.fail(file.printable, str(error))
    return list(found.values()), tally


def _files(place: Place, out: Place) -> Iterator[tuple[Place, str]]:
    """The files of one address and their names in the output folder; hidden ones are passed over."""
    with storage_errors(place):
        if not place.fs.isdir(place.path):
            place.fs.info(place.path)
            yield place, PurePosixPath(place.path).name
            return
        paths = sorted(place.fs.find(place.path))
    own = f"{out.path.rstrip('/')}/" if type(out.fs) is type(place.fs) else None
    for path in paths:
        file = Place(place.fs, path)
        name = name_below(file, place)
        is_hidden = any(part.startswith(".") for part in PurePosixPath(name).parts)
        if not is_hidden and not (own is not None and path.startswith(own)):
            yield file, name


def _input_file(file: Place, name: str, kind: Format | None) -> InputFile:
    kind = kind or format_of(PurePosixPath(name))
    if not kind.can_be_split:
        raise FormatError(
            f"is {kind}, and --engine ray reads jsonl, csv and parquet; mask it without --engine"
        )
    with storage_errors(file):
        n_bytes = int(file.fs.info(file.path)["size"])
    return InputFile(file, without_gz(PurePosixPath(name)).as_posix(), kind, n_bytes, fingerprint_of(file))
