"""Sessions: their cookie, their ends, and what a request without one gets."""

import html
from http import HTTPStatus
from typing import Any, cast

import pytest

from clearhold.api.console.entry import COOKIE
from clearhold.api.console.way_back import SIGN_IN
from clearhold.features.core.instants import HOUR_US, MINUTE_US, SECOND_US
from clearhold.store.sessions import Sessions
from tests.support.console import Browser, ConsoleApp, form_fields, person_token
from tests.support.running_app import RunningApp

QUEUE = "/console/queue"


def test_when_a_session_begins_then_its_cookie_is_for_this_host_alone_and_holds_nothing(
    console: ConsoleApp, tenant: dict[str, Any], api: RunningApp
) -> None:
    answer = console.browser().sign_in(tenant["operatorToken"], "ann@bank.example")
    sent = next(each for each in answer.headers.get_list("set-cookie") if each.startswith(f"{COOKIE}="))
    value, *attributes = [each.strip() for each in sent.partition("=")[2].split(";")]
    assert set(attributes) == {"Secure", "HttpOnly", "SameSite=strict", "Path=/"}
    assert len(value) >= 43  # 256 bits
    stored = b"".join(api.sync_redis.dump(each) or b"" for each in api.sync_redis.scan_iter("console:*"))
    assert value.encode() not in stored
    assert tenant["operatorToken"].encode() not in stored


@pytest.mark.parametrize("value", ["", "x", "a" * 43])
def test_given_an_unknown_cookie_then_a_page_leads_to_the_sign_in_page_and_back(
    console: ConsoleApp, value: str
) -> None:
    visitor = console.browser()
    visitor.cookies[COOKIE] = value
    answer = visitor.get(f"{QUEUE}?band=hold")
    assert answer.status_code == HTTPStatus.SEE_OTHER
    assert answer.headers["location"] == f"{SIGN_IN}?next=%2Fconsole%2Fqueue%3Fband%3Dhold"


def test_given_two_cookies_of_the_name_then_neither_counts(browser: Browser) -> None:
    assert browser.get(QUEUE, Cookie=f"{COOKIE}={browser.secret}; {COOKIE}={browser.secret}").status_code == 303


def test_given_no_session_then_a_part_is_a_401_with_the_link_to_sign_in(console: ConsoleApp) -> None:
    answer = console.browser().part(QUEUE)
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert f'href="{SIGN_IN}?next=%2Fconsole%2Fqueue"' in answer.text
    assert "<html" not in answer.text


@pytest.mark.parametrize("around", ["http://[::1", "http://[", "//[", "http://evil.example]/console", ""])
def test_given_an_unreadable_address_of_the_page_around_then_a_part_without_a_session_is_a_401_as_before(
    console: ConsoleApp, around: str
) -> None:
    answer = console.browser().part(QUEUE, **{"HX-Current-URL": around})
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert f'href="{SIGN_IN}?next=' in answer.text
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/console/queue",
        "//evil.example/console/",
        "/\\evil.example/console/",
        "\\\\evil.example",
        "/api/record",
        "javascript:alert(1)",
        "/console/../api/alerts",
        "/console/%2e%2e/api/alerts",
        "/console/queue\r\nSet-Cookie: a=b",
        "/console/sign-out",
        "/console/start?code=of-another-person",
        "",
    ],
)
def test_given_a_link_that_leads_elsewhere_when_signed_in_then_the_first_page_follows(
    console: ConsoleApp, tenant: dict[str, Any], wanted: str
) -> None:
    answer = console.browser().sign_in(tenant["operatorToken"], next=wanted)
    assert answer.headers["location"] == "/console/today"


def test_given_a_page_of_the_console_when_signed_in_then_it_follows(
    console: ConsoleApp, tenant: dict[str, Any]
) -> None:
    answer = console.browser().sign_in(tenant["operatorToken"], next="/console/queue?band=hold")
    assert answer.headers["location"] == "/console/queue?band=hold"


def test_given_no_request_for_thirty_minutes_then_the_session_has_ended(browser: Browser, api: RunningApp) -> None:
    api.clock.advance(29 * MINUTE_US)
    assert browser.get(QUEUE).status_code == HTTPStatus.OK
    api.clock.advance(29 * MINUTE_US)
    assert browser.get(QUEUE).status_code == HTTPStatus.OK
    api.clock.advance(30 * MINUTE_US)
    assert browser.get(QUEUE).status_code == HTTPStatus.SEE_OTHER


def test_given_a_session_in_use_for_twelve_hours_then_it_has_ended(browser: Browser, api: RunningApp) -> None:
    for _ in range(12 * 3 - 1):
        api.clock.advance(20 * MINUTE_US)
        assert browser.get(QUEUE).status_code == HTTPStatus.OK
    api.clock.advance(20 * MINUTE_US)
    assert browser.get(QUEUE).status_code == HTTPStatus.SEE_OTHER


def test_when_the_operator_token_is_replaced_then_its_sessions_end_with_it(
    browser: Browser, api: RunningApp, tenant: dict[str, Any]
) -> None:
    path = f"/api/admin/tenants/{tenant['id']}/operator-token"
    answer = api.client.post(path, json={"overlapHours": 1}, headers=api.admin)
    assert answer.status_code < 300, answer.text
    assert browser.get(QUEUE).status_code == HTTPStatus.OK, "the overlap is for sessions too"
    api.clock.advance(HOUR_US)
    assert browser.get(QUEUE).status_code == HTTPStatus.SEE_OTHER


def test_when_a_persons_token_is_revoked_then_its_session_has_ended(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    token = person_token(api, tenant, "bob@bank.example")
    bob = console.browser()
    bob.sign_in(token["token"], "")
    assert "bob@bank.example" in bob.get(QUEUE).text
    path = f"/api/admin/tenants/{tenant['id']}/operator-tokens/{token['id']}"
    assert api.client.delete(path, headers=api.admin).status_code < 300
    assert bob.get(QUEUE).status_code == HTTPStatus.SEE_OTHER


def test_given_a_persons_token_then_it_takes_that_name_alone(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    token = person_token(api, tenant, "bob@bank.example")
    answer = console.browser().sign_in(token["token"], "ann@bank.example")
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert "another person" in answer.text


def test_when_a_key_is_revoked_then_its_session_has_ended(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    made = api.client.post("/api/keys", json={"name": "examiner", "mode": "live"}, headers=api.operator(tenant)).json()
    reader = console.browser()
    assert reader.sign_in(made["secret"], "").status_code == HTTPStatus.SEE_OTHER
    assert reader.get(QUEUE).status_code == HTTPStatus.OK
    assert api.client.delete(f"/api/keys/{made['id']}", headers=api.operator(tenant)).status_code < 300
    assert reader.get(QUEUE).status_code == HTTPStatus.SEE_OTHER


def test_when_signed_out_then_the_session_has_ended_and_the_browser_is_cleared(browser: Browser) -> None:
    secret = browser.secret
    answer = browser.send_form(browser.get(QUEUE), "/console/sign-out")
    assert answer.headers["location"] == SIGN_IN
    assert answer.headers["clear-site-data"] == '"cache", "storage"'
    assert COOKIE not in browser.cookies
    browser.cookies[COOKIE] = secret
    assert browser.get(QUEUE).status_code == HTTPStatus.SEE_OTHER


def test_given_no_redis_then_a_page_is_a_503_and_the_session_goes_on(
    browser: Browser, api: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError

    with monkeypatch.context() as broken:
        broken.setattr(api.stores.hot, "get", refuse)
        answer = browser.get(QUEUE)
        assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        assert "set-cookie" not in answer.headers
        assert "location" not in answer.headers
    assert browser.get(QUEUE).status_code == HTTPStatus.OK


def test_given_five_refused_tries_in_a_minute_then_the_address_waits_and_another_does_not(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    guesser, other = console.browser(), console.browser("192.0.2.7")
    for _ in range(5):
        assert guesser.sign_in("a-guess").status_code == HTTPStatus.UNAUTHORIZED
        api.clock.advance(SECOND_US)
    answer = guesser.sign_in(tenant["operatorToken"])
    assert answer.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert "Too many tries from this address. Try again in 55 seconds." in answer.text
    assert answer.headers["retry-after"] == "55"
    assert other.sign_in(tenant["operatorToken"]).status_code == HTTPStatus.SEE_OTHER
    api.clock.advance(55 * SECOND_US)
    assert guesser.sign_in(tenant["operatorToken"]).status_code == HTTPStatus.SEE_OTHER


ALERT = "00000000-0000-4000-8000-00000000aaaa"
NARRATIVE = "The payments were explained by the program's documents, which are <b>on file</b> since the first of March."


def interrupted(browser: Browser, api: RunningApp) -> Any:
    """A decision that came after its session's end."""
    form = {"csrf": browser.csrf, "attempt": "one", "narrative": NARRATIVE, "decision": "close", "alertIds": ALERT}
    api.clock.advance(30 * MINUTE_US)
    answer = browser.post("/console/stacks/some/decide", form)
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert "The session has ended." in answer.text
    return form_fields(answer.text, SIGN_IN)


def test_given_a_form_after_the_sessions_end_when_the_same_name_signs_in_then_it_is_kept_whole(
    browser: Browser, api: RunningApp, tenant: dict[str, Any]
) -> None:
    kept = interrupted(browser, api)
    refused = browser.sign_in("a-guess", **kept)
    again = browser.sign_in(tenant["operatorToken"], **form_fields(refused.text, SIGN_IN))
    assert again.status_code == HTTPStatus.OK
    assert "clear-site-data" not in again.headers
    assert "<b>" not in again.text
    assert f"{NARRATIVE}</textarea>" in html.unescape(again.text)
    fields = form_fields(again.text, "/console/stacks/some/decide")
    assert (fields["attempt"], fields["alertIds"], fields["csrf"]) == ("one", ALERT, browser.csrf)
    sent = browser.send_form(again, "/console/stacks/some/decide", narrative=NARRATIVE)
    assert sent.status_code == HTTPStatus.NOT_FOUND, "the service's own answer: there is no such stack"


def test_given_a_form_after_the_sessions_end_when_another_name_signs_in_then_it_starts_clean(
    browser: Browser, api: RunningApp, tenant: dict[str, Any]
) -> None:
    kept = interrupted(browser, api)
    answer = browser.sign_in(tenant["operatorToken"], "bob@bank.example", **(kept | {"next": f"{QUEUE}?band=hold"}))
    assert answer.headers["location"] == "/console/today"
    assert answer.headers["clear-site-data"] == '"cache", "storage"'
    assert NARRATIVE not in answer.text


def test_given_a_session_then_it_says_how_long_it_lasts_and_a_script_does_not_lengthen_it(
    browser: Browser, api: RunningApp
) -> None:
    def left() -> tuple[str, str]:
        headers = browser.get("/console/session", **{"X-Unattended": "true"}).headers
        return headers["session-left"], headers["session-more"]

    assert left() == ("1800", str(11 * 3600 + 1800))
    api.clock.advance(29 * MINUTE_US)
    assert left() == ("60", str(11 * 3600 + 1800)), "a script's look does not lengthen it"
    assert browser.get("/console/session").headers["session-left"] == "1800"
    page = browser.get(QUEUE).text
    assert 'id="session-end"' in page
    assert 'data-left="1800"' in page


def test_when_another_person_signs_in_then_the_former_session_has_ended(
    browser: Browser, tenant: dict[str, Any]
) -> None:
    former = browser.secret
    assert browser.sign_in(tenant["operatorToken"], "bob@bank.example").status_code == HTTPStatus.SEE_OTHER
    assert "bob@bank.example" in browser.get(QUEUE).text
    browser.cookies[COOKIE] = former
    assert browser.get(QUEUE).status_code == HTTPStatus.SEE_OTHER


@pytest.mark.parametrize("minutes", [1, 29])
def test_given_a_request_under_way_when_its_session_is_ended_then_it_does_not_come_back(
    api: RunningApp, browser: Browser, minutes: int
) -> None:
    """A request after a minute notes that the session is in use. It has read the session before the end."""
    api.clock.advance(minutes * MINUTE_US)

    class EndingBetween:
        """Ends the session between the read and the write of a request."""

        def __getattr__(self, name: str) -> Any:
            return getattr(api.stores.hot, name)

        async def get(self, key: str) -> Any:
            stored = await api.stores.hot.get(key)
            await api.stores.hot.delete(key)
            return stored

    sessions = Sessions(cast(Any, EndingBetween()), api.clock)
    assert api.on_loop(lambda: sessions.of_secret(browser.secret)) is None
    assert browser.get(QUEUE).status_code == HTTPStatus.SEE_OTHER
