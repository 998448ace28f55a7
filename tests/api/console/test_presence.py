"""Who looks at the same stack: names of one tenant, for as long as their browsers say so."""

from typing import Any, Final

import pytest

from clearhold.api.console.presence import LOOKS_FOR_US, MOST, Presence
from tests.support.console import Browser, ConsoleApp
from tests.support.running_app import RunningApp

STACK: Final = "5f0c7f3e-0b0c-5e55-8c55-5d3f2b1a9e10"
ADDRESS: Final = f"/console/stacks/{STACK}/presence"
TOO: Final = "<bdi>ann@bank.example</bdi> is looking at this too"


def look(browser: Browser) -> str:
    answer = browser.post(ADDRESS, {"csrf": browser.csrf}, {"Sec-Fetch-Site": "same-origin", "HX-Request": "true"})
    assert answer.status_code == 200, answer.text
    text: str = answer.text
    return text


def test_given_two_people_on_a_stack_then_each_is_named_to_the_other(
    browser: Browser, console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    bob = console.browser()
    bob.sign_in(tenant["operatorToken"], "bob@bank.example")

    assert look(browser) == ""
    assert look(bob) == TOO
    assert look(bob) == TOO
    api.clock.advance(LOOKS_FOR_US)
    assert look(bob) == ""


def test_given_another_tenant_then_it_is_told_no_name(browser: Browser, console: ConsoleApp, api: RunningApp) -> None:
    stranger = console.browser()
    stranger.sign_in(api.create_tenant("second-bank")["operatorToken"], "eve@other.example")
    look(browser)
    assert look(stranger) == ""


@pytest.mark.parametrize("stack_id", ["none", "x" * 30_000, STACK[:-1], f"{STACK}0", "%00"])
def test_given_a_text_that_is_no_id_of_a_stack_then_it_is_not_kept(browser: Browser, stack_id: str) -> None:
    form = {"csrf": browser.csrf}
    assert browser.post(f"/console/stacks/{stack_id}/presence", form).status_code == 404


def test_given_no_token_of_the_session_then_nothing_is_noted(browser: Browser) -> None:
    assert browser.post(ADDRESS, {}).status_code == 403


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("bob",), "<bdi>bob</bdi> is looking at this too"),
        (("bob", "cy"), "<bdi>bob</bdi> and <bdi>cy</bdi> are looking at this too"),
        (("bob", "cy", "di"), "<bdi>bob</bdi>, <bdi>cy</bdi> and <bdi>di</bdi> are looking at this too"),
    ],
)
def test_given_several_then_the_sentence_lists_them(
    browser: Browser, console: ConsoleApp, tenant: dict[str, Any], names: tuple[str, ...], words: str
) -> None:
    for name in names:
        other = console.browser()
        other.sign_in(tenant["operatorToken"], name)
        look(other)
    assert look(browser) == words


def test_given_more_views_than_are_kept_then_the_oldest_is_forgotten() -> None:
    presence = Presence()
    for number in range(MOST + 1):
        presence.look("tenant", f"stack {number}", "ann", number)
    assert presence.look("tenant", "stack 0", "bob", MOST + 1) == []
    assert presence.look("tenant", "stack 9", "bob", MOST + 1) == ["ann"]
