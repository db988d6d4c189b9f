"""The lines that a user reads at the end of a run, and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from inverse_deid.cli.parts.messages import describe_problem
from inverse_deid.core.files import printable
from inverse_deid.core.values import Reason
from inverse_deid.engine.jobs.journal import JOURNAL_NAME
from inverse_deid.engine.tally import Tally
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
        complete = "the file is" if one else f"all {tally.n_files:,} files are"
        news = "Nothing new was masked" if tally.n_failures else "Nothing is left to do"
        yield f"{news}: {complete} complete. {'It is' if one else 'They are'} in: {place}"
    elif not tally.n_documents:
        yield "Nothing was masked."
    else:
        files = "" if place is None else f" The masked {'file is' if one else 'files are'} in: {place}"
        yield f"Masked {count_documents(tally.n_documents)}.{files}"
    yield from problem_lines(tally)
    if tally.n_documents and not was_complete:
        yield from column_lines(tally.columns)
        yield from removed_lines(tally.removed)
        yield from read_as_lines(tally.read_as)
        them = "it" if tally.n_documents == 1 else "them"
        yield f"Read {them} before you share {them}. No tool finds every identifier."


def problem_lines(tally: Tally) -> Iterator[str]:
    """Return how much failed, nothing if all is well.

    Example:
        >>> list(problem_lines(Tally(n_documents=3, n_failed_documents=1, n_failures=1)))
        ['1 problem is listed above. Nothing that failed was written unmasked.']
    """
    n = tally.n_failures
    if n:
        problems = "problem is" if n == 1 else "problems are"
        yield f"{n:,} {problems} listed above. Nothing that failed was written unmasked."


def figure_lines(tally: Tally, seconds: float) -> Iterator[str]:
    """Return the figures of a run: tokens, their shares by reason, and the speed."""
    yield f"documents  {tally.n_documents:>12,}"
    yield f"tokens     {tally.n_tokens:>12,}"
    counts = {reason: n for reason, n in zip(Reason, tally.tokens_by_reason, strict=True) if not reason.keeps}
    yield f"masked     {_format_share(sum(counts.values()), tally.n_tokens):>12}"
    for reason, n in sorted(counts.items(), key=lambda item: -item[1]):
        if n:
            name = reason.name.lower().replace("_", " ")
            yield f"  {name:<22}{_format_share(n, tally.n_tokens):>8}"
    yield f"failures   {tally.n_failures:>12,}"
    rate = f", {tally.n_tokens / seconds:,.0f} tokens per second" if seconds > 0 else ""
    yield f"time       {seconds:>12,.1f} s{rate}"


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
    return f"CONFIDENTIAL: {shown} says which file and id has which new name. Keep it with the originals"


def column_lines(columns: Mapping[str, str]) -> Iterator[str]:
    """Return what became of the columns of tables, see `ColumnFate`.

    Example:
        >>> list(column_lines({"text": "masked", "id": "id", "dob": "dropped"}))[2]
        '  kept (unmasked): id (the id)'
    """
    masked = _list_names(columns, ColumnFate.MASKED)
    ids = [f"{name} (the id)" for name in _list_names(columns, ColumnFate.ID)]
    kept = sorted([*_list_names(columns, ColumnFate.KEPT), *ids])
    dropped = _list_names(columns, ColumnFate.DROPPED)
    lines = [
        f"  {fate}: {', '.join(names)}"
        for fate, names in (
            ("masked", masked),
            ("kept (unmasked)", kept),
            ("kept without a check", _list_names(columns, ColumnFate.UNCHECKED)),
            ("dropped", dropped),
        )
        if names
    ]
    if lines:
        yield "Columns:"
    yield from lines


def removed_lines(removed: Mapping[str, int]) -> Iterator[str]:
    """Return which parts of files were left out, by kind.

    Example:
        >>> list(removed_lines({"macro": 1, "image": 12}))
        ['Removed parts of files: image (12), macro (1)']
    """
    if removed:
        kinds = ", ".join(f"{kind} ({n:,})" for kind, n in sorted(removed.items()))
        yield f"Removed parts of files: {kinds}"


def read_as_lines(read_as: Mapping[str, int]) -> Iterator[str]:
    """Say which encodings and separators were found in the files, unless all are the usual ones.

    Example:
        >>> list(read_as_lines({"comma, utf-8": 2, "windows-1252": 1}))
        ['Read as: comma, utf-8 (2 files); windows-1252 (1 file)']
    """
    if read_as.keys() - {"comma, utf-8"}:
        shown = (f"{how} ({n:,} file{'s' * (n != 1)})" for how, n in sorted(read_as.items()))
        yield f"Read as: {'; '.join(shown)}"


def warning_lines(tally: Tally, *, keeps_all: bool) -> Iterator[str]:
    """Return one line per warning: what was masked in another way, and columns copied because all were.

    Args:
        tally: Of the whole run.
        keeps_all: All columns were asked for.

    Example:
        >>> from inverse_deid.engine.tally import Failure
        >>> list(warning_lines(Tally(warnings=[Failure("a.xlsx sheet 2", "has no ids")]), keeps_all=False))
        ['WARNING: a.xlsx sheet 2: has no ids']
    """
    for warning in tally.warnings[:MAX_FAILURES_SHOWN]:
        yield f"WARNING: {warning.where}: {warning.reason}"
    if len(tally.warnings) > MAX_FAILURES_SHOWN:
        yield f"WARNING: ... and {len(tally.warnings) - MAX_FAILURES_SHOWN:,} more. --run-report lists them"
    fates = (ColumnFate.KEPT, ColumnFate.UNCHECKED, ColumnFate.ID)
    copied = sorted(name for fate in fates for name in _list_names(tally.columns, fate))
    if copied and keeps_all:
        yield f"WARNING: columns copied unmasked: {', '.join(copied)}"


def language_lines(tally: Tally) -> Iterator[str]:
    """Return one warning if documents seem not to be English.

    Example:
        >>> [line.split(".")[0] for line in language_lines(Tally(n_documents=9, n_other_language=2))]
        ['WARNING: 2 of 9 documents seem not to be English']
    """
    n = tally.n_other_language
    if n:
        yield (
            f"WARNING: {n:,} of {tally.n_documents:,} documents {'seems' if n == 1 else 'seem'} not to be "
            "English. There, much more is masked, facts may be lost, and identifiers may leak. "
            "`inverse-deid mask --run-report` lists them"
        )


def _list_names(columns: Mapping[str, str], fate: ColumnFate) -> list[str]:
    """Return the printable names of the columns with this fate, in alphabetical order."""
    names = sorted(name for name, one in columns.items() if one == fate)
    return [printable(name) or "(no name)" for name in names]


def _format_share(n: int, total: int) -> str:
    return f"{n / total:.2%}" if total else "-"


def failure_lines(tally: Tally) -> Iterator[str]:
    """Return one line per failure: the file, the place, the fault and the remedy."""
    for failure in tally.failures[:MAX_FAILURES_SHOWN]:
        yield f"{failure.where}: {describe_problem(failure.reason, failure.remedies)}"
    if tally.n_failures > MAX_FAILURES_SHOWN:
        yield f"... and {tally.n_failures - MAX_FAILURES_SHOWN:,} more failures"


def mask_notes(options: MaskOptions, tally: Tally) -> Iterator[str]:
    """Return what to bear in mind about the files of a masking run."""
    certificate = options.choices.get("certificate")
    notes = {
        f"--resume repeats files that failed. Delete {JOURNAL_NAME} before you share the folder": (
            tally.n_failures and options.out is not None and (options.folder / JOURNAL_NAME).exists()
        ),
        f"the thresholds are those of {printable(certificate or options.folder)}. It says what they "
        "guarantee, and on which conditions": certificate,
        "CONFIDENTIAL: the explanations contain the original words. Keep them as safe as the originals": (
            options.with_text
        ),
        f"CONFIDENTIAL: {printable(options.html or options.folder)} contains the original texts. Keep it as "
        "safe as the originals": options.html is not None and options.html.exists(),
        "CONFIDENTIAL: the explanations tell which words are made up. Do not pass them on": (
            options.explain and not options.with_text and options.makes_surrogates
        ),
        "CONFIDENTIAL: the masked files tell the length of every masked word. Pass on a masking without "
        "--offsets": options.offsets and tally.n_documents,
        "CONFIDENTIAL: the annotation files contain the original texts. Keep them as safe as the originals": (
            options.annotations
        ),
        "CONFIDENTIAL: the run report counts the words of each file. Keep it with the originals": (
            options.run_report
        ),
        list_note(options.rename or options.folder): options.rename,
        "the maps and the key together give back the originals. Keep both with the originals": options.maps,
        "made-up names can hide that a name was missed. This is not anonymisation (docs/surrogates.md)": (
            options.makes_surrogates
        ),
    }
    for note, applies in notes.items():
        if applies:
            yield note if note.startswith("CONFIDENTIAL") else f"Note: {note}"


def exit_status(tally: Tally) -> int:
    """Return 0 if all is done, 1 if some failed and are listed, 2 if nothing could be done.

    Example:
        >>> exit_status(Tally(n_documents=3))
        0
    """
    if not tally.n_failures:
        return 0
    return 1 if tally.n_documents > tally.n_failed_documents else 2
