"""The sections that a report may hold: curves, what other measurements add, and provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

import numpy as np

from inverse_deid.evaluation.curves import corners
from inverse_deid.evaluation.page.blocks import Chart, Row, Section, Table, without_empty_columns
from inverse_deid.evaluation.page.curves import CurvePoint, ReliabilityBin, recall_curve, reliability_diagram
from inverse_deid.evaluation.page.labels import FURTHER_SECTIONS, SETTING_LABELS, plain_label
from inverse_deid.evaluation.page.measures import (
    DASH,
    SPACE,
    Measure,
    counted,
    finite,
    mapping,
    number,
    number_range,
    percent,
    percent_range,
    proportion,
    read_measure,
    whole_number,
)
from inverse_deid.evaluation.page.sections import Report, figure, interval_head
from inverse_deid.evaluation.risk import Verdict

_MAX_DRAWN = 500
"""Points of a curve that are drawn; its table is made of all."""
_TARGETS = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
_MAX_GRID_COLUMNS = 6
_MAX_ENTRIES = 50
_SHARE_KEYS = frozenset({"share", "value"})
_LEFT_OUT = frozenset({"format", "version", "by_document"})
_VERDICTS = frozenset(verdict.value for verdict in Verdict)


def threshold_section(report: Report) -> Iterator[Section]:
    """The curve over all thresholds and the reliability of the probabilities, as far as there are any."""
    blocks = (*_curve_chart(report), *_reliability_chart(report))
    if blocks:
        sentence = (
            "The model gives every word a probability of being safe; a threshold decides what is masked."
        )
        yield Section("thresholds", "Thresholds and probabilities", (sentence,), blocks)


def curve_points(report: Report) -> list[CurvePoint]:
    """The points of the curve with a defined recall."""
    points = mapping(mapping(report.get("curve")).get("points"))
    columns = [_column(points, name) for name in ("threshold", "recall", "precision", "safe_kept")]
    return [
        CurvePoint(threshold, recall, precision, kept)
        for threshold, recall, precision, kept in zip_longest(*columns)
        if recall is not None
    ]


def _column(points: Mapping[str, object], name: str) -> list[float | None]:
    """A column of the curve; what is no number in [0, 1] is undefined."""
    found = points.get(name)
    return [proportion(value) for value in found] if isinstance(found, Sequence) else []


def _curve_chart(report: Report) -> Iterator[Chart]:
    points = curve_points(report)
    if not points:
        return
    recall, precision = figure(report, "recall_all").value, figure(report, "precision").value
    curve = mapping(report.get("curve"))
    title = "Recall against precision"
    sentence = (
        "The more identifying words are to be masked, the more safe words are masked with them. The lines "
        "hold the probability alone against a threshold; masking follows rules too, so the ring need not lie "
        "on them."
    )
    if (average := finite(curve.get("average_precision"))) is not None:
        sentence += f" Average precision: {number(average)}."
    caption = f"The least that is lost for each recall (of {counted(len(points), 'threshold')})"
    head = ("Recall of at least", "Recall", "Precision", "Safe words kept", "Threshold")
    numbers = Table(caption, head, tuple(_target_row(points, target) for target in _TARGETS))
    drawing = recall_curve("curve", title, drawn_points(points), recall, precision)
    yield Chart(title, sentence, drawing, numbers, is_labelled=False)


def drawn_points(points: Sequence[CurvePoint]) -> Sequence[CurvePoint]:
    """The points of a long curve that are needed to draw it."""
    columns = [(point.recall, point.precision, point.safe_kept) for point in points]
    if any(None in column for column in columns):
        return points
    return [points[i] for i in corners(np.array(columns, np.float64).reshape(-1, 3), _MAX_DRAWN)]


def _target_row(points: Sequence[CurvePoint], target: float) -> Row:
    enough = [point for point in points if point.recall >= target]
    name = f"{100 * target:.4g}{SPACE}%"
    if not enough:
        return Row((name, *[DASH] * 4))
    best = max(enough, key=lambda p: (p.safe_kept or 0.0, p.precision or 0.0, -p.recall))
    shares = (percent(best.recall), percent(best.precision), percent(best.safe_kept))
    return Row((name, *shares, "masks all" if best.threshold is None else number(best.threshold)))


def reliability_bins(report: Report) -> list[ReliabilityBin]:
    """The bins that have both ends and a count, from low to high."""
    listed = mapping(report.get("reliability")).get("bins")
    found = []
    for row in map(mapping, listed if isinstance(listed, Sequence) else ()):
        low, high = proportion(row.get("low")), proportion(row.get("high"))
        n = whole_number(row.get("tokens"))
        if low is not None and high is not None and n is not None:
            safe = read_measure(row.get("safe"), row.get("interval"))
            found.append(ReliabilityBin(low, high, n, proportion(row.get("mean_p_safe")), safe))
    return sorted(found, key=lambda row: row.low)


def _reliability_chart(report: Report) -> Iterator[Chart]:
    bins = reliability_bins(report)
    if not bins:
        return
    title = "Reliability of the probabilities"
    found = mapping(report.get("reliability"))
    sentence = f"On the diagonal, of words with a probability of 80{SPACE}% just 80 in 100 are safe."
    if any(row.safe.has_interval for row in bins):
        sentence += " Intervals take words as independent and are too narrow."
    if n_unknown := whole_number(found.get("unknown")):
        sentence += f" Left out: {counted(n_unknown, 'word')} without a probability."
    if (error := finite(found.get("expected_calibration_error"))) is not None:
        sentence += f" Expected calibration error: {number(error)}."
    interval = interval_head(row.safe for row in bins)
    head = ("Probability", "Words", "Mean probability", "Safe", interval)
    numbers = Table(title, head, tuple(map(_bin_row, bins)))
    yield Chart(title, sentence, reliability_diagram("reliability", title, bins), numbers, is_labelled=False)


def _bin_row(row: ReliabilityBin) -> Row:
    ends = f"{number(row.low)} to {number(row.high)}"
    safe = (percent(row.safe.value), percent_range(row.safe))
    return Row((ends, number(row.n), percent(row.mean_p_safe), *safe))


def added_sections(report: Report) -> Iterator[Section]:
    """Utility, risk and grades, whatever shape they have: their numbers; text in them is left out."""
    for key, words in FURTHER_SECTIONS.items():
        found = mapping(_numbers_of(report.get(key)))
        if found:
            yield Section(key, words.title, (words.sentence,), tuple(number_tables(found)))


def _numbers_of(found: object) -> object:
    """What holds numbers in it, at any depth: no text but a verdict, nothing that goes by document."""
    if found is None or _is_number(found):
        return found
    if isinstance(found, Mapping):
        kept = {str(key): _numbers_of(value) for key, value in found.items() if key not in _LEFT_OUT}
        return {key: value for key, value in kept.items() if value is None or value != {}}
    if isinstance(found, Sequence) and not isinstance(found, str) and len(found) <= _MAX_ENTRIES:
        return _numbers_of({str(position): entry for position, entry in enumerate(found, start=1)})
    return {}


def number_tables(found: Mapping[str, object], caption: str = "") -> Iterator[Table]:
    """The numbers of a mapping, one table for each level; like mappings side by side share one.

    Args:
        found: Names to numbers, None, `{"share" or "value", "part", "whole", "low", "high"}`, or
            mappings of such.
        caption: Of the first table, and the start of all others; empty: each says what it holds.
    """
    leaves = {name: value for name, value in found.items() if value is None or _is_number(value)}
    nested = {name: mapping(value) for name, value in found.items() if name not in leaves}
    if leaves:
        rows = tuple(Row(_number_cells(name, value)) for name, value in leaves.items())
        head = ("", "Value", "Interval", "Part", "Of")
        yield without_empty_columns(Table(caption or "Overall", head, rows))
    if _is_grid(nested):
        yield _grid(nested, caption or "Side by side")
    else:
        for name, inner in nested.items():
            label = f"{caption}: {plain_label(name).lower()}" if caption else plain_label(name)
            yield from number_tables(inner, label)


def _is_number(value: object) -> bool:
    """Whether it fills one cell."""
    is_verdict = isinstance(value, str) and value in _VERDICTS
    return is_verdict or isinstance(value, bool) or finite(value) is not None or _is_share(value)


def _is_share(value: object) -> bool:
    return bool(_SHARE_KEYS & set(mapping(value)))


def _is_grid(nested: Mapping[str, Mapping[str, object]]) -> bool:
    """Whether the inner mappings are alike, hold numbers alone, and fit on paper side by side."""
    shapes = {tuple(inner) for inner in nested.values()}
    return (
        len(nested) > 1
        and len(shapes) == 1
        and len(next(iter(shapes))) <= _MAX_GRID_COLUMNS
        and all(value is None or _is_number(value) for inner in nested.values() for value in inner.values())
    )


def _grid(nested: Mapping[str, Mapping[str, object]], caption: str) -> Table:
    names = next(iter(nested.values()))
    rows = tuple(
        Row((plain_label(name), *map(_in_one_cell, inner.values()))) for name, inner in nested.items()
    )
    return Table(caption, ("", *map(plain_label, names)), rows)


def _number_cells(name: str, value: object) -> tuple[str, str, str, str, str]:
    """Name, value, interval, part and whole; what does not apply is empty."""
    if not _is_share(value):
        return plain_label(name), _plain(value), "", "", ""
    measure = read_measure(value)
    counts = [number(n) if n is not None else "" for n in (measure.part, measure.whole)]
    return plain_label(name), *_value_and_interval(value, measure), counts[0], counts[1]


def _value_and_interval(value: object, measure: Measure) -> tuple[str, str]:
    """A share in percent, any other number as it is."""
    if "share" in mapping(value):
        return percent(measure.value), percent_range(measure) if measure.has_interval else ""
    return number(measure.value), number_range(measure) if measure.has_interval else ""


def _plain(value: object) -> str:
    return plain_label(value) if isinstance(value, str) else number(value)


def _in_one_cell(value: object) -> str:
    if not _is_share(value):
        return _plain(value)
    measure = read_measure(value)
    shown, interval = _value_and_interval(value, measure)
    bounds = f" ({interval})" if interval else ""
    counts = "" if measure.whole is None else f", {number(measure.part)} of {number(measure.whole)}"
    return f"{shown}{bounds}{counts}"


def provenance_section(report: Report) -> Section:
    """Which files were measured, by which version, with which seeds."""
    found = {name: value for name, value in mapping(report.get("provenance")).items() if name != "command"}
    files = {role: row for role, value in found.items() if (row := _file_cells(mapping(value)))}
    others = {name: value for name, value in found.items() if name not in files}
    blocks: list[Table] = []
    if files:
        rows = tuple(Row((plain_label(role), *cells)) for role, cells in files.items())
        blocks.append(Table("Files", ("Role", "Name", "SHA-256"), rows, frozenset({1, 2})))
    settings = tuple(
        Row((SETTING_LABELS.get(name, plain_label(name)), shown)) for name, shown in _flat(others)
    )
    if settings:
        blocks.append(Table("Version and settings", ("", "Value"), settings, frozenset({1})))
    sentences = () if blocks else ("The report does not tell.",)
    return Section("provenance", "How this was made", sentences, tuple(blocks))


def _file_cells(file: Mapping[str, object]) -> tuple[str, str] | None:
    """Name and hash of a file; of a folder a hash over those of its files, whose names may be ids."""
    name, digest, inner = _shown(file.get("name")), file.get("sha256"), mapping(file.get("files"))
    if isinstance(digest, str):
        return name, digest
    if "files" not in file:
        return None
    lines = "".join(f"{inner[path]}  {path}\n" for path in sorted(inner))
    digest = hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()
    return f"{name} (folder)", f"{digest}, of the list of its {counted(len(inner), 'file')}"


def _flat(found: Mapping[str, object], start: str = "") -> Iterator[tuple[str, str]]:
    """Names and values of all levels."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{start}{name} ")
        else:
            yield f"{start}{name}", _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value or DASH
    if isinstance(value, Sequence):
        return ", ".join(map(_shown, value)) or DASH
    return str(value) if whole_number(value) is not None else number(value)
