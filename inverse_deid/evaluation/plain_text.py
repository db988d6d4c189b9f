"""Shares, intervals and tables as plain text and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from inverse_deid.core.wording import _
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.evaluation.measures.uncertainty import Interval, Method


def format_share(share: Share) -> str:
    """Format a share in percent. Only exact shares become 100 and 0, and - means undefined.

    Example:
        >>> format_share(Share(1, 3)), format_share(Share(99_999, 100_000)), format_share(Share(0, 0))
        ('33.33 %', '99.99 %', '-')
    """
    if share.value is None:
        return "-"
    rounded = round(100 * share.value, 2)
    if 0 < share.part < share.whole:
        rounded = min(max(rounded, 0.01), 99.99)
    return f"{rounded:.2f} %"


def share_cells(share: Share) -> tuple[str, str, str]:
    """Return the cells of a share: percent, part, whole."""
    return format_share(share), f"{share.part:,}", f"{share.whole:,}"


def format_interval(interval: Interval | None) -> str:
    """Format an interval in percent, rounded outwards. * marks `Method.ALIKE`.

    Example:
        >>> format_interval(Interval(0.98777, 1.0, 0.95, Method.ALIKE)), format_interval(None)
        ('* 98.77 to 100.00', '-')
    """
    if interval is None:
        return "-"
    low = math.floor(round(10_000 * interval.low, 6)) / 100
    high = math.ceil(round(10_000 * interval.high, 6)) / 100
    return "* " * (interval.method is Method.ALIKE) + _("{low:.2f} to {high:.2f}", low=low, high=high)


def align(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield a line per row, with the first column flush left and the others flush right.

    Example:
        >>> list(align([("type", "leaks"), ("DATE", "7")]))
        ['type  leaks', 'DATE      7']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def markdown_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    r"""Render a Markdown table below its title as a heading, and notes below it.

    Example:
        >>> print(markdown_table("Recall", ("run", "recall"), [("a|b", "0.985")]))
        ### Recall
        <BLANKLINE>
        | run | recall |
        |---|---:|
        | a\|b | 0.985 |
        <BLANKLINE>
    """
    paragraphs = [line for note in notes for line in (note, "")]
    return "\n".join([f"### {title}", "", *markdown_lines(columns, rows), "", *paragraphs])


def markdown_lines(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table. All columns but the first are flush right."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (columns, *rows)]
    lines.insert(1, "|---|" + "---:|" * (len(columns) - 1))
    return lines
