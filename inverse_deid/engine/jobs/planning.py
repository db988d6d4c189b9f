"""From the inputs that the user named to a list of jobs: which file becomes which."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from inverse_deid.core.errors import ConfigurationError, InputError, OutputExistsError, Remedy
from inverse_deid.core.files import printable
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.tally import Tally
from inverse_deid.files.facts import MAX_FAILURES
from inverse_deid.files.finding import HIDDEN, FileFinder, FoundFile
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import input_errors
from inverse_deid.formats.renames import Renames

Role = Literal["masked", "explain", "annotations", "map"]


@dataclass(frozen=True, slots=True)
class Output:
    """One file that a job writes."""

    role: Role
    path: Path
    private: bool = False  # readable by its owner alone (mode 600)
    with_text: bool = False  # an explanation that contains the original words


@dataclass(frozen=True, slots=True)
class Job:
    """One input file and what becomes of it."""

    input: Path
    shown: str  # its path as the user knows it, printable
    name: str  # its place in the output folder
    format: Format
    n_bytes: int
    identity: tuple[int, int]  # device and inode of the input, to recognise it under another name
    outputs: tuple[Output, ...]  # what is written; the first is the masked file
    old_name: str = ""  # its place below the folder that was given, "" = its name

    @property
    def doc_id(self) -> str:
        """The id of a document that does not have its own."""
        return self.old_name or self.name

    @property
    def target(self) -> Path:
        """The masked file."""
        return self.outputs[0].path


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """Where outputs go and which there are."""

    out: Path  # folder of the masked files
    format: Format | None = None  # for all inputs; None: by suffix
    explain: bool = False  # write `NAME.explain.jsonl` beside each masked file
    with_text: bool = False  # the explanation contains the tokens and their probabilities; it is private
    offsets: bool = False  # the masked JSON Lines contain offsets of the originals; they are private
    surrogates: bool = False  # made-up words replace masked ones; the explanation tells which, and is private
    annotations: Path | None = None  # folder for annotation XML with the originals, None = not written
    maps: Path | None = None  # folder for reversal maps with the encrypted originals, None = not written
    renames: Renames | None = None  # numbered names for the outputs, None = the names of the inputs

    @property
    def folders(self) -> list[Path]:
        """The folders that are written into."""
        return [folder for folder in (self.out, self.annotations, self.maps) if folder is not None]


def plan_jobs(inputs: Sequence[Path], settings: PlanSettings) -> tuple[list[Job], Tally]:
    """Plan one job per file, in a fixed order, and count in a tally what cannot become one.

    Raises:
        ConfigurationError: Output folders that contradict each other.
    """
    for folder in settings.folders:
        if folder.exists() and not folder.is_dir():
            raise ConfigurationError(_("{folder} is a file. Give a folder to write into", folder=folder))
    for choice, originals in (("annotations", settings.annotations), ("map", settings.maps)):
        if originals is not None and originals.resolve().is_relative_to(settings.out.resolve()):
            outside = Remedy("out", step=N_("give a folder outside of {}"))
            raise ConfigurationError(_("has the original texts"), choice=choice, remedies=[outside])
    finder = FileFinder(settings.format, {folder.resolve() for folder in settings.folders})
    planner = _Planner(settings)
    jobs = []
    for found in finder.find(inputs):
        try:
            with input_errors():
                jobs.append(planner.plan(found))
        except InputError as error:
            finder.fail(found.input, error)
    return jobs, count_found(finder, len(jobs))


def count_found(finder: FileFinder, n_files: int) -> Tally:
    """Return a tally of what was found, and of what was left out."""
    tally = Tally(n_files=n_files, n_failures=len(finder.failures), failures=finder.failures[:MAX_FAILURES])
    if finder.n_hidden:
        tally.note_removed({HIDDEN: finder.n_hidden})
    return tally


class _Planner:
    """Plans the outputs of files, and remembers which of them are taken."""

    def __init__(self, settings: PlanSettings) -> None:
        self._settings = settings
        self._ignores_case = _is_case_ignored(settings.out)
        self._taken: dict[str, str] = {}

    def plan(self, found: FoundFile) -> Job:
        """Return what becomes of a file.

        Raises:
            InputError: It cannot be written as it was asked for, or another file has its place.
        """
        name = self._rename(found)
        outputs = tuple(self._list_outputs(name, found.format))
        shown = str(name).encode("utf-8", "backslashreplace").decode()
        job = Job(
            found.input,
            found.shown,
            shown,
            found.format,
            found.n_bytes,
            found.identity,
            outputs,
            found.name,
        )
        self._claim(job)
        return job

    def _rename(self, found: FoundFile) -> PurePosixPath:
        """Return the place of the masked file: a number, if names must not show, in no folder."""
        kind, name = found.format, found.place
        if self._settings.renames is None:
            return kind.written_name(name)
        number = self._settings.renames.name("file", str(found.input.resolve()))
        return kind.written_name(PurePosixPath(number + kind.suffix_of(name)))

    def _list_outputs(self, name: PurePosixPath, kind: Format) -> Iterator[Output]:
        settings = self._settings
        if settings.offsets and not kind.has_offsets:
            raise InputError(
                _("is not JSON Lines, and offsets can be written for JSON Lines only"),
                remedies=[
                    Remedy("offsets", step=N_("leave out {}")),
                    Remedy("annotations", step=N_("for i2b2 XML use {}")),
                ],
            )
        yield Output("masked", _join(settings.out, name), settings.offsets)
        if settings.explain:
            explanation = name.with_name(name.name + ".explain.jsonl")
            is_private = settings.with_text or settings.surrogates
            yield Output("explain", _join(settings.out, explanation), is_private, settings.with_text)
        if settings.annotations is not None:
            if not kind.has_annotations:
                raise InputError(
                    _("is not i2b2 XML, and annotations can be written for i2b2 XML only"),
                    remedies=[Remedy("annotations", step=N_("leave out {}"))],
                )
            yield Output("annotations", _join(settings.annotations, name), private=True)
        if settings.maps is not None:
            if not kind.can_be_revealed:
                raise InputError(
                    _("is a .{kind} file, and for that no map can be written", kind=kind),
                    remedies=[Remedy("map", step=N_("leave out {}"))],
                )
            yield Output("map", _join(settings.maps, name.with_name(name.name + ".map")), private=True)

    def _claim(self, job: Job) -> None:
        """Make sure that no two inputs become one file."""
        paths = [str(output.path.resolve()) for output in job.outputs]
        if self._ignores_case:
            paths = [unicodedata.normalize("NFC", path).casefold() for path in paths]
        for output, path in zip(job.outputs, paths, strict=True):
            if path in self._taken:
                raise OutputExistsError(
                    _(
                        "would become {path}, as would {taken}. Mask one into another folder",
                        path=printable(output.path),
                        taken=self._taken[path],
                    )
                )
        self._taken.update((path, job.shown) for path in paths)


def _join(folder: Path, name: PurePosixPath) -> Path:
    """Return the path of an output, which no link may lead out of its folder."""
    path = folder / name
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise OutputExistsError(
            _(
                "{parent} is a link that leads out of {folder}. Remove the link",
                parent=printable(path.parent),
                folder=printable(folder),
            )
        )
    return path


def _is_case_ignored(folder: Path) -> bool:
    """Tell whether the file system of a folder takes `a.txt` and `A.TXT` for one file."""
    for here in (folder.resolve(), *folder.resolve().parents):
        other = here.with_name(here.name.swapcase()) if here.name else here
        if other.name != here.name and here.exists():
            return other.exists() and here.samefile(other)
    return False


def check_target(output: Output, inputs: frozenset[tuple[int, int]], *, force: bool) -> None:
    """Refuse to overwrite an input, and any other file without `force`.

    Raises:
        OutputExistsError: The file exists.
    """
    path = output.path
    if not os.path.lexists(path):
        return
    if path.is_dir():
        raise OutputExistsError(
            _("cannot become {path}: a folder has that name. Rename it", path=printable(path))
        )
    status = path.stat() if path.exists() else path.lstat()
    if (status.st_dev, status.st_ino) in inputs:
        raise OutputExistsError(
            _("would be overwritten by its own output"),
            remedies=[Remedy("out", step=N_("choose another folder with {}"))],
        )
    if not force:
        raise OutputExistsError(
            _("{path} exists already and no interrupted run of this input was found", path=printable(path)),
            remedies=[
                Remedy(step=N_("remove it")),
                Remedy(step=N_("choose another folder")),
                Remedy("force", step=N_("give {} to overwrite")),
            ],
        )
