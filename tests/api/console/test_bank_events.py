"""Events without effect on the console: faults in words, the cure, the bank's object as text, and its correction."""

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import pytest

from clearhold.api.console.pages.bank_events import CURES, WITHOUT_EFFECT
from clearhold.features.core.log_entry import TAKES_EFFECT, EventResult
from tests.support import bank_events as bank
from tests.support.alerting import deliver
from tests.support.console import Browser, ConsoleApp
from tests.support.running_app import RunningApp

EVENTS = "/console/settings/events"
WIRE = "wire.outgoing_transfer.initiated"
HOSTILE = "<script>alert(1)</script>"


def a_wire(event_id: str = "evnt_1", kind: str = WIRE, **over: Any) -> bytes:
    return bank.an_event(kind, bank.a_wire(**over), event_id=event_id)


def test_given_every_result_without_effect_then_it_has_a_cure() -> None:
    assert set(CURES) == set(WITHOUT_EFFECT)
    harmless = {EventResult.STALE, EventResult.STORED, EventResult.DUPLICATE}
    assert set(EventResult) == set(WITHOUT_EFFECT) | set(TAKES_EFFECT) | harmless


def test_given_an_event_that_cannot_be_used_then_the_list_names_the_field_and_leads_to_the_cure(
    api: RunningApp, program: dict[str, Any], browser: Browser
) -> None:
    deliver(api, program, a_wire(amount=9850.5), a_wire("evnt_right", id="wire_right"))
    page = browser.get(EVENTS).text
    assert "data.amount" in page
    assert "evnt_right" not in page
    path = f"{EVENTS}/evnt_1?programId={program['id']}"
    assert f'href="{path}"' in page
    event = browser.get(path).text
    assert "send the event again under the same id" in event
    assert "9850.5" in event


def test_given_a_correction_then_the_page_says_that_it_took_effect_and_has_both_deliveries(
    api: RunningApp, program: dict[str, Any], browser: Browser
) -> None:
    deliver(api, program, a_wire(amount=9850.5), a_wire(amount=985050))
    event = browser.get(f"{EVENTS}/evnt_1").text
    assert "It took effect, and corrects an earlier delivery." in event
    assert event.count('data-label="Received"') == 2


def test_given_hostile_texts_then_they_are_text(api: RunningApp, program: dict[str, Any], browser: Browser) -> None:
    deliver(api, program, a_wire(f"evnt_{HOSTILE}", amount="x", description=f"{HOSTILE}\N{RIGHT-TO-LEFT OVERRIDE}"))
    for page in (browser.get(EVENTS), browser.get(f"{EVENTS}/{quote(f'evnt_{HOSTILE}', safe='')}")):
        assert page.status_code == HTTPStatus.OK
        assert HOSTILE not in page.text
        assert "&lt;script&gt;alert(1)" in page.text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page.text


def test_given_filters_then_the_list_has_that_result_of_that_program_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    other = api.create_program(tenant, slug="lending", name="Lending")
    deliver(api, program, a_wire("evnt_unusable", amount="x"), a_wire("evnt_unknown", "pigeon.flown"))
    deliver(api, other, a_wire("evnt_of_lending", amount="x"))
    assert "evnt_unknown" in browser.get(f"{EVENTS}?result=unknown").text
    assert "evnt_unusable" not in browser.get(f"{EVENTS}?result=unknown").text
    assert "evnt_of_lending" not in browser.get(f"{EVENTS}?program={program['id']}").text
    assert browser.get(f"{EVENTS}?result=none").status_code == HTTPStatus.BAD_REQUEST


@pytest.mark.usefixtures("tenant")
def test_given_another_bank_then_the_event_is_not_known_to_it(
    api: RunningApp, console: ConsoleApp, program: dict[str, Any]
) -> None:
    deliver(api, program, a_wire(amount="x"))
    eve = console.browser()
    eve.sign_in(api.create_tenant("second-bank")["operatorToken"], "eve@second.example")
    assert "evnt_1" not in eve.get(EVENTS).text
    assert eve.get(f"{EVENTS}/evnt_1").status_code == HTTPStatus.NOT_FOUND
