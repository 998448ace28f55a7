"""Approvals in the console where both names are claims: the record says so, and where both names were used."""

from http import HTTPStatus
from typing import Any

import msgspec
import pytest

from clearhold.features.core.instants import HOUR_US, MINUTE_US
from tests.support.console import ConsoleApp, person_token
from tests.support.running_app import RunningApp, content_of_201

BOTH = "Both names were typed, and neither was proven."
ANN, BOB = "ann@bank.example", "bob@bank.example"


def requested(api: RunningApp, program: dict[str, Any], headers: dict[str, str]) -> str:
    body = {"type": "freeze_account", "programId": program["id"], "targetType": "account", "targetId": "acct_1"}
    action: dict[str, Any] = content_of_201(api.client.post("/api/actions", json=body, headers=headers))
    return str(action["id"])


def approval_notes(api: RunningApp) -> list[str | None]:
    """The note of each approval, in the chain of actions."""
    with api.stores.database.cursor() as cursor:
        rows = cursor.execute("SELECT body FROM record_chain WHERE chain = 'actions' ORDER BY seq").fetchall()
    links = [msgspec.json.decode(body, type=dict[str, Any]) for (body,) in rows]
    return [each.get("note") for each in links if each["transition"] == "approved"]


@pytest.mark.parametrize(
    ("same_browser", "address", "pause_us", "further"),
    [
        (True, "127.0.0.1", MINUTE_US, " Within an hour, both names were used in the same browser."),
        (False, "127.0.0.1", MINUTE_US, " Within an hour, both names were used at the same address."),
        (False, "192.0.2.7", MINUTE_US, ""),
        (True, "127.0.0.1", HOUR_US, ""),
    ],
)
def test_given_two_typed_names_when_approved_then_the_record_says_so_and_where_both_were_used(
    console: ConsoleApp,
    api: RunningApp,
    tenant: dict[str, Any],
    program: dict[str, Any],
    *,
    same_browser: bool,
    address: str,
    pause_us: int,
    further: str,
) -> None:
    first = console.browser()
    first.sign_in(tenant["operatorToken"], ANN)
    action_id = requested(api, program, api.operator(tenant, ANN))
    api.clock.advance(pause_us)
    second = first if same_browser else console.browser(address)
    second.sign_in(tenant["operatorToken"], BOB)
    form = {"csrf": second.csrf, "attempt": "one", "answer": "approve"}
    assert second.post(f"/console/approvals/{action_id}", form).status_code == HTTPStatus.SEE_OTHER
    assert approval_notes(api) == [BOTH + further]


def test_given_two_persons_tokens_in_one_browser_when_approved_then_the_record_says_so(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    ann, bob = (person_token(api, tenant, name) for name in (ANN, BOB))
    action_id = requested(api, program, {"Authorization": f"Bearer {ann['token']}"})
    visitor = console.browser()
    visitor.sign_in(ann["token"], ANN)
    visitor.sign_in(bob["token"], BOB)
    form = {"csrf": visitor.csrf, "attempt": "one", "answer": "approve"}
    assert visitor.post(f"/console/approvals/{action_id}", form).status_code == HTTPStatus.SEE_OTHER
    assert approval_notes(api) == ["Within an hour, both names were used in the same browser."]


def test_given_two_persons_tokens_when_approved_then_nothing_is_added(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    ann, bob = (person_token(api, tenant, name) for name in (ANN, BOB))
    action_id = requested(api, program, {"Authorization": f"Bearer {ann['token']}"})
    second = console.browser()
    second.sign_in(bob["token"], BOB)
    form = {"csrf": second.csrf, "attempt": "one", "answer": "approve"}
    assert second.post(f"/console/approvals/{action_id}", form).status_code == HTTPStatus.SEE_OTHER
    assert approval_notes(api) == [None]
