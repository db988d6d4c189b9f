"""What was given to `inverse-deid mask`, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from inverse_deid.cli.case_options import CaseOptions
from inverse_deid.cli.report_files import check_target
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.formats.encodings import normal_encoding
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.formats.registry import FORMATS

if TYPE_CHECKING:
    from inverse_deid.engine.path_clashes import GivenPaths
    from inverse_deid.replacement.markers import MarkerKind

STANDARD_INPUT = "-"
RUN_REPORT_MARK = '"format": "inverse-deid run report"'


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskOptions:
    """What was given on the command line."""

    out: Path | None
    format_name: str | None
    text_column: tuple[str, ...]
    id_column: str | None
    keep_column: tuple[str, ...]
    keep_all_columns: bool
    delimiter: str | None
    encoding: str
    marker: str
    explain: bool
    with_text: bool
    offsets: bool
    annotations: Path | None
    policy: Literal["case-aware", "literal"]
    rules_only: bool
    operating_point: str | None
    low: float | None
    high: float | None
    certificate: Path | None
    allow_low_thresholds: bool
    model: Path | None
    lexicon: Path | None
    allow: Path | None
    deny: Path | None
    threads: int
    workers: int
    force: bool
    resume: bool
    quiet: bool
    cases: CaseOptions = field(default_factory=CaseOptions)

    @property
    def format(self) -> Format | None:
        """The format for all inputs, None = by suffix."""
        return None if self.format_name is None else FORMATS[self.format_name]

    @property
    def marker_kind(self) -> MarkerKind:
        """What a mask shows that has no surrogate, date or age."""
        return "category" if self.cases.replace == "category" else "marker"

    @property
    def read_options(self) -> ReadOptions:
        """How files are read."""
        return ReadOptions(
            encoding=normal_encoding(self.encoding),
            text_columns=self.text_column,
            id_column=self.id_column,
            keep_columns=self.keep_column,
            keep_all_columns=self.keep_all_columns,
            delimiter={"tab": "\t", r"\t": "\t"}.get(self.delimiter or "", self.delimiter),
            with_offsets=self.offsets,
        )

    def check(self, inputs: tuple[str, ...]) -> None:
        """Refuse options that contradict each other, before anything is loaded.

        Raises:
            ConfigurationError: They do.
        """
        delimiter = self.read_options.delimiter
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise ConfigurationError("--delimiter must be one character, or tab")
        if self.with_text and not self.explain:
            raise ConfigurationError("--with-text adds words and probabilities to --explain; give both")
        if self.offsets and self.format is not None and not self.format.has_offsets:
            raise ConfigurationError("--offsets is for JSON Lines; leave it out, or give --format jsonl")
        if "" in inputs:
            raise ConfigurationError("an INPUT is empty text; give a file or folder (. is this folder)")
        if STANDARD_INPUT in inputs:
            self._check_pipe(inputs)
        elif self.out is None:
            raise ConfigurationError("give the folder for the masked files with --out")
        elif self.cases.run_report is not None:
            check_target(self.cases.run_report, RUN_REPORT_MARK, force=self.force or self.resume)
        self.cases.check()

    def given_paths(self) -> GivenPaths:
        """The files and folders that options name."""
        from inverse_deid.engine.path_clashes import GivenPaths

        read = {
            "--key": self.cases.key,
            "--known": self.cases.known,
            "--allow": self.allow,
            "--deny": self.deny,
            "--certificate": self.certificate,
            "--lexicon": self.lexicon,
            "--profile": self.cases.profile_file,
        }
        folders = {"--out": self.out, "--annotations": self.annotations, "--map": self.cases.maps}
        written = {"--run-report": self.cases.run_report}
        return GivenPaths(self.out or Path(), *map(_those_given, (read, written, folders)))

    def _check_pipe(self, inputs: tuple[str, ...]) -> None:
        if len(inputs) > 1:
            raise ConfigurationError("- (standard input) cannot be combined with files")
        given = (self.out, self.annotations, self.explain or None, self.resume or None)
        if any(option is not None for option in given):
            raise ConfigurationError(
                "- writes to standard output; leave out --out, --explain, --annotations and --resume"
            )
        if any(option is not None for option in (self.cases.run_report, self.cases.known, self.cases.maps)):
            raise ConfigurationError("--known, --map and --run-report are for files; leave them out with -")
        if self.offsets and (self.format is None or not self.format.has_offsets):
            raise ConfigurationError("--offsets is for JSON Lines; add --format jsonl, or leave it out")
        if self.format is not None and not self.format.can_be_piped:
            raise ConfigurationError(f"{self.format} cannot come from standard input; give the file")


def _those_given(paths: Mapping[str, Path | None]) -> dict[str, Path]:
    return {option: path for option, path in paths.items() if path is not None}
