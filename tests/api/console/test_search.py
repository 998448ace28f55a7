"""Search on the console: hits link to their pages, and texts of outsiders are escaped."""

from typing import Any

import pytest

from tests.support.alerting import an_alert, deliver, party
from tests.support.console import Browser
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

SEARCH = "/console/search"


def test_given_nothing_typed_then_the_page_says_what_can_be(browser: Browser) -> None:
    page = browser.get(SEARCH)
    assert page.status_code == 200
    assert "the last four of an account" in page.text


def test_given_an_id_then_its_link_leads_to_a_page_with_its_timeline_and_alerts(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    alert = an_alert(api, tenant, program, "acht_looked_for")
    page = browser.get(f"{SEARCH}?q=acht_looked_for").text
    path = f"/console/things/transfer/acht_looked_for?programId={program['id']}"
    assert f'href="{path}"' in page
    thing = browser.get(path)
    assert thing.status_code == 200
    assert f'href="/console/alerts/{alert["id"]}"' in thing.text
    assert "What happened" in thing.text


def test_given_an_alert_then_its_link_leads_to_its_stack(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    alert = an_alert(api, tenant, program, "acht_1")
    page = browser.get(f"{SEARCH}?q={alert['id']}").text
    assert f'href="/console/alerts/{alert["id"]}"' in page
    assert browser.get(f"/console/alerts/{alert['id']}").headers["location"] == f"/console/stacks/{alert['stackId']}"


def test_given_a_preflight_then_its_link_leads_to_its_answer(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    transfer = {"rail": "wire", "direction": "outgoing", "amountCents": "5000"}
    body = {"programId": program["id"], "transfer": transfer}
    asked = api.client.post("/api/preflight", json=body, headers=api.operator(tenant)).json()["preflightId"]
    api.catch_up()
    path = f"/console/preflight/{asked}"
    assert f'href="{path}"' in browser.get(f"{SEARCH}?q={asked}").text
    assert "50.00 USD outgoing by wire" in browser.get(path).text


def test_given_a_party_with_a_name_then_its_link_begins_with_it(
    api: RunningApp, program: dict[str, Any], browser: Browser
) -> None:
    deliver(api, program, party("identity", "enti_1", name="Ada Example", type="PERSON", status="VERIFIED"))
    link = f"/console/things/entity/enti_1?programId={program['id']}"
    assert DomPage(browser.get(f"{SEARCH}?q=enti_1").text).one("a", href=link).text == "Ada Example enti_1"


@pytest.mark.parametrize("line", ["x", "a" * 201, "a\x00b"])
def test_given_a_line_that_is_refused_then_the_page_says_why(browser: Browser, line: str) -> None:
    page = browser.get(f"{SEARCH}?q={line.replace(chr(0), '%00')}")
    assert page.status_code == 400
    assert 'class="refusal"' in page.text


@pytest.mark.parametrize("line", ["<script>alert(1)</script>", '" onfocus="alert(1)', "%25' OR 1=1 --"])
def test_given_markup_then_the_page_has_it_as_text(browser: Browser, line: str) -> None:
    page = browser.get(f"{SEARCH}?q={line.replace('%', '%25')}").text
    assert "<script>alert" not in page
    assert 'onfocus="alert(1)"' not in page
    assert "Nothing has this id" in page
