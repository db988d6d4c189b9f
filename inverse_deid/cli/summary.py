"""What the user reads at the end of a masking run, and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inverse_deid.core.values import Reason
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.columns import ColumnFate

MAX_FAILURES_SHOWN = 50


def summary_lines(tally: Tally, seconds: float) -> Iterator[str]:
    """The summary, without the failures.

    Args:
        tally: What was done.
        seconds: How long it took, loading included.
    """
    yield f"documents  {tally.n_documents:>12,}"
    yield f"tokens     {tally.n_tokens:>12,}"
    yield from _masked_lines(tally)
    yield f"failures   {tally.n_failures:>12,}"
    rate = f", {tally.n_tokens / seconds:,.0f} tokens a second" if seconds > 0 else ""
    yield f"time       {seconds:>12,.1f} s{rate}"
    yield from column_lines(tally.columns)


def column_lines(columns: Mapping[str, str]) -> Iterator[str]:
    """What became of the columns of tables.

    Args:
        columns: The fate of each, see `ColumnFate`.

    Example:
        >>> list(column_lines({"text": "masked", "id": "id", "dob": "dropped"}))[1]
        '           kept (unmasked): id (the id)'
    """
    masked = _named(columns, ColumnFate.MASKED)
    kept = sorted(
        [*_named(columns, ColumnFate.KEPT), *(f"{name} (the id)" for name in _named(columns, ColumnFate.ID))]
    )
    dropped = _named(columns, ColumnFate.DROPPED)
    label = "columns"
    for fate, names in (("masked", masked), ("kept (unmasked)", kept), ("dropped", dropped)):
        if names:
            yield f"{label:<11}{fate}: {', '.join(names)}"
            label = ""


def warning_lines(columns: Mapping[str, str]) -> Iterator[str]:
    """One line if columns were copied because all were asked for."""
    copied = sorted([*_named(columns, ColumnFate.KEPT), *_named(columns, ColumnFate.ID)])
    if copied:
        yield f"WARNING: columns copied unmasked: {', '.join(copied)}"


def _named(columns: Mapping[str, str], fate: ColumnFate) -> list[str]:
    """The printable names of the columns with this fate, in alphabetical order."""
    names = sorted(name for name, one in columns.items() if one == fate)
    return ["".join(sign if sign.isprintable() else "?" for sign in name) or "(no name)" for name in names]


def _masked_lines(tally: Tally) -> Iterator[str]:
    """The share of masked tokens, in all and by reason, most frequent first."""
    counts = {reason: n for reason, n in zip(Reason, tally.tokens_by_reason, strict=True) if not reason.keeps}
    yield f"masked     {_share(sum(counts.values()), tally.n_tokens):>12}"
    for reason, n in sorted(counts.items(), key=lambda item: -item[1]):
        if n:
            yield f"  {reason.name.lower().replace('_', ' '):<22}{_share(n, tally.n_tokens):>8}"


def _share(n: int, total: int) -> str:
    return f"{n / total:.2%}" if total else "-"


def failure_lines(tally: Tally) -> Iterator[str]:
    """One line a failure: the file, where in it, what is wrong and the remedy."""
    for failure in tally.failures[:MAX_FAILURES_SHOWN]:
        yield f"{failure.where}: {failure.reason}"
    if tally.n_failures > MAX_FAILURES_SHOWN:
        yield f"... and {tally.n_failures - MAX_FAILURES_SHOWN:,} more failures"


def exit_status(tally: Tally) -> int:
    """0 all done, 1 some failed and are listed, 2 nothing could be done.

    Example:
        >>> exit_status(Tally(n_documents=3))
        0
    """
    if not tally.n_failures:
        return 0
    return 1 if tally.n_documents > tally.n_failed_documents else 2
