"""What sign-ins leave in Redis is bounded: an outsider stores a few hundred bytes, and a bank a number of browsers."""

from http import HTTPStatus
from typing import Any, Final

import pytest

from clearhold.api.console.entry import BROWSER, COOKIE, LOGIN
from clearhold.api.console.pages.sign_in import OPENID
from clearhold.store import sessions
from tests.support.console import Browser, ConsoleApp
from tests.support.openid_sign_in import Wiring
from tests.support.running_app import RunningApp

LONG: Final = "note=" + "x" * 60_000
SMALL: Final = 3_000
MOST: Final = 3


@pytest.mark.parametrize(
    "form",
    [
        {"kept": LONG, "action": "/console/stacks/a/note"},
        {"kept": LONG, "action": "https://evil.example/" + "x" * 30_000},
        {"next": "/console/" + "x" * 60_000},
        {"next": "x" * 60_000},
    ],
)
@pytest.mark.parametrize("browser", [None, "", "of nobody"])
def test_given_an_outsider_that_begins_the_banks_sign_in_then_it_stores_little(
    wiring: Wiring, tenant: dict[str, Any], form: dict[str, str], browser: str | None
) -> None:
    console = wiring.console(tenant["slug"])
    visitor = console.browser()
    if browser is not None:
        visitor.cookies[BROWSER] = browser
    assert visitor.post(OPENID, form).status_code == HTTPStatus.OK
    assert visitor.cookies[LOGIN]
    redis = console.api.sync_redis
    (begun,) = redis.scan_iter("console:openid:*")
    assert redis.strlen(begun) < SMALL


def test_given_a_bank_with_many_sign_ins_then_it_keeps_the_newest_browsers(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_BROWSERS", MOST)
    monkeypatch.setattr(sessions, "MOST_TRACES", MOST)
    other = console.browser()
    other.sign_in(api.create_tenant("second-bank")["operatorToken"], "eve@other.example")
    for number in range(2 * MOST):
        api.clock.advance(1)
        console.browser().sign_in(tenant["operatorToken"], f"person-{number}")
    kept = [key.decode() for key in api.sync_redis.scan_iter("console:browser:*")]
    assert len(kept) == MOST + 1, "and that of the other bank"
    assert api.sync_redis.zcard(f"console:traces:{tenant['id']}") == MOST
    assert api.sync_redis.zcard(f"console:browsers:{tenant['id']}") == MOST


def refused(visitor: Browser, number: int) -> list[int]:
    return [visitor.sign_in("op_wrong").status_code for _ in range(number)]


@pytest.mark.parametrize("known", ["a browser that had a session", "a browser that says it had one", "no browser"])
def test_given_an_outsider_behind_the_same_proxy_that_uses_up_the_tries_then_known_browsers_sign_in(
    console: ConsoleApp, tenant: dict[str, Any], known: str
) -> None:
    visitor, outsider = console.browser(), console.browser()
    if known == "a browser that had a session":
        assert visitor.sign_in(tenant["operatorToken"]).status_code == HTTPStatus.SEE_OTHER
        del visitor.cookies[COOKIE]
    elif known == "a browser that says it had one":
        visitor.cookies[BROWSER] = "x" * 43
    assert refused(outsider, 6) == [401] * 5 + [429]
    expected = HTTPStatus.SEE_OTHER if known == "a browser that had a session" else HTTPStatus.TOO_MANY_REQUESTS
    assert visitor.sign_in(tenant["operatorToken"]).status_code == expected


def test_given_a_known_browser_that_uses_up_its_tries_then_it_waits_and_the_others_at_its_address_do_not(
    console: ConsoleApp, tenant: dict[str, Any]
) -> None:
    visitor, other = console.browser(), console.browser()
    visitor.sign_in(tenant["operatorToken"])
    del visitor.cookies[COOKIE]
    assert refused(visitor, 6) == [401] * 5 + [429]
    assert other.sign_in(tenant["operatorToken"]).status_code == HTTPStatus.SEE_OTHER
