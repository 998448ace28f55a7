"""Approvals by two persons, for each way to sign in of both: refused, or with which note on the record."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import httpx
import pytest

from clearhold.api.actions.service import CLAIMED_APPROVAL, CLAIMED_REQUEST, ONE_ACCOUNT
from clearhold.api.console.four_eyes import BOTH_TYPED, IN_ONE_BROWSER, REQUESTER_TYPED
from clearhold.api.console.way_back import SIGN_IN
from clearhold.api.http.proxy_identity import ConsoleIdentity
from clearhold.features.core.instants import HOUR_US
from clearhold.store.proven_persons import SEEN_US
from tests.api.console.test_four_eyes import approval_notes
from tests.api.console.test_passkeys import a_device, invited, registered
from tests.support.console import Browser, ConsoleApp, form_fields, person_token
from tests.support.dom import DomPage
from tests.support.openid_provider import ANN as ANNS_ACCOUNT
from tests.support.openid_sign_in import Wiring, came_back, way_there
from tests.support.stacking import stacks, story

ANN, BOB, CAROL, ROOT = "ann@bank.example", "bob@bank.example", "carol@bank.example", "root@bank.example"
PROXY, HEADER, APPROVALS = "192.0.2.99", "X-Forwarded-User", "/console/approvals"
TYPED, TOKEN, PASSKEY, BY_PROXY, ACCOUNT = "typed", "token", "passkey", "proxy", "account"
WAYS: Final = (TYPED, TOKEN, PASSKEY, BY_PROXY, ACCOUNT)


class SignedInPerson:
    """``headers`` are in each request, as of a proxy."""

    def __init__(self, browser: Browser, headers: Mapping[str, str]) -> None:
        self.browser, self.headers = browser, dict(headers)

    def send(self, path: str, **form: str) -> httpx.Response:
        page = self.browser.get("/console/people", **self.headers)
        csrf = form_fields(page.text, "/console/sign-out")["csrf"]
        headers = {"Sec-Fetch-Site": "same-origin"} | self.headers
        return self.browser.post(path, {"csrf": csrf, "attempt": "one"} | form, headers)


class ApprovalRoom:
    """A console with every way to sign in; each browser is at an address of its own."""

    def __init__(self, wiring: Wiring, tenant: dict[str, Any], program: dict[str, Any]) -> None:
        self.api, self.provider, self.tenant, self.program = wiring.api, wiring.provider, tenant, program
        slug = tenant["slug"]
        self.console: ConsoleApp = wiring.console(slug, ConsoleIdentity(header=HEADER, peer=PROXY, tenant=slug))
        self._numbers = iter(range(10, 90))
        story(self.api, tenant, program, "bacc_1", 1)

    def browser(self) -> Browser:
        return self.console.browser(f"192.0.2.{next(self._numbers)}")

    def enter(self, way: str, name: str, browser: Browser | None = None) -> SignedInPerson:
        if way == BY_PROXY:
            return self._by_proxy(name)
        browser = browser or self.browser()
        if way == TYPED:
            answer = browser.sign_in(self.tenant["operatorToken"], name)
        elif way == TOKEN:
            answer = browser.sign_in(person_token(self.api, self.tenant, name)["token"], name)
        elif way == PASSKEY:
            answer = registered(browser, invited(self.enter(TYPED, ROOT).browser, name), a_device(next(self._numbers)))
        else:
            self.provider.user = ANNS_ACCOUNT | {"sub": f"u-{name}", "email": name}
            answer = came_back(browser, self.provider, way_there(browser))
        assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
        return SignedInPerson(browser, {})

    def request(self, person: SignedInPerson) -> str:
        """The id of an action that waits."""
        (stack,) = stacks(self.api, self.tenant)
        form = {"type": "freeze_account", "targetType": "account", "targetId": "bacc_1"}
        assert person.send(f"/console/stacks/{stack['id']}/act", **form).status_code == HTTPStatus.OK
        headers = self.api.operator(self.tenant)
        (action,) = self.api.client.get("/api/actions?status=requested", headers=headers).json()["data"]
        return str(action["id"])

    def approve(self, person: SignedInPerson, action_id: str) -> str | None:
        """The refusal, None for an approval."""
        answer = person.send(f"{APPROVALS}/{action_id}", answer="approve")
        if answer.status_code == HTTPStatus.SEE_OTHER:
            return None
        assert answer.status_code == HTTPStatus.FORBIDDEN, answer.text
        return DomPage(answer.text).one("p", class_="refusal").text

    def _by_proxy(self, name: str) -> SignedInPerson:
        browser, headers = self.console.browser(PROXY), {HEADER: name}
        assert browser.get(SIGN_IN, **headers).status_code == HTTPStatus.SEE_OTHER
        return SignedInPerson(browser, headers)


@pytest.fixture
def room(wiring: Wiring, tenant: dict[str, Any], program: dict[str, Any]) -> ApprovalRoom:
    return ApprovalRoom(wiring, tenant, program)


@pytest.mark.parametrize("asked_by", WAYS)
@pytest.mark.parametrize("approved_by", WAYS)
def test_given_each_pair_of_ways_to_sign_in_then_the_approval_counts_with_its_note_or_is_refused(
    room: ApprovalRoom, asked_by: str, approved_by: str
) -> None:
    action_id = room.request(room.enter(asked_by, ANN))
    refusal = room.approve(room.enter(approved_by, BOB), action_id)
    if approved_by == TYPED and asked_by != TYPED:
        assert (refusal, approval_notes(room.api)) == (CLAIMED_APPROVAL, [])
    else:
        note = {(TYPED, TYPED): BOTH_TYPED}.get((asked_by, approved_by), REQUESTER_TYPED)
        assert (refusal, approval_notes(room.api)) == (None, [note if asked_by == TYPED else None])


@pytest.mark.parametrize("asked_by", WAYS)
@pytest.mark.parametrize("approved_by", WAYS)
def test_given_two_other_persons_who_are_proven_then_a_typed_name_counts_for_nothing(
    room: ApprovalRoom, asked_by: str, approved_by: str
) -> None:
    asking, approving = room.enter(asked_by, ANN), room.enter(approved_by, BOB)
    for way, name in ((ACCOUNT, CAROL), (BY_PROXY, "dave@bank.example")):
        room.enter(way, name)
    refusal = room.approve(approving, room.request(asking))
    if approved_by == TYPED:
        assert refusal == CLAIMED_APPROVAL
    else:
        assert refusal == (CLAIMED_REQUEST if asked_by == TYPED else None)


@pytest.mark.parametrize(
    ("asked_by", "approved_by", "note"),
    [
        (TYPED, TYPED, f"{BOTH_TYPED} {IN_ONE_BROWSER}"),
        (TYPED, PASSKEY, f"{REQUESTER_TYPED} {IN_ONE_BROWSER}"),
        (TYPED, ACCOUNT, f"{REQUESTER_TYPED} {IN_ONE_BROWSER}"),
        (TOKEN, PASSKEY, IN_ONE_BROWSER),
        (PASSKEY, ACCOUNT, IN_ONE_BROWSER),
        (ACCOUNT, PASSKEY, IN_ONE_BROWSER),
        (ACCOUNT, TOKEN, IN_ONE_BROWSER),
    ],
)
def test_given_both_names_in_one_browser_then_the_record_says_so_for_an_hour(
    room: ApprovalRoom, asked_by: str, approved_by: str, note: str
) -> None:
    asking = room.enter(asked_by, ANN)
    action_id = room.request(asking)
    assert room.approve(room.enter(approved_by, BOB, asking.browser), action_id) is None
    assert approval_notes(room.api) == [note]


def test_given_one_account_under_two_names_then_it_is_one_person(room: ApprovalRoom) -> None:
    action_id = room.request(room.enter(ACCOUNT, ANN))
    renamed = ANNS_ACCOUNT | {"sub": f"u-{ANN}", "email": BOB}
    room.provider.user = renamed
    visitor = room.browser()
    assert came_back(visitor, room.provider, way_there(visitor)).status_code == HTTPStatus.SEE_OTHER
    assert room.approve(SignedInPerson(visitor, {}), action_id) == ONE_ACCOUNT
    assert room.approve(room.enter(TOKEN, BOB), action_id) == ONE_ACCOUNT, "the name is that account's"
    assert room.approve(room.enter(TYPED, CAROL), action_id) == CLAIMED_APPROVAL
    assert room.approve(room.enter(ACCOUNT, CAROL), action_id) is None


def test_given_a_name_of_the_banks_sign_in_then_another_cannot_get_a_passkey_for_it(room: ApprovalRoom) -> None:
    room.enter(ACCOUNT, ANN)
    answer = room.enter(TYPED, BOB).send("/console/people/invite", name=ANN.upper())
    assert answer.status_code == HTTPStatus.CONFLICT
    assert "signs in by the bank" in answer.text
    room.enter(ACCOUNT, CAROL)
    refused = room.enter(TYPED, BOB).send("/console/people/invite", name="dora@bank.example")
    assert "only such a person invites" in refused.text


def test_given_an_invitation_before_its_name_signed_in_by_the_bank_then_it_registers_no_passkey(
    room: ApprovalRoom,
) -> None:
    code = invited(room.enter(TYPED, BOB).browser, ANN)
    room.enter(ACCOUNT, ANN)
    answer = registered(room.browser(), code, a_device())
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert "signs in by the bank" in answer.text


def test_given_persons_of_the_bank_who_did_not_sign_in_for_a_month_then_typed_names_count_again(
    room: ApprovalRoom,
) -> None:
    room.enter(ACCOUNT, CAROL)
    room.enter(BY_PROXY, "dave@bank.example")
    room.api.clock.advance(SEEN_US + HOUR_US)
    action_id = room.request(room.enter(TYPED, ANN))
    assert room.approve(room.enter(TYPED, BOB), action_id) is None


def test_given_readers_of_the_bank_then_they_are_no_persons_of_dual_control(room: ApprovalRoom) -> None:
    for number in range(2):
        room.provider.user = ANNS_ACCOUNT | {
            "sub": f"r{number}",
            "email": f"r{number}@x.example",
            "groups": ["examiners"],
        }
        visitor = room.browser()
        came_back(visitor, room.provider, way_there(visitor))
    action_id = room.request(room.enter(TYPED, ANN))
    assert room.approve(room.enter(TYPED, BOB), action_id) is None
