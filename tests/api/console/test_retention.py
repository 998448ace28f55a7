"""Retention on the console: the days of each table, and a change that another person has to approve."""

import re
from http import HTTPStatus
from typing import Any

import httpx
import pytest

from tests.support.console import Browser, ConsoleApp
from tests.support.running_app import RunningApp

RETENTION = "/console/settings/retention"


def requested(browser: Browser, **fields: str) -> httpx.Response:
    return browser.send_form(browser.get(RETENTION), RETENTION, **({"note": "Storage."} | fields))


def versions(api: RunningApp, tenant: dict[str, Any]) -> dict[str, dict[str, Any]]:
    listed = api.client.get("/api/policies?prefix=retention", headers=api.operator(tenant)).json()
    return {each["version"]: each for each in listed}


def days_on(page: httpx.Response, table: str) -> str:
    row = re.search(rf"<code>{table}</code></dt><dd>([^<]*)", page.text)
    assert row is not None
    return row[1]


def test_given_no_change_then_every_table_is_kept_permanently(browser: Browser) -> None:
    page = browser.get(RETENTION)
    assert days_on(page, "events") == "permanently"
    assert "retention-v1" in page.text
    assert "five years" in page.text


def test_given_a_change_then_it_waits_for_another_person_and_then_counts(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    form = browser.get(RETENTION)
    answers = [browser.send_form(form, RETENTION, note="Storage.", events="90") for _ in range(2)]
    assert {each.status_code for each in answers} == {HTTPStatus.SEE_OTHER}
    assert set(versions(api, tenant)) == {"retention-v1", "retention-v2"}, "a form that is sent twice is one change"
    page = browser.get(RETENTION)
    assert "Waits for a second person" in page.text
    assert days_on(page, "events") == "permanently"
    (action,) = api.client.get("/api/actions?status=requested", headers=api.operator(tenant)).json()["data"]
    path = f"/api/actions/{action['id']}/approve"
    assert api.client.post(path, json={}, headers=api.operator(tenant, "bob@bank.example")).is_success
    assert versions(api, tenant)["retention-v2"]["active"]
    page = browser.get(RETENTION)
    assert days_on(page, "events") == "90 days"
    assert 'name="events" value="90"' in page.text
    assert requested(browser, events="120").status_code == HTTPStatus.SEE_OTHER
    assert "retention-v3" in versions(api, tenant)


@pytest.mark.parametrize(
    "fields",
    [
        {"events": "89"},
        {"dispositions": "365"},
        {"events": "-1"},
        {"events": "9" * 30},
        {"events": "\N{ARABIC-INDIC DIGIT ONE}"},
        {"events": "90", "note": ""},
    ],
)
def test_given_days_that_are_refused_then_the_page_says_why_and_nothing_waits(
    api: RunningApp, tenant: dict[str, Any], browser: Browser, fields: dict[str, str]
) -> None:
    page = requested(browser, **fields)
    assert page.status_code == HTTPStatus.BAD_REQUEST, page.text
    assert 'class="refusal"' in page.text
    assert "<details open" in page.text
    assert api.client.get("/api/actions?status=requested", headers=api.operator(tenant)).json()["data"] == []
    assert set(versions(api, tenant)) == {"retention-v1"}


def test_given_a_key_for_policies_then_its_session_reads_and_has_no_form(
    api: RunningApp, console: ConsoleApp, tenant: dict[str, Any]
) -> None:
    body = {"name": "k", "mode": "live", "scopes": ["policies"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    page = reader.get(RETENTION)
    assert days_on(page, "events") == "permanently"
    assert "new-retention" not in page.text
