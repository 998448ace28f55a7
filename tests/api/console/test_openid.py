"""Sign-in by the bank's OpenID provider: the way there and back, roles, the checks of a session, and attacks."""

import html
import re
from http import HTTPStatus
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from clearhold.api.console.entry import COOKIE, LOGIN
from clearhold.api.console.openid import CALLBACK, CHECK_EVERY_US, UNREACHABLE_US
from clearhold.api.console.pages.openid import FINISH, NOT_PROVEN, UNREACHABLE
from clearhold.api.console.pages.sign_in import BY_ACCOUNT, NO_TENANT, OPENID, OTHERWISE
from clearhold.api.console.way_back import HOME, SIGN_IN
from clearhold.api.http.openid import NO_GROUP
from clearhold.api.http.proxy_identity import ConsoleIdentity
from clearhold.features.core.instants import MINUTE_US
from tests.support.console import Browser, ConsoleApp
from tests.support.openid_provider import ANN, OPERATE, READ, FakeOpenIdProvider
from tests.support.openid_sign_in import Wiring, came_back, refreshed_to, signed_in, way_there
from tests.support.running_app import RunningApp

QUEUE, SIGN_OUT = "/console/queue", "/console/sign-out"
READER: Final = ANN | {"groups": [READ]}


@pytest.fixture
def console(wiring: Wiring, tenant: dict[str, Any]) -> ConsoleApp:
    return wiring.console(tenant["slug"])


def is_out(browser: Browser) -> bool:
    answer = browser.get(QUEUE)
    return answer.status_code == HTTPStatus.SEE_OTHER and answer.headers["location"].startswith(SIGN_IN)


def test_given_the_banks_account_then_it_signs_in_as_a_proven_person_at_the_wanted_page(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    browser = console.browser()
    assert BY_ACCOUNT in html.unescape(browser.get(SIGN_IN).text)
    started = browser.post(OPENID, {"next": "/console/queue?program=payroll"})
    cookie = next(each for each in started.headers.get_list("set-cookie") if each.startswith(LOGIN)).lower()
    assert all(each in cookie for each in ("httponly", "secure", "samesite=lax", "max-age=600", "path=/"))
    answer = came_back(browser, provider, refreshed_to(started))
    assert answer.headers["location"] == "/console/queue?program=payroll"
    page = browser.get("/console/people").text
    assert "ann@bank.example" in page
    assert "the bank&#39;s account" in page
    assert browser.post(SIGN_OUT, {"csrf": browser.csrf}).status_code == HTTPStatus.SEE_OTHER
    assert console.api.sync_redis.keys("console:grant:*") == []


def test_given_another_page_to_return_to_then_it_is_the_first_page(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    for wanted in ("https://evil.example/", "//evil.example", "/console/openid/callback", "/console/../api"):
        browser = console.browser()
        assert came_back(browser, provider, way_there(browser, next=wanted)).headers["location"] == HOME


def test_given_a_reader_then_the_session_reads_and_writes_nothing(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    provider.user = dict(READER)
    reader = signed_in(console, provider)
    assert reader.get(QUEUE).status_code == HTTPStatus.OK
    for section in ("settings", "settings/keys", "settings/webhooks", "settings/retention", "people"):
        page = reader.get(f"/console/{section}")
        assert page.status_code == HTTPStatus.OK
        assert "<form" not in page.text.partition("<main")[2].partition("</main")[0], section
    answer = reader.post("/console/stacks/none/decide", {"csrf": reader.csrf})
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert "may read and not write" in answer.text


@pytest.mark.parametrize(
    ("claims", "sentence"),
    [
        ({"groups": ["all"]}, NO_GROUP),
        ({"groups": None}, NO_GROUP),
        ({"groups": f"{OPERATE} {READ}"}, NO_GROUP),
        ({"groups": {OPERATE: True}}, NO_GROUP),
        ({"email": None}, "names no email"),
        ({"email_verified": False}, "not verified"),
        ({"email": "\u0430nn@bank.example"}, "printable ASCII"),
        ({"email": "policy:payroll"}, "must not start with"),
        ({"email": "\ud800"}, "printable ASCII"),
    ],
)
def test_given_no_group_or_no_name_for_the_record_then_the_person_is_refused(
    console: ConsoleApp, provider: FakeOpenIdProvider, claims: dict[str, Any], sentence: str
) -> None:
    provider.claims = claims
    browser = console.browser()
    answer = came_back(browser, provider, way_there(browser))
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert COOKIE not in browser.cookies
    assert sentence in html.unescape(answer.text)


def test_given_a_return_that_did_not_begin_here_then_it_signs_no_one_in(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    """A wrong state, one of another browser, a second use, none, another issuer, and the provider's own refusal."""
    victim = console.browser()
    own, of_attacker = way_there(victim), way_there(console.browser("192.0.2.7"))
    answers = [
        came_back(victim, provider, own, state="x"),
        came_back(victim, provider, of_attacker),
        victim.get(FINISH),
        came_back(victim, provider, own, iss="https://evil.example"),
    ]
    other = console.browser("192.0.2.8")
    came_back(other, provider, at_provider := way_there(other))
    answers.append(came_back(other, provider, at_provider))
    denied = console.browser("192.0.2.9")
    answers.append(came_back(denied, provider, way_there(denied), code="", error="access_denied"))
    for answer in answers:
        assert answer.status_code == HTTPStatus.UNAUTHORIZED
        assert NOT_PROVEN in html.unescape(answer.text)
    assert COOKIE not in victim.cookies
    assert COOKIE not in denied.cookies


def test_given_a_code_that_was_used_then_it_signs_no_one_in(console: ConsoleApp, provider: FakeOpenIdProvider) -> None:
    browser = signed_in(console, provider)
    assert came_back(browser, provider, way_there(browser), code="code-1").status_code == HTTPStatus.UNAUTHORIZED


def test_given_a_sign_in_of_ten_minutes_ago_then_it_has_ended(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    browser = console.browser()
    at_provider = way_there(browser)
    console.api.clock.advance(10 * MINUTE_US)
    assert came_back(browser, provider, at_provider).status_code == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize("over", [{"nonce": "n"}, {"aud": "other"}, {"iss": "https://evil.example"}, {"exp": 1}])
def test_given_a_token_with_a_wrong_claim_then_it_signs_no_one_in(
    console: ConsoleApp, provider: FakeOpenIdProvider, over: dict[str, Any]
) -> None:
    provider.claims = over
    browser = console.browser()
    assert came_back(browser, provider, way_there(browser)).status_code == HTTPStatus.UNAUTHORIZED
    assert COOKIE not in browser.cookies


def test_given_a_token_of_another_key_then_it_signs_no_one_in(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    forger = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    provider.sign = lambda claims: jwt.encode(claims, forger, "RS256", headers={"kid": "rsa-1"})
    browser = console.browser()
    assert came_back(browser, provider, way_there(browser)).status_code == HTTPStatus.UNAUTHORIZED


def test_given_a_person_of_one_bank_then_another_banks_things_are_not_there(
    console: ConsoleApp, provider: FakeOpenIdProvider, api: RunningApp, wiring: Wiring
) -> None:
    other = api.create_tenant("second-bank")
    console.browser().sign_in(other["operatorToken"], "eve@second.example")
    browser = signed_in(console, provider)
    assert "eve@second.example" not in browser.get("/console/people").text
    unknown = wiring.console("no-such-bank")
    visitor = unknown.browser()
    answer = came_back(visitor, provider, way_there(visitor))
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert NO_TENANT in answer.text
    moved = wiring.console("second-bank").browser()
    moved.cookies = dict(browser.cookies)
    assert "eve@second.example" not in moved.get("/console/people").text


def test_given_a_leaver_then_the_session_ends_within_a_minute_and_the_provider_is_not_asked_before(
    console: ConsoleApp, provider: FakeOpenIdProvider, api: RunningApp
) -> None:
    browser = signed_in(console, provider)
    before = len(provider.requests)
    for _ in range(3):
        assert browser.get(QUEUE).status_code == HTTPStatus.OK
    assert len(provider.requests) == before
    api.clock.advance(CHECK_EVERY_US)
    assert browser.get(QUEUE).status_code == HTTPStatus.OK
    assert provider.requests[before:] == ["POST /token"]
    provider.user = None
    api.clock.advance(CHECK_EVERY_US)
    assert CHECK_EVERY_US < MINUTE_US
    assert is_out(browser)
    provider.user = dict(ANN)
    assert is_out(browser)


@pytest.mark.parametrize("change", [{"groups": [READ]}, {"groups": []}, {"email": "bob@bank.example"}])
@pytest.mark.parametrize("has_id_token", [True, False])
def test_given_another_role_or_name_then_the_session_ends(
    console: ConsoleApp, provider: FakeOpenIdProvider, api: RunningApp, change: dict[str, Any], *, has_id_token: bool
) -> None:
    provider.has_id_token_at_refresh = has_id_token
    browser = signed_in(console, provider)
    provider.user = ANN | change
    api.clock.advance(CHECK_EVERY_US)
    assert is_out(browser)


def test_given_a_provider_that_is_down_then_the_session_goes_on_for_ten_minutes(
    console: ConsoleApp, provider: FakeOpenIdProvider, api: RunningApp
) -> None:
    browser = signed_in(console, provider)
    provider.faults["/token"] = lambda: (503, b"later")
    api.clock.advance(CHECK_EVERY_US)
    asked = len(provider.requests)
    assert browser.get(QUEUE).status_code == HTTPStatus.OK
    assert browser.get(QUEUE).status_code == HTTPStatus.OK
    assert len(provider.requests) == asked + 1
    api.clock.advance(UNREACHABLE_US - CHECK_EVERY_US - 1)
    assert browser.get(QUEUE).status_code == HTTPStatus.OK
    del provider.faults["/token"]
    api.clock.advance(MINUTE_US)
    assert browser.get(QUEUE).status_code == HTTPStatus.OK, "the provider is back and confirms"
    provider.faults["/token"] = lambda: (200, b"<html>")
    api.clock.advance(UNREACHABLE_US)
    assert is_out(browser)


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token"])
@pytest.mark.parametrize(
    "answer", [(200, b"x" * 10_000_000), (200, b"<html>"), (500, b"")], ids=("10MB", "html", "500")
)
def test_given_a_provider_that_answers_garbage_then_the_page_says_that_it_does_not_answer(
    console: ConsoleApp, provider: FakeOpenIdProvider, path: str, answer: tuple[int, bytes]
) -> None:
    provider.faults[path] = lambda: answer
    browser = console.browser()
    page = browser.post(OPENID, {})
    if path == "/token":
        page = came_back(browser, provider, refreshed_to(page))
    assert page.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert UNREACHABLE in html.unescape(page.text)
    assert COOKIE not in browser.cookies


def test_given_no_sign_in_by_the_operator_token_then_the_banks_account_is_the_first_way(
    wiring: Wiring, provider: FakeOpenIdProvider, tenant: dict[str, Any]
) -> None:
    console = wiring.console(tenant["slug"], ConsoleIdentity(token_sign_in=False))
    page = html.unescape(console.browser().get(SIGN_IN).text)
    assert page.index(BY_ACCOUNT) < page.index(f"<summary>{OTHERWISE}")
    assert "operator token" not in page
    assert console.browser().sign_in(tenant["operatorToken"]).status_code == HTTPStatus.UNAUTHORIZED
    assert not is_out(signed_in(console, provider))


def test_given_no_provider_then_its_pages_are_not_there_and_its_sessions_open_nothing(
    api: RunningApp, console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    without = ConsoleApp(api).browser()
    for answer in (without.post(OPENID, {}), without.get(CALLBACK), without.get(FINISH)):
        assert answer.status_code == HTTPStatus.NOT_FOUND
    without.cookies = signed_in(console, provider).cookies
    assert is_out(without)


def test_given_a_form_after_the_sessions_end_then_it_is_kept_over_the_banks_sign_in(
    console: ConsoleApp, provider: FakeOpenIdProvider, api: RunningApp
) -> None:
    browser = signed_in(console, provider)
    csrf = browser.csrf
    provider.user = None
    api.clock.advance(CHECK_EVERY_US)
    late = browser.post("/console/stacks/none/decide", {"csrf": csrf, "narrative": "Two words and more."})
    assert late.status_code == HTTPStatus.UNAUTHORIZED
    provider.user = dict(ANN)
    again = browser.send_form(late, OPENID)
    page = came_back(browser, provider, refreshed_to(again))
    assert page.status_code == HTTPStatus.OK
    assert re.search(r'action="/console/stacks/none/decide"', page.text)
    assert "Two words and more." in page.text
