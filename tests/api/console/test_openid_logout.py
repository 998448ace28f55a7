"""Logout at the bank's provider: signing out there too, and logout tokens by which it ends sessions here."""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from clearhold.api.console.entry import COOKIE
from clearhold.api.console.pages.openid import ENDED
from clearhold.api.console.way_back import SIGN_IN
from clearhold.features.core.instants import HOUR_US
from clearhold.features.openid.logout_token import EVENT
from tests.support.console import Browser, ConsoleApp
from tests.support.openid_provider import ANN, CLIENT_ID, FakeOpenIdProvider
from tests.support.openid_sign_in import Wiring, refreshed_to, signed_in
from tests.support.running_app import BASE_URL

QUEUE, SIGN_OUT = "/console/queue", "/console/sign-out"
FORGER: Final = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


@pytest.fixture
def console(wiring: Wiring, tenant: dict[str, Any]) -> ConsoleApp:
    return wiring.console(tenant["slug"])


def is_in(browser: Browser) -> bool:
    return browser.get(QUEUE).status_code == HTTPStatus.OK


def session_of(console: ConsoleApp, provider: FakeOpenIdProvider, name: str, session: str) -> Browser:
    provider.user = ANN | {"sub": f"u-{name}", "email": f"{name}@bank.example", "sid": session}
    return signed_in(console, provider)


def claims_of(provider: FakeOpenIdProvider, **over: Any) -> dict[str, Any]:
    now_s = provider.now_s()
    usual = {"iss": provider.issuer, "aud": CLIENT_ID, "iat": now_s, "exp": now_s + 120, "jti": "one"}
    claims = usual | {"events": {EVENT: {}}} | over
    return {name: value for name, value in claims.items() if value is not None}


def told(console: ConsoleApp, token: str) -> Any:
    """The provider tells the service, without a browser's headers and cookies."""
    return console.browser("192.0.2.200").post(ENDED, {"logout_token": token}, {})


def test_given_a_provider_with_a_page_to_sign_out_then_signing_out_leads_there_with_the_sessions_token(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    provider.configuration = {"end_session_endpoint": f"{provider.issuer}/logout?realm=staff"}
    browser = signed_in(console, provider)
    before = dict(browser.cookies)
    answer = browser.post(SIGN_OUT, {"csrf": browser.csrf})
    place = urlsplit(refreshed_to(answer))
    assert f"{place.scheme}://{place.netloc}{place.path}" == f"{provider.issuer}/logout"
    sent = dict(parse_qsl(place.query))
    hint = jwt.decode(sent.pop("id_token_hint"), options={"verify_signature": False})
    assert hint["sub"] == ANN["sub"]
    assert sent == {"realm": "staff", "client_id": CLIENT_ID, "post_logout_redirect_uri": BASE_URL + SIGN_IN}
    assert "storage" in answer.headers["clear-site-data"]
    assert COOKIE not in browser.cookies
    assert "ann@bank.example" not in answer.text
    browser.cookies = before
    assert not is_in(browser)
    assert console.api.sync_redis.keys("console:grant:*") == []


@pytest.mark.parametrize("fault", [None, (500, b""), (200, b"<html>")])
def test_given_a_provider_without_such_a_page_or_without_an_answer_then_signing_out_ends_the_session_here(
    console: ConsoleApp, provider: FakeOpenIdProvider, fault: tuple[int, bytes] | None
) -> None:
    browser = signed_in(console, provider)
    csrf = browser.csrf
    if fault is not None:
        console.api.clock.advance(HOUR_US // 3)  # the configuration counts for an hour
        assert is_in(browser)
        console.api.clock.advance(HOUR_US // 3)
        assert is_in(browser)
        console.api.clock.advance(HOUR_US // 3 + 1)
        provider.faults["/.well-known/openid-configuration"] = lambda: fault
    answer = browser.post(SIGN_OUT, {"csrf": csrf})
    assert (answer.status_code, answer.headers["location"]) == (HTTPStatus.SEE_OTHER, SIGN_IN)
    assert COOKIE not in browser.cookies


def test_given_a_configuration_whose_page_to_sign_out_is_not_over_tls_then_it_is_refused(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    provider.configuration = {"end_session_endpoint": "http://evil.example/logout"}
    assert console.browser().post("/console/openid/start", {}).status_code == HTTPStatus.SERVICE_UNAVAILABLE


def test_given_a_logout_token_of_a_person_or_of_a_session_then_those_sessions_alone_end(
    console: ConsoleApp, provider: FakeOpenIdProvider, tenant: dict[str, Any]
) -> None:
    first, second = (session_of(console, provider, "ann", each) for each in ("s-1", "s-2"))
    third = session_of(console, provider, "ann", "s-3")
    bob, typed = session_of(console, provider, "bob", "s-4"), console.browser()
    typed.sign_in(tenant["operatorToken"], "ann@bank.example")
    answer = told(console, provider.signed(claims_of(provider, sid="s-1")))
    assert (answer.status_code, answer.json(), answer.headers["cache-control"]) == (200, {"ended": 1}, "no-store")
    assert [is_in(each) for each in (first, second, third)] == [False, True, True]
    told(console, provider.signed(claims_of(provider, jti="two", sub="u-ann", sid="s-2")))
    assert [is_in(each) for each in (second, third)] == [False, True]
    told(console, provider.signed(claims_of(provider, jti="three", sub="u-ann")))
    assert [is_in(each) for each in (third, bob, typed)] == [False, True, True]


def test_given_a_logout_token_that_was_used_then_it_ends_no_later_session(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    token = provider.signed(claims_of(provider, sub="u-ann"))
    assert told(console, token).json() == {"ended": 0}
    ann = session_of(console, provider, "ann", "s-1")
    assert told(console, token).status_code == HTTPStatus.BAD_REQUEST
    assert is_in(ann)


@pytest.mark.parametrize(
    "over",
    [
        {"iss": "https://evil.example"},
        {"aud": "another-client"},
        {"iat": 1, "exp": None},
        {"exp": 1},
        {"jti": None},
        {"jti": 7},
        {"events": None},
        {"events": [EVENT]},
        {"events": {"http://schemas.openid.net/event/other": {}}},
        {"nonce": "n"},
        {"sub": None},
        {"sub": ["u-ann"]},
    ],
    ids=repr,
)
def test_given_a_logout_token_with_a_wrong_claim_then_it_ends_nothing(
    console: ConsoleApp, provider: FakeOpenIdProvider, over: dict[str, Any]
) -> None:
    ann = session_of(console, provider, "ann", "s-1")
    answer = told(console, provider.signed(claims_of(provider, **({"sub": "u-ann"} | over))))
    assert (answer.status_code, answer.json()) == (HTTPStatus.BAD_REQUEST, {"error": "invalid_request"})
    assert is_in(ann)


def test_given_a_logout_token_that_the_provider_did_not_sign_then_it_ends_nothing(
    console: ConsoleApp, provider: FakeOpenIdProvider
) -> None:
    """By another key, by no key; an ID token; nothing."""
    ann = session_of(console, provider, "ann", "s-1")
    claims, head = claims_of(provider, sub="u-ann"), {"kid": "rsa-1"}
    tokens = [
        jwt.encode(claims, FORGER, "RS256", headers=head),
        jwt.encode(claims, "", "none", headers=head),
        provider.signed(claims_of(provider, sub="u-ann", events=None, nonce="n")),
        "",
        "x.y.z",
    ]
    assert {told(console, token).status_code for token in tokens} == {HTTPStatus.BAD_REQUEST}
    assert is_in(ann)


def test_given_no_provider_then_there_is_no_such_path(wiring: Wiring) -> None:
    assert told(ConsoleApp(wiring.api), "x.y.z").status_code == HTTPStatus.NOT_FOUND
