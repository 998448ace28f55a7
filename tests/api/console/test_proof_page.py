"""A proof of an actor's score, signed from its page: the interface verifies it, and who may not sign has no button."""

from http import HTTPStatus
from typing import Any, Final

import pytest

from tests.support.alerting import deliver, outgoing, party
from tests.support.bank_events import an_entity
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

OWNER: Final = "enti_1"
BUTTON: Final = "Sign a proof of its score"


@pytest.fixture
def scored(api: RunningApp, program: dict[str, Any]) -> dict[str, Any]:
    deliver(api, program, party("identity", OWNER, **(an_entity() | {"id": OWNER})))
    deliver(api, program, *(outgoing(f"acht_{number}", entity_id=OWNER) for number in range(8)))
    return program


def path_of(program: dict[str, Any], kind: str = "entity", id_: str = OWNER) -> str:
    return f"/console/things/{kind}/{id_}?programId={program['id']}"


def signed(browser: Browser, program: dict[str, Any], id_: str = OWNER) -> Any:
    page = browser.get(path_of(program))
    assert BUTTON in page.text
    return browser.send_form(page, f"/console/things/entity/{id_}/proof", programId=program["id"])


def test_given_an_actor_with_a_score_when_its_proof_is_signed_then_the_interface_verifies_it(
    api: RunningApp, browser: Browser, scored: dict[str, Any]
) -> None:
    answer = signed(browser, scored)
    assert answer.status_code == HTTPStatus.OK, answer.text
    page = DomPage(answer.text)
    token = page.one("input", id="secret").attributes["value"]
    verdict = api.client.post("/api/proofs/verify", json={"token": token}).json()
    assert verdict["valid"] is True
    claims = verdict["claims"]
    assert (claims["sub"], claims["program"]) == (f"entity:{OWNER}", scored["id"])
    told = page.one("dl", class_="particulars").text
    assert f"{claims['band']} {claims['score']}" in told
    assert all(each in told for each in claims["reasons"])


def test_given_an_actor_without_a_score_then_the_page_says_why_there_is_no_proof(
    api: RunningApp, browser: Browser, program: dict[str, Any]
) -> None:
    deliver(api, program, party("counterparty", "cpty_1", name="New Vendor LLC"))
    page = browser.get(path_of(program, "counterparty", "cpty_1"))
    answer = browser.send_form(page, "/console/things/counterparty/cpty_1/proof", programId=program["id"])
    assert answer.status_code == HTTPStatus.CONFLICT
    assert "no score yet" in answer.text
    assert not DomPage(answer.text).all("input", id="secret")


def test_given_a_reader_another_bank_or_an_account_then_there_is_no_proof(
    api: RunningApp, console: ConsoleApp, tenant: dict[str, Any], browser: Browser, scored: dict[str, Any]
) -> None:
    body = {"name": "k", "mode": "live", "scopes": ["alerts:read", "proofs"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    assert BUTTON not in reader.get(path_of(scored)).text
    assert BUTTON not in browser.get(path_of(scored, "account", "bacc_1")).text
    stranger = console.browser()
    stranger.sign_in(api.create_tenant("second-bank")["operatorToken"])
    fields = {"csrf": stranger.csrf, "programId": scored["id"]}
    answer = stranger.post(f"/console/things/entity/{OWNER}/proof", fields)
    assert answer.status_code == HTTPStatus.NOT_FOUND
