"""Invitations that wait for their persons: listed, ended, used once, and of their own bank alone."""

import asyncio
from http import HTTPStatus
from typing import Any

import pytest

from clearhold.api.console.pages.people import PATH, UNINVITE
from clearhold.api.console.passkeys import NOT_PENDING
from clearhold.features.core.instants import DAY_US, MINUTE_US
from clearhold.store.invitations import Invitations
from tests.api.console.test_passkeys import USED, a_device, invited, registered
from tests.support.console import Browser, ConsoleApp, form_fields
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

BOB, CAROL = "bob@bank.example", "carol@bank.example"


def waiting(visitor: Browser) -> list[str]:
    """The rows of the list."""
    page = visitor.get(PATH).text
    if 'id="invitations"' not in page:
        return []
    table = page.partition('id="invitations"')[2].partition("</table>")[0]
    return [each.partition("</tr>")[0] for each in table.split("<tr>")[2:]]


def test_given_invitations_then_the_page_lists_for_whom_by_whom_and_until_when_and_one_can_be_ended(
    browser: Browser, console: ConsoleApp, api: RunningApp
) -> None:
    codes = [invited(browser, BOB)]
    api.clock.advance(MINUTE_US)
    codes.append(invited(browser, CAROL))
    rows = waiting(browser)
    assert [CAROL in rows[0], BOB in rows[1]] == [True, True]
    assert all("ann@bank.example" in each and "(typed)" in each for each in rows)
    assert all(len(DomPage(f"<table><tr>{each}</tr></table>").all("time")) == 2 for each in rows)
    assert not [code for code in codes if code in browser.get(PATH).text], "the link was on one page alone"
    fields = form_fields(browser.get(PATH).text, UNINVITE)
    assert browser.post(UNINVITE, fields).headers["location"] == PATH
    assert [BOB in each for each in waiting(browser)] == [True]
    refused = registered_with(console, codes[1])
    assert (refused.status_code, USED in refused.text) == (HTTPStatus.UNAUTHORIZED, True)
    again = browser.post(UNINVITE, fields)
    assert (again.status_code, NOT_PENDING in again.text) == (HTTPStatus.NOT_FOUND, True)


def registered_with(console: ConsoleApp, code: str) -> Any:
    """The answer to the challenge of an invitation."""
    return console.browser("192.0.2.50").post("/console/invitation/challenge", {"code": code})


def test_given_an_invitation_that_was_used_replaced_or_is_old_then_it_is_not_listed(
    browser: Browser, console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    assert registered(console.browser(), invited(browser, BOB), a_device()).status_code == HTTPStatus.SEE_OTHER
    assert waiting(browser) == []
    for _ in range(2):
        invited(browser, CAROL)
    assert len(waiting(browser)) == 1
    api.clock.advance(DAY_US)
    later = console.browser()
    later.sign_in(tenant["operatorToken"])
    assert waiting(later) == []


def test_given_another_bank_or_a_key_then_invitations_are_not_seen_and_not_ended(
    browser: Browser, console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    invited(browser, BOB)
    fields = form_fields(browser.get(PATH).text, UNINVITE)
    eve = console.browser()
    eve.sign_in(api.create_tenant("second-bank")["operatorToken"], "eve@second.example")
    assert waiting(eve) == []
    assert eve.post(UNINVITE, fields | {"csrf": eve.csrf}).status_code == HTTPStatus.NOT_FOUND
    key = api.client.post("/api/keys", json={"name": "k", "mode": "live"}, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    assert waiting(reader) == []
    answer = reader.post(UNINVITE, fields | {"csrf": reader.csrf})
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert len(waiting(browser)) == 1


@pytest.mark.usefixtures("browser")
def test_given_two_invitations_of_one_name_at_once_then_one_of_them_works(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    invitations = Invitations(api.stores.hot, api.clock)

    async def race() -> list[bool]:
        of_bob = {"tenant_id": tenant["id"], "name": BOB, "invited_by": "ann", "by_person": False}
        codes = await asyncio.gather(*(invitations.create(**of_bob) for _ in range(8)))
        return [await invitations.find(code) is not None for code in codes]

    assert sum(api.on_loop(race)) == 1


def test_given_one_invitation_twice_at_once_then_it_is_taken_once(api: RunningApp, tenant: dict[str, Any]) -> None:
    invitations = Invitations(api.stores.hot, api.clock)

    async def race() -> list[bool]:
        code = await invitations.create(tenant_id=tenant["id"], name=BOB, invited_by="ann", by_person=False)
        return [each is not None for each in await asyncio.gather(*(invitations.take(code) for _ in range(8)))]

    assert sum(api.on_loop(race)) == 1
