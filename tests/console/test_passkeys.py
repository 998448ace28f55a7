"""A passkey in a real browser, with an authenticator that the browser plays: registered, used, and revoked."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.console_demo import ANN, Person
from tests.support.running_service import RunningService

CAROL = "carol@bank.example"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("passkeys") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def bank(service: RunningService) -> dict[str, Any]:
    return service.admin("/api/admin/tenants", {"slug": "first-bank", "name": "First Bank"})


def person_at(service: RunningService, chromium: Browser, host: str, name: str) -> Person:
    return Person(chromium.new_context(base_url=f"http://{host}:{service.port}"), name)


def give_authenticator(person: Person) -> None:
    devices = person.context.new_cdp_session(person.page)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})


def test_given_an_invitation_then_its_person_registers_a_passkey_signs_in_with_it_and_is_out_when_it_is_revoked(
    service: RunningService, bank: dict[str, Any], chromium: Browser
) -> None:
    with (
        person_at(service, chromium, "127.0.0.1", ANN) as ann,
        person_at(service, chromium, "localhost", CAROL) as carol,
    ):
        ann.sign_in(bank["operatorToken"])
        give_authenticator(carol)
        ann.page.goto("/console/people")
        ann.page.get_by_label("Name for the record").fill(CAROL)
        ann.page.get_by_role("button", name="Make a link").click()
        link = ann.page.get_by_label("The link for").input_value()

        carol.page.goto(link)
        expect(carol.page.get_by_text(f"This link is for {CAROL}.")).to_be_visible()
        carol.page.get_by_role("button", name="Create a passkey").click()
        carol.page.wait_for_url("**/console/today")
        expect(carol.page.locator("header .name")).to_have_text(CAROL)

        carol.page.get_by_role("button", name="Sign out").click()
        carol.page.goto("/console/sign-in?next=/console/people")
        carol.page.get_by_role("button", name="Sign in with a passkey").click()
        carol.page.wait_for_url("**/console/people")
        expect(carol.page.get_by_text("a passkey that this person registered").first).to_be_visible()

        ann.page.goto("/console/people")
        ann.page.get_by_role("button", name=f"Revoke the passkey of {CAROL}").click()
        expect(ann.page.get_by_role("button", name=f"Revoke the passkey of {CAROL}")).to_have_count(0)
        carol.page.goto("/console/people")
        carol.page.wait_for_url("**/console/sign-in?**")
        assert not ann.faults + carol.faults


def test_given_another_invitation_in_the_same_tab_then_the_page_names_its_person_and_one_that_is_none_has_no_button(
    service: RunningService, bank: dict[str, Any], chromium: Browser
) -> None:
    with person_at(service, chromium, "127.0.0.1", ANN) as ann, person_at(service, chromium, "localhost", CAROL) as bob:
        ann.sign_in(bank["operatorToken"])
        for name in ("erin@bank.example", "frank@bank.example"):
            ann.page.goto("/console/people")
            ann.page.get_by_label("Name for the record").fill(name)
            ann.page.get_by_role("button", name="Make a link").click()
            bob.page.goto(ann.page.get_by_label("The link for").input_value())
            expect(bob.page.get_by_text(f"This link is for {name}.")).to_be_visible()
        bob.page.goto("/console/invitation#none")
        expect(bob.page.get_by_text("This invitation was used")).to_be_visible()
        expect(bob.page.get_by_role("button", name="Create a passkey")).to_have_count(0)


def test_given_the_address_of_the_machine_then_the_page_leads_to_the_name_that_passkeys_belong_to(
    service: RunningService, chromium: Browser
) -> None:
    with person_at(service, chromium, "127.0.0.1", CAROL) as carol:
        carol.page.goto("/console/sign-in?next=/console/people")
        carol.page.get_by_role("link", name="Passkeys are at http://localhost").click()
        expect(carol.page.get_by_role("button", name="Sign in with a passkey")).to_be_visible()
        assert carol.page.url.startswith("http://localhost:")
