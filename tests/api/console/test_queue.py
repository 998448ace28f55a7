"""The queue as a page: its rows, groups, filters in the address, chunks, and the line on new stacks."""

import html
import re
from typing import Any

import pytest

from clearhold.features.core.instants import DAY_US, MINUTE_US, format_instant, written_instant
from tests.support.alerting import NARRATIVE, deliver, party
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp
from tests.support.stacking import decide_many, stacks, story

QUEUE = "/console/queue"


def ids_in(text: str) -> list[str]:
    """Ids of the stacks in the order of the rows."""
    return re.findall(r'id="stack-([0-9a-f-]+)"', text)


def links_of(text: str, style: str) -> list[str]:
    links = re.findall(rf'<a class="{style}" href="([^"]+)"|<a[^>]*rel="{style}" href="([^"]+)"', text)
    return [html.unescape(first or second) for first, second in links]


def part(browser: Browser, path: str, target: str) -> str:
    answer = browser.part(path, **{"HX-Target": f"div#{target}"})
    assert answer.status_code == 200, answer.text
    assert "<html" not in answer.text
    text: str = answer.text
    return text


@pytest.fixture
def two_stories(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> list[dict[str, Any]]:
    """Of an account each; the second one has more alerts."""
    story(api, tenant, program, "bacc_1", 1)
    story(api, tenant, program, "bacc_2", 3)
    return stacks(api, tenant, kind="account,entity,program,counterparty,transfer,split,appeal", limit="100")


def test_given_stacks_then_the_page_counts_them_and_has_a_row_for_each(
    browser: Browser, two_stories: list[dict[str, Any]]
) -> None:
    page = browser.get(QUEUE).text

    alerts = sum(each["size"] for each in two_stories)
    assert f"{len(two_stories)} to decide · {alerts} alerts" in page
    assert sorted(ids_in(page)) == sorted(each["id"] for each in two_stories)
    first = next(each for each in two_stories if each["key"] == "bacc_2")
    row = re.search(rf'<a class="stack" id="stack-{first["id"]}".*?</a>', page, re.DOTALL)
    assert row is not None
    assert f'href="/console/stacks/{first["id"]}"' in row[0]
    assert f'aria-label="{first["size"]} alerts"' in row[0]
    assert first["sentence"] in html.unescape(row[0])
    letters = re.search(r'data-alerts="([^"]*)"', row[0])
    assert letters is not None
    assert set(letters[1].split()) == {each[:8] for each in first["alertIds"]}


def test_given_due_times_then_rows_are_in_groups_with_their_numbers(
    browser: Browser, api: RunningApp, tenant: dict[str, Any], two_stories: list[dict[str, Any]]
) -> None:
    assert f"later · {len(two_stories)}" in browser.get(QUEUE).text
    due = [written_instant(each["dueAt"]) for each in two_stories]
    api.clock.at = min(due) - 1
    browser.sign_in(tenant["operatorToken"])
    today = sum(at < api.clock.at - api.clock.at % DAY_US + DAY_US for at in due)
    assert f"today · {today}" in browser.get(QUEUE).text

    api.clock.at = max(due) + 1
    browser.sign_in(tenant["operatorToken"])
    page = browser.get(QUEUE).text
    assert f"late · {len(due)}" in page
    assert page.count('class="due late"') == len(due)


def test_given_filters_then_each_is_a_chip_that_takes_it_off(
    browser: Browser, program: dict[str, Any], two_stories: list[dict[str, Any]]
) -> None:
    slug = program["slug"]
    page = browser.get(f"{QUEUE}?kind=account&kind=entity&program={slug}&severity=&overdue=false").text

    assert sorted(ids_in(page)) == sorted(each["id"] for each in two_stories if each["kind"] in {"account", "entity"})
    assert set(links_of(page, "chip")) == {
        f"{QUEUE}?kind=account&program={slug}&overdue=false",
        f"{QUEUE}?kind=entity&program={slug}&overdue=false",
        f"{QUEUE}?kind=account,entity&overdue=false",
        f"{QUEUE}?kind=account,entity&program={slug}",
    }
    for link in links_of(page, "chip"):
        assert browser.get(link).status_code == 200


@pytest.mark.parametrize(("query", "status"), [("program=nobody", 400), ("band=red", 400), ("status=closed", 400)])
def test_given_an_unknown_value_then_the_page_is_a_refusal(browser: Browser, query: str, status: int) -> None:
    assert browser.get(f"{QUEUE}?{query}").status_code == status


def test_given_filters_that_nothing_passes_then_the_page_leads_to_the_whole_queue(
    browser: Browser, two_stories: list[dict[str, Any]]
) -> None:
    page = browser.get(f"{QUEUE}?kind=appeal").text
    assert "No stack passes these filters." in page
    assert ids_in(page) == []
    assert two_stories


@pytest.mark.parametrize("order", ["dueAt", "worst", "score", "heldCents", "size"])
def test_given_an_order_then_rows_are_in_it_over_all_chunks(
    browser: Browser, api: RunningApp, tenant: dict[str, Any], two_stories: list[dict[str, Any]], order: str
) -> None:
    kinds = ",".join(sorted({each["kind"] for each in two_stories}))
    expected = [each["id"] for each in stacks(api, tenant, kind=kinds, sort=order)]

    listed, address, number = list[str](), f"{QUEUE}?sort={order}&limit=1", 0
    while address:
        chunk = part(browser, address, f"chunk-{number}")
        assert "queue-head" not in chunk
        assert len(ids_in(chunk)) == 1
        listed += ids_in(chunk)
        address = next(iter(links_of(chunk, "next")), "")
        number += 1

    assert listed == expected


def test_given_the_table_then_it_has_the_same_stacks_without_a_script(
    browser: Browser, two_stories: list[dict[str, Any]]
) -> None:
    page = browser.get(f"{QUEUE}?view=table&limit=1").text
    pages = [page]
    while links_of(pages[-1], "next"):
        pages.append(browser.get(links_of(pages[-1], "next")[0]).text)

    assert all('<th scope="col">Due</th>' in each for each in pages)
    assert sorted(ids_in("".join(pages))) == sorted(each["id"] for each in two_stories)


def test_given_alerts_since_the_list_was_read_then_a_line_counts_new_stacks_and_grown_ones(
    browser: Browser, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    story(api, tenant, program, "bacc_1", 1)
    before = {each["id"]: each["size"] for each in stacks(api, tenant, kind="account,entity,program,transfer")}
    api.clock.advance(MINUTE_US)
    since = format_instant(api.clock.now())
    assert "show" not in part(browser, f"{QUEUE}?since={since}", "news")

    story(api, tenant, program, "bacc_2", 2)
    after = {each["id"]: each["size"] for each in stacks(api, tenant, kind="account,entity,program,transfer")}
    news = part(browser, f"{QUEUE}?since={since}", "news")

    new = len(after.keys() - before.keys())
    grown = sum(after[each] > size for each, size in before.items() if each in after)
    assert new
    assert f"{new} new" in news
    assert ("with further alerts" in news) is bool(grown)
    assert f"since {since[11:16]}" in news
    assert f"{len(after)} to decide" in news


def test_given_a_decided_stack_then_its_row_says_so(
    browser: Browser, api: RunningApp, tenant: dict[str, Any], two_stories: list[dict[str, Any]]
) -> None:
    stack = next(each for each in two_stories if each["key"] == "bacc_1")
    row = browser.part(f"/console/stacks/{stack['id']}/row").text
    assert 'class="stack"' in row

    decide_many(api, api.operator(tenant), stack["alertIds"], "close", NARRATIVE)

    row = browser.part(f"/console/stacks/{stack['id']}/row").text
    assert 'class="stack decided"' in row
    assert '<span class="due">decided</span>' in row
    assert stack["id"] not in ids_in(browser.get(QUEUE).text)


def test_given_another_tenants_session_then_it_sees_none_of_them(
    console: ConsoleApp, api: RunningApp, two_stories: list[dict[str, Any]]
) -> None:
    other = console.browser()
    other.sign_in(api.create_tenant("second-bank")["operatorToken"])
    assert ids_in(other.get(QUEUE).text) == []
    assert other.part(f"/console/stacks/{two_stories[0]['id']}/row").status_code == 404


def test_given_the_keys_then_they_are_a_page_and_a_dialogs_content(browser: Browser) -> None:
    assert "<h1>Keys</h1>" in browser.get("/console/keys").text
    assert "data-close" in browser.part("/console/keys").text
    commands = browser.part("/console/commands").text
    for link in re.findall(r'href="([^"]+)"', commands):
        assert browser.get(html.unescape(link)).status_code in {200, 303}, link


def test_given_an_account_with_an_owner_then_its_stack_has_the_owners_name(
    browser: Browser, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, party("identity", "enti_1", name="Ada <b>Example</b>", type="PERSON", status="VERIFIED"))
    deliver(api, program, party("account", "bacc_1", entity_id="enti_1", status="open"))
    story(api, tenant, program, "bacc_1", 1)

    named = [each for each in stacks(api, tenant, kind="account,entity") if each["key"] in {"bacc_1", "enti_1"}]
    assert {each["who"]["name"] for each in named} == {"Ada <b>Example</b>"}
    page = browser.get(QUEUE).text
    assert "<bdi>Ada &lt;b&gt;Example&lt;/b&gt;</bdi>" in page
    assert '<code aria-hidden="true">enti_1</code>' in page
    story(api, tenant, program, "bacc_nameless", 1)
    assert "<code>bacc_nameless</code>" in browser.get(QUEUE).text


def test_given_an_assigned_stack_then_the_row_names_the_person_and_the_filter_has_it_alone(
    browser: Browser, api: RunningApp, tenant: dict[str, Any], two_stories: list[dict[str, Any]]
) -> None:
    stack = next(each for each in two_stories if each["key"] == "bacc_2")
    body = {"assignee": "ann@bank.example"}
    path = f"/api/alerts/{stack['alertIds'][0]}/assign"
    answer = api.client.post(path, json=body, headers=api.operator(tenant, "ann@bank.example"))
    assert answer.status_code in {200, 201}, answer.text

    page = browser.get(f"{QUEUE}?assignee=ann@bank.example").text
    assert ids_in(page) == [stack["id"]]
    assert "with ann@bank.example" in page
    assert links_of(page, "chip") == [QUEUE]
    assert ids_in(browser.get(f"{QUEUE}?assignee=bob").text) == []


def test_given_a_stack_by_a_program_then_its_row_and_its_page_have_the_programs_name(
    browser: Browser, two_stories: list[dict[str, Any]]
) -> None:
    of_programs = [each for each in two_stories if each["who"]["type"] == "program"]
    assert of_programs
    for stack in of_programs:
        row = DomPage(browser.get(QUEUE).text).one("a", id=f"stack-{stack['id']}")
        assert "Payroll" in row.text.split(stack["who"]["id"])[0]
        assert f'<code aria-hidden="true">{stack["who"]["id"]}</code>' in browser.get(QUEUE).text
        thing = DomPage(browser.get(f"/console/things/program/{stack['who']['id']}").text)
        assert thing.one("h1").text == f"Payroll {stack['who']['id']}"
        assert thing.one("title").text.startswith("Payroll")
        page = browser.get(f"/console/stacks/{stack['id']}").text
        assert "<title>Payroll" in page
        assert "name not known" not in page
        events = DomPage(browser.get(f"/console/stacks/{stack['id']}/events").text)
        assert events.one("a", href=f"/console/stacks/{stack['id']}").text == "Payroll"


def test_given_alerts_that_were_held_or_escalated_then_their_row_says_that_they_wait_as_such(
    api: RunningApp, tenant: dict[str, Any], browser: Browser, two_stories: list[dict[str, Any]]
) -> None:
    stack = next(each for each in two_stories if each["key"] == "bacc_2")
    before = DomPage(browser.get(QUEUE).text).one("a", id=f"stack-{stack['id']}").text
    decide_many(api, api.operator(tenant), stack["alertIds"], decision="escalate")
    api.catch_up()
    after = DomPage(browser.get(QUEUE).text).one("a", id=f"stack-{stack['id']}").text
    assert "escalated" not in before
    assert "escalated" in after


def test_given_the_counts_then_they_change_in_silence_and_a_screen_reader_hears_the_status_region_alone(
    browser: Browser,
) -> None:
    page = DomPage(browser.get(QUEUE).text)
    news = page.one("div", id="news").attributes
    assert not {"role", "aria-live"} & set(news)
    assert page.one("div", id="status").attributes["role"] == "status"


def test_given_a_part_that_is_refused_then_it_has_no_second_first_heading(browser: Browser) -> None:
    address = "/console/stacks/00000000-0000-0000-0000-000000000000"
    part = browser.part(address, **{"HX-Target": "section#preview"})
    assert part.status_code == 404
    assert DomPage(part.text).one("h2").text == "This did not work"
    assert not DomPage(part.text).all("h1")
    assert DomPage(browser.get(address).text).one("h1").text == "This did not work"
