"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    r"""A table with its title as a heading and sentences under it; all columns but the first to the right.

    Args:
        title: One line.
        columns: Their titles.
        rows: One shown cell a column.
        notes: A paragraph each.

    Example:
        >>> print(markdown_table("Recall", ("run", "recall"), [("a|b", "0.985")]))
        ### Recall
        <BLANKLINE>
        | run | recall |
        |---|---:|
        | a\|b | 0.985 |
        <BLANKLINE>
    """
    lines = [
        f"### {title}",
        "",
        _line(columns),
        "|---|" + "---:|" * (len(columns) - 1),
        *map(_line, rows),
        "",
    ]
    for note in notes:
        lines += [note, ""]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
