"""The desk of pre-flights: a typed transfer is asked about as over the interface; the answer says why in words."""

from typing import Any, Final

import httpx
import pytest

from clearhold.features.core.instants import SECOND_US
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp, assert_refused

DESK: Final = "/console/preflight"
HOSTILE: Final = "</textarea><script>alert(1)</script> \"'&"


def asked(browser: Browser, program: dict[str, Any], **fields: str) -> httpx.Response:
    typed = {"program": program["id"], "rail": "wire", "direction": "outgoing", "amount": "9,850.00"} | fields
    return browser.send_form(browser.get(DESK), DESK, **typed)


def answered(browser: Browser, program: dict[str, Any], **fields: str) -> httpx.Response:
    sent = asked(browser, program, **fields)
    assert sent.status_code == 303, sent.text
    return browser.get(sent.headers["location"])


def test_given_a_proposal_when_asked_then_the_answer_is_the_recorded_one_in_words(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    sent = asked(browser, program, name="New Vendor LLC", countryCode="US", effectiveOn="2026-03-05")
    preflight_id = sent.headers["location"].rpartition("/")[2]
    detail = api.client.get(f"/api/preflight/{preflight_id}", headers=api.operator(tenant)).json()
    assert detail["request"]["operator"] == "ann@bank.example"
    assert detail["request"]["transfer"]["amountCents"] == "985000"
    assert detail["request"]["transfer"]["counterparty"] == {"name": "New Vendor LLC", "countryCode": "US"}

    api.catch_up()
    page = DomPage(browser.get(sent.headers["location"]).text)
    answer = page.one("section", id="answer").text
    assert detail["decision"].capitalize() in answer
    assert detail["version"] in answer
    for reason in detail["reasons"]:
        assert reason["sentence"] in answer
    assert "The entity is not named, or no event named it yet." in answer
    assert page.one("input", id="amount").attributes["value"] == "9850.00"
    assert "9,850.00 USD outgoing by wire" in page.one("section", id="recent").text


def typed_on(page: httpx.Response) -> dict[str, str]:
    """The fields of the form as the page has them."""
    fields: dict[str, str] = {}
    select = ""
    for each in DomPage(page.text).elements:
        name, value = each.attributes.get("name") or "", each.attributes.get("value") or ""
        if each.tag == "select":
            select = name
        elif each.tag == "option" and "selected" in each.attributes:
            fields[select] = value
        elif each.tag == "input" and name and name not in {"q", "csrf", "attempt"}:
            fields[name] = value
    return fields


def test_given_another_amount_from_the_page_of_an_answer_then_all_else_is_asked_again(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    parties = {"counterpartyId": "cpty_1", "entityId": "enti_1", "name": HOSTILE, "accountLast4": "6789"}
    card = {"rail": "card", "cardPresent": "no", "merchantCategory": "5411", "merchantState": "TX", "currency": "usd"}
    first = answered(browser, program, **parties, **card)
    api.clock.advance(SECOND_US)
    again = browser.send_form(first, DESK, **typed_on(first) | {"amount": "12"})
    assert again.status_code == 303, again.text
    api.catch_up()
    newest = api.client.get("/api/preflight", params={"limit": 2}, headers=api.operator(tenant)).json()["data"]
    assert [each["amountCents"] for each in newest] == ["1200", "985000"]
    second, former = (
        api.client.get(f"/api/preflight/{each['preflightId']}", headers=api.operator(tenant)).json()["request"]
        for each in newest
    )
    assert second["transfer"] | {"amountCents": "985000"} == former["transfer"]
    assert second["programId"] == former["programId"]


def test_given_one_form_that_is_sent_twice_then_it_is_one_preflight(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    form = browser.get(DESK)
    typed = {"program": program["id"], "rail": "wire", "direction": "outgoing", "amount": "12"}
    places = {browser.send_form(form, DESK, **typed).headers["location"] for _ in range(3)}
    assert len(places) == 1
    api.catch_up()
    assert len(api.client.get("/api/preflight", headers=api.operator(tenant)).json()["data"]) == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"amount": "a lot"}, "amount"),
        ({"amount": "-5"}, "amount"),
        ({"amount": "1.234"}, "amount"),
        ({"amount": "9" * 20}, "amountCents"),
        ({"effectiveOn": "2026-02-30"}, "effectiveOn"),
        ({"merchantCategory": "5411"}, "merchantCategory"),
        ({"rail": "pigeon"}, "rail"),
        ({"program": "00000000-0000-4000-8000-0000000000ff"}, "program"),
    ],
)
def test_given_a_proposal_that_is_refused_then_the_page_says_why_and_keeps_the_typed_words(
    browser: Browser, program: dict[str, Any], fields: dict[str, str], words: str
) -> None:
    answer = asked(browser, {"id": fields.pop("program", program["id"])}, name=HOSTILE, **fields)
    assert answer.status_code in {400, 404}, answer.text
    page = DomPage(answer.text)
    assert words in page.one("p", role="alert").text
    assert page.one("input", name="name").attributes["value"] == HOSTILE


def test_given_a_limit_that_is_crossed_then_the_page_says_which_and_by_how_much(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    page = answered(browser, program, amount="9,000,000", entityId="enti_1", counterpartyId="cpty_1")
    preflight_id = str(page.url).rpartition("/")[2]
    hits = api.client.get(f"/api/preflight/{preflight_id}", headers=api.operator(tenant)).json()["limitsHit"]
    assert hits
    words = DomPage(page.text).one("ul", class_="limits-hit").text
    for hit in hits:
        assert f"{hit['actor']} {hit['actorId']} is" in words
        assert "9,000,000.00 USD" in words
    stranger = answered(browser, program, amount="9,000,000", name="New Vendor LLC")
    assert "counterparty, which is not on file, is" in DomPage(stranger.text).one("ul", class_="limits-hit").text


def test_given_a_session_of_a_key_then_it_reads_and_does_not_ask_and_another_bank_sees_nothing(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    place = asked(browser, program).headers["location"]
    body = {"name": "examiner", "mode": "live", "scopes": ["preflight"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    page = reader.get(place)
    assert page.status_code == 200
    assert 'name="amount"' not in page.text
    stranger = console.browser()
    stranger.sign_in(api.create_tenant("second-bank")["operatorToken"])
    assert stranger.get(place).status_code == 404
    assert "9,850.00" not in stranger.get(DESK).text


def test_given_a_form_when_it_is_sent_again_then_it_is_one_question_and_a_changed_one_is_another(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    """The browser's way back shows the form that was sent, with its attempt."""
    form = browser.get(DESK)
    typed = {"program": program["id"], "rail": "wire", "direction": "outgoing"}
    amounts = ("9,850.00", "9,850.00", "12")
    places = [browser.send_form(form, DESK, **typed, amount=amount).headers["location"] for amount in amounts]
    assert places[0] == places[1]
    paths = [place.replace(DESK, "/api/preflight") for place in places]
    details = [api.client.get(path, headers=api.operator(tenant)).json() for path in paths]
    assert [each["request"]["transfer"]["amountCents"] for each in details] == ["985000", "985000", "1200"]


def test_given_an_answer_whose_card_cannot_score_any_more_then_its_recorded_reasons_are_there_and_the_page_says_so(
    api: RunningApp,
    tenant: dict[str, Any],
    program: dict[str, Any],
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = asked(browser, program, rail="intl_wire", name="New Vendor", countryCode="IR").headers["location"]
    preflight_id = path.rpartition("/")[2]
    api.catch_up()
    monkeypatch.setattr("clearhold.api.explain.service.card_version", lambda _: "scorecard-v9")

    refused = api.client.get(f"/api/preflight/{preflight_id}/explain", headers=api.operator(tenant))
    page = browser.get(path)

    assert_refused(refused, 404, "recorded reasons")
    assert refused.json()["code"] == "scorecard_not_found"
    assert page.status_code == 200
    answer = DomPage(page.text).one("section", id="answer").text
    assert "is not available" in answer
    detail = api.client.get(f"/api/preflight/{preflight_id}", headers=api.operator(tenant)).json()
    assert detail["reasons"]
    for reason in detail["reasons"]:
        assert reason["sentence"] in answer
    assert browser.get(f"{path[:-4]}0000").status_code == 404
