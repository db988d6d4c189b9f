"""How a run is done, and one hash of everything that shapes its output."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from inverse_deid import __version__
from inverse_deid.engine.jobs.journal import Entry, InputSeal
from inverse_deid.engine.jobs.planning import Job, PlanSettings
from inverse_deid.engine.progress import OnAdvance
from inverse_deid.engine.run_report import hash_known
from inverse_deid.engine.serial import OnProgress
from inverse_deid.formats.beside.known_values import KnownOfDocuments
from inverse_deid.formats.icsr.standard.profiles import DEFAULT_PROFILE, Profile, builtin_profile
from inverse_deid.formats.records import ReadOptions, Sink
from inverse_deid.masking.case_masker import CaseMasker

OnFile = Callable[[Job, Entry], None]
"""Told of a file that is complete, and of what was done to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How jobs are run.

    Args:
        fingerprint: Of all that shapes the output, see `fingerprint_run`.
        read_options: How input files are read.
        force: Overwrite outputs that exist.
        resume: Continue where an interrupted run was safe.
        on_progress: Told of every batch.
        on_advance: Told how many bytes of the inputs are done, in all the sizes of the jobs.
        on_file: Told of every file that is complete, in this run or in the one that is resumed.
        watch: Returns a sink that sees what is written of a file as well; None = nobody watches.
        load_profile: Returns what happens to the structured fields of case reports.
        key: Secret bytes for the pseudonyms of report ids and for reversal maps.
        seal_key: The key of the run as it was given, for its notes; b"" = none.
        marker: Replaces a text of a case report that cannot be shown at all.
        n_at_once: How many batches the masker takes at once; with more than 1, `on_progress` and
            `on_advance` are called from several threads. The output does not depend on it.
    """

    fingerprint: str
    read_options: ReadOptions = field(default_factory=ReadOptions)
    force: bool = False
    resume: bool = False
    on_progress: OnProgress = field(default=lambda _documents, _tokens: None)
    on_advance: OnAdvance = field(default=lambda _n_bytes, _was_done: None)
    on_file: OnFile = field(default=lambda _job, _entry: None)
    watch: Callable[[Job], Sink] | None = None
    load_profile: Callable[[], Profile] = field(default=lambda: builtin_profile(DEFAULT_PROFILE))
    key: bytes = field(default=b"", repr=False)
    seal_key: bytes = field(default=b"", repr=False)
    marker: str = "PHI"
    n_at_once: int = 1

    def watchers(self, job: Job) -> list[Sink]:
        """Return the sinks that see what is written of a file, without writing it."""
        return [] if self.watch is None else [self.watch(job)]

    def seal(self, job: Job) -> InputSeal:
        """Return the seal of what is noted of a file.

        Raises:
            OSError: It cannot be read.
        """
        return InputSeal.of(job, self.fingerprint, self.seal_key)

    @property
    def profile(self) -> Profile:
        """What happens to the structured fields of case reports."""
        return self.load_profile()


def fingerprint_run(  # noqa: PLR0913 - all that shapes an output
    masker: CaseMasker,
    plan: PlanSettings,
    read_options: ReadOptions,
    profile: Profile | None,
    known: KnownOfDocuments,
    *,
    marker: str,
    rename_list: Path | None = None,
) -> str:
    """Return one hash of everything that shapes the output of a run.

    Args:
        masker: Masks.
        plan: Which outputs there are.
        read_options: How input files are read.
        profile: What happens to the structured fields of case reports, None = there are none.
        known: Identifiers of documents.
        marker: Replaces a text of a case report that cannot be shown at all.
        rename_list: The file of the new names, None = names stay.
    """
    return settings_fingerprint(
        __version__,
        masker.fingerprint,
        replace(read_options, renames=None),
        plan.format,
        plan.explain,
        plan.with_text,
        plan.annotations,
        plan.maps,
        profile,
        marker,
        hash_known(known),
        None if rename_list is None else rename_list.resolve(),
    )


def settings_fingerprint(*parts: object) -> str:
    """Return one hash of everything that shapes the output; each part must have a distinct `repr`.

    Example:
        >>> settings_fingerprint("model", ReadOptions()) == settings_fingerprint("model", ReadOptions())
        True
    """
    return hashlib.sha256(json.dumps([repr(part) for part in parts]).encode()).hexdigest()
