"""A wide chart names its levels at their height and its first and last place; a gap is no line."""

import re

import pytest

from clearhold.api.console.components.figures import Axes, line_of, sparkline

_AXES = Axes({0.0: "none", 30.0: "review 30", 100.0: "all"}, "2026-03-02", "2026-03-09")


def _chart(*values: float | None) -> str:
    return str(line_of(values, None, "in words", ends=(0.0, 100.0), axes=_AXES))


def _heights(svg: str) -> dict[str, float]:
    """The height of each name on the right."""
    return {name: float(y) for y, name in re.findall(r'<text x="\d+" y="([\d.]+)" dominant-baseline[^>]*>([^<]+)', svg)}


def test_given_levels_then_each_name_is_where_a_value_of_that_level_is_drawn() -> None:
    heights = _heights(_chart(30.0))
    (point,) = re.findall(r'cy="([\d.]+)"', _chart(30.0))
    assert heights["review 30"] == pytest.approx(float(point))
    assert heights["all"] < heights["review 30"] < heights["none"]


def test_given_axes_then_all_names_lie_within_the_box_and_the_ends_are_named() -> None:
    svg = _chart(0.0, 50.0, 100.0)
    left, top, width, height = map(float, re.findall(r'viewBox="([^"]+)"', svg)[0].split())
    places = [(float(x), float(y)) for x, y in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"', svg)]
    assert len(places) == len(_AXES.levels) + 2
    assert all(left <= x < left + width for x, _ in places)
    assert all(top < y < top + height for _, y in places)
    assert ">2026-03-02<" in svg
    assert ">2026-03-09<" in svg


def test_given_a_day_that_was_not_measured_then_the_line_has_a_gap_there() -> None:
    assert _chart(10.0, 20.0, None, 30.0, 40.0).count("<polyline") == 2
    assert _chart(10.0, 20.0, 25.0, 30.0, 40.0).count("<polyline") == 1


def test_given_days_of_which_none_or_one_was_measured_then_there_is_no_line_and_a_point_for_the_one() -> None:
    for nothing in ([], [None, None]):
        assert "<circle" not in str(sparkline(nothing, "in words"))
    assert "<polyline" not in str(sparkline([None, 40, None], "in words"))
    assert str(sparkline([None, 40, None], "in words")).count("<circle") == 1
