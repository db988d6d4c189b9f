"""From what the user named to a list of jobs: which file becomes which."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from inverse_deid.core.errors import (
    ConfigurationError,
    InputError,
    OutputExistsError,
    UnreadableInputError,
)
from inverse_deid.core.files import printable
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import input_errors, sniff_format, without_gz

Role = Literal["masked", "explain", "annotations", "map"]


@dataclass(frozen=True, slots=True)
class Output:
    """One file that a job writes.

    Args:
        role: What it is.
        path: Its final name.
        private: Readable by its owner alone (mode 600).
        with_text: An explanation that holds the original words.
    """

    role: Role
    path: Path
    private: bool = False
    with_text: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One input file and what becomes of it.

    Args:
        input: The file.
        shown: Its path as the user knows it, printable.
        name: Its place in the output folder; also the id of a document without one.
        format: Its format.
        n_bytes: Size of the input.
        identity: Device and inode of the input, to recognise it under another name.
        outputs: What is written; the first is the masked file.
    """

    input: Path
    shown: str
    name: str
    format: Format
    n_bytes: int
    identity: tuple[int, int]
    outputs: tuple[Output, ...]

    @property
    def target(self) -> Path:
        """The masked file."""
        return self.outputs[0].path


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """Where outputs go and which there are.

    Args:
        out: Folder of the masked files.
        format: For all inputs; None: by suffix.
        explain: Write `NAME.explain.jsonl` beside each masked file.
        with_text: The explanation holds the tokens and their probabilities; it is private.
        offsets: The masked JSON Lines hold offsets of the originals; they are private.
        surrogates: Made-up words stand for masked ones; the explanation tells which, and is private.
        annotations: Folder for annotation XML (holds the originals), None = none.
        maps: Folder for reversal maps (hold the originals, encrypted), None = none.
    """

    out: Path
    format: Format | None = None
    explain: bool = False
    with_text: bool = False
    offsets: bool = False
    surrogates: bool = False
    annotations: Path | None = None
    maps: Path | None = None


def plan_jobs(inputs: Sequence[Path], settings: PlanSettings) -> tuple[list[Job], Tally]:
    """One job a file, in a fixed order, and a tally of what cannot become one.

    Raises:
        ConfigurationError: Output folders that contradict each other.
    """
    check_folders(settings)
    tally = Tally()
    jobs: list[Job] = []
    taken: dict[str, str] = {}
    for path in inputs:
        try:
            with input_errors():
                files = list(_files(path, settings, tally))
        except InputError as error:
            tally.fail(printable(path), str(error))
            continue
        jobs += _claimed_jobs(files, settings, taken, tally)
    return jobs, tally


def _claimed_jobs(
    files: Sequence[tuple[Path, PurePosixPath]],
    settings: PlanSettings,
    taken: dict[str, str],
    tally: Tally,
) -> Iterator[Job]:
    """The jobs of some files; what cannot be one is noted."""
    fold = ignores_case(settings.out)
    for file, place in files:
        try:
            with input_errors():
                job = _job(file, place, settings)
            _claim(job, taken, fold=fold)
        except InputError as error:
            tally.fail(printable(file), str(error))
        else:
            yield job


def check_folders(settings: PlanSettings) -> None:
    """Originals must never lie among the masked files.

    Raises:
        ConfigurationError: The folder of the annotations or of the maps is in the output folder,
            or a folder is a file.
    """
    for folder in (settings.out, settings.annotations, settings.maps):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise ConfigurationError(f"{folder} is a file; give a folder to write into")
    for option, folder in (("--annotations", settings.annotations), ("--map", settings.maps)):
        if folder is not None and folder.resolve().is_relative_to(settings.out.resolve()):
            raise ConfigurationError(f"{option} holds the original texts; give a folder outside of --out")


def _files(path: Path, settings: PlanSettings, tally: Tally) -> Iterator[tuple[Path, PurePosixPath]]:
    """The files of one argument and their places in the output folder."""
    if not path.is_dir():
        yield path, PurePosixPath(path.name)
        return
    folders = (settings.out, settings.annotations, settings.maps)
    own = {folder.resolve() for folder in folders if folder is not None}
    n_files = 0
    for file in _walk(path, own, tally):
        n_files += 1
        yield file, PurePosixPath(file.relative_to(path).as_posix())
    if not n_files:
        tally.fail(printable(path), "holds no files; give a folder with case narratives")


def _walk(folder: Path, own: set[Path], tally: Tally) -> Iterator[Path]:
    """All files below a folder in a fixed order, without hidden ones and our own outputs."""

    def unreadable(error: OSError) -> None:
        tally.fail(printable(Path(str(error.filename))), "cannot be read (no permission); ask its owner")

    for root, folders, names in os.walk(folder, onerror=unreadable):
        here = Path(root)
        for name in sorted(folders):
            if not name.startswith(".") and (here / name).is_symlink():
                tally.fail(
                    printable(here / name), "is a link to a folder and was not followed; give that folder too"
                )
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and (here / name).resolve() not in own
        )
        yield from (here / name for name in sorted(names) if not name.startswith("."))


def _job(file: Path, place: PurePosixPath, settings: PlanSettings) -> Job:
    if not file.exists():
        raise UnreadableInputError("does not exist; check the spelling")
    if not file.is_file():
        raise UnreadableInputError("is not a file; give a file or folder, or - for standard input")
    kind = settings.format or sniff_format(file, place)
    name = PurePosixPath(without_gz(place))
    outputs = tuple(_outputs(name, kind, settings))
    name_shown = str(name).encode("utf-8", "backslashreplace").decode()
    status = file.stat()
    identity = (status.st_dev, status.st_ino)
    return Job(file, printable(file), name_shown, kind, status.st_size, identity, outputs)


def _outputs(name: PurePosixPath, kind: Format, settings: PlanSettings) -> Iterator[Output]:
    if settings.offsets and not kind.has_offsets:
        raise InputError(
            "is not JSON Lines, and only there --offsets can be written (for i2b2 XML: --annotations)"
        )
    yield Output("masked", _below(settings.out, name), settings.offsets)
    if settings.explain:
        explanation = name.with_name(name.name + ".explain.jsonl")
        is_private = settings.with_text or settings.surrogates
        yield Output("explain", _below(settings.out, explanation), is_private, settings.with_text)
    if settings.annotations is not None:
        if not kind.has_annotations:
            raise InputError("is not i2b2 XML, and only for that --annotations can be written")
        yield Output("annotations", _below(settings.annotations, name), private=True)
    if settings.maps is not None:
        yield Output("map", _below(settings.maps, name.with_name(name.name + ".map")), private=True)


def _below(folder: Path, name: PurePosixPath) -> Path:
    """The path of an output, which no link may lead out of its folder."""
    path = folder / name
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise OutputExistsError(
            f"{printable(path.parent)} is a link that leads out of {printable(folder)}. Remove the link"
        )
    return path


def ignores_case(folder: Path) -> bool:
    """Whether the file system takes `a.txt` and `A.TXT` for one file.

    Args:
        folder: The nearest folder above it that exists is looked at.
    """
    for here in (folder.resolve(), *folder.resolve().parents):
        other = here.with_name(here.name.swapcase()) if here.name else here
        if other.name != here.name and here.exists():
            return other.exists() and here.samefile(other)
    return False


def _claim(job: Job, taken: dict[str, str], *, fold: bool) -> None:
    """Make sure that no two inputs become one file."""
    paths = [str(output.path.resolve()) for output in job.outputs]
    paths = [unicodedata.normalize("NFC", path).casefold() if fold else path for path in paths]
    for output, path in zip(job.outputs, paths, strict=True):
        if path in taken:
            raise OutputExistsError(
                f"would become {printable(output.path)}, as would {taken[path]}; mask one into another folder"
            )
    taken.update((path, job.shown) for path in paths)


def check_target(output: Output, inputs: frozenset[tuple[int, int]], *, force: bool) -> None:
    """Refuse to write over an input, ever, and over anything else without `force`.

    Raises:
        OutputExistsError: The file is there.
    """
    path = output.path
    if not os.path.lexists(path):
        return
    if path.is_dir():
        raise OutputExistsError(f"cannot become {printable(path)}: there is a folder of that name; rename it")
    status = path.stat() if path.exists() else path.lstat()
    if (status.st_dev, status.st_ino) in inputs:
        raise OutputExistsError("would be overwritten by its own output; choose another folder with --out")
    if not force:
        raise OutputExistsError(
            f"{printable(path)} exists already and no interrupted run of it was found; "
            "remove it, choose another folder or give --force to overwrite"
        )
