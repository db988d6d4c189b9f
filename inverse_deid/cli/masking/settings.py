"""What was given to `inverse-deid mask`: which options exclude each other, and what they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from inverse_deid.cli.parts.choice_options import read_files, take_choices
from inverse_deid.cli.parts.messages import name_option
from inverse_deid.cli.parts.report_files import check_target
from inverse_deid.cli.parts.secret_files import KEY_VARIABLE, check_list_place, read_secret
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.wording import _
from inverse_deid.engine.explained_page import PAGE_MARK
from inverse_deid.engine.jobs.checks import GivenPaths, check_ids
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.engine.run_report import REPORT_MARK, describe_profile, hash_with_key, hash_words
from inverse_deid.engine.worker_pool import WorkerPool, n_threads_each
from inverse_deid.files.finding import FoundFile
from inverse_deid.formats.beside.known_values import KnownOfDocuments, read_known_values
from inverse_deid.formats.encodings import normal_encoding
from inverse_deid.formats.icsr.standard.profiles import (
    DEFAULT_PROFILE,
    Profile,
    builtin_profile,
    read_profile,
)
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.formats.registry import FORMATS
from inverse_deid.masking.case_masker import CaseMasker, DocumentMasker
from inverse_deid.replacement.markers import markers_of
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.replacement.surrogates.keyed import SurrogatesFor

if TYPE_CHECKING:
    from inverse_deid.choices.table import Device
    from inverse_deid.masking.assemble import MaskingSettings
    from inverse_deid.masking.choices import Chosen
    from inverse_deid.masking.pipeline import Deidentifier

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskOptions:
    """The options, under the names of `cli.mask`; None = not given."""

    out: str | None = None
    format_name: str | None = None
    rename: Path | None = None
    force: bool = False
    resume: bool = False
    quiet: bool = False
    verbose: bool = False
    progress: bool = False
    text_column: tuple[str, ...] = ("text",)
    id_column: str | None = None
    keep_column: tuple[str, ...] = ()
    keep_all_columns: bool = False
    keep_unchecked: tuple[str, ...] = ()
    all_cells: bool = False
    delimiter: str | None = None
    encoding: str | None = None
    known: Path | None = None
    profile: str | None = None
    explain: bool = False
    with_text: bool = False
    html: Path | None = None
    offsets: bool = False
    annotations: Path | None = None
    maps: Path | None = None
    run_report: Path | None = None
    workers: int = 1
    engine: Literal["serial", "ray"] = "serial"
    address: str | None = None
    partition_mib: float | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)  # those of the table that were made
    day: date | None = None  # of the run, None = today

    @classmethod
    def read(cls, given: dict[str, Any], **more: Any) -> MaskOptions:  # noqa: ANN401
        return cls(**more, choices=take_choices(given), **given)

    def choose(self, key: bytes | None) -> Chosen:
        """Return what the choices mean.

        Args:
            key: Of the run, or of the store; None = without.

        Raises:
            ConfigurationError: A choice contradicts another one, cannot be used or lacks a key.
            UnreadableInputError: A list of words cannot be read.
        """
        from inverse_deid.masking.choices import choose_settings

        given = read_files(self.choices) | {"key": key}
        if self.workers > 1 and not given.get("n_threads"):
            given["n_threads"] = n_threads_each(self.workers)
        today = date.today() if self.day is None else self.day  # noqa: DTZ011, RUF100 - a person's day
        return choose_settings(None, given, today)

    @property
    def key(self) -> bytes | None:
        """The key that was given, None = none.

        Raises:
            UnreadableInputError: Its file cannot be read.
            ConfigurationError: It is given twice, or too long.
        """
        return read_secret(self.choices.get("key"))

    @property
    def folder(self) -> Path:
        """The output folder on this machine."""
        return Path(self.out or "")

    @property
    def format(self) -> Format | None:
        """The format of all inputs, None = by suffix."""
        return None if self.format_name is None else FORMATS[self.format_name]

    @property
    def makes_surrogates(self) -> bool:
        return bool(self.choices.get("replace") == "surrogate")

    @property
    def profile_file(self) -> Path | None:
        """The file of the user's own profile, None = one of ours."""
        name = self.profile or ""
        is_file = name.endswith(".toml") or "/" in name or "\\" in name
        return Path(name) if is_file else None

    @property
    def read_options(self) -> ReadOptions:
        return ReadOptions(
            encoding=None if self.encoding is None else normal_encoding(self.encoding),
            text_columns=self.text_column,
            id_column=self.id_column,
            keep_columns=self.keep_column,
            keep_all_columns=self.keep_all_columns,
            keep_unchecked=self.keep_unchecked,
            all_cells=self.all_cells,
            delimiter={"tab": "\t", r"\t": "\t"}.get(self.delimiter or "", self.delimiter),
            with_offsets=self.offsets,
        )

    @property
    def given_paths(self) -> GivenPaths:
        read = {
            "--known": self.known,
            "--profile": self.profile_file,
            **{
                name_option(name): path
                for name, path in self.choices.items()
                if isinstance(path, Path) and not path.is_dir()
            },
        }
        written = {"--run-report": self.run_report, "--html": self.html, "--rename": self.rename}
        folders = {"--out": self.folder, "--annotations": self.annotations, "--map": self.maps}
        return GivenPaths(
            out=self.folder,
            read={option: path for option, path in read.items() if path is not None},
            written={option: path for option, path in written.items() if path is not None},
            folders={option: path for option, path in folders.items() if path is not None},
        )

    def check(self, inputs: tuple[str, ...], key: bytes | None = None) -> None:
        """Refuse options that contradict each other or lack something, before anything is loaded.

        Raises:
            ConfigurationError: They contradict each other, or a key or a package is missing.
            OutputExistsError: The run report would overwrite another file.
        """
        delimiter = self.read_options.delimiter
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise ConfigurationError(_("--delimiter must be one character, or tab"))
        if self.with_text and not self.explain:
            raise ConfigurationError(_("--with-text adds words and probabilities to --explain. Give both"))
        if self.offsets and self.format is not None and not self.format.has_offsets:
            raise ConfigurationError(_("--offsets is for JSON Lines. Leave it out, or give --format jsonl"))
        if "" in inputs:
            raise ConfigurationError(_("INPUT is empty. Give a file or folder, or . for this folder"))
        if self.engine == "ray":
            self._check_cluster(inputs)
        elif self.address is not None or self.partition_mib is not None:
            raise ConfigurationError(_("--address and --partition-mib are for --engine ray. Add it"))
        if STANDARD_INPUT in inputs:
            self._check_pipe(inputs)
        elif self.out is None:
            raise ConfigurationError(_("give the folder for the masked files with --out"))
        self._check_written()
        self._check_list(inputs)
        self._check_key()
        self.choose(self.key if key is None else key)

    def _check_written(self) -> None:
        for target, mark in ((self.run_report, REPORT_MARK), (self.html, PAGE_MARK)):
            if target is not None:
                check_target(target, mark, force=self.force or self.resume)
        if self.html is None:
            return
        if self.run_report is not None and self.run_report.resolve() == self.html.resolve():
            raise ConfigurationError(_("--run-report and --html name the same file. Give each its own"))
        if self.out is not None and self.html.resolve().is_relative_to(self.folder.resolve()):
            raise ConfigurationError(_("--html has the original texts. Give a file outside of --out"))

    def _check_list(self, inputs: tuple[str, ...]) -> None:
        if self.rename is None:
            return
        check_list_place(self.rename, self.given_paths.folders)
        place = self.rename.resolve()
        if any(place.is_relative_to(Path(given).resolve()) for given in inputs):
            raise ConfigurationError(
                _("the list of --rename would be an INPUT itself. Give a file elsewhere")
            )

    def _check_key(self) -> None:
        if self.maps is not None and self.key is None:
            raise ConfigurationError(
                _("--map needs a key: give --key FILE or set {key_variable}", key_variable=KEY_VARIABLE)
            )
        if self.maps is not None and self.all_cells:
            raise ConfigurationError(
                _("--map cannot be combined with --all-cells. Name the columns with --text-column")
            )
        if self.makes_surrogates:
            from inverse_deid.replacement.surrogates.faker_names import load_surrogate_names

            load_surrogate_names()

    def _check_pipe(self, inputs: tuple[str, ...]) -> None:
        if len(inputs) > 1:
            raise ConfigurationError(_("- (standard input) cannot be combined with files"))
        if self.explain or self.resume or self.force or self.out is not None or self.annotations is not None:
            raise ConfigurationError(
                _(
                    "- writes to standard output. Leave out --out, --explain, --annotations, --resume "
                    "and --force"
                )
            )
        for_files = (self.known, self.maps, self.run_report, self.rename, self.html, self.profile)
        if any(given is not None for given in for_files):
            raise ConfigurationError(
                _(
                    "--known, --map, --rename, --run-report, --html and --profile are for files. Leave "
                    "them out with -"
                )
            )
        if self.offsets and (self.format is None or not self.format.has_offsets):
            raise ConfigurationError(_("--offsets is for JSON Lines. Add --format jsonl, or leave it out"))
        if self.format is not None and not self.format.can_be_piped:
            raise ConfigurationError(
                _("{value} cannot come from standard input. Give the file", value=self.format)
            )

    def _check_cluster(self, inputs: tuple[str, ...]) -> None:
        given = {
            "-": STANDARD_INPUT in inputs,
            "--explain": self.explain,
            "--offsets": self.offsets,
            "--annotations": self.annotations is not None,
            "--known": self.known is not None,
            "--run-report": self.run_report is not None,
            "--html": self.html is not None,
            "--profile": self.profile is not None,
            "--map": self.maps is not None,
            "--rename": self.rename is not None,  # one machine would have to see every id first
            "--workers": self.workers != 1,
            "--device": "device" in self.choices,  # each machine uses what it has
            f"--format {self.format}": self.format is not None and not self.format.can_be_split,
        }
        refused = [name for name, is_given in given.items() if is_given]
        if refused:
            raise ConfigurationError(
                _(
                    "--engine ray masks files of JSON Lines, CSV and Parquet. Leave out {refused}, or "
                    "--engine",
                    refused=", ".join(refused),
                )
            )


def make_profile(options: MaskOptions, cases: CaseSettings) -> Profile:
    """Return what happens to the structured fields of case reports; dates and ages agree with the texts.

    Raises:
        ConfigurationError: No profile has this name, or its file cannot be used.
    """
    file = options.profile_file
    profile = builtin_profile(options.profile or DEFAULT_PROFILE) if file is None else read_profile(file)
    return profile.follow(cases.replaced)


def _make_surrogates(chosen: Chosen) -> SurrogatesFor | None:
    # None = markers.
    if not chosen.makes_surrogates:
        return None
    from inverse_deid.lexicon import load_lexicon
    from inverse_deid.replacement.surrogates.keyed import KeyedSurrogates
    from inverse_deid.rules.medical_words import MedicalWords

    medical_words = MedicalWords(load_lexicon(chosen.masking.lexicon))
    return KeyedSurrogates(chosen.cases.key or b"", medical_words.among)


def load_masker(settings: MaskingSettings) -> Deidentifier:
    """Load lexicon and model, in this process or in a worker."""
    from inverse_deid.masking.assemble import build_deidentifier

    return build_deidentifier(settings)


def make_case_masker(
    options: MaskOptions,
    load: Callable[[MaskingSettings], DocumentMasker] = load_masker,
    known: KnownOfDocuments | None = None,
) -> CaseMasker:
    """Return a masker that replaces dates and ages; errors that are cheap to find come first."""
    chosen = options.choose(options.key)
    return CaseMasker(load(chosen.masking), chosen.cases, _make_surrogates(chosen), known=known)


@contextmanager
def open_masker(options: MaskOptions, known: KnownOfDocuments | None = None) -> Iterator[CaseMasker]:
    """Open the masker of a run; if it has several workers, they end with the context."""
    with ExitStack() as stack:

        def start_workers(masking: MaskingSettings) -> WorkerPool:
            markers = markers_of(masking.replace, masking.marker)
            return stack.enter_context(WorkerPool(partial(load_masker, masking), options.workers, markers))

        yield make_case_masker(options, load_masker if options.workers == 1 else start_workers, known)


@dataclass(frozen=True, slots=True)
class CaseMaskerMaker:
    """Makes the masker on any machine; paths and options are sent there, keys and words of lists are not."""

    options: MaskOptions

    def __call__(self, *, n_threads: int, device: Device) -> CaseMasker:
        def load(masking: MaskingSettings) -> Deidentifier:
            return load_masker(replace(masking, n_threads=n_threads, device=device))

        return make_case_masker(self.options, load)


def describe_settings(
    options: MaskOptions, masker: CaseMasker, profile: Profile, known_sha256: str
) -> dict[str, Any]:
    """Return everything that shapes the output, for reports: no values, and of words keyed hashes alone."""
    hide = partial(hash_with_key, masker.settings.key)
    return {
        "fingerprint_hmac_sha256": hide(masker.fingerprint),
        **options.choose(masker.settings.key).describe(lambda words: hide(hash_words(words))),
        **masker.made_of,
        "text_columns": list(options.text_column),
        "id_column": options.id_column,
        "keep_columns": list(options.keep_column),
        "keep_all_columns": options.keep_all_columns,
        "keep_unchecked": list(options.keep_unchecked),
        "all_cells": options.all_cells,
        "maps": options.maps is not None,
        "renamed": options.rename is not None,
        "known_hmac_sha256": hide(known_sha256) if options.known is not None else None,
        "profile": describe_profile(profile),
    }


def read_known(options: MaskOptions, jobs: Sequence[Job | FoundFile]) -> KnownOfDocuments:
    """Return the identifiers that documents must not show.

    Raises:
        UnreadableInputError: The file cannot be read.
        FormatError: A row cannot be used, or an id belongs to no document of the jobs.
    """
    if options.known is None:
        return {}
    known = read_known_values(options.known)
    check_ids(jobs, known, options.known, options.read_options)
    return known
