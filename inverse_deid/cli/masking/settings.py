"""What was given to `inverse-deid mask`: which options exclude each other, and what they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from inverse_deid.cli.parts.report_files import check_target
from inverse_deid.cli.parts.secret_files import KEY_VARIABLE, check_list_place, read_secret
from inverse_deid.core.categories import ALL_CATEGORIES, Categories, Category, parse_categories, permits_years
from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.engine.explained_page import PAGE_MARK
from inverse_deid.engine.jobs.checks import GivenPaths, check_ids
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.engine.run_report import REPORT_MARK, describe_profile, hash_with_key, hash_words
from inverse_deid.engine.worker_pool import WorkerPool, n_threads_each
from inverse_deid.formats.beside.known_values import KnownOfDocuments, read_known_values
from inverse_deid.formats.encodings import normal_encoding
from inverse_deid.formats.icsr.standard.profiles import (
    DEFAULT_PROFILE,
    Profile,
    builtin_profile,
    read_profile,
)
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.formats.registry import FORMATS, input_errors
from inverse_deid.masking.case_masker import CaseMasker, DocumentMasker
from inverse_deid.replacement.dates.reading import DEFAULT_SPAN_YEARS
from inverse_deid.replacement.markers import MarkerKind, markers_of
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode
from inverse_deid.replacement.surrogates.keyed import SurrogatesFor
from inverse_deid.text.tokenizer import tokenize

if TYPE_CHECKING:
    from inverse_deid.masking.assemble import MaskingSettings
    from inverse_deid.masking.pipeline import Deidentifier
    from inverse_deid.network.scorer import Device

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
    categories: str | None = None
    operating_point: str | None = None
    low: float | None = None
    high: float | None = None
    certificate: Path | None = None
    allow_low_thresholds: bool = False
    allow: Path | None = None
    deny: Path | None = None
    known: Path | None = None
    policy: Literal["case-aware", "literal"] = "case-aware"
    rules_only: bool = False
    careful: bool = False
    model: Path | None = None
    second_reader: Path | None = None
    lexicon: Path | None = None
    marker: str = "PHI"
    replace: str | None = None
    dates: str | None = None
    date_span_years: int | None = None
    day_first: bool | None = None
    today: datetime | None = None
    ages: str | None = None
    age_bands: str | None = None
    key: Path | None = None
    profile: str | None = None
    explain: bool = False
    with_text: bool = False
    html: Path | None = None
    offsets: bool = False
    annotations: Path | None = None
    maps: Path | None = None
    run_report: Path | None = None
    workers: int = 1
    threads: int = 0
    device: Device = "cpu"
    engine: Literal["serial", "ray"] = "serial"
    address: str | None = None
    partition_mib: float | None = None

    @property
    def folder(self) -> Path:
        """The output folder on this machine."""
        return Path(self.out or "")

    @property
    def format(self) -> Format | None:
        """The format of all inputs, None = by suffix."""
        return None if self.format_name is None else FORMATS[self.format_name]

    @property
    def chosen_categories(self) -> Categories:
        """What is masked.

        Raises:
            ConfigurationError: A name is unknown, or nothing would be masked.
        """
        return ALL_CATEGORIES if self.categories is None else parse_categories(self.categories)

    @property
    def marker_kind(self) -> MarkerKind:
        """The replacement of masks without a surrogate, date or age."""
        return "category" if self.replace == "category" else "marker"

    @property
    def makes_surrogates(self) -> bool:
        """Whether made-up values replace masked words."""
        return self.replace == "surrogate"

    @property
    def profile_file(self) -> Path | None:
        """The file of the user's own profile, None = one of ours."""
        name = self.profile or ""
        is_file = name.endswith(".toml") or "/" in name or "\\" in name
        return Path(name) if is_file else None

    @property
    def read_options(self) -> ReadOptions:
        """How files are read."""
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
        """The files and folders that options name."""
        read = {
            "--key": self.key,
            "--known": self.known,
            "--allow": self.allow,
            "--deny": self.deny,
            "--certificate": self.certificate,
            "--lexicon": self.lexicon,
            "--profile": self.profile_file,
        }
        written = {"--run-report": self.run_report, "--html": self.html, "--rename": self.rename}
        folders = {"--out": self.folder, "--annotations": self.annotations, "--map": self.maps}
        return GivenPaths(
            out=self.folder,
            read={option: path for option, path in read.items() if path is not None},
            written={option: path for option, path in written.items() if path is not None},
            folders={option: path for option, path in folders.items() if path is not None},
        )

    def check(self, inputs: tuple[str, ...]) -> None:
        """Refuse options that contradict each other or lack something, before anything is loaded.

        Raises:
            ConfigurationError: They contradict each other, or a key or a package is missing.
            OutputExistsError: The run report would overwrite another file.
        """
        delimiter = self.read_options.delimiter
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise ConfigurationError("--delimiter must be one character, or tab")
        if self.with_text and not self.explain:
            raise ConfigurationError("--with-text adds words and probabilities to --explain. Give both")
        if self.offsets and self.format is not None and not self.format.has_offsets:
            raise ConfigurationError("--offsets is for JSON Lines. Leave it out, or give --format jsonl")
        if "" in inputs:
            raise ConfigurationError("INPUT is empty. Give a file or folder, or . for this folder")
        if self.engine == "ray":
            self._check_cluster(inputs)
        elif self.address is not None or self.partition_mib is not None:
            raise ConfigurationError("--address and --partition-mib are for --engine ray. Add it")
        if STANDARD_INPUT in inputs:
            self._check_pipe(inputs)
        elif self.out is None:
            raise ConfigurationError("give the folder for the masked files with --out")
        self._check_written()
        self._check_list(inputs)
        self._check_dates()
        self._check_categories()
        self._check_key()
        self._check_readers()

    def _check_written(self) -> None:
        """Refuse a report or a page that would overwrite another file, or lie with the masked files."""
        for target, mark in ((self.run_report, REPORT_MARK), (self.html, PAGE_MARK)):
            if target is not None:
                check_target(target, mark, force=self.force or self.resume)
        if self.html is None:
            return
        if self.run_report is not None and self.run_report.resolve() == self.html.resolve():
            raise ConfigurationError("--run-report and --html name the same file. Give each its own")
        if self.out is not None and self.html.resolve().is_relative_to(self.folder.resolve()):
            raise ConfigurationError("--html has the original texts. Give a file outside of --out")

    def _check_readers(self) -> None:
        """Refuse a second reader that has nothing to read again, and a network that is not asked."""
        if self.careful and self.rules_only:
            raise ConfigurationError("--careful needs the network. Leave out --rules-only")
        if self.second_reader is not None and not self.careful:
            raise ConfigurationError("--second-reader is for --careful. Give both")
        of_the_network = {
            "--model": self.model is not None,
            "--operating-point": self.operating_point is not None,
            "--low": self.low is not None,
            "--high": self.high is not None,
            "--allow-low-thresholds": self.allow_low_thresholds,
        }
        given = [option for option, is_given in of_the_network.items() if is_given]
        if self.rules_only and given:
            raise ConfigurationError(
                f"--rules-only decides without the network and its thresholds. Leave out {', '.join(given)}"
            )

    def _check_list(self, inputs: tuple[str, ...]) -> None:
        """Refuse a list of old names where it would be shared with the masked files, or masked itself."""
        if self.rename is None:
            return
        check_list_place(self.rename, self.given_paths.folders)
        place = self.rename.resolve()
        if any(place.is_relative_to(Path(given).resolve()) for given in inputs):
            raise ConfigurationError("the list of --rename would be an INPUT itself. Give a file elsewhere")

    def _check_dates(self) -> None:
        """Refuse options that say how dates are read or moved where dates are masked."""
        if self.date_span_years is not None and self.dates not in ("relative-day", "shift"):
            raise ConfigurationError(
                "--date-span-years is for --dates relative-day and shift. Give one of them, or leave it out"
            )
        of_dates = {"--day-first or --month-first": self.day_first, "--today": self.today}
        for option, given in of_dates.items():
            if given is not None and self.dates in (None, "mask"):
                raise ConfigurationError(f"{option} is for --dates. Add it, or leave this out")

    def _check_categories(self) -> None:
        """Refuse to replace what is kept: a date as written beside a moved one would tell the shift."""
        chosen = self.chosen_categories
        replaced = {
            "--dates": (self.dates not in (None, "mask"), Category.DATE),
            "--ages": (self.ages not in (None, "mask"), Category.AGE),
        }
        for option, (is_given, category) in replaced.items():
            if is_given and category not in chosen:
                raise ConfigurationError(
                    f"--categories keeps every {category}, and {option} replaces them. Leave out one"
                )

    def _check_key(self) -> None:
        """Refuse replacements that lack a key or a package."""
        needs_key = {"--replace surrogate": self.makes_surrogates, "--map": self.maps is not None}
        given = [option for option, is_given in needs_key.items() if is_given]
        if given and self.key is None and read_secret(None) is None:
            raise ConfigurationError(f"{given[0]} needs a key: give --key FILE or set {KEY_VARIABLE}")
        if self.makes_surrogates:
            from inverse_deid.replacement.surrogates.faker_names import load_surrogate_names

            load_surrogate_names()

    def _check_pipe(self, inputs: tuple[str, ...]) -> None:
        if len(inputs) > 1:
            raise ConfigurationError("- (standard input) cannot be combined with files")
        if self.explain or self.resume or self.force or self.out is not None or self.annotations is not None:
            raise ConfigurationError(
                "- writes to standard output. Leave out --out, --explain, --annotations, --resume and --force"
            )
        for_files = (self.known, self.maps, self.run_report, self.rename, self.html, self.profile)
        if any(given is not None for given in for_files):
            raise ConfigurationError(
                "--known, --map, --rename, --run-report, --html and --profile are for files. Leave them out "
                "with -"
            )
        if self.offsets and (self.format is None or not self.format.has_offsets):
            raise ConfigurationError("--offsets is for JSON Lines. Add --format jsonl, or leave it out")
        if self.format is not None and not self.format.can_be_piped:
            raise ConfigurationError(f"{self.format} cannot come from standard input. Give the file")

    def _check_cluster(self, inputs: tuple[str, ...]) -> None:
        """Refuse what a cluster cannot do."""
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
            f"--device {self.device}": self.device != "cpu",  # each machine uses what it has
            f"--format {self.format}": self.format is not None and not self.format.can_be_split,
        }
        refused = [name for name, is_given in given.items() if is_given]
        if refused:
            raise ConfigurationError(
                f"--engine ray masks files of JSON Lines, CSV and Parquet. Leave out {', '.join(refused)}, "
                "or --engine"
            )


def make_masking_settings(options: MaskOptions) -> MaskingSettings:
    """Return the part of the options that the de-identifier needs."""
    from inverse_deid.masking.assemble import MaskingSettings

    is_shared = options.workers > 1 and not options.threads
    return MaskingSettings(
        model=options.model,
        lexicon=options.lexicon,
        policy=options.policy,
        rules_only=options.rules_only,
        careful=options.careful,
        second_reader=options.second_reader,
        marker=options.marker,
        replace=options.marker_kind,
        operating_point=options.operating_point,
        low=options.low,
        high=options.high,
        certificate=options.certificate,
        allow_low_thresholds=options.allow_low_thresholds,
        allow=read_words(options.allow, phrases=False),
        deny=read_words(options.deny, phrases=True),
        categories=options.chosen_categories,
        keep_years=options.dates in (None, "mask") and permits_years(options.chosen_categories),
        n_threads=n_threads_each(options.workers) if is_shared else options.threads,
        device=options.device,
    )


def make_case_settings(options: MaskOptions, key: bytes | None) -> CaseSettings:
    """Return what replaces dates, ages and ids.

    Raises:
        ConfigurationError: Options that contradict each other.
    """
    return CaseSettings(
        today=date.today() if options.today is None else options.today.date(),  # noqa: DTZ011, RUF100 - a person's day
        dates=DateMode(options.dates or DateMode.MASK),
        ages=AgeMode(options.ages or AgeMode.MASK),
        age_bands=options.age_bands,
        day_first=options.day_first,
        key=key,
        date_span_years=options.date_span_years or DEFAULT_SPAN_YEARS,
    )


def make_profile(options: MaskOptions) -> Profile:
    """Return what happens to the structured fields of case reports; dates and ages agree with the texts.

    Raises:
        ConfigurationError: No profile has this name, or its file cannot be used.
    """
    file = options.profile_file
    profile = builtin_profile(options.profile or DEFAULT_PROFILE) if file is None else read_profile(file)
    profile = profile if options.dates in (None, "mask") else profile.with_dates()
    return profile if options.ages in (None, "mask") else profile.with_ages()


def _make_surrogates(options: MaskOptions, key: bytes | None) -> SurrogatesFor | None:
    """Return what gives every case its surrogates, None = markers."""
    if not options.makes_surrogates:
        return None
    from inverse_deid.lexicon import load_lexicon
    from inverse_deid.replacement.surrogates.keyed import KeyedSurrogates
    from inverse_deid.rules.medical_words import MedicalWords

    return KeyedSurrogates(key or b"", MedicalWords(load_lexicon(options.lexicon)).among)


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
    settings = make_case_settings(options, read_secret(options.key))
    masking = make_masking_settings(options)
    surrogates = _make_surrogates(options, settings.key)
    return CaseMasker(load(masking), settings, surrogates, known=known)


@contextmanager
def open_masker(options: MaskOptions, known: KnownOfDocuments | None = None) -> Iterator[CaseMasker]:
    """Open the masker of a run; if it has several workers, they end with the context."""
    with ExitStack() as stack:

        def start_workers(masking: MaskingSettings) -> WorkerPool:
            markers = markers_of(options.marker_kind, options.marker)
            return stack.enter_context(WorkerPool(partial(load_masker, masking), options.workers, markers))

        yield make_case_masker(options, load_masker if options.workers == 1 else start_workers, known)


@dataclass(frozen=True, slots=True)
class CaseMaskerMaker:
    """Makes the masker on any machine; paths and options are sent there, keys and words of lists are not."""

    options: MaskOptions

    def __call__(self, *, n_threads: int, device: Device) -> CaseMasker:
        """Load lexicon and model."""

        def load(masking: MaskingSettings) -> Deidentifier:
            return load_masker(replace(masking, n_threads=n_threads, device=device))

        return make_case_masker(self.options, load)


def describe_settings(
    options: MaskOptions, masker: CaseMasker, profile: Profile, known_sha256: str
) -> dict[str, Any]:
    """Return everything that shapes the output, for reports: no values, and of words keyed hashes alone."""
    cases = masker.settings
    hide = partial(hash_with_key, cases.key)
    lists = {
        "allow": read_words(options.allow, phrases=False),
        "deny": read_words(options.deny, phrases=True),
    }
    return {
        "fingerprint_hmac_sha256": hide(masker.fingerprint),
        **masker.made_of,
        "policy": options.policy,
        "rules_only": options.rules_only,
        "careful": options.careful,
        "operating_point": options.operating_point,
        "allow_low_thresholds": options.allow_low_thresholds,
        "certificate": None if options.certificate is None else str(options.certificate),
        "marker": options.marker,
        "category_markers": options.marker_kind == "category",
        "text_columns": list(options.text_column),
        "id_column": options.id_column,
        "keep_columns": list(options.keep_column),
        "keep_all_columns": options.keep_all_columns,
        "keep_unchecked": list(options.keep_unchecked),
        "all_cells": options.all_cells,
        "surrogates": options.makes_surrogates,
        "maps": options.maps is not None,
        "renamed": options.rename is not None,
        **{name: {"n": len(words), "hmac_sha256": hide(hash_words(words))} for name, words in lists.items()},
        "known_hmac_sha256": hide(known_sha256) if options.known is not None else None,
        "dates": str(cases.dates),
        "date_span_years": cases.date_span_years,
        "day_first": cases.day_first,
        "ages": str(cases.ages),
        "age_bands": cases.age_bands,
        "today": cases.today.isoformat(),
        "key_given": cases.key is not None,
        "profile": describe_profile(profile),
    }


def read_known(options: MaskOptions, jobs: Sequence[Job]) -> KnownOfDocuments:
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


def read_words(path: Path | None, *, phrases: bool) -> frozenset[str]:
    """Return the words or phrases of a file, one per line; blank lines and lines with # are skipped.

    Raises:
        UnreadableInputError: The file cannot be read or is not UTF-8.
        ConfigurationError: A line has no word or, where phrases are not allowed, several words.
    """
    if path is None:
        return frozenset()
    text = None
    try:
        with input_errors():
            text = path.read_bytes().decode("utf-8-sig")
    except UnicodeError:
        pass
    except UnreadableInputError as error:
        raise error.add_prefix(f"{path} ") from None
    if text is None:
        raise UnreadableInputError(f"{path} is not UTF-8 text. Save it as UTF-8, one word per line")
    lines = {number: line.strip() for number, line in enumerate(text.splitlines(), start=1)}
    words = {number: line for number, line in lines.items() if line and not line.startswith("#")}
    for number, line in words.items():
        found = tokenize(line).words
        if not found or (not phrases and found != [line]):
            raise ConfigurationError(
                f"{path} line {number} is not one word of letters and digits. Give each part its own line"
            )
    return frozenset(words.values())
