"""Approvals on the console: two persons, and what each of them may do."""

from http import HTTPStatus
from typing import Any

import httpx
import pytest

from tests.support.acting import FREEZE
from tests.support.console import Browser, ConsoleApp
from tests.support.running_app import RunningApp, content_of_201

APPROVALS = "/console/approvals"
HOSTILE = "<img src=x onerror=alert(1)> the payee rang back"


def requested(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], by: str) -> dict[str, Any]:
    body = {"programId": program["id"]} | FREEZE
    return content_of_201(api.client.post("/api/actions", json=body, headers=api.operator(tenant, by)))


def status_of(api: RunningApp, tenant: dict[str, Any], action: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = api.client.get(f"/api/actions/{action['id']}", headers=api.operator(tenant)).json()
    return read


def answered(browser: Browser, action: dict[str, Any], answer: str, note: str = "") -> httpx.Response:
    path = f"{APPROVALS}/{action['id']}"
    return browser.send_form(browser.get(APPROVALS), path, answer=answer, note=note)


def test_given_a_request_of_another_when_approved_on_the_page_then_the_record_has_both_persons(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    action = requested(api, tenant, program, "bob@bank.example")
    answer = answered(browser, action, "approve")
    stored = status_of(api, tenant, action)
    assert answer.status_code == HTTPStatus.SEE_OTHER
    assert (stored["requestedBy"], stored["approvedBy"]) == ("bob@bank.example", "ann@bank.example")
    assert stored["status"] != "requested"
    assert stored["status"] in browser.get(answer.headers["location"]).text


@pytest.mark.parametrize("by", ["ann@bank.example", "ANN@bank.example"])
def test_given_ones_own_request_then_it_has_no_approve_button_and_can_be_withdrawn_with_a_note(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser, by: str
) -> None:
    action = requested(api, tenant, program, by)
    page = browser.get(APPROVALS).text
    assert 'value="approve"' not in page
    assert "Another person has to approve this." in page
    assert answered(browser, action, "withdraw", HOSTILE).status_code == HTTPStatus.SEE_OTHER
    stored = status_of(api, tenant, action)
    assert (stored["status"], stored["note"]) == ("withdrawn", HOSTILE)
    assert "<img" not in browser.get(APPROVALS).text


def test_given_ones_own_request_when_an_approval_is_sent_all_the_same_then_it_still_needs_another_person(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    action = requested(api, tenant, program, "ann@bank.example")
    answered(browser, action, "approve")
    assert status_of(api, tenant, action)["approvedBy"] is None


@pytest.mark.parametrize(
    ("answer", "note"), [("decline", ""), ("decline", "   "), ("decline", "x" * 8_001), ("keep", "")]
)
def test_given_an_answer_that_is_refused_then_the_page_says_why_beside_it_and_has_the_note(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser, answer: str, note: str
) -> None:
    action = requested(api, tenant, program, "bob@bank.example")
    page = answered(browser, action, answer, note)
    assert page.status_code == HTTPStatus.BAD_REQUEST
    assert 'class="refusal"' in page.text.partition(f'id="action-{action["id"]}"')[2]
    assert f">{note}</textarea>" in page.text
    assert status_of(api, tenant, action)["status"] == "requested"


def test_given_a_request_when_declined_with_a_note_then_it_ends_and_the_note_is_on_the_record(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    action = requested(api, tenant, program, "bob@bank.example")
    assert answered(browser, action, "decline", "Known to the branch.").status_code == HTTPStatus.SEE_OTHER
    stored = status_of(api, tenant, action)
    assert (stored["status"], stored["endedBy"], stored["note"]) == (
        "declined",
        "ann@bank.example",
        "Known to the branch.",
    )


def test_given_another_tenant_then_its_requests_are_neither_listed_nor_answered(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], console: ConsoleApp
) -> None:
    action = requested(api, tenant, program, "bob@bank.example")
    other, visitor = api.create_tenant("other-bank"), console.browser()
    visitor.sign_in(other["operatorToken"])
    page = visitor.get(APPROVALS).text
    path = f"{APPROVALS}/{action['id']}"
    answer = visitor.post(path, {"csrf": visitor.csrf, "attempt": "1", "answer": "approve"})
    assert action["id"] not in page
    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert status_of(api, tenant, action)["status"] == "requested"
