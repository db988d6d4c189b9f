"""The lines that a user reads at the end of a run, and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from inverse_deid.core.files import printable
from inverse_deid.core.values import Reason
from inverse_deid.engine.journal import JOURNAL_NAME
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.columns import ColumnFate

if TYPE_CHECKING:
    from inverse_deid.cli.mask_settings import MaskOptions

MAX_FAILURES_SHOWN = 50


def summary_lines(tally: Tally, seconds: float) -> Iterator[str]:
    """Return the summary, without the failures."""
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
    yield from column_lines(tally.columns)
    yield from removed_lines(tally.removed)
    yield from read_as_lines(tally.read_as)


def column_lines(columns: Mapping[str, str]) -> Iterator[str]:
    """Return what became of the columns of tables, see `ColumnFate`.

    Example:
        >>> list(column_lines({"text": "masked", "id": "id", "dob": "dropped"}))[1]
        '           kept (unmasked): id (the id)'
    """
    masked = _list_names(columns, ColumnFate.MASKED)
    ids = [f"{name} (the id)" for name in _list_names(columns, ColumnFate.ID)]
    kept = sorted([*_list_names(columns, ColumnFate.KEPT), *ids])
    dropped = _list_names(columns, ColumnFate.DROPPED)
    label = "columns"
    for fate, names in (("masked", masked), ("kept (unmasked)", kept), ("dropped", dropped)):
        if names:
            yield f"{label:<11}{fate}: {', '.join(names)}"
            label = ""


def removed_lines(removed: Mapping[str, int]) -> Iterator[str]:
    """Return which parts of files were left out, by kind.

    Example:
        >>> list(removed_lines({"macro": 1, "image": 12}))
        ['removed    parts of files: image (12), macro (1)']
    """
    if removed:
        kinds = ", ".join(f"{kind} ({n:,})" for kind, n in sorted(removed.items()))
        yield f"removed    parts of files: {kinds}"


def read_as_lines(read_as: Mapping[str, int]) -> Iterator[str]:
    """Return how CSV files were found out to be written, unless all are as usual.

    Example:
        >>> list(read_as_lines({"comma, utf-8": 2, "semicolon, windows-1252": 1}))
        ['read as    comma, utf-8 (2 files); semicolon, windows-1252 (1 file)']
    """
    if read_as.keys() - {"comma, utf-8"}:
        shown = (f"{how} ({n:,} file{'s' * (n != 1)})" for how, n in sorted(read_as.items()))
        yield f"read as    {'; '.join(shown)}"


def warning_lines(columns: Mapping[str, str]) -> Iterator[str]:
    """Return one warning if columns were copied because all were asked for."""
    copied = sorted([*_list_names(columns, ColumnFate.KEPT), *_list_names(columns, ColumnFate.ID)])
    if copied:
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
    return ["".join(sign if sign.isprintable() else "?" for sign in name) or "(no name)" for name in names]


def _format_share(n: int, total: int) -> str:
    return f"{n / total:.2%}" if total else "-"


def failure_lines(tally: Tally) -> Iterator[str]:
    """Return one line per failure: the file, the place, the fault and the remedy."""
    for failure in tally.failures[:MAX_FAILURES_SHOWN]:
        yield f"{failure.where}: {failure.reason}"
    if tally.n_failures > MAX_FAILURES_SHOWN:
        yield f"... and {tally.n_failures - MAX_FAILURES_SHOWN:,} more failures"


def mask_notes(options: MaskOptions, tally: Tally) -> Iterator[str]:
    """Return what to bear in mind about the files of a masking run."""
    notes = {
        f"--resume repeats what failed. Delete {JOURNAL_NAME} in the output folder before you share it": (
            tally.n_failures and options.out is not None and (options.folder / JOURNAL_NAME).exists()
        ),
        f"the thresholds are those of {printable(options.certificate or options.folder)}. It says what they "
        "guarantee, and on which conditions": options.certificate,
        "CONFIDENTIAL: the explanations contain the original words. Keep them as safe as the originals": (
            options.with_text
        ),
        "CONFIDENTIAL: the explanations tell which words are made up. Do not pass them on": (
            options.explain and not options.with_text and options.makes_surrogates
        ),
        "CONFIDENTIAL: the masked files tell the length of every masked word. Pass on a masking without "
        "--offsets": options.offsets,
        "CONFIDENTIAL: the annotation files contain the original texts. Keep them as safe as the originals": (
            options.annotations
        ),
        "CONFIDENTIAL: the run report counts the words of each file. Keep it with the originals": (
            options.run_report
        ),
        f"CONFIDENTIAL: {printable(options.rename or options.folder)} says which file and id has which new "
        "name. Keep it with the originals": options.rename,
        "the maps and the key together give back the originals. Keep both with the originals": options.maps,
        "made-up names can hide that a name was missed. This is not anonymisation (docs/surrogates.md)": (
            options.makes_surrogates
        ),
    }
    yield from (f"note       {note}" for note, applies in notes.items() if applies)


def exit_status(tally: Tally) -> int:
    """Return 0 if all is done, 1 if some failed and are listed, 2 if nothing could be done.

    Example:
        >>> exit_status(Tally(n_documents=3))
        0
    """
    if not tally.n_failures:
        return 0
    return 1 if tally.n_documents > tally.n_failed_documents else 2
