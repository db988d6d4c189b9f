"""The lines that a user reads at the end of a run, and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inverse_deid.cli.parts.messages import describe_problem
from inverse_deid.core.files import printable
from inverse_deid.core.values import Reason
from inverse_deid.core.wording import _, ngettext
from inverse_deid.engine.jobs.journal import JOURNAL_NAME
from inverse_deid.engine.tally import Tally
from inverse_deid.files.facts import list_columns, list_facts
from inverse_deid.formats.tables.columns import ColumnFate

if TYPE_CHECKING:
    from inverse_deid.cli.masking.settings import MaskOptions

MAX_FAILURES_SHOWN = 50


def result_lines(tally: Tally, place: str | None) -> Iterator[str]:
    """Return what a masking run did, in plain words.

    Args:
        tally: Of the whole run.
        place: The output folder, None = standard output.

    Example:
        >>> for line in result_lines(Tally(n_documents=1, n_files=1), "/home/ann/masked"):
        ...     print(line)
        Masked 1 document. The masked file is in: /home/ann/masked
        Read it before you share it. No tool finds every identifier.
    """
    one = tally.n_files == 1
    was_complete = bool(tally.n_files) and tally.n_found_complete == tally.n_files
    if was_complete:
        news = _("Nothing new was masked") if tally.n_failures else _("Nothing is left to do")
        yield ngettext(
            "{news}: the file is complete. It is in: {place}",
            "{news}: all {n:,} files are complete. They are in: {place}",
            tally.n_files,
            n=tally.n_files,
            news=news,
            place=place,
        )
    elif not tally.n_documents:
        yield _("Nothing was masked.")
    else:
        files = (
            ""
            if place is None
            else (
                _(" The masked file is in: {place}", place=place)
                if one
                else _(" The masked files are in: {place}", place=place)
            )
        )
        yield _("Masked {documents}.{files}", documents=count_documents(tally.n_documents), files=files)
    yield from problem_lines(tally)
    if tally.n_documents and not was_complete:
        yield from fact_lines(tally)
        yield ngettext(
            "Read it before you share it. No tool finds every identifier.",
            "Read them before you share them. No tool finds every identifier.",
            tally.n_documents,
        )


def problem_lines(tally: Tally) -> Iterator[str]:
    """Return how much failed, nothing if all is well.

    Example:
        >>> list(problem_lines(Tally(n_documents=3, n_failed_documents=1, n_failures=1)))
        ['1 problem is listed above. Nothing that failed was written unmasked.']
    """
    n = tally.n_failures
    if n:
        yield ngettext(
            "{n:,} problem is listed above. Nothing that failed was written unmasked.",
            "{n:,} problems are listed above. Nothing that failed was written unmasked.",
            n,
            n=n,
        )


def figure_lines(tally: Tally, seconds: float) -> Iterator[str]:
    """Return the figures of a run: tokens, their shares by reason, and the speed."""
    yield _("documents  {n_documents:>12,}", n_documents=tally.n_documents)
    yield _("tokens     {n_tokens:>12,}", n_tokens=tally.n_tokens)
    counts = {reason: n for reason, n in zip(Reason, tally.tokens_by_reason, strict=True) if not reason.keeps}
    yield _("masked     {share:>12}", share=_format_share(sum(counts.values()), tally.n_tokens))
    for reason, n in sorted(counts.items(), key=lambda item: -item[1]):
        if n:
            name = reason.name.lower().replace("_", " ")
            yield f"  {name:<22}{_format_share(n, tally.n_tokens):>8}"
    yield _("failures   {n_failures:>12,}", n_failures=tally.n_failures)
    rate = _(", {n_tokens:,.0f} tokens per second", n_tokens=tally.n_tokens / seconds) if seconds > 0 else ""
    yield _("time       {seconds:>12,.1f} s{rate}", seconds=seconds, rate=rate)


def count_documents(n: int) -> str:
    """Return a number of documents.

    Example:
        >>> count_documents(1), count_documents(2000)
        ('1 document', '2,000 documents')
    """
    return f"{n:,} {'document' if n == 1 else 'documents'}"


def list_note(path: Path) -> str:
    """Say how the list of `--rename` must be kept."""
    shown = printable(path)
    return _(
        "CONFIDENTIAL: {shown} says which file and id has which new name. Keep it with the originals",
        shown=shown,
    )


def _format_share(n: int, total: int) -> str:
    return f"{n / total:.2%}" if total else "-"


def fact_lines(tally: Tally) -> Iterator[str]:
    """Return what became of the columns and parts of files: the facts that do not warn.

    Example:
        >>> list(fact_lines(Tally(columns={"text": "masked", "id": "id"}, removed={"image": 2})))
        ['Columns masked: text', 'Columns kept (unmasked): id (the id)', 'Removed parts of files: image (2)']
    """
    yield from (fact.text for fact in list_facts(tally.facts) if not fact.is_warning)


def alarm_lines(tally: Tally, *, keeps_all: bool, notes: Sequence[str] = ()) -> Iterator[str]:
    """Return one line per failure and per warning: the file, the place, the fault and the remedy.

    Args:
        tally: Of the whole run.
        keeps_all: All columns were asked for, so that those that are copied were not named.
        notes: Warnings about the settings.

    Example:
        >>> from inverse_deid.files.facts import Failure
        >>> list(alarm_lines(Tally(warnings=[Failure("a.xlsx sheet 2", "has no ids")]), keeps_all=False))
        ['WARNING: a.xlsx sheet 2: has no ids.']
    """
    alarms = [fact for fact in list_facts(tally.facts, describe_problem) if fact.is_warning]
    for field in dict.fromkeys(["failures", "warnings", *(fact.field for fact in alarms)]):
        mark = "inverse-deid" if field == "failures" else "WARNING"
        lines = [f"{mark}: {fact.text}" for fact in alarms if fact.field == field]
        if field == "n_other_language":
            lines = [_("{line}. `inverse-deid mask --run-report` lists them", line=line) for line in lines]
        yield from lines[:MAX_FAILURES_SHOWN]
        n_more = (tally.n_failures if field == "failures" else len(lines)) - MAX_FAILURES_SHOWN
        if n_more > 0:
            yield _(
                "{mark}: ... and {n_more:,} more. `inverse-deid mask --run-report` lists them",
                mark=mark,
                n_more=n_more,
            )
    yield from (_("WARNING: {note}.", note=note) for note in notes)
    copied = list_columns(tally.columns, ColumnFate.KEPT, ColumnFate.UNCHECKED, ColumnFate.ID)
    if copied and keeps_all:
        yield _("WARNING: columns copied unmasked: {copied}", copied=", ".join(copied))


def mask_notes(options: MaskOptions, tally: Tally) -> Iterator[str]:
    """Return what to bear in mind about the files of a masking run."""
    certificate = options.choices.get("certificate")
    notes = {
        _(
            "--resume repeats files that failed. Delete {journal_name} before you share the folder",
            journal_name=JOURNAL_NAME,
        ): (tally.n_failures and options.out is not None and (options.folder / JOURNAL_NAME).exists()),
        _(
            "the thresholds are those of {certificate}. It says what they guarantee, and on which conditions",
            certificate=printable(certificate or options.folder),
        ): certificate,
        _("CONFIDENTIAL: the explanations contain the original words. Keep them as safe as the originals"): (
            options.with_text
        ),
        _(
            "CONFIDENTIAL: {html} contains the original texts. Keep it as safe as the originals",
            html=printable(options.html or options.folder),
        ): options.html is not None and options.html.exists(),
        _("CONFIDENTIAL: the explanations tell which words are made up. Do not pass them on"): (
            options.explain and not options.with_text and options.makes_surrogates
        ),
        _(
            "CONFIDENTIAL: the masked files tell the length of every masked word. Pass on a masking "
            "without --offsets"
        ): options.offsets and tally.n_documents,
        _(
            "CONFIDENTIAL: the annotation files contain the original texts. Keep them as safe as the "
            "originals"
        ): (options.annotations),
        _("CONFIDENTIAL: the run report counts the words of each file. Keep it with the originals"): (
            options.run_report
        ),
        list_note(options.rename or options.folder): options.rename,
        _(
            "the maps and the key together give back the originals. Keep both with the originals"
        ): options.maps,
        _("made-up names can hide that a name was missed. This is not anonymisation (docs/surrogates.md)"): (
            options.makes_surrogates
        ),
    }
    for note, applies in notes.items():
        if applies:
            yield note if note.startswith(_("CONFIDENTIAL")) else _("Note: {note}", note=note)


def exit_status(tally: Tally) -> int:
    """Return 0 if all is done, 1 if some failed and are listed, 2 if nothing could be done.

    Example:
        >>> exit_status(Tally(n_documents=3))
        0
    """
    if not tally.n_failures:
        return 0
    return 1 if tally.n_documents > tally.n_failed_documents else 2
