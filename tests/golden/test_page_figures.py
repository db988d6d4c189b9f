"""Figures that a page takes from a report are those of the report.

Each file of `figures/` belongs to one page. An entry has a sentence or a row of a table with a gap `{}` for each figure, and
says where each figure is: `FILE | WHERE | COLUMN | FORMAT`.

- FILE is in `reports/`: CSV, `NAME.md@2` (the second table of it), or a pattern of JSON records. `[files]` has short names. A
  manifest of a packaged model is named from the root.
- WHERE is `COLUMN=VALUE`, several with ` & `, or a value of the first column.
- COLUMN is a column, two columns or numbers as `part / of` or `one - other`, a path such as `scores.*.f1` in JSON records (`*` is any key), or
  `mean: COLUMN`, also `min:`, `max:`, `sum:` and `count:`, over all rows.
- FORMAT: `.3` is `.774`, `0.3` is `0.774`, `%1` is `77.4`, `%.1` is `.9` of 0.009, `,` is `1,234`, `+` before them writes the sign, `abs ` leaves it
  out, `1- ` takes what is missing from 1, `down ` and `up ` round an interval outwards, and `raw` is the cell.
"""

from __future__ import annotations

import csv
import json
import re
import statistics
import tomllib
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "figures"
OVER_ROWS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "sum": sum,
    "count": len,
}


@cache
def read_rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a table of `reports/` by column."""
    file, _, place = name.partition("@")
    if file.endswith(".json"):
        folder = ROOT if file.startswith("inverse_deid/") else ROOT / "reports"
        return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(file))]
    text = (ROOT / "reports" / file).read_text(encoding="utf-8")
    if file.endswith(".csv"):
        return list(csv.DictReader(text.splitlines()))
    tables = re.findall(r"^\|.*\|\n\|[-:| ]+\|\n(?:\|.*\|\n?)+", text, re.MULTILINE)
    head, _, *rows = (
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in tables[int(place) - 1].splitlines()
    )
    names = [column or str(place) for place, column in enumerate(head)]
    return [dict(zip(names, row, strict=True)) for row in rows]


def choose_rows(name: str, where: str) -> list[dict[str, Any]]:
    rows = read_rows(name)
    for condition in filter(None, where.split(" & ")):
        column, equals, value = condition.partition("=")
        if not equals or column not in rows[0]:
            column, value = next(iter(rows[0])), condition
        rows = [row for row in rows if str(row[column]) == value]
    return rows


def read_numbers(found: Any, path: str) -> list[float]:
    """Return the numbers at a path of a JSON record, of all keys where it has `*`."""
    part, _, rest = path.partition(".")
    if not path:
        return [float(found)]
    keys = found if part == "*" else [int(part) if isinstance(found, list) else part]
    return [number for key in keys for number in read_numbers(found[key], rest)]


def read_number(row: Mapping[str, Any], column: str) -> float:
    for sign in (" / ", " - "):
        if column not in row and sign in column:
            one, other = (read_number(row, part) for part in column.split(sign))  # a part may be a number
            return one / other if sign == " / " else one - other
    if column in row:
        number = re.match(r"[+-]?[\d.,]+(?:e-?\d+)?", str(row[column]))
        assert number, f"{column} has {row[column]!r}"
        return float(number[0].replace(",", ""))
    return float(column) if column.isdigit() else read_numbers(row, column)[0]


def write_number(number: float, form: str) -> str:
    found = Decimal(repr(number))
    if form.startswith("1- "):
        found, form = 1 - found, form.removeprefix("1- ")
    if form.startswith("abs "):
        found, form = abs(found), form.removeprefix("abs ")
    rounding = ROUND_HALF_UP
    for word, other in (("down ", ROUND_FLOOR), ("up ", ROUND_CEILING)):
        if form.startswith(word):
            rounding, form = other, form.removeprefix(word)
    sign, form = ("+", form[1:]) if form.startswith("+") else ("", form)
    if form == ",":
        return f"{found.quantize(Decimal(1)):{sign},}"
    if form.startswith("%"):
        found, form = found * 100, form.removeprefix("%")
    text = f"{found.quantize(Decimal(1).scaleb(-int(form[-1])), rounding):{sign}}"
    return re.sub(r"^([+-]?)0\.", r"\1.", text) if form.startswith(".") else text


def read_figure(source: str, files: Mapping[str, str]) -> str:
    """Return the figure as the page must write it."""
    name, where, column, form = (part.strip() for part in source.split("|"))
    name = files.get(name, name)
    rows = choose_rows(name, where)
    over, colon, inner = column.partition(": ")
    if colon and over in OVER_ROWS:
        assert rows, f"no row of {name} has {where}"
        several = "*" in inner
        numbers = [
            one
            for row in rows
            for one in (read_numbers(row, inner) if several else [read_number(row, inner)])
        ]
        return write_number(OVER_ROWS[over](numbers), form)
    assert len(rows) == 1, f"{len(rows)} rows of {name} have {where!r}"
    return str(rows[0][column]) if form == "raw" else write_number(read_number(rows[0], column), form)


def flatten(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def read_entries() -> list[Any]:
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        page = tomllib.loads(path.read_text(encoding="utf-8"))
        for place, entry in enumerate(page["says"]):
            files = page.get("files", {})
            found.append(pytest.param(page["page"], files, entry, id=f"{path.stem}-{place + 1}"))
    return found


@pytest.mark.parametrize(("page", "files", "entry"), read_entries())
def test_a_page_has_the_figures_of_its_report(page, files, entry):
    gaps = entry["text"].count("{}")
    assert gaps == len(entry["from"]), f"{gaps} gaps, {len(entry['from'])} sources"
    expected = entry["text"]
    for source in entry["from"]:
        expected = expected.replace("{}", read_figure(source, files), 1)
    assert flatten(expected) in flatten((ROOT / page).read_text(encoding="utf-8"))
