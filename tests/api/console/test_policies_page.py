"""Policies on the console: versions by kind, the next one requested by one person and approved by another."""

from http import HTTPStatus
from typing import Any, Final

import httpx
import pytest
import yaml

from clearhold.api.http.yaml_documents import read_yaml
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

POLICIES: Final = "/console/settings/policies"
NOTE: Final = "The board wants standard alerts decided within a working day."
HOSTILE: Final = "</textarea><script>alert(1)</script>"
ALIASES: Final = tuple(zip("abcdefgh", "bcdefghi", strict=True))
"""Eight steps, each 40 of the step before: a value of 40**8 numbers in a text of 1,500 characters."""


def versions(api: RunningApp, tenant: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """By version, newest first."""
    answer = api.client.get("/api/policies", params={"prefix": kind}, headers=api.operator(tenant))
    return {each["version"]: each for each in answer.json()}


def place_of(api: RunningApp, tenant: dict[str, Any], version: str = "clock-v1") -> str:
    return f"{POLICIES}/{versions(api, tenant, version.partition('-')[0])[version]['id']}"


def requested(browser: Browser, place: str, **fields: str) -> httpx.Response:
    return browser.send_form(browser.get(place), place, **({"note": NOTE} | fields))


def test_given_the_clock_when_the_next_one_is_requested_then_another_person_puts_it_in_force(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    former = versions(api, tenant, "clock")["clock-v1"]
    body = former["body"] | {"standardHours": 8}
    answer = requested(browser, place_of(api, tenant), body=yaml.safe_dump(body))
    assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
    new = versions(api, tenant, "clock")["clock-v2"]
    assert new["body"] == body
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
    again = requested(browser, place_of(api, tenant, "clock-v2"), body=yaml.safe_dump(body | {"autoHours": 2}))
    assert again.status_code == HTTPStatus.SEE_OTHER
    assert "clock-v3" in versions(api, tenant, "clock")


def test_given_a_form_that_is_sent_twice_then_it_is_one_version(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    place = place_of(api, tenant)
    form, body = browser.get(place), versions(api, tenant, "clock")["clock-v1"]["body"] | {"standardHours": 9}
    for _ in range(2):
        answer = browser.send_form(form, place, note=NOTE, body=yaml.safe_dump(body))
        assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
    assert list(versions(api, tenant, "clock")) == ["clock-v2", "clock-v1"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("autoHours: [1", "YAML"),
        ("autoHours: 1", "standardHours"),
        ("autoHours: soon\nstandardHours: 8\ncomplexHours: 48\nappealHours: 48", "autoHours"),
        ("- 1", "body"),
        ("!!python/object/apply:os.system [id]", "Tags"),
        (f"unknown: '{HOSTILE}'", "unknown"),
        ("a: &a [*a]", "Anchors"),
        ("a: &a [1]\nb: *a", "Anchors"),
        (
            "a: &a [1]\n" + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 40)}]\n" for old, new in ALIASES),
            "Anchors",
        ),
        ("a: " + "[" * 20_000, "nested"),
        ("autoHours: 1\nautoHours: 2", "stands twice"),
    ],
)
def test_given_a_body_that_is_refused_then_the_page_says_why_and_keeps_the_typed_text(
    api: RunningApp, tenant: dict[str, Any], browser: Browser, body: str, words: str
) -> None:
    answer = requested(browser, place_of(api, tenant), body=body)
    assert answer.status_code == HTTPStatus.BAD_REQUEST, answer.text
    page = DomPage(answer.text)
    assert words in page.one("p", role="alert").text
    assert page.one("textarea", name="body").text == body
    assert "<script>alert" not in answer.text
    assert list(versions(api, tenant, "clock")) == ["clock-v1"]


def test_given_a_request_without_a_reason_then_nothing_is_written(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    body = versions(api, tenant, "clock")["clock-v1"]["body"] | {"standardHours": 9}
    answer = requested(browser, place_of(api, tenant), body=yaml.safe_dump(body), note=" ")
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert list(versions(api, tenant, "clock")) == ["clock-v1"]


def test_given_every_kind_then_its_version_opens_with_its_parts_and_each_is_valid_as_it_stands(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    for kind in ("policy", "clock", "ladder", "thresholds", "kri"):
        (version, *_) = versions(api, tenant, kind).values()
        page = DomPage(browser.get(f"{POLICIES}/{version['id']}").text)
        assert read_yaml(page.one("textarea", name="body").text)[0] == version["body"]


def test_given_norway_in_a_list_of_countries_then_it_is_a_country_and_not_the_word_no(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    body = versions(api, tenant, "thresholds")["thresholds-v1"]["body"]
    place = place_of(api, tenant, "thresholds-v1")
    listed = body["increasedMonitoring"] | {"countries": ["Z"]}
    typed = yaml.safe_dump(body | {"increasedMonitoring": listed}).replace("- Z", "- NO")
    answer = requested(browser, place, body=typed)
    assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
    assert versions(api, tenant, "thresholds")["thresholds-v2"]["body"]["increasedMonitoring"]["countries"] == ["NO"]


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
