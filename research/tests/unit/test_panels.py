"""Line charts: what is drawn where."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from inverse_deid_research.studies.figures import Band, Panel, panels

SVG = "{http://www.w3.org/2000/svg}"
TICKS = [(0.0, "0"), (1.0, "1")]


def drawn(*charts: Panel) -> ElementTree.Element:
    return ElementTree.fromstring(panels("two <charts>", charts))


def points(polyline: ElementTree.Element) -> list[tuple[float, float]]:
    return [tuple(map(float, pair.split(","))) for pair in polyline.get("points").split()]


def test_curves_lie_on_the_axes_of_their_own_panel():
    curve = Band("a & b", "#123456", (0, 1), (0, 1), (0, 0.5), (0.5, 1))
    chart = Panel("x", "n", (0, 1), TICKS, 0.0, [curve])
    root = drawn(chart, chart, chart)
    lines = [points(line) for line in root.iter(f"{SVG}polyline")]
    assert lines[0] == [(52, 302), (352, 52)]
    assert [line[0][0] for line in lines] == [52, 404, 52]
    assert [line[0][1] for line in lines] == [302, 302, 642]
    assert root.find(f"{SVG}title").text == "two <charts>"
    assert "a & b" in [text.text for text in root.iter(f"{SVG}text")]
    area = points(next(root.iter(f"{SVG}polygon")))
    assert area == [(52, 302), (352, 177), (352, 52), (52, 177)]


def test_a_guide_is_a_line_at_its_value():
    chart = Panel("x", "n", (0, 1), TICKS, 0.0, [], guide=(0.5, "aim"))
    root = drawn(chart)
    guides = [line for line in root.iter(f"{SVG}line") if line.get("class") == "guide"]
    assert [(line.get("y1"), line.get("y2")) for line in guides] == [("177", "177")]
    assert "- - aim" in [text.text for text in root.iter(f"{SVG}text")]


def test_a_curve_of_unlike_lengths_is_refused():
    chart = Panel("x", "n", (0, 1), TICKS, 0.0, [Band("a", "#000", (0, 1), (0,), (0,), (0,))])
    with pytest.raises(ValueError, match="shorter"):
        drawn(chart)
