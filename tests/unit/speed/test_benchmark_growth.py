"""Exponents of growth."""

import pytest
from benchmark_results import growth, part, point
from benchmarks.growth import Growth, fitted_exponent, growth_with_length, growth_with_number


@pytest.mark.parametrize("power", [0.5, 1.0, 1.05, 2.0])
def test_the_exponent_of_a_power_law_is_found(power):
    sizes = [1, 3, 10, 100, 5_000]
    assert fitted_exponent(sizes, [0.02 * size**power for size in sizes]) == pytest.approx(power)


@pytest.mark.parametrize("sizes", [[], [7], [7, 7]])
def test_one_size_has_no_exponent(sizes):
    assert fitted_exponent(sizes, [1.0] * len(sizes)) is None
    assert Growth(sizes, [1.0] * len(sizes), [1.0] * len(sizes)).exponent() is None


def test_start_up_does_not_hide_growth():
    sizes = [1_000, 10_000, 100_000]
    net = [1e-6 * size**1.2 for size in sizes]
    found = Growth(sizes, [0.7 + one for one in net], net)
    assert fitted_exponent(found.sizes, found.seconds) < 1
    assert found.exponent() == pytest.approx(1.2)


def test_a_million_joins_the_smaller_numbers():
    found = growth_with_number({"documents": growth([1_000, 10_000]), "million": growth([1_000_000])})
    assert found.sizes == [1_000, 10_000, 1_000_000]
    assert found.net_seconds == pytest.approx([1, 10, 1_000])
    assert found.exponent() == pytest.approx(1)


def test_length_counts_the_time_of_one_document():
    points = [
        point("start", documents=1, seconds=0.5),
        point(10, documents=2_000, seconds=2.5),
        point(1_000, documents=20, seconds=2.5),
    ]
    found = growth_with_length({"lengths": part(*points)})
    assert found.net_seconds == pytest.approx([0.001, 0.1])
    assert found.exponent() == pytest.approx(1)


def test_what_was_not_measured_has_no_growth():
    assert growth_with_number({}).sizes == []
    assert growth_with_length({"lengths": part(missing="no time")}).exponent() is None
