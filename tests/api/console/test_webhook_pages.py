"""Webhooks on the console: registered, changed, tested, rotated, disabled; states of deliveries in words."""

import re
from http import HTTPStatus
from typing import Any

import htpy as h
import httpx
import msgspec
import pytest

from clearhold.api.console.components.deliveries import failure_words, state_words
from clearhold.api.console.pages.webhook import EVENTS
from clearhold.api.webhooks.schemas import DELIVERY, WebhookDelivery
from clearhold.features.webhooks.delivery import AttemptError, DeliveryStatus
from clearhold.features.webhooks.payloads import SUBSCRIBABLE
from tests.support.console import Browser, ConsoleApp
from tests.support.running_app import RunningApp

WEBHOOKS = "/console/settings/webhooks"
URL = "https://hooks.bank.example/clearhold"
SECRET = re.compile(r'id="secret"[^>]*value="([^"]+)"')


def created(browser: Browser, **fields: str) -> httpx.Response:
    return browser.send_form(browser.get(WEBHOOKS), WEBHOOKS, **({"url": URL} | fields))


def endpoints(api: RunningApp, tenant: dict[str, Any]) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = api.client.get("/api/webhooks", headers=api.operator(tenant)).json()
    return read


def test_given_a_new_endpoint_then_its_secret_is_on_one_page_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    page = created(browser, program=program["id"], events="alert.opened", description="cases")
    match = SECRET.search(page.text)
    assert match is not None
    assert match[1].startswith("whsec_")
    assert page.headers["cache-control"] == "no-store"
    (endpoint,) = endpoints(api, tenant)
    assert (endpoint["url"], endpoint["events"], endpoint["programId"]) == (URL, ["alert.opened"], program["id"])
    path = f"{WEBHOOKS}/{endpoint['id']}"
    for each in (WEBHOOKS, path):
        again = browser.get(each).text
        assert URL in again
        assert match[1] not in again


@pytest.mark.parametrize(
    "fields",
    [{"url": "http://hooks.bank.example/"}, {"url": "https://10.0.0.1/"}, {"url": ""}, {"events": "no.such"}],
)
def test_given_an_endpoint_that_is_refused_then_the_page_says_why_and_nothing_is_registered(
    api: RunningApp, tenant: dict[str, Any], browser: Browser, fields: dict[str, str]
) -> None:
    page = created(browser, **({"description": "<i>typed</i>"} | fields))
    assert page.status_code == HTTPStatus.BAD_REQUEST
    assert 'class="refusal"' in page.text
    assert "&lt;i&gt;typed" in page.text
    assert endpoints(api, tenant) == []


def test_given_an_endpoint_then_it_is_changed_disabled_and_enabled_again(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    created(browser)
    path = f"{WEBHOOKS}/{endpoints(api, tenant)[0]['id']}"
    other = "https://other.bank.example/hooks"
    changed = browser.send_form(browser.get(path), f"{path}/change", url=other, events="label.recorded,kri.snapshot")
    assert changed.headers["location"] == f"{path}?done=changed"
    (endpoint,) = endpoints(api, tenant)
    assert (endpoint["url"], endpoint["events"]) == (other, ["label.recorded", "kri.snapshot"])
    for name, enabled in (("disable", False), ("enable", True)):
        answer = browser.send_form(browser.get(path), f"{path}/{name}")
        assert answer.status_code == HTTPStatus.SEE_OTHER
        assert endpoints(api, tenant)[0]["enabled"] is enabled
        assert f"The endpoint is {name}d" in browser.get(answer.headers["location"]).text


def test_given_an_endpoint_when_it_is_tested_then_the_ping_is_listed_and_its_older_page_is_empty(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    created(browser)
    path = f"{WEBHOOKS}/{endpoints(api, tenant)[0]['id']}"
    assert "Nothing was sent yet." in browser.get(path).text
    answer = browser.send_form(browser.get(path), f"{path}/test")
    page = browser.get(answer.headers["location"]).text
    assert "<code>ping</code>" in page
    assert 'hx-trigger="load delay:1s"' in page, "its state will change"
    delivery = re.search(r'name="delivery" value="([^"]+)"', page)
    assert delivery is not None
    part = browser.get(path, **{"HX-Request": "true", "HX-Target": "section#deliveries"}).text
    assert part.startswith('<section id="deliveries"')
    assert "Nothing was sent yet." in browser.get(f"{path}?before={delivery[1]}").text
    assert browser.get(f"{path}?before=x").status_code == HTTPStatus.BAD_REQUEST


def test_given_a_rotation_then_the_new_secret_is_on_one_page_and_hours_are_checked(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    first = SECRET.search(created(browser).text)
    path = f"{WEBHOOKS}/{endpoints(api, tenant)[0]['id']}"
    rotated = SECRET.search(browser.send_form(browser.get(path), f"{path}/rotate", hours="1").text)
    assert first is not None
    assert rotated is not None
    assert rotated[1] != first[1]
    for hours in ("73", "-1", "x", "", "9" * 30):
        refused = browser.send_form(browser.get(path), f"{path}/rotate", hours=hours)
        assert refused.status_code == HTTPStatus.BAD_REQUEST, hours
        assert SECRET.search(refused.text) is None


def test_given_the_events_of_the_interface_then_each_can_be_chosen() -> None:
    assert set(EVENTS) == set(SUBSCRIBABLE)


def test_given_another_bank_then_the_endpoint_is_not_known_to_it(
    api: RunningApp, console: ConsoleApp, tenant: dict[str, Any], browser: Browser
) -> None:
    created(browser)
    path = f"{WEBHOOKS}/{endpoints(api, tenant)[0]['id']}"
    eve = console.browser()
    eve.sign_in(api.create_tenant("second-bank")["operatorToken"], "eve@second.example")
    assert URL not in eve.get(WEBHOOKS).text
    answers = [eve.get(path).status_code]
    forms = {"change": {"url": URL}, "disable": {}, "enable": {}, "test": {}, "rotate": {"hours": "1"}}
    for name, fields in forms.items():
        answers.append(eve.post(f"{path}/{name}", {"csrf": eve.csrf} | fields).status_code)
    assert set(answers) == {HTTPStatus.NOT_FOUND}
    assert endpoints(api, tenant)[0]["enabled"]


def test_given_a_key_with_the_scope_then_its_session_reads_endpoints_of_its_programs_and_has_no_form(
    api: RunningApp, console: ConsoleApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    created(browser, program=program["id"])
    created(browser, url="https://whole.bank.example/")
    body = {"name": "k", "mode": "live", "scopes": ["webhooks"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    page = reader.get(WEBHOOKS).text
    assert URL in page
    assert "whole.bank.example" not in page
    of_program = next(each for each in endpoints(api, tenant) if each["programId"])
    for path in (WEBHOOKS, f"{WEBHOOKS}/{of_program['id']}"):
        assert 'method="post"' not in reader.get(path).text.partition("<main")[2].partition("</main")[0]


@pytest.mark.parametrize("error", AttemptError)
def test_given_a_failed_attempt_then_its_cause_is_in_words(error: AttemptError) -> None:
    delivery = msgspec.convert(DELIVERY | {"lastError": error.value}, WebhookDelivery)
    words = str(h.p[state_words(delivery, enabled=True)])
    assert str(h.fragment[failure_words(delivery)]) in words
    assert "_" not in words.partition("<time")[0]
    assert "failed at 1 attempt of 10" in words
    exhausted = msgspec.structs.replace(delivery, status=DeliveryStatus.EXHAUSTED, attempts=10)
    assert "given up after 10 attempts" in str(h.p[state_words(exhausted, enabled=True)])
