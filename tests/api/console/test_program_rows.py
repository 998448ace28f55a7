"""The list of programs: each of them is on one of its pages, in each order; a search finds by name and id."""

import gzip
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import htpy as h
import pytest

from clearhold.api.console.components.program_rows import (
    ROWS,
    ProgramAddress,
    ProgramOrder,
    program_list,
    worst_programs,
)
from clearhold.api.overview.routes import CapNearlyUsed, Overview, ProgramOverview
from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.entries.actions import CapKind
from clearhold.features.core.vocabulary import Band
from tests.support.console import Browser
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

PROGRAMS: Final = 200
WARM_KB: Final = 15
AS_OF: Final = "2026-03-02T00:00:00.000000Z"


def a_program(number: int, chance: Random) -> ProgramOverview:
    """One as large as they come: nearly used limits, indicators of all states, a score that changes each day."""
    caps = [CapNearlyUsed(kind=kind, cap="100000", observed="90000", share=0.8 + chance.random()) for kind in CapKind]
    return ProgramOverview(
        program_id=f"{number:08d}-{chance.getrandbits(16):04x}-4000-8000-{chance.getrandbits(48):012x}",
        slug=f"slug-{number}",
        name=f"Program {number:03d}",
        as_of=AS_OF,
        score=PROGRAMS - number,
        band=Band.REVIEW,
        n=18,
        kris={name.value: chance.choice(("ok", "watch", "breach", "unmeasured")) for name in KriName},
        waiting=chance.randrange(100),
        overdue=chance.randrange(100),
        due_soon=0,
        caps=tuple(caps[: number % 4]),
        history=tuple(chance.randrange(100) for _ in range(30)),
        events_per_minute=float(chance.randrange(1_000)),
        scored_last_hour={},
    )


CHANCE: Final = Random(40)
OVERVIEW: Final = Overview(as_of=AS_OF, programs=tuple(a_program(number, CHANCE) for number in range(PROGRAMS)))


def html_of(**query: str) -> str:
    return str(h.div[program_list(OVERVIEW, ProgramAddress.of(query))])


def rows_of(html: str) -> list[int]:
    """The numbers of the programs of a table."""
    return [int(each) for each in re.findall(r'<th scope="row"><a href="/console/programs/(\d{8})', html)]


@pytest.mark.parametrize("order", ProgramOrder)
def test_given_an_order_then_the_pages_have_every_program_once_in_this_order(order: ProgramOrder) -> None:
    pages = [html_of(sort=order.value, page=str(page)) for page in range(1, PROGRAMS // ROWS + 1)]
    numbers = [each for page in pages for each in rows_of(page)]
    assert sorted(numbers) == [*range(PROGRAMS)]
    by_order: Mapping[ProgramOrder, Sequence[float]] = {
        ProgramOrder.SCORE: [float(each.score or 0) for each in OVERVIEW.programs],
        ProgramOrder.NAME: [-number for number in range(PROGRAMS)],
        ProgramOrder.WAITING: [each.waiting for each in OVERVIEW.programs],
        ProgramOrder.LATE: [each.overdue for each in OVERVIEW.programs],
        ProgramOrder.EVENTS: [each.events_per_minute for each in OVERVIEW.programs],
        ProgramOrder.LIMITS: [max((cap.share for cap in each.caps or ()), default=0) for each in OVERVIEW.programs],
    }
    values = by_order[order]
    assert [values[number] for number in numbers] == sorted(values, reverse=True)
    sorts = [each.attributes.get("aria-sort") for each in DomPage(pages[0]).all("th", scope="col")]
    assert [each for each in sorts if each] == ["ascending" if order is ProgramOrder.NAME else "descending"]


def test_given_the_ways_from_page_to_page_then_each_leads_to_the_next_and_the_last_to_none() -> None:
    seen, query = list[int](), {"sort": "late", "q": "program"}
    while True:
        html = html_of(**query)
        seen += rows_of(html)
        following = DomPage(html).all("a", rel="next")
        if not following:
            break
        query = dict(re.findall(r"(\w+)=([^&]+)", (following[0].attributes["href"] or "").partition("?")[2]))
    assert len(seen) == len(set(seen)) == PROGRAMS
    assert f"Page {PROGRAMS // ROWS} of {PROGRAMS // ROWS}" in html


def test_given_words_then_programs_with_them_in_the_name_or_with_that_id_are_found() -> None:
    assert rows_of(html_of(q=" PROGRAM 19 ")) == [*range(190, 200)]
    assert rows_of(html_of(q=OVERVIEW.programs[7].program_id)) == [7]
    assert rows_of(html_of(q="slug-42")) == [42]
    none = html_of(q="<b>none</b>")
    assert "0 programs with" in none
    assert "<b>" not in none
    assert DomPage(none).one("input", type="search").attributes["value"] == "<b>none</b>"


@pytest.mark.parametrize("page", ["0", "-1", "99", "x", "²", ""])
def test_given_a_page_that_is_none_then_the_nearest_is_there(page: str) -> None:
    assert len(rows_of(html_of(page=page, sort="by no such order"))) == ROWS


def test_given_many_programs_then_today_has_the_worst_and_the_way_to_all_and_stays_small() -> None:
    html = str(h.div[worst_programs(OVERVIEW)])
    assert rows_of(html) == [*range(ROWS)]
    assert f"{ROWS} of {PROGRAMS} programs, the highest score first." in html
    assert {"/console/programs", "/console/programs?page=2"} <= set(re.findall(r'href="([^"]+)"', html))
    for page in (html, *(html_of(sort=order.value) for order in ProgramOrder)):
        assert len(gzip.compress(page.encode(), 6)) < (WARM_KB - 3) * 1_024  # its frame takes the rest


def test_given_programs_when_an_order_or_a_word_is_in_the_address_then_the_page_has_it(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    names = [api.create_program(tenant, slug=f"p{number}", name=f"Program {number}")["name"] for number in range(3)]
    words = [DomPage(browser.get(f"/console/programs?{query}").text) for query in ("sort=name", f"q={names[1]}")]
    listed = [[each.text for each in page.all("th", scope="row")] for page in words]
    assert listed == [sorted(names), [names[1]]]
