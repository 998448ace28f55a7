"""The workspace over HTTP: the evidence, the decision, and everything that can be said to it. Nothing typed is lost."""

import re
from typing import Any
from uuid import UUID

import httpx
import pytest

from clearhold.api.log import commands as committed
from clearhold.features.core.instants import MINUTE_US, format_instant
from tests.support.alerting import ALERTING, NARRATIVE, alerts_of, deliver, outgoing
from tests.support.console import Browser, ConsoleApp, form_fields
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp
from tests.support.stacking import decide_many, stacks, story

HOSTILE = "</textarea><script>alert(1)</script> \"'&"


def opened(browser: Browser, stack_id: str, query: str = "") -> httpx.Response:
    answer = browser.get(f"/console/stacks/{stack_id}{query}")
    assert answer.status_code == 200, answer.text
    return answer


def send(browser: Browser, page: httpx.Response, stack_id: str, write: str = "decide", **fields: str) -> httpx.Response:
    """Send the form of the decision with all alerts that are checked on the page."""
    boxes = DomPage(page.text).all("input", type="checkbox", name="alertIds")
    checked = ",".join(each.attributes["value"] or "" for each in boxes if "checked" in each.attributes)
    hidden = {
        each.attributes["name"] or "": each.attributes["value"] or ""
        for each in DomPage(page.text[page.text.index('action="/console/stacks/') :].partition("</form>")[0]).elements
        if each.attributes.get("type") == "hidden"
    }
    form = hidden | {"alertIds": checked, "decision": "escalate", "narrative": NARRATIVE} | fields
    return browser.post(f"/console/stacks/{stack_id}/{write}", form)


def the_stack(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], account: str = "bacc_1") -> str:
    story(api, tenant, program, account, 2)
    return next(str(each["id"]) for each in stacks(api, tenant) if each["key"] == account)


def signed_by(api: RunningApp, tenant: dict[str, Any], who: str) -> list[dict[str, Any]]:
    answer = api.client.get("/api/dispositions", params={"decidedBy": f"operator:{who}"}, headers=api.operator(tenant))
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def test_given_a_stack_when_opened_then_its_evidence_and_its_decision_stand_there_and_nothing_is_chosen(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)

    page = DomPage(opened(browser, stack_id).text)

    assert {each.text.split()[0] for each in page.all("h2")} >= {"Why", "Where", "What", "Alerts", "The", "Request"}
    choices = page.all("input", type="radio", name="decision")
    assert [each.attributes["value"] for each in choices] == ["hold", "escalate", "close", "release", "no_action"]
    assert not [each for each in choices if "checked" in each.attributes]
    assert "recommended" in page.one("label", class_="recommended").text
    detail = api.client.get(f"/api/stacks/{stack_id}", headers=api.operator(tenant)).json()
    boxes = page.all("input", type="checkbox", name="alertIds")
    assert {each.attributes["value"] for each in boxes} == {each["id"] for each in detail["alerts"]}
    draft = api.client.get(f"/api/alerts/{detail['alerts'][0]['id']}", headers=api.operator(tenant)).json()["draft"]
    assert page.one("textarea", id="narrative").text.strip() == draft["narrative"]
    assert "Recomputed from the stored inputs" in page.one("div", id="cleared").text
    assert len(page.one("section", id="money").text) > 20


def test_given_a_narrative_when_signed_then_each_alert_is_on_the_record_and_the_next_stack_says_its_links(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id, other = the_stack(api, tenant, program), the_stack(api, tenant, program, "bacc_2")
    page = opened(browser, stack_id)
    waiting = len(DomPage(page.text).all("input", type="checkbox", name="alertIds"))

    answer = send(browser, page, stack_id)

    assert answer.status_code == 303
    place, _, query = answer.headers["location"].partition("?")
    assert place != f"/console/stacks/{stack_id}"
    assert query.startswith("signed=")
    dispositions = signed_by(api, tenant, "ann@bank.example")
    assert [each["narrative"] for each in dispositions] == [NARRATIVE] * waiting
    strip = DomPage(opened(browser, other, f"?{query}").text).one("p", class_="signed")
    assert any(each["hash"][:16] in strip.text for each in dispositions)
    assert str(max(each["seq"] for each in dispositions)) in strip.text
    assert strip.attributes["data-signed"] == stack_id
    assert "The record is whole" in browser.part("/console/verify").text


def test_given_an_alert_taken_out_when_signed_then_it_keeps_waiting(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)
    kept, *others = [
        each.attributes["value"] or "" for each in DomPage(page.text).all("input", type="checkbox", name="alertIds")
    ]

    answer = send(browser, page, stack_id, alertIds=",".join(others))

    assert answer.status_code == 303
    assert {each["alertId"] for each in signed_by(api, tenant, "ann@bank.example")} == set(others)
    assert kept in {each["id"] for each in alerts_of(api, tenant, status="open,held")}


def test_given_a_narrative_too_short_when_signed_then_400_at_the_field_with_the_text_and_choice_as_they_were(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)
    hard = [each["id"] for each in alerts_of(api, tenant, status="open,held") if each["hardSignal"]]

    answer = send(browser, page, stack_id, narrative=HOSTILE[:15], alertIds=",".join(hard))

    assert answer.status_code == 400
    again = DomPage(answer.text)
    assert again.one("textarea", id="narrative").text == f"\n{HOSTILE[:15]}"
    assert again.one("textarea", id="narrative").attributes["aria-invalid"] == "true"
    assert "narrative" in again.one("p", id="narrative-refusal").text
    assert "checked" in again.one("input", type="radio", value="escalate").attributes
    assert not signed_by(api, tenant, "ann@bank.example")


def test_given_no_decision_when_sent_then_400_and_a_hostile_narrative_is_text_and_nothing_else(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)

    answer = send(browser, opened(browser, stack_id), stack_id, decision="", narrative=HOSTILE)

    assert answer.status_code == 400
    assert DomPage(answer.text).one("textarea", id="narrative").text == f"\n{HOSTILE}"
    assert not [each for each in DomPage(answer.text).all("script") if "src" not in each.attributes]


def test_given_a_stack_that_another_decided_when_signed_then_409_with_that_decision_and_my_text_to_copy(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)
    ids = [each.attributes["value"] or "" for each in DomPage(page.text).all("input", type="checkbox", name="alertIds")]
    decide_many(api, api.operator(tenant, "bob"), ids, "close", "Bob has seen the invoices of both payments.")

    answer = send(browser, page, stack_id, narrative="My own text, which took long to write.")

    assert answer.status_code == 409
    page_after = DomPage(answer.text)
    assert "Bob has seen the invoices" in page_after.one("section", id="results").text
    assert page_after.one("textarea", id="kept").text == "\nMy own text, which took long to write."
    assert "signed" not in page_after.one("section", id="results").text.lower()
    assert not signed_by(api, tenant, "ann@bank.example")


def test_given_a_record_that_does_not_answer_when_sent_again_then_503_is_no_success_and_it_is_one_write(
    api: RunningApp,
    tenant: dict[str, Any],
    program: dict[str, Any],
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(committed, "COMMITTED_WITHIN_S", 0.05)
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)
    waiting = len(DomPage(page.text).all("input", type="checkbox", name="alertIds"))
    api.appender.stands_still = True

    answer = send(browser, page, stack_id)

    assert answer.status_code == 503
    kept = DomPage(answer.text)
    assert "Not confirmed yet" in kept.one("div", id="not-confirmed").text
    assert kept.one("textarea", id="narrative").text == f"\n{NARRATIVE}"
    assert "✓ Signed" not in answer.text
    attempts = [each.attributes["value"] for each in DomPage(page.text).all("input", name="attempt")]
    assert kept.all("input", name="attempt")[1].attributes["value"] in attempts
    api.appender.stands_still = False
    api.catch_up()
    assert send(browser, answer, stack_id).status_code == 303
    assert len(signed_by(api, tenant, "ann@bank.example")) == waiting


def test_given_unchecked_alerts_when_taken_out_then_they_are_another_stack(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)
    first, *others = [
        each.attributes["value"] or "" for each in DomPage(page.text).all("input", type="checkbox", name="alertIds")
    ]

    answer = send(browser, page, stack_id, "split", alertIds=",".join(others))

    assert answer.status_code == 303
    taken_out = DomPage(browser.get(answer.headers["location"]).text).all("input", type="checkbox", name="alertIds")
    assert [each.attributes["value"] for each in taken_out] == [first]


def test_given_a_kind_of_events_when_asked_for_as_a_part_then_only_the_history_is_sent(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)

    part = browser.part(f"/console/stacks/{stack_id}?kind=money", **{"HX-Target": "history"})

    page = DomPage(part.text)
    assert page.elements[0].attributes["id"] == "history"
    signs = {each.text for each in page.all("span", class_="sign")}
    assert signs == {"$"}
    assert page.one("a", aria_current="true").text == "Money"


def test_given_a_label_and_an_action_when_sent_then_they_are_recorded_and_the_page_says_so(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)

    labelled = browser.send_form(page, f"/console/stacks/{stack_id}/label", label="bad", reason="The payer denies it.")
    acted = browser.send_form(page, f"/console/stacks/{stack_id}/act")

    assert "Label recorded: bad" in DomPage(labelled.text).one("p", id="notice").text
    labels = api.client.get("/api/labels", headers=api.operator(tenant)).json()["data"]
    assert [each["label"] for each in labels] == ["bad"]
    assert "requested" in DomPage(acted.text).one("p", id="notice").text
    (action,) = api.client.get("/api/actions", headers=api.operator(tenant)).json()["data"]
    assert (action["type"], action["requestedBy"]) == ("freeze_account", "ann@bank.example")


def test_given_a_transfer_that_was_asked_about_when_its_stack_is_opened_then_the_preflight_stands_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    transfer = {"rail": "ach", "direction": "outgoing", "type": "CREDIT", "amountCents": "10000"}
    transfer |= {"entityId": "enti_1", "counterpartyId": "cpty_1"}
    headers = api.operator(tenant)
    body = {"programSlug": program["slug"], "transfer": transfer}
    asked = api.client.post("/api/preflight", json=body, headers=headers).json()
    at = format_instant(api.clock.now() + MINUTE_US)
    deliver(api, program, outgoing("acht_asked", at=at, entity_id="enti_1", **ALERTING))
    alert = next(each for each in alerts_of(api, tenant, transferId="acht_asked") if each["stackId"] is not None)

    rest = DomPage(opened(browser, alert["stackId"]).text).one("section", id="rest").text

    assert f"The pre-flight of its transfer: {asked['decision']}" in rest
    assert asked["preflightId"] in rest
    other = opened(browser, the_stack(api, tenant, program, "bacc_2")).text
    assert "No pre-flight of this transfer is known." in DomPage(other).one("section", id="rest").text


def test_given_a_stack_then_the_banks_events_about_it_are_a_part_and_a_page_with_their_results(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    story(api, tenant, program, "bacc_2", 1)
    deliver(api, program, outgoing("late", id="acht_bacc_1_0", status=7))
    address = f"/console/stacks/{stack_id}/events"
    assert "Events of the bank" in DomPage(opened(browser, stack_id).text).one("a", href=address).text

    part = browser.part(address, **{"HX-Target": "div#bank-events"})
    page = browser.get(address)

    for text in (part.text, page.text):
        assert "acht_bacc_1_0" in text
        assert "acht_bacc_1_1" in text
        assert "acht_bacc_2_0" not in text
        assert "ach.outgoing_transfer.initiated" in text
        assert "data.status" in text
        assert "Received" in text
    assert part.text.startswith("<h3 ")
    assert "<h1>Events of the bank</h1>" in page.text
    other = api.create_tenant(slug="other")
    stranger = ConsoleApp(api).browser()
    stranger.sign_in(other["operatorToken"])
    assert stranger.get(address).status_code == 404


def test_given_a_closed_alert_when_appealed_in_its_stack_then_the_new_alert_opens_and_an_empty_reason_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)
    assert "Appeal a closed alert" not in page.text
    headers = api.operator(tenant)
    closed = [each["id"] for each in alerts_of(api, tenant, status="open,held", stackId=stack_id)]
    decide_many(api, headers, closed)
    page = opened(browser, stack_id)
    options = [each.attributes["value"] for each in DomPage(page.text).all("option")]
    assert set(options) >= set(closed)
    path = f"/console/stacks/{stack_id}/appeal"

    refused = browser.send_form(page, path, alertId=closed[0], reason="")
    appealed = browser.send_form(page, path, alertId=closed[0], reason="The payer has <b>new</b> papers.")

    assert refused.status_code == 400
    opened_id = appealed.headers["Location"].rpartition("/")[2]
    (alert,) = alerts_of(api, tenant, status="open,held", stackId=opened_id)
    assert alert["slaTier"] == "appeal"
    assert "The payer has <b>new</b> papers." in DomPage(opened(browser, opened_id).text).one("main").text


def test_given_a_note_and_an_assignment_when_sent_then_both_are_recorded_and_stand_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)

    noted = browser.send_form(page, f"/console/stacks/{stack_id}/note", note="The payer <b>calls back</b> at noon.")
    taken = browser.send_form(page, f"/console/stacks/{stack_id}/assign")

    assert (noted.status_code, taken.status_code) == (303, 200)
    assert re.fullmatch(r"\d+ alerts? assigned to ann@bank.example.", DomPage(taken.text).one("p", id="notice").text)
    section = DomPage(opened(browser, stack_id).text).one("section", id="notes")
    assert "The payer <b>calls back</b> at noon." in section.text
    assert "Assigned to ann@bank.example." in section.text
    waiting = alerts_of(api, tenant, status="open,held", stackId=stack_id)
    assert {each["assignee"] for each in waiting} == {"ann@bank.example"}


def test_given_alerts_of_which_one_is_not_there_when_assigned_then_it_is_named_with_the_reason_and_the_others_are(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page, path = opened(browser, stack_id), f"/console/stacks/{stack_id}/assign"
    ids = form_fields(page.text, path)["alertIds"]
    missing = "0a4b1d2c-7e0f-5b7a-8d3e-4f1a6c9b2e11"

    in_part = browser.send_form(page, path, alertIds=f"{ids},{missing}")
    results = DomPage(in_part.text).one("section", id="results")
    not_one = browser.send_form(page, path, alertIds=missing, attempt=str(UUID(int=40)))

    assert (in_part.status_code, not_one.status_code) == (200, 409)
    assert results.attributes["role"] == "alert"
    assert f"Assigned to ann@bank.example: {len(ids.split(','))} alert" in results.text
    assert ", 1 not assigned" in results.text
    refused = [each.text for each in DomPage(in_part.text).all("li") if missing in each.text]
    assert refused == [f"{missing} Unknown alert on this tenant."]
    assert "Assigned to ann@bank.example: no alert" in DomPage(not_one.text).one("section", id="results").text
    waiting = alerts_of(api, tenant, status="open,held", stackId=stack_id)
    assert {each["assignee"] for each in waiting} == {"ann@bank.example"}


def test_given_a_session_of_a_key_when_opened_then_it_reads_and_has_no_form_that_decides(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], console: ConsoleApp
) -> None:
    stack_id = the_stack(api, tenant, program)
    reader = console.browser()
    token = api.key(tenant, scopes=["alerts:read"])["Authorization"].removeprefix("Bearer ")
    assert reader.sign_in(token).status_code == 303

    page = DomPage(opened(reader, stack_id).text)

    assert not page.all("input", type="radio")
    assert not [each for each in page.all("form") if "/console/stacks/" in (each.attributes.get("action") or "")]
    assert "reads and does not decide" in page.one("aside", class_="decision").text


def test_given_a_stack_of_another_tenant_when_opened_then_it_is_as_if_it_were_not_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], console: ConsoleApp
) -> None:
    stack_id = the_stack(api, tenant, program)
    stranger = console.browser()
    assert stranger.sign_in(api.create_tenant("second-bank")["operatorToken"]).status_code == 303

    assert stranger.get(f"/console/stacks/{stack_id}").status_code == 404
