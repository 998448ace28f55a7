"""A long queue in a browser: few of its rows are in the page, and nothing moves under the reader."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from tests.console.conftest import QueueDesk
from tests.support.alerting import ALERTING, deliver, outgoing
from tests.support.console import ConsoleApp
from tests.support.running_app import RunningApp

STACKS: Final = 260
MOST_ELEMENTS: Final = 2_500
STEP: Final = 600  # pixels of a turn of the wheel
QUEUE: Final = "/console/queue?kind=account,split&sort=dueAt"
STATE: Final = """() => {
  const pane = document.getElementById('queue-pane');
  const top = pane.getBoundingClientRect().top;
  const rows = [...document.querySelectorAll('#stacks .stack')];
  const isSeen = ({ bottom, top: upper }) => bottom > top && upper < top + pane.clientHeight;
  const seen = rows.filter((row) => isSeen(row.getBoundingClientRect()));
  return {
    seen: seen.map((row) => row.id.slice(6)),
    places: seen.map((row) => Number(row.parentElement.getAttribute('aria-posinset'))),
    size: [...new Set(rows.map((row) => row.parentElement.getAttribute('aria-setsize')))],
    stops: rows.filter((row) => row.tabIndex === 0).length,
    rows: rows.length,
    elements: document.querySelectorAll('*').length,
    scrollTop: pane.scrollTop,
    isAtEnd: pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 2,
  };
}"""


@pytest.fixture(scope="module")
def long_desk(tmp_path_factory: pytest.TempPathFactory, redis_server: EmbeddedRedis) -> Iterator[QueueDesk]:
    with closing(connect_sync(redis_server.socket_path)) as client:
        client.flushall()
    with ExitStack() as opened:
        api = RunningApp(tmp_path_factory.mktemp("long"), redis_server.socket_path, opened)
        tenant = api.create_tenant()
        program = api.create_program(tenant)
        transfers = (outgoing(f"acht_{at}", bank_account_id=f"bacc_{at}", **ALERTING) for at in range(STACKS))
        deliver(api, program, *transfers)
        yield QueueDesk(api, ConsoleApp(api), tenant, program)


def order_of(desk: QueueDesk) -> list[str]:
    """The ids of all stacks, the soonest due first."""
    ids, cursor = list[str](), None
    while True:
        params = {"kind": "account,split", "sort": "dueAt", "limit": "100"} | ({"cursor": cursor} if cursor else {})
        page = desk.api.client.get("/api/stacks", params=params, headers=desk.api.operator(desk.tenant)).json()
        ids += [each["id"] for each in page["data"]]
        cursor = page["nextCursor"]
        if cursor is None:
            return ids


def settled(page: Page) -> dict[str, Any]:
    """The window once no rows are on their way into it."""
    page.wait_for_function("() => document.querySelector('#stacks .htmx-request') === null")
    page.wait_for_timeout(150)
    state: dict[str, Any] = page.evaluate(STATE)
    return state


def test_given_a_long_queue_when_it_is_scrolled_through_and_back_then_its_rows_are_in_order_and_few_are_in_the_page(
    long_desk: QueueDesk, chromium: Browser
) -> None:
    order = order_of(long_desk)
    assert len(order) >= STACKS
    with long_desk.person(chromium) as ann:
        page = ann.page
        page.goto(QUEUE)
        expect(page.locator("form[data-draft]:visible")).to_have_count(1)
        page.mouse.move(200, 500)
        seen_at: dict[float, list[str]] = {}
        for way in (1, -1):
            for _ in range(120):
                state = settled(page)
                assert state["seen"] == [order[place - 1] for place in state["places"]]
                assert state["size"] == [str(len(order))]
                assert state["elements"] < MOST_ELEMENTS, f"{state['rows']} rows"
                assert state["stops"] <= 1
                assert state["seen"], f"nothing to read at {state['scrollTop']} pixels"
                assert seen_at.setdefault(state["scrollTop"], state["seen"]) == state["seen"]
                if state["isAtEnd"] if way == 1 else state["scrollTop"] == 0:
                    break
                page.mouse.wheel(0, way * STEP)
            assert state["places"][-1 if way == 1 else 0] == (len(order) if way == 1 else 1)
        assert not ann.faults


def test_given_a_long_queue_when_keys_go_over_the_end_of_its_chunks_then_the_focus_stays_on_the_next_row(
    long_desk: QueueDesk, chromium: Browser
) -> None:
    order = order_of(long_desk)
    with long_desk.person(chromium) as ann:
        page = ann.page
        page.goto(QUEUE)
        expect(page.locator("form[data-draft]:visible")).to_have_count(1)
        for chunk in (50, 150, 200):
            row = page.locator(f"#stack-{order[chunk - 2]}")
            while row.count() == 0:
                page.locator("#queue-pane").evaluate("pane => pane.scrollBy(0, 600)")
                settled(page)
            row.focus()
            page.keyboard.press("Enter")
            for at in (chunk - 1, chunk, chunk + 1):
                page.keyboard.press("j")
                expect(page.locator(f"#stack-{order[at]}")).to_be_focused()
            for at in (chunk, chunk - 1, chunk - 2):
                page.keyboard.press("k")
                expect(page.locator(f"#stack-{order[at]}")).to_be_focused()
            expect(page.locator("#stacks [aria-current]")).to_be_in_viewport()
        assert not ann.faults
