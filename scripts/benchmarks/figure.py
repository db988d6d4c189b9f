"""The figure: seconds over size on logarithmic axes, with the fitted line and the aim's slope."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from benchmarks.growth import Growth, fitted_exponent
from inverse_deid.evaluation.page.svg import Scale, element, line, svg_file, text, x_axis, y_axis

HEIGHT = 330
_TOP, _BOTTOM = 44, 272
_PANELS = ((62, 336), (416, 684))
_STYLE = (
    ".t{font:13px sans-serif;fill:#222}.m{fill:#666;font-size:12px}.grid{stroke:#e2e2e2}"
    ".fit{stroke:#1c6dd0;stroke-width:1.5}.dot{fill:#1c6dd0}.whole{fill:none;stroke:#888;stroke-width:1.5}"
    "svg{background:#fff}"
)


def growth_figure(number: Growth, length: Growth) -> str:
    """An SVG file with both growths side by side."""
    titles = ("seconds of the command, by documents", "seconds of a document, by its tokens")
    marks = []
    for growth, title, (left, right) in zip((number, length), titles, _PANELS, strict=True):
        marks += _panel(growth, title, left, right)
    marks.append(element("circle", cx=66, cy=318, r=4, class_="dot"))
    marks.append(text("without start-up, and fitted line", 76, 322, "m"))
    marks.append(element("circle", cx=286, cy=318, r=4, class_="whole"))
    marks.append(text("start-up included", 296, 322, "m"))
    return svg_file("Growth of time", _STYLE, HEIGHT, marks)


def _panel(growth: Growth, title: str, left: float, right: float) -> Iterator[Markup]:
    yield text(title, left, 20)
    if not growth.sizes:
        yield text("not measured", left, _TOP + 20, "m")
        return
    across = _decades(growth.sizes)
    up = _decades([*growth.seconds, *growth.net_seconds])
    x, y = Scale(*across, left, right), Scale(*up, _BOTTOM, _TOP)
    yield from x_axis(x, [(n, f"{10**n:,}") for n in range(across[0], across[1] + 1)], _TOP, _BOTTOM)
    yield from y_axis(y, [(n, f"{10.0**n:g}") for n in range(up[0], up[1] + 1)], left, right)
    exponent = fitted_exponent(growth.sizes, growth.net_seconds)
    if exponent is not None:
        yield _fit(growth, exponent, x, y)
        yield text(f"exponent {exponent:.3f}", left, 37, "m")
    for size, whole, net in zip(growth.sizes, growth.seconds, growth.net_seconds, strict=True):
        at = x.at(math.log10(size))
        yield element("circle", cx=at, cy=y.at(math.log10(whole)), r=4, class_="whole")
        yield element("circle", cx=at, cy=y.at(math.log10(net)), r=4, class_="dot")


def _fit(growth: Growth, exponent: float, x: Scale, y: Scale) -> Markup:
    """The line of least squares from the first size to the last."""
    sizes = [math.log10(size) for size in growth.sizes]
    middle = sum(sizes) / len(sizes)
    height = sum(math.log10(one) for one in growth.net_seconds) / len(sizes)
    ends = [(x.at(size), y.at(height + exponent * (size - middle))) for size in (sizes[0], sizes[-1])]
    (x1, y1), (x2, y2) = ends
    return line(x1, y1, x2, y2, "fit")


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around the values, at least one apart."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
