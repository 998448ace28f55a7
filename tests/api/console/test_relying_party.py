"""The origin and name that passkeys belong to."""

from http import HTTPStatus
from typing import Any

import pytest

from clearhold.api.console.relying_party import RelyingParty
from tests.support.authenticator import text_of
from tests.support.console import ConsoleApp
from tests.support.running_app import RunningApp

PEOPLE, INVITE, BOB = "/console/people", "/console/people/invite", "bob@bank.example"
DEEP = '{"a":' * 5000
DEEP_CLIENT_DATA = f'{{"challenge":"AA","other":{DEEP}'


@pytest.mark.parametrize(
    ("base_url", "party"),
    [
        ("https://risk.example.test", ("risk.example.test", "https://risk.example.test")),
        ("https://Risk.example.test:443", ("risk.example.test", "https://risk.example.test")),
        ("http://localhost:8080", ("localhost", "http://localhost:8080")),
        ("http://127.0.0.1:8080", ("localhost", "http://localhost:8080")),
        ("http://[::1]:8080", ("localhost", "http://localhost:8080")),
        ("http://192.0.2.1:8080", None),
    ],
)
def test_given_a_base_url_then_passkeys_belong_to_its_name(base_url: str, party: tuple[str, str] | None) -> None:
    assert RelyingParty.of(base_url) == party


def test_given_a_service_without_a_name_then_nobody_is_invited(api: RunningApp, tenant: dict[str, Any]) -> None:
    nameless = ConsoleApp(api, base_url="http://192.0.2.1:8080")
    visitor = nameless.browser()
    visitor.sign_in(tenant["operatorToken"])
    assert INVITE not in visitor.get(PEOPLE).text
    answer = visitor.post(INVITE, {"csrf": visitor.csrf, "name": BOB})
    assert (answer.status_code, "has only an address" in answer.text) == (HTTPStatus.CONFLICT, False)
    assert "passkey" not in nameless.browser().get("/console/sign-in").text.lower()


@pytest.mark.parametrize(
    "sent",
    [
        f'{{"id":"a","other":{DEEP}',
        f'{{"id":"a","response":{{"clientDataJSON":"AA","other":{DEEP}',
        f'{{"id":"a","response":{{"clientDataJSON":"{text_of(DEEP_CLIENT_DATA.encode())}"}}}}',
    ],
)
@pytest.mark.parametrize("path", ["/console/sign-in/passkey", "/console/invitation"])
def test_given_an_answer_that_is_nested_deeper_than_any_then_it_is_refused_as_one(
    console: ConsoleApp, sent: str, path: str
) -> None:
    answer = console.browser().post(path, {"credential": sent, "code": "x"})
    assert (answer.status_code, "The passkey was not accepted." in answer.text) == (HTTPStatus.UNAUTHORIZED, True)
