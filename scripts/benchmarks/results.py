"""The figures of all parts in one JSON file: a part that is measured again replaces itself alone."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.conditions import disturbance, part_conditions
from benchmarks.material import Material
from benchmarks.part import Figures, Part, Point, Settings
from benchmarks.processes import PartError
from inverse_deid.core.errors import FormatError

Results = dict[str, Any]
"""`{"parts": {name: {"missing", "points": [{"at", "runs", "median"}], ...}}}`."""


def measure_part(part: Part, settings: Settings, material: Material) -> Iterator[Results]:
    """Measure all points of a part; each time one is done, what is known of the part so far."""
    found: Results = {
        "missing": part.missing(settings),
        "conditions": part_conditions(),
        "documents": material.described(),
        "settings": {"workers": settings.workers, "clients": settings.clients},
        "points": [],
    }
    for point in () if found["missing"] else part.points(settings, material):
        try:
            runs = [measure_once(point) for _ in range(settings.repeats)]
        except PartError as error:
            found["missing"] = str(error)
            break
        found["points"].append({"at": point.at, "runs": runs, "median": median(runs)})
        yield found
    yield found


def measure_once(point: Point) -> Figures:
    """Look how busy the machine is, then measure."""
    return {"before": disturbance(), **point.run()}


def median(runs: Sequence[Figures]) -> Figures:
    """Return the median of every number of the runs. Other values are those of the first."""
    return {name: _median_of([run.get(name) for run in runs]) for name in runs[0] if name != "before"}


def _median_of(values: Sequence[Any]) -> Any:
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return statistics.median(numbers) if len(numbers) == len(values) else values[0]


def read_results(file: Path) -> Results:
    """Earlier results, empty if there are none.

    Raises:
        FormatError: The file is not a file of results.
    """
    if not file.exists():
        return {"parts": {}}
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        results = None
    if not isinstance(results, dict) or not isinstance(results.get("parts"), dict):
        raise FormatError(f"{file}: has no results of a benchmark. Choose another folder")
    return results


def write_whole(file: Path, text: str) -> None:
    """Write a file that is whole or not there."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


@dataclass(frozen=True, slots=True)
class Median:
    """The medians of the points of one part.

    Args:
        of: Figures by the point's name or size.
    """

    of: Mapping[Any, Figures]

    def get(self, name: str, at: str | int = "") -> Any:
        """One figure, None if it was not measured."""
        return self.of.get(at, {}).get(name)


def medians(results: Results, part: str) -> Median:
    """What is known of a part; nothing if it was not measured."""
    points = results["parts"].get(part, {}).get("points", [])
    return Median({point["at"]: point["median"] for point in points})


def all_runs(results: Results) -> Iterable[Figures]:
    """Every single measurement."""
    for part in results["parts"].values():
        for point in part["points"]:
            yield from point["runs"]
