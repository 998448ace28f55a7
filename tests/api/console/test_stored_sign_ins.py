"""What sign-ins leave in Redis is bounded: an outsider stores a few hundred bytes, and a bank a number of browsers."""

from http import HTTPStatus
from typing import Any, Final

import pytest

from clearhold.api.console.entry import BROWSER, LOGIN
from clearhold.api.console.pages.sign_in import OPENID
from clearhold.store import sessions
from tests.support.console import ConsoleApp
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
