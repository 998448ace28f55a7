"""Invitations and passkeys: invitation, registration, sign-in, revocation, and the refused requests of each."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US, MINUTE_US
from clearhold.store.invitations import CHALLENGE_US
from tests.support.authenticator import PRESENT, SoftAuthenticator, text_of
from tests.support.console import Browser, ConsoleApp, form_fields, person_token
from tests.support.dom import DomPage
from tests.support.running_app import BASE_URL, RunningApp, content_of_201

PEOPLE, INVITE, REVOKE = "/console/people", "/console/people/invite", "/console/people/revoke"
INVITATION, SIGN_IN = "/console/invitation", "/console/sign-in/passkey"
ANN, BOB, CAROL = "ann@bank.example", "bob@bank.example", "carol@bank.example"
NOT_ACCEPTED = "The passkey was not accepted."
USED = "This invitation was used, replaced, or is older than a day."


def code_of(answer: Any) -> str:
    """The secret in the link of a page that has one."""
    link = DomPage(answer.text).one("input", id="link").attributes["value"] or ""
    path, _, code = link.partition("#")
    assert path == f"{BASE_URL}{INVITATION}"
    return code


def invited(inviter: Browser, name: str) -> str:
    return code_of(inviter.post(INVITE, {"csrf": inviter.csrf, "name": name}))


def asked(visitor: Browser, path: str, **fields: str) -> dict[str, Any]:
    """The options of a ceremony."""
    answer = visitor.post(f"{path}/challenge", fields)
    assert answer.status_code == HTTPStatus.OK, answer.text
    options: dict[str, Any] = answer.json()["options"]
    return options


def registered(visitor: Browser, code: str, device: SoftAuthenticator) -> Any:
    credential = device.created(asked(visitor, INVITATION, code=code))
    return visitor.post(INVITATION, {"code": code, "credential": credential})


def signed_in(visitor: Browser, device: SoftAuthenticator, **over: Any) -> Any:
    return visitor.post(SIGN_IN, {"credential": device.used(asked(visitor, SIGN_IN), **over), "next": PEOPLE})


def a_device(number: int = 1, counter: int = 0) -> SoftAuthenticator:
    return SoftAuthenticator(bytes([number]) * 32, origin=BASE_URL, counter=counter)


@pytest.fixture
def device(browser: Browser, console: ConsoleApp) -> SoftAuthenticator:
    """That of bob, whose passkey is registered."""
    bobs = a_device(counter=1)
    assert registered(console.browser(), invited(browser, BOB), bobs).status_code == HTTPStatus.SEE_OTHER
    return bobs


def test_given_an_invitation_when_the_person_registers_a_passkey_then_a_session_begins_whose_name_is_proven(
    browser: Browser, console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    visitor, bobs, ann = console.browser("192.0.2.7"), a_device(), api.operator(tenant, ANN)
    assert registered(visitor, invited(browser, BOB), bobs).headers["location"] == "/console/today"
    assert "a passkey that this person registered" in visitor.get(PEOPLE).text
    body = {"type": "freeze_account", "programId": program["id"], "targetType": "account", "targetId": "acct_1"}
    action_id = content_of_201(api.client.post("/api/actions", json=body, headers=ann))["id"]
    form = {"csrf": visitor.csrf, "attempt": "one", "answer": "approve"}
    assert visitor.post(f"/console/approvals/{action_id}", form).status_code == HTTPStatus.SEE_OTHER
    approved = api.client.get(f"/api/actions/{action_id}", headers=ann).json()
    assert (approved["approvedBy"], approved["approvedIdentity"]) == (BOB, "person")


def test_given_a_passkey_when_it_signs_then_a_session_begins_and_goes_on_at_the_wanted_page(
    console: ConsoleApp, device: SoftAuthenticator
) -> None:
    visitor = console.browser()
    assert signed_in(visitor, device).headers["location"] == PEOPLE
    assert visitor.get(PEOPLE).status_code == HTTPStatus.OK
    assert signed_in(console.browser(), device).status_code == HTTPStatus.SEE_OTHER, "the counter has risen"


def test_given_the_next_process_when_it_reads_the_log_then_passkeys_are_as_before(
    browser: Browser, console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], device: SoftAuthenticator
) -> None:
    registered(console.browser(), invited(browser, CAROL), a_device(2))
    bob = console.browser()
    signed_in(bob, device)
    carols = next(each for each in rows(bob) if CAROL in each)
    bob.post(REVOKE, {"csrf": bob.csrf, "passkey": carols[CAROL]})
    passkeys = api.reloaded_registry().tenancy.passkeys.of_tenant(tenant["id"])
    assert {each.entry.name: each.revoked_at is None for each in passkeys} == {BOB: True, CAROL: False}


def rows(visitor: Browser) -> list[dict[str, str]]:
    """The passkeys that the page lets its reader revoke: the id by the person."""
    page = visitor.get(PEOPLE).text
    return [
        {name: form_fields(f"<form{part.partition('</form>')[0]}</form>", REVOKE)["passkey"]}
        for part in page.split("<form")
        for name in (ANN, BOB, CAROL)
        if f"Revoke the passkey of {name}" in part
    ]


def test_when_a_passkey_is_revoked_then_its_session_ends_with_the_next_request_and_it_signs_nobody_in(
    browser: Browser, console: ConsoleApp, device: SoftAuthenticator
) -> None:
    bob = console.browser()
    signed_in(bob, device)
    (row,) = rows(browser)
    assert browser.post(REVOKE, {"csrf": browser.csrf, "passkey": row[BOB]}).status_code == HTTPStatus.SEE_OTHER
    assert bob.get(PEOPLE).headers["location"].startswith("/console/sign-in")
    assert rows(browser) == []
    assert "revoked " in browser.get(PEOPLE).text
    refused = signed_in(console.browser(), device)
    assert refused.status_code == HTTPStatus.UNAUTHORIZED
    assert "not known here, or was revoked" in refused.text


def test_given_a_passkey_of_another_tenant_then_it_is_not_listed_and_to_revoke_it_is_the_same_404_as_none(
    console: ConsoleApp, api: RunningApp, browser: Browser, device: SoftAuthenticator
) -> None:
    other = api.create_tenant("second-bank")
    eve = console.browser()
    eve.sign_in(other["operatorToken"], "eve@second.example")
    assert BOB not in eve.get(PEOPLE).text
    (row,) = rows(browser)
    answers = [eve.post(REVOKE, {"csrf": eve.csrf, "passkey": each}) for each in (row[BOB], row[BOB][::-1], "")]
    assert {each.status_code for each in answers} == {HTTPStatus.NOT_FOUND}
    assert signed_in(console.browser(), device).status_code == HTTPStatus.SEE_OTHER


def test_given_an_invitation_of_another_tenant_then_the_person_is_one_of_that_tenant_alone(
    console: ConsoleApp, api: RunningApp, browser: Browser
) -> None:
    other = api.create_tenant("second-bank")
    eve, visitor, device = console.browser(), console.browser(), a_device()
    eve.sign_in(other["operatorToken"], "eve@second.example")
    registered(visitor, invited(eve, BOB), device)
    assert "eve@second.example" in visitor.get(PEOPLE).text
    assert ANN not in visitor.get(PEOPLE).text
    assert BOB not in browser.get(PEOPLE).text


def test_given_an_invitation_when_used_twice_then_the_second_is_refused(browser: Browser, console: ConsoleApp) -> None:
    code, first, second = invited(browser, BOB), console.browser(), console.browser()
    late = a_device(2).created(asked(second, INVITATION, code=code))
    assert registered(first, code, a_device()).status_code == HTTPStatus.SEE_OTHER
    answer = second.post(INVITATION, {"code": code, "credential": late})
    assert (answer.status_code, USED in answer.text) == (HTTPStatus.UNAUTHORIZED, True)
    assert USED in second.post(f"{INVITATION}/challenge", {"code": code}).json()["refusal"]
    assert not second.cookies
    assert len(rows(browser)) == 1


def test_given_an_invitation_when_a_day_has_passed_then_it_is_refused(
    browser: Browser, console: ConsoleApp, api: RunningApp
) -> None:
    code, visitor, device = invited(browser, BOB), console.browser(), a_device()
    api.clock.advance(DAY_US - MINUTE_US)
    credential = device.created(asked(visitor, INVITATION, code=code))
    api.clock.advance(MINUTE_US)
    answer = visitor.post(INVITATION, {"code": code, "credential": credential})
    assert (answer.status_code, USED in answer.text) == (HTTPStatus.UNAUTHORIZED, True)
    assert visitor.post(f"{INVITATION}/challenge", {"code": code}).status_code == HTTPStatus.UNAUTHORIZED


def test_given_a_further_invitation_of_a_name_then_the_former_ends(browser: Browser, console: ConsoleApp) -> None:
    former, newest = invited(browser, BOB), invited(browser, BOB.upper())
    assert USED in console.browser().post(f"{INVITATION}/challenge", {"code": former}).json()["refusal"]
    assert registered(console.browser(), newest, a_device()).status_code == HTTPStatus.SEE_OTHER


@pytest.mark.parametrize("name", [BOB, BOB.upper(), f"  {BOB} "])
def test_given_a_person_with_a_passkey_then_another_cannot_invite_that_name_however_it_is_written(
    browser: Browser, device: SoftAuthenticator, name: str
) -> None:
    answer = browser.post(INVITE, {"csrf": browser.csrf, "name": name})
    assert answer.status_code == HTTPStatus.CONFLICT
    assert "Only the person adds a further passkey" in answer.text
    assert 'id="link"' not in answer.text
    assert device.credential_id


def test_given_two_tenants_names_that_differ_in_case_alone_when_both_were_invited_then_one_is_registered(
    browser: Browser, console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    code = invited(browser, BOB)
    person_token(api, tenant, BOB.upper())
    answer = registered(console.browser(), code, a_device())
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert "Only the person adds a further passkey" in answer.text


def test_given_a_person_with_a_passkey_when_it_signed_in_then_the_person_adds_a_further_one_under_the_same_name(
    console: ConsoleApp, device: SoftAuthenticator, browser: Browser
) -> None:
    bob = console.browser()
    signed_in(bob, device)
    code = invited(bob, BOB.upper())
    options = asked(console.browser(), INVITATION, code=code)
    assert options["user"]["name"] == BOB
    assert [each["id"] for each in options["excludeCredentials"]] == [text_of(device.credential_id)]
    assert registered(console.browser(), code, a_device(2)).status_code == HTTPStatus.SEE_OTHER
    assert [*map(set, rows(browser))] == [{BOB}, {BOB}]


def test_given_two_persons_with_passkeys_then_a_claim_neither_invites_nor_revokes_nor_approves(
    browser: Browser,
    console: ConsoleApp,
    api: RunningApp,
    tenant: dict[str, Any],
    program: dict[str, Any],
    device: SoftAuthenticator,
) -> None:
    registered(console.browser(), invited(browser, CAROL), a_device(2))
    refused = browser.post(INVITE, {"csrf": browser.csrf, "name": "dave@bank.example"})
    assert (refused.status_code, "only such a person invites" in refused.text) == (HTTPStatus.CONFLICT, True)
    passkey = next(each[BOB] for each in rows(browser) if BOB in each)
    assert browser.post(REVOKE, {"csrf": browser.csrf, "passkey": passkey}).status_code == HTTPStatus.FORBIDDEN
    body = {"type": "freeze_account", "programId": program["id"], "targetType": "account", "targetId": "acct_1"}
    ann = api.operator(tenant, ANN)
    action_id = content_of_201(api.client.post("/api/actions", json=body, headers=ann))["id"]
    approval = api.client.post(f"/api/actions/{action_id}/approve", headers=api.operator(tenant, "dave"))
    assert approval.json()["code"] == "person_token_required"
    bob = console.browser()
    signed_in(bob, device)
    assert invited(bob, "dave@bank.example")


def test_given_a_session_of_a_key_then_it_cannot_invite_and_sees_no_passkeys(
    browser: Browser, console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], device: SoftAuthenticator
) -> None:
    key = api.client.post("/api/keys", json={"name": "k", "mode": "live"}, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    answer = reader.post(INVITE, {"csrf": reader.csrf, "name": CAROL})
    assert (answer.status_code, "may read and not write" in answer.text) == (HTTPStatus.FORBIDDEN, True)
    page = reader.get(PEOPLE).text
    assert INVITE not in page
    assert BOB not in page
    assert rows(browser)
    assert device.credential_id


@pytest.mark.parametrize(
    ("over", "flags"),
    [
        ({"challenge": text_of(b"a" * 43)}, None),
        ({"challenge": "é"}, None),
        ({"origin": "https://evil.example"}, None),
        ({"origin": f"{BASE_URL}:8443"}, None),
        ({"type": "webauthn.create"}, None),
        ({}, PRESENT),
    ],
)
def test_given_an_answer_that_is_not_right_then_it_signs_nobody_in(
    console: ConsoleApp, device: SoftAuthenticator, over: dict[str, str], flags: int | None
) -> None:
    visitor = console.browser()
    answer = signed_in(visitor, device, **over, **({} if flags is None else {"flags": flags}))
    assert (answer.status_code, NOT_ACCEPTED in answer.text) == (HTTPStatus.UNAUTHORIZED, True)
    assert not visitor.cookies


def test_given_an_answer_when_it_is_sent_twice_or_too_late_then_it_signs_in_once(
    console: ConsoleApp, device: SoftAuthenticator, api: RunningApp
) -> None:
    first, second = console.browser(), console.browser()
    sent = device.used(asked(first, SIGN_IN))
    assert first.post(SIGN_IN, {"credential": sent}).status_code == HTTPStatus.SEE_OTHER
    assert second.post(SIGN_IN, {"credential": sent}).status_code == HTTPStatus.UNAUTHORIZED
    late = device.used(asked(first, SIGN_IN))
    api.clock.advance(CHALLENGE_US)
    assert second.post(SIGN_IN, {"credential": late}).status_code == HTTPStatus.UNAUTHORIZED
    assert not second.cookies


def test_given_the_challenge_of_an_invitation_then_it_signs_nobody_in_and_the_other_way_round(
    browser: Browser, console: ConsoleApp, device: SoftAuthenticator
) -> None:
    code, visitor = invited(browser, CAROL), console.browser()
    options = asked(visitor, INVITATION, code=code)
    sent = device.used({"rpId": options["rp"]["id"], "challenge": options["challenge"]})
    assert visitor.post(SIGN_IN, {"credential": sent}).status_code == HTTPStatus.UNAUTHORIZED
    other = options | {"challenge": asked(visitor, SIGN_IN)["challenge"]}
    created = a_device(2).created(other)
    assert visitor.post(INVITATION, {"code": code, "credential": created}).status_code == HTTPStatus.UNAUTHORIZED
    assert registered(visitor, code, a_device(2)).status_code == HTTPStatus.SEE_OTHER, "the invitation was not used"


def test_given_an_unknown_passkey_or_that_of_another_person_then_it_signs_nobody_in(
    browser: Browser, console: ConsoleApp, device: SoftAuthenticator
) -> None:
    carols = a_device(2)
    registered(console.browser(), invited(browser, CAROL), carols)
    stranger, forger, posing = a_device(9), a_device(1, counter=5), device
    stranger.user_id = forger.user_id = device.user_id
    posing.user_id, visitor = carols.user_id, console.browser()
    for each in (stranger, forger, posing):
        assert signed_in(visitor, each).status_code == HTTPStatus.UNAUTHORIZED
    assert not visitor.cookies


def test_given_a_counter_that_does_not_rise_then_the_passkey_was_copied_and_signs_nobody_in(
    console: ConsoleApp, device: SoftAuthenticator
) -> None:
    signed_in(console.browser(), device)
    device.counter -= 1
    assert signed_in(console.browser(), device).status_code == HTTPStatus.UNAUTHORIZED
    device.counter += 1
    assert signed_in(console.browser(), device).status_code == HTTPStatus.SEE_OTHER


def test_given_the_passkey_of_another_person_when_registered_again_then_it_is_refused(
    browser: Browser, console: ConsoleApp, device: SoftAuthenticator
) -> None:
    answer = registered(console.browser(), invited(browser, CAROL), device)
    assert (answer.status_code, "registered before" in answer.text) == (HTTPStatus.UNAUTHORIZED, True)
    assert [*map(set, rows(browser))] == [{BOB}]


@pytest.mark.parametrize(
    "sent", ["", "{}", "[]", "null", "\0", '{"id":"a","response":{"clientDataJSON":"!"}}', "[" * 5000, '{"id":1}']
)
@pytest.mark.parametrize("path", [SIGN_IN, INVITATION])
def test_given_no_answer_of_an_authenticator_then_it_is_refused_as_one(
    console: ConsoleApp, device: SoftAuthenticator, sent: str, path: str
) -> None:
    answer = console.browser().post(path, {"credential": sent, "code": "x"})
    assert (answer.status_code, NOT_ACCEPTED in answer.text) == (HTTPStatus.UNAUTHORIZED, True)
    assert device.credential_id


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: answer["response"].update(authenticatorData="AA"),
        lambda answer: answer["response"].update(signature=""),
        lambda answer: answer["response"].pop("signature"),
        lambda answer: answer.update(type="other"),
        lambda answer: answer.update(rawId="AAAA"),
    ],
)
def test_given_an_answer_with_broken_parts_then_it_is_refused_as_one(
    console: ConsoleApp, device: SoftAuthenticator, change: Callable[[dict[str, Any]], None]
) -> None:
    visitor = console.browser()
    answer = msgspec.json.decode(device.used(asked(visitor, SIGN_IN)))
    change(answer)
    refused = visitor.post(SIGN_IN, {"credential": msgspec.json.encode(answer).decode()})
    assert (refused.status_code, NOT_ACCEPTED in refused.text) == (HTTPStatus.UNAUTHORIZED, True)


@pytest.mark.parametrize("path", [SIGN_IN, INVITATION, f"{INVITATION}/challenge"])
def test_given_five_refused_tries_within_a_minute_then_the_sixth_has_to_wait_with_a_right_answer_too(
    console: ConsoleApp, api: RunningApp, device: SoftAuthenticator, path: str
) -> None:
    visitor = console.browser("192.0.2.44")
    right = device.used(asked(visitor, SIGN_IN))
    tries = [visitor.post(path, {"code": str(each), "credential": "{}"}).status_code for each in range(6)]
    assert tries == [HTTPStatus.UNAUTHORIZED] * 5 + [HTTPStatus.TOO_MANY_REQUESTS]
    refused = visitor.post(SIGN_IN, {"credential": right})
    assert (refused.status_code, refused.headers["retry-after"]) == (HTTPStatus.TOO_MANY_REQUESTS, "60")
    assert visitor.sign_in("wrong").status_code == HTTPStatus.TOO_MANY_REQUESTS
    api.clock.advance(MINUTE_US)
    assert visitor.post(SIGN_IN, {"credential": right}).status_code == HTTPStatus.SEE_OTHER


def test_when_a_person_is_invited_then_the_link_is_on_one_page_and_its_secret_is_stored_nowhere(
    browser: Browser, api: RunningApp
) -> None:
    code = invited(browser, BOB)
    assert code not in browser.get(PEOPLE).text
    stored = [api.sync_redis.dump(key) for key in api.sync_redis.scan_iter("console:invit*")]
    assert len(stored) == 3
    assert code not in repr(stored)


@pytest.mark.parametrize("name", ["", " ", "key:ann", "bób@bank.example", "a" * 129])
def test_given_a_name_that_is_none_then_nobody_is_invited(browser: Browser, name: str) -> None:
    answer = browser.post(INVITE, {"csrf": browser.csrf, "name": name})
    assert (answer.status_code, 'id="link"' in answer.text) == (HTTPStatus.CONFLICT, False)


def test_given_no_scripts_then_the_pages_say_that_passkeys_need_them(console: ConsoleApp) -> None:
    for path in ("/console/sign-in", INVITATION):
        page = DomPage(console.browser().get(path).text)
        assert "Passkeys need scripts." in page.one("noscript").text
        assert page.one("form", class_="passkey").attributes.get("hidden", "shown") is None
