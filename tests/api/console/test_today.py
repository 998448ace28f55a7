"""Today: the figures of the counts and of the overview, in words."""

import re
from typing import Any

from clearhold.features.core.instants import format_instant
from tests.support.acting import FREEZE
from tests.support.alerting import an_alert
from tests.support.console import Browser
from tests.support.running_app import RunningApp, content_of_201
from tests.support.stacking import decide_many, stacks, story

HOUR_US = 3_600_000_000


def words_of(browser: Browser) -> str:
    page = browser.get("/console/today").text
    return " ".join(re.sub(r"<[^>]*>", " ", page.partition("<main")[2]).split())


def test_given_nothing_then_the_page_says_so_and_what_to_do(browser: Browser) -> None:
    words = words_of(browser)
    assert "0 to decide . None runs out before" in words
    assert "No transfer was scored in the last hour." in words
    assert "There are no programs yet. An administrator creates them" in words


def test_given_alerts_and_time_then_what_waits_what_is_due_soon_and_what_is_late_are_the_counts(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    for number in range(3):
        an_alert(api, tenant, program, f"acht_{number}")
    for hours in (0, 22, 3):
        api.clock.advance(hours * HOUR_US)
        browser.sign_in(tenant["operatorToken"])
        counts = api.client.get("/api/counts", headers=api.operator(tenant)).json()
        words = words_of(browser)
        assert f"{counts['stacks']} to decide , {counts['waiting']} alerts in all, the worst first ." in words
        soon, late = (counts[name] or "none" for name in ("stacksDueSoon", "stacksOverdue"))
        assert re.search(
            rf"{soon} runs? out before {format_instant(api.clock.now() + 4 * HOUR_US)[11:16]} UTC", words, re.IGNORECASE
        )
        assert re.search(rf", {late} (is|are) late", words)
    assert counts["overdue"] > 0
    assert counts["stacks"] < counts["waiting"]
    row = words.partition(program["name"])[2]
    assert f"{counts['waiting']} {counts['overdue']}" in row


def test_given_held_alerts_of_one_transfer_and_another_then_the_money_of_both_is_held_once(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    story(api, tenant, program, "bacc_1", 2)
    assert "is held" not in words_of(browser)
    (stack,) = [each for each in stacks(api, tenant) if each["key"] == "bacc_1"]
    decide_many(api, api.operator(tenant), stack["alertIds"], "hold")
    (held,) = [each for each in stacks(api, tenant, status="held") if each["key"] == "bacc_1"]
    cents = int(held["heldCents"])
    assert cents > 0
    assert f"{cents // 100:,}.{cents % 100:02d} USD is held ." in words_of(browser)


def test_given_money_that_moves_then_the_page_has_the_scores_of_the_hour_and_the_events_of_the_last_minutes(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    for number in range(10):
        an_alert(api, tenant, program, f"acht_{number}")
    (row,) = api.client.get("/api/programs/overview", headers=api.operator(tenant)).json()["programs"]
    words = words_of(browser)
    assert sum(row["scoredLastHour"].values()) == 10
    assert "10 transfers:" in words
    for band, number in row["scoredLastHour"].items():
        assert f"{number} {band}, {number / 10:.1%}" in words
    assert re.search(rf" {row['eventsPerMinute']:g} none", words)
    api.clock.advance(HOUR_US + 1)
    browser.sign_in(tenant["operatorToken"])
    assert "No transfer was scored in the last hour." in words_of(browser)


def test_given_requests_then_those_of_others_wait_for_the_reader_and_own_ones_for_another_person(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    assert "No request waits for you." in words_of(browser)
    bodies = [{"programId": program["id"]} | FREEZE | {"targetId": f"bacc_{number}"} for number in range(3)]
    by = ("bob@bank.example", "ann@bank.example", "carol@bank.example")
    first, _, last = (
        content_of_201(api.client.post("/api/actions", json=body, headers=api.operator(tenant, person)))
        for body, person in zip(bodies, by, strict=True)
    )
    words = words_of(browser)
    assert "2 requests wait for you" in words
    assert "You asked for 1 change , which another person has to approve." in words
    page = browser.get("/console/today").text
    assert all(f'href="/console/approvals#action-{each["id"]}"' in page for each in (first, last))
    assert "bacc_1" not in words
