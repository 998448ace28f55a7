"""Policies on the console: versions by kind; the next one by fields, planned, requested and approved by another."""

from http import HTTPStatus
from typing import Any, Final

import httpx
import pytest

from clearhold.api.console.components.policy_fields import texts_of, typed_body
from clearhold.api.policies.service import PolicyPrefix
from clearhold.features.core.vocabulary import words
from clearhold.features.detectors.table import DETECTOR_OF
from tests.support.alerting import ALERTING, deliver, outgoing
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

POLICIES: Final = "/console/settings/policies"
NOTE: Final = "The board wants standard alerts decided within a working day."
HOSTILE: Final = '"></textarea><script>alert(1)</script>'
KINDS: Final = ("policy", "clock", "ladder", "thresholds", "kri")


def versions(api: RunningApp, tenant: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """By version, newest first."""
    answer = api.client.get("/api/policies", params={"prefix": kind}, headers=api.operator(tenant))
    return {each["version"]: each for each in answer.json()}


def place_of(api: RunningApp, tenant: dict[str, Any], version: str = "clock-v1") -> str:
    return f"{POLICIES}/{versions(api, tenant, version.partition('-')[0])[version]['id']}"


def fields_on(page: DomPage) -> dict[str, str]:
    """The fields of the form as a browser sends them untouched."""
    sent = {each.attributes["name"] or "": each.text for each in page.all("textarea") if "name" in each.attributes}
    for each in page.all("input"):
        name, kind = each.attributes.get("name"), each.attributes.get("type")
        if name and kind != "hidden" and (kind not in {"radio", "checkbox"} or "checked" in each.attributes):
            sent[name] = each.attributes.get("value") or ""
    return {name: text for name, text in sent.items() if name.startswith(("body.", "detector.", "band.", "action."))}


def sent(browser: Browser, place: str, *, step: str = "request", **fields: str) -> httpx.Response:
    """The form of a page with these fields in place of its own; ``body.`` stands before their names."""
    page = browser.get(place)
    typed = fields_on(DomPage(page.text)) | {"note": NOTE, "step": step}
    typed |= {name if name == "note" or "." in name else f"body.{name}": text for name, text in fields.items()}
    return browser.send_form(page, place, **typed)


def test_given_the_clock_when_the_next_one_is_requested_then_another_person_puts_it_in_force(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    former = versions(api, tenant, "clock")["clock-v1"]
    answer = sent(browser, place_of(api, tenant), standardHours="8")
    assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
    new = versions(api, tenant, "clock")["clock-v2"]
    assert new["body"] == former["body"] | {"standardHours": 8}
    assert not new["active"]
    page = DomPage(browser.get(answer.headers["location"]).text)
    assert "Requested" in page.one("p", id="notice").text
    difference = page.one("section", id="difference").text
    assert "standardHours" in difference
    assert str(former["body"]["standardHours"]) in difference
    assert "complexHours" not in difference

    (action,) = api.client.get("/api/actions?status=requested", headers=api.operator(tenant)).json()["data"]
    assert f'href="{POLICIES}/{new["id"]}"' in browser.get("/console/approvals").text
    approved = api.client.post(f"/api/actions/{action['id']}/approve", headers=api.operator(tenant, "bob"))
    assert approved.json()["status"] == "executed", approved.text
    api.catch_up()
    assert versions(api, tenant, "clock")["clock-v2"]["active"]
    assert "clock-v2" in browser.get(POLICIES).text
    again = sent(browser, place_of(api, tenant, "clock-v2"), autoHours="0.5")
    assert again.status_code == HTTPStatus.SEE_OTHER
    assert versions(api, tenant, "clock")["clock-v3"]["body"]["autoHours"] == 0.5


def test_given_a_form_that_is_sent_twice_then_it_is_one_version(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    place = place_of(api, tenant)
    form = browser.get(place)
    typed = fields_on(DomPage(form.text)) | {"body.standardHours": "9", "note": NOTE}
    for _ in range(2):
        answer = browser.send_form(form, place, **typed)
        assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
    assert list(versions(api, tenant, "clock")) == ["clock-v2", "clock-v1"]


@pytest.mark.parametrize(
    ("version", "field", "text", "words"),
    [
        ("clock-v1", "autoHours", "soon", "must be a number"),
        ("clock-v1", "autoHours", "", "must be a number"),
        ("clock-v1", "autoHours", "-1", "must be at least 0"),
        ("clock-v1", "autoHours", "nan", "must be a number"),
        ("clock-v1", "autoHours", HOSTILE, "must be a number"),
        ("policy-v1", "minProgramN", "1.5", "must be a whole number"),
        ("policy-v1", "minProgramN", "-1", "must be at least 0"),
        ("ladder-v1", "entity.clear.dailyCents", "1.234", "must be an amount"),
        ("ladder-v1", "rescreenDays.hold", "0", "must be at least 1"),
        ("thresholds-v1", "structuringThresholdsCents", "3,000.00\nten", "must be an amount"),
        ("thresholds-v1", "structuringThresholdsCents", "3,000.00\n0", "entry 2 must be more than 0"),
        ("thresholds-v1", "callForAction.countries", "IR Narnia", "entry 2 must be"),
        ("thresholds-v1", "callForAction.asOf", "yesterday", "must be"),
        ("kri-v1", "lines[2].watch", "0.9", "must be reached before the breach"),
        ("kri-v1", "minObservations", "0", "must be at least 1"),
    ],
)
def test_given_a_text_that_is_refused_then_its_fault_stands_beside_its_field_and_nothing_is_lost(
    api: RunningApp, tenant: dict[str, Any], browser: Browser, version: str, field: str, text: str, words: str
) -> None:
    place = place_of(api, tenant, version)
    answer = sent(browser, place, **{f"body.{field}": text})
    assert answer.status_code == HTTPStatus.BAD_REQUEST, answer.text
    page = DomPage(answer.text)
    assert words in page.one("p", id=f"body.{field}-fault").text
    (marked,) = [each for each in page.elements if each.attributes.get("aria-invalid")]
    assert (marked.attributes["name"], marked.attributes["aria-describedby"]) == (
        f"body.{field}",
        f"body.{field}-fault",
    )
    assert (marked.text if marked.tag == "textarea" else marked.attributes["value"]) == text
    assert page.one("textarea", name="note").text == NOTE
    assert "<script>alert" not in answer.text
    assert list(versions(api, tenant, version.partition("-")[0])) == [version]


def test_given_a_request_without_a_reason_then_nothing_is_written(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    answer = sent(browser, place_of(api, tenant), standardHours="9", note=" ")
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert "note" in DomPage(answer.text).one("p", role="alert").text
    assert list(versions(api, tenant, "clock")) == ["clock-v1"]


def test_given_every_kind_then_its_form_as_it_stands_is_its_body_and_changes_nothing(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    for kind in KINDS:
        (version, *_) = versions(api, tenant, kind).values()
        place = f"{POLICIES}/{version['id']}"
        texts = fields_on(DomPage(browser.get(place).text))
        typed = typed_body(PolicyPrefix(kind), texts, version["version"], version["body"])
        assert (typed.body, typed.faults) == (version["body"], {})
        planned = sent(browser, place, step="plan")
        assert planned.status_code == HTTPStatus.OK, planned.text
        changed = DomPage(planned.text).one("section", id="plan").text
        assert ("Nothing differs" in changed) == (kind != "policy")  # a policy's body names its version
        assert list(versions(api, tenant, kind)) == [version["version"]]


def test_given_rates_as_lines_then_they_are_the_body_of_the_daily_rates() -> None:
    rates = [
        {"currency": "EUR", "day": "2026-03-02", "rate": "1.0831"},
        {"currency": "GBP", "day": "2026-03-02", "rate": "1"},
    ]
    texts = texts_of(PolicyPrefix.FX, {"rates": rates})
    assert texts == {"body.rates": "EUR 2026-03-02 1.0831\nGBP 2026-03-02 1"}
    assert typed_body(PolicyPrefix.FX, texts, "fx-v2", {"rates": []}).body == {"rates": rates}
    (fault,) = typed_body(PolicyPrefix.FX, {"body.rates": "EUR 1.1"}, "fx-v2", {"rates": []}).faults.values()
    assert fault.startswith("must be on each line a currency")


def test_given_norway_in_a_list_of_countries_then_it_is_a_country_and_not_the_word_no(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    place = place_of(api, tenant, "thresholds-v1")
    answer = sent(browser, place, **{"body.increasedMonitoring.countries": "NO"})
    assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
    assert versions(api, tenant, "thresholds")["thresholds-v2"]["body"]["increasedMonitoring"]["countries"] == ["NO"]


def test_given_a_policy_when_it_is_planned_then_its_effect_on_stored_alerts_is_there_before_anything_is_written(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    amounts = (outgoing(f"acht_{number}", amount=500_000 + number * 100_000) for number in range(6))
    large = outgoing("acht_large", amount=90_000_000, counterparty_id="cpty_2")
    deliver(api, program, *amounts, large, outgoing("acht_hard", **ALERTING))
    place = place_of(api, tenant, "policy-v1")
    fields = {"body.minProgramN": "0", "band.review": "yes", "detector.velocity_spike": "always"}
    page = sent(browser, place, step="plan", **fields)
    assert page.status_code == HTTPStatus.OK, page.text
    planned = DomPage(page.text)
    plan = planned.one("section", id="plan").text
    for part in ("alwaysReviewed[velocity_spike]", "autoClosableDetectors[velocity_spike]", "minProgramN"):
        assert part in plan
    assert "funnel_mule" not in plan
    body = api.client.get(f"/api/policies/{place.rpartition('/')[2]}", headers=api.operator(tenant)).json()["body"]
    body |= {"version": "policy-v2", "minProgramN": 0, "autoCloseBands": ["clear", "review"]}
    body["autoClosableDetectors"].remove("velocity_spike")
    body["alwaysReviewed"].append("velocity_spike")
    draft = {"version": "policy-v2", "body": body}
    answer = api.client.post("/api/policies/dry-run", json=draft, headers=api.operator(tenant)).json()
    assert answer["otherwise"] >= 2
    totals = planned.one("p", id="dry-run-totals").text
    assert f"{answer['otherwise']} alerts would have gone otherwise, {answer['same']} the same" in totals
    assert list(versions(api, tenant, "policy")) == ["policy-v1"]

    requested = browser.send_form(page, place, **fields_on(planned), note=NOTE, step="request")
    assert requested.status_code == HTTPStatus.SEE_OTHER, requested.text
    written = versions(api, tenant, "policy")["policy-v2"]
    assert written["body"] == body
    of_version = browser.get(f"{POLICIES}/{written['id']}/dry-run?days=90")
    assert f"{answer['otherwise']} alerts would have gone otherwise" in of_version.text
    heads = [each.text for each in DomPage(of_version.text).all("th", scope="row")]
    assert answer["byDetector"]
    assert {words(each["detector"]) for each in answer["byDetector"]} <= set(heads)
    rows = [each.text for each in planned.all("th", scope="row")]
    assert f"velocity spike{DETECTOR_OF['velocity_spike'].opens_when}" in rows
    beside = browser.part(f"{POLICIES}/{written['id']}/dry-run", **{"HX-Target": "dry-run"})
    assert "<h2>" in beside.text
    assert "<h1>" not in beside.text
    assert f'hx-get="{POLICIES}/{written["id"]}/dry-run?days=30"' in browser.get(f"{POLICIES}/{written['id']}").text
    for days in ("0", "91", "many"):
        refused = browser.get(f"{POLICIES}/{written['id']}/dry-run?days={days}")
        assert refused.status_code == HTTPStatus.BAD_REQUEST


def test_given_a_key_then_its_session_reads_and_has_no_form_and_another_bank_sees_nothing(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    body = {"name": "k", "mode": "live", "scopes": ["policies"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    place = place_of(api, tenant)
    page = reader.get(place)
    assert page.status_code == HTTPStatus.OK
    assert f'action="{place}"' not in page.text
    stranger = console.browser()
    stranger.sign_in(api.create_tenant("second-bank")["operatorToken"])
    assert stranger.get(place).status_code == HTTPStatus.NOT_FOUND


def test_given_a_kind_that_is_not_written_here_when_its_form_is_sent_all_the_same_then_there_is_none(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    place = place_of(api, tenant, "retention-v1")
    assert f'action="{place}"' not in browser.get(place).text
    answer = browser.post(place, {"csrf": browser.csrf, "note": NOTE, "body": "a: 1"})
    assert answer.status_code == HTTPStatus.NOT_FOUND, answer.text
    assert list(versions(api, tenant, "retention")) == ["retention-v1"]


def test_given_many_newer_versions_of_another_kind_then_the_next_one_is_numbered_as_before(
    api: RunningApp, tenant: dict[str, Any], browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhold.api.console.pages.policies._NEWEST", 2)
    body = versions(api, tenant, "clock")["clock-v1"]["body"]
    for number in range(2, 6):
        new = {"version": f"clock-v{number}", "body": body | {"standardHours": number}}
        assert api.client.post("/api/policies", json=new, headers=api.operator(tenant)).status_code == 201
    page = browser.get(place_of(api, tenant, "ladder-v1"))
    assert page.status_code == HTTPStatus.OK
    assert "ladder-v1" in browser.get(POLICIES).text
    answer = sent(browser, place_of(api, tenant, "ladder-v1"), step="plan")
    assert answer.status_code == HTTPStatus.OK, answer.text
    assert "What ladder-v2 would change" in answer.text
