"""Requests that no page of the console sends, and the headers of every answer."""

from http import HTTPStatus
from typing import Any

import pytest
from litestar.handlers import HTTPRouteHandler

from clearhold.api.areas import ROUTES
from clearhold.api.console.entry import COOKIE
from clearhold.api.console.guard import BODY_LIMIT, MOST_FIELDS, PUBLIC
from clearhold.api.console.routes import CONSOLE_ROUTES
from clearhold.api.console.way_back import SIGN_IN
from tests.support.console import SAME_ORIGIN, Browser, ConsoleApp
from tests.support.running_app import BASE_URL, RunningApp
from tests.support.stacking import story

QUEUE, SIGN_OUT = "/console/queue", "/console/sign-out"
DECIDE = "/console/stacks/none/decide"
FORBIDDEN = HTTPStatus.FORBIDDEN


def console_paths(method: str, *, public: bool) -> list[str]:
    handlers: list[HTTPRouteHandler] = [each for each in CONSOLE_ROUTES if method in each.http_methods]
    wanted = [each for each in handlers if bool(each.opt.get(PUBLIC)) is public]
    return sorted(path.replace(":str}", "}") for each in wanted for path in each.paths)


def test_given_a_loopback_address_then_another_name_of_it_is_refused(console: ConsoleApp) -> None:
    visitor = console.browser(at="http://127.0.0.1:8080")
    assert visitor.get(SIGN_IN).status_code == HTTPStatus.OK
    assert visitor.get(SIGN_IN, Host="evil.example:8080").status_code == FORBIDDEN


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {},
    ],
)
@pytest.mark.parametrize("path", [SIGN_IN, SIGN_OUT, DECIDE])
def test_given_a_form_of_another_site_then_it_writes_nothing(
    browser: Browser, path: str, headers: dict[str, str]
) -> None:
    answer = browser.post(path, {"csrf": browser.csrf}, headers)
    assert answer.status_code == FORBIDDEN
    assert "not sent by a page of the console" in answer.text
    assert browser.get(QUEUE).status_code == HTTPStatus.OK, "still signed in"


@pytest.mark.parametrize(
    ("origin", "status"), [("https", HTTPStatus.SEE_OTHER), ("http", FORBIDDEN), ("HTTPS", HTTPStatus.SEE_OTHER)]
)
def test_given_a_browser_that_says_an_origin_alone_then_its_scheme_is_that_of_the_service(
    browser: Browser, origin: str, status: HTTPStatus
) -> None:
    headers = {"Origin": f"{origin}://{BASE_URL.partition('://')[2]}"}
    assert browser.post(SIGN_OUT, {"csrf": browser.csrf}, headers).status_code == status


@pytest.mark.parametrize("sent", ["", "x", "other"])
def test_given_a_form_without_the_sessions_token_then_it_writes_nothing(
    browser: Browser, console: ConsoleApp, tenant: dict[str, Any], sent: str
) -> None:
    other = console.browser()
    other.sign_in(tenant["operatorToken"], "bob@bank.example")
    answer = browser.post(SIGN_OUT, {"csrf": other.csrf if sent == "other" else sent})
    assert answer.status_code == FORBIDDEN
    assert "another session" in answer.text
    assert browser.get(QUEUE).status_code == HTTPStatus.OK


def test_given_a_session_of_a_key_then_it_writes_nothing(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    key = api.client.post("/api/keys", json={"name": "examiner", "mode": "live"}, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    for path in console_paths("POST", public=False):
        answer = reader.post(path.replace("{", "").replace("}", ""), {"csrf": reader.csrf})
        assert answer.status_code == FORBIDDEN, path
        assert "may read and not write" in answer.text, path


def test_given_a_body_over_the_limit_then_it_is_refused(browser: Browser) -> None:
    assert browser.post(SIGN_OUT, b"a=" + b"x" * BODY_LIMIT).status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def test_given_a_form_of_too_many_fields_then_it_is_refused(browser: Browser) -> None:
    many = "&".join(f"f{each}=1" for each in range(MOST_FIELDS + 1))
    assert browser.post(SIGN_OUT, many.encode()).status_code == HTTPStatus.BAD_REQUEST
    assert browser.get(f"{QUEUE}?{many}").status_code == HTTPStatus.BAD_REQUEST


def test_given_a_bearer_token_then_no_page_of_the_console_takes_it(console: ConsoleApp, tenant: dict[str, Any]) -> None:
    """Each route that needs a session leads to the sign-in page, whatever token is sent."""
    visitor, bearer = console.browser(), f"Bearer {tenant['operatorToken']}"
    for path in console_paths("GET", public=False):
        answer = visitor.get(path.replace("{", "").replace("}", ""), Authorization=bearer)
        assert answer.status_code == HTTPStatus.SEE_OTHER, path
        assert answer.headers["location"].startswith(SIGN_IN), path
    for path in console_paths("POST", public=False):
        answer = visitor.post(
            path.replace("{", "").replace("}", ""), {}, {**SAME_ORIGIN, "Authorization": bearer, "HX-Request": "true"}
        )
        assert answer.status_code == HTTPStatus.UNAUTHORIZED, path


def test_given_a_cookie_of_a_session_then_no_route_of_the_interface_takes_it(browser: Browser, api: RunningApp) -> None:
    """No route's answer differs with a session's cookie from the answer without it."""
    handlers: list[HTTPRouteHandler] = []
    for each in ROUTES:
        handlers += [each] if isinstance(each, HTTPRouteHandler) else []
    assert len(handlers) > 90
    sample = "00000000-0000-4000-8000-000000000000"
    for each in handlers:
        for path in each.paths:
            url = "/".join(sample if part.startswith("{") else part for part in path.split("/"))
            for method in sorted(each.http_methods):
                if "/feed" in url:
                    continue
                headers = {"X-Operator": "ann"}
                without = api.client.request(method, url, headers=headers)
                headers |= {"Cookie": f"{COOKIE}={browser.secret}"}
                answer = api.client.request(method, url, headers=headers)
                assert answer.status_code == without.status_code, (method, path)


def test_when_the_console_answers_then_the_headers_of_safety_are_there(browser: Browser, console: ConsoleApp) -> None:
    answers = [
        browser.get(QUEUE),
        browser.part(QUEUE),
        browser.get("/console/stacks/none"),
        browser.get("/console/no-such-page"),
        browser.get("/console"),
        console.browser().get(SIGN_IN),
        console.browser().get(QUEUE),
        console.browser().part(QUEUE),
        browser.post(SIGN_OUT, {}),
    ]
    for answer in answers:
        headers = answer.headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, answer.url
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_given_two_answers_then_their_nonces_differ(browser: Browser) -> None:
    assert (
        browser.get(QUEUE).headers["content-security-policy"] != browser.get(QUEUE).headers["content-security-policy"]
    )


@pytest.mark.parametrize("write", ["a note", "a limit", "a key"])
def test_given_a_form_that_is_changed_after_the_way_back_then_it_is_another_write_and_a_repeat_is_not(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser, write: str
) -> None:
    headers = api.operator(tenant)
    if write == "a note":
        alert = story(api, tenant, program, "bacc_1", 1)[0]
        page, action = browser.get(f"/console/stacks/{alert['stackId']}"), f"/console/stacks/{alert['stackId']}/note"
        fields, changed = {"alertId": alert["id"], "note": "First."}, {"note": "Second."}
        read = f"/api/alerts/{alert['id']}"
    elif write == "a limit":
        place = f"/console/programs/{program['id']}"
        page, action = browser.get(place), f"{place}/limits"
        fields, changed = {"kind": "entity_daily", "cap": "1,000.00"}, {"kind": "per_transaction"}
        read = "/api/actions"
    else:
        page, action = browser.get("/console/settings/keys"), "/console/settings/keys"
        fields, changed, read = {"name": "first", "mode": "live", "scopes": "reports"}, {"name": "second"}, "/api/keys"
    answers = [browser.send_form(page, action, **fields | more) for more in ({}, {}, changed, changed)]
    assert {each.status_code for each in answers} <= {200, 303}, [each.text for each in answers]
    api.catch_up()
    body = api.client.get(read, headers=headers).json()
    listed = body["notes"] if write == "a note" else body if isinstance(body, list) else body["data"]
    assert len(listed) == 2
