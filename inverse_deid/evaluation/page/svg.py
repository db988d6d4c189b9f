"""Drawings as SVG text: elements, a linear scale, axes and whole drawings; all text is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH = 720
"""Of every drawing, in user units. A unit is about a pixel on a wide screen."""

_NICE = (1, 2, 2.5, 5, 10)


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """Return an element. `class_` becomes class, and `_` within a name becomes `-`.

    Example:
        >>> element("text", "a < b", x=1.25, text_anchor="end")
        Markup('<text x="1.2" text-anchor="end">a &lt; b</text>')
    """
    pairs = Markup("").join(
        Markup(' {}="{}"').format(
            name.rstrip("_").replace("_", "-"), coordinate(value) if isinstance(value, float) else value
        )
        for name, value in attributes.items()
    )
    if not children:
        return Markup("<{}{}/>").format(tag, pairs)
    return Markup("<{0}{1}>{2}</{0}>").format(tag, pairs, Markup("").join(children))


def coordinate(value: float) -> str:
    """Return a position, rounded to a tenth of a unit.

    Example:
        >>> coordinate(3.0), coordinate(0.26), coordinate(-0.01)
        ('3', '0.3', '0')
    """
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def drawing(key: str, title: str, description: str, height: float, marks: Iterable[Markup]) -> Markup:
    """Return a whole drawing with a name and a description for screen readers.

    The key starts the ids of both, and is unique on a page. The height is in user units.
    """
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", description, id=f"{key}-desc"),
        *marks,
        class_="chart",
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
        viewBox=f"0 0 {WIDTH} {coordinate(height)}",
    )


def svg_file(title: str, style: str, height: float, marks: Iterable[Markup]) -> str:
    """Return the text of an SVG file: a drawing that brings its style and is as wide as `WIDTH`."""
    svg = element(
        "svg",
        element("title", title),
        element("style", style),
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {coordinate(height)}",
        width=WIDTH,
        height=height,
        role="img",
    )
    return f"{svg}\n"


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from the values `low` to `high` to the positions `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value. Values outside the scale move to its ends."""
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)


def nice_ticks(top: float, n_steps: int = 5) -> list[float]:
    """Return round numbers from 0 to at least `top` (above 0), in at most `n_steps` steps.

    Example:
        >>> nice_ticks(0.07), nice_ticks(93)
        ([0.0, 0.02, 0.04, 0.06, 0.08], [0.0, 20.0, 40.0, 60.0, 80.0, 100.0])
    """
    power = 10.0 ** math.floor(math.log10(top / n_steps))
    step = next(nice * power for nice in _NICE if nice * power * n_steps >= top * (1 - 1e-9))
    n_needed = math.ceil(top / step - 1e-9)
    return [round(step * i, 12) for i in range(n_needed + 1)]


def text(shown: str, x: float, y: float, kind: str = "", *, anchor: str = "start") -> Markup:
    """Return a line of text with its baseline at `y`."""
    return element("text", shown, x=float(x), y=float(y), class_=f"t {kind}".strip(), text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=kind)


def rectangle(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    return element(
        "rect", x=float(x), y=float(y), width=float(width), height=float(height), rx="1.5", class_=kind
    )


def x_axis(scale: Scale, ticks: Sequence[tuple[float, str]], top: float, bottom: float) -> list[Markup]:
    """Return vertical grid lines from `top` to `bottom` with labels under them."""
    marks = []
    for value, label in ticks:
        x = scale.at(value)
        marks += [line(x, top, x, bottom, "grid"), text(label, x, bottom + 16, "m", anchor="middle")]
    return marks


def y_axis(scale: Scale, ticks: Sequence[tuple[float, str]], left: float, right: float) -> list[Markup]:
    """Return horizontal grid lines from `left` to `right` with labels before them."""
    marks = []
    for value, label in ticks:
        y = scale.at(value)
        marks += [line(left, y, right, y, "grid"), text(label, left - 7, y + 4, "m", anchor="end")]
    return marks
