"""Links and states that count once, used several times at once; and headers that name another address."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from clearhold.api.console.tries import MOST
from clearhold.api.console.way_back import SIGN_IN
from clearhold.store.keys import token_digest
from clearhold.store.openid_logins import OpenIdLogin, OpenIdLogins
from clearhold.store.sessions import SignedInBy
from clearhold.store.start_links import SessionStart, StartLinks
from tests.support.console import SAME_ORIGIN, ConsoleApp
from tests.support.running_app import RunningApp


async def used(use: Callable[[], Awaitable[object]]) -> int:
    """How many of eight uses at once got something."""
    return sum(each is not None for each in await asyncio.gather(*(use() for _ in range(8))))


def test_given_a_link_that_signs_in_eight_times_at_once_then_one_session_begins(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    links = StartLinks(api.stores.hot)

    async def race() -> int:
        code = await links.create(SessionStart(tenant["id"], "ann", SignedInBy.TOKEN, "digest"))
        return await used(lambda: links.take(code))

    assert api.on_loop(race) == 1


def test_given_a_return_of_the_banks_provider_eight_times_at_once_then_it_counts_once(api: RunningApp) -> None:
    stores = api.stores
    logins = OpenIdLogins(stores.hot, stores.box, stores.clock)

    async def race() -> int:
        login = OpenIdLogin(browser=token_digest("b"), nonce="n", verifier="v", begun_at=stores.clock.now())
        state = await logins.begin(login)
        return await used(lambda: logins.take(state, "b"))

    assert api.on_loop(race) == 1


def test_given_headers_that_name_other_addresses_then_tries_count_for_the_address_of_the_connection(
    console: ConsoleApp,
) -> None:
    stranger = console.browser("192.0.2.60")
    answers = [
        stranger.post(
            SIGN_IN,
            {"token": "wrong", "name": "ann"},
            {**SAME_ORIGIN, "X-Forwarded-For": f"10.0.0.{number}", "X-Real-IP": f"10.0.1.{number}"},
        ).status_code
        for number in range(MOST + 1)
    ]
    assert answers == [HTTPStatus.UNAUTHORIZED] * MOST + [HTTPStatus.TOO_MANY_REQUESTS]
