"""The kit of pages: every text stays text, gaps stay gaps, and long words stay in their frame."""

import re
from typing import Final

import htpy as h
import pytest

from clearhold.api.html.page import (
    WIDTH,
    Axis,
    Bar,
    Line,
    Point,
    about,
    bar_chart,
    columns,
    line_chart,
    printed_page,
    section,
    source_of,
    table,
    tiles,
)

HOSTILE: Final = "</style></title><script>alert(1)</script>\"'&"
ESCAPED: Final = "&lt;/style&gt;&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&amp;"
UNIT: Final = Axis(0, 1, ((0, "0"), (1, "1")))


@pytest.mark.parametrize(
    "node",
    [
        section(HOSTILE, HOSTILE),
        table((HOSTILE,), ((HOSTILE,),), numbers=0),
        tiles(((HOSTILE, HOSTILE, HOSTILE),)),
        about(((HOSTILE, HOSTILE),)),
        columns(HOSTILE),
        bar_chart("bars", HOSTILE, (Bar("label", 1, HOSTILE, HOSTILE),)),
        line_chart(
            "lines",
            HOSTILE,
            (Line((Point(0, 1, HOSTILE),), HOSTILE, HOSTILE, has_dots=True),),
            (HOSTILE,),
            x=UNIT,
            y=UNIT,
        ),
    ],
)
def test_given_words_of_outsiders_when_shown_then_they_are_text(node: h.Element) -> None:
    markup = str(node)

    assert ESCAPED in markup
    assert HOSTILE not in markup
    assert "<script" not in markup


def test_given_a_page_then_its_policy_allows_its_sheet_alone_in_header_and_copy() -> None:
    page = printed_page(HOSTILE, HOSTILE, h.p[HOSTILE])
    markup = page.body.decode()
    (style,) = re.findall(r"<style>(.*?)</style>", markup, flags=re.DOTALL)
    inside = page.policy.removesuffix("; frame-ancestors 'none'")

    assert page.policy == (
        f"default-src 'none'; style-src {source_of(style)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert f'http-equiv="Content-Security-Policy" content="{inside.replace(chr(39), "&#39;")}"' in markup
    assert "<script" not in markup
    assert "content: 'styletitlescriptalert1script'" in style


def test_given_a_point_that_was_not_measured_when_drawn_then_the_line_has_a_gap() -> None:
    points = [Point(place / 4, y) for place, y in enumerate((0.1, 0.2, None, 0.4, 0.5))]
    markup = str(line_chart("gap", "A gap", (Line(points, has_dots=True),), ("1: 0.1",), x=UNIT, y=UNIT))

    assert [len(each.split()) for each in re.findall(r'points="([^"]*)"', markup)] == [2, 2]
    assert markup.count("<circle") == 4
    assert ">\N{EN DASH}<" in markup


def test_given_bars_when_drawn_then_they_are_as_long_as_their_values_and_their_intervals_are_on_them() -> None:
    bars = (Bar("half", 0.5, "50 %", interval=(0.25, 0.75)), Bar("all", 1, "100 %"), Bar("none", None, "-"))
    markup = str(bar_chart("bars", "Shares", bars, most=1))
    half, whole, none = (float(each) for each in re.findall(r'<rect [^>]*width="([\d.]+)"', markup))
    ((start, end),) = re.findall(r'<line x1="([\d.]+)"[^>]* x2="([\d.]+)"', markup)

    assert half == pytest.approx(whole / 2, abs=0.1)
    assert none == 0
    assert float(end) - float(start) == pytest.approx(half, abs=0.2)
    assert "half: 50 %; all: 100 %; none: -." in markup


def test_given_long_labels_when_drawn_then_they_are_cut_in_the_chart_and_whole_in_words() -> None:
    name = "a_detector_with_a_name_that_is_long"
    markup = str(bar_chart("bars", "Alerts", (Bar(name, 3, "3"),)))

    assert f">{name}<" not in markup
    assert ">a_detector_with_a_nam…<" in markup
    assert f"{name}: 3." in markup


def test_given_a_mark_that_would_leave_the_frame_then_it_ends_at_its_place() -> None:
    weeks = Axis(0, 1, ((0, "2026-W01"), (1, "2026-W15")))
    markup = str(line_chart("weeks", "Weeks", (), (), x=weeks, y=UNIT))
    anchors = dict(re.findall(r'text-anchor="(\w+)" class="label">(2026-W\d\d)<', markup))

    assert anchors == {"middle": "2026-W01", "end": "2026-W15"}
    assert f'viewBox="0 0 {WIDTH} 150"' in markup
    assert '<desc id="weeks-words">nothing.</desc>' in markup
