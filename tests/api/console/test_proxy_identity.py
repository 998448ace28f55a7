"""Persons that the bank's proxy names: from its address alone, in each request, and proven for the two-person rule."""

from http import HTTPStatus
from typing import Any

import pytest

from clearhold.api.console.way_back import SIGN_IN
from clearhold.api.http.proxy_identity import ConsoleIdentity
from tests.support.console import Browser, ConsoleApp, person_token
from tests.support.running_app import RunningApp

QUEUE, PROXY, HEADER = "/console/queue", "192.0.2.1", "X-Forwarded-User"
ANN = {HEADER: "ann@bank.example"}


@pytest.fixture
def behind(api: RunningApp, tenant: dict[str, Any]) -> ConsoleApp:
    """The console behind a proxy, without sign-in by the operator token."""
    identity = ConsoleIdentity(header=HEADER, peer=PROXY, tenant=tenant["slug"], token_sign_in=False)
    return ConsoleApp(api, identity=identity)


def entered(behind: ConsoleApp) -> Browser:
    ann = behind.browser(PROXY)
    assert ann.get(f"{SIGN_IN}?next=/console/queue", **ANN).headers["location"] == QUEUE
    return ann


def test_given_a_name_of_the_proxy_then_the_session_is_of_that_person_and_proven(behind: ConsoleApp) -> None:
    ann = entered(behind)
    page = ann.get("/console/people", **ANN)
    assert page.status_code == HTTPStatus.OK
    assert "the bank&#39;s own sign-in, by its proxy" in page.text


@pytest.mark.parametrize("headers", [{}, {HEADER: "bob@bank.example"}])
def test_given_no_name_or_another_then_the_session_opens_nothing(behind: ConsoleApp, headers: dict[str, str]) -> None:
    ann = entered(behind)
    assert ann.get(QUEUE, **headers).headers["location"].startswith(SIGN_IN)
    assert ann.get(QUEUE, **ANN).status_code == HTTPStatus.OK


def test_given_the_header_from_another_peer_then_the_request_is_refused(behind: ConsoleApp) -> None:
    for path in (SIGN_IN, QUEUE):
        answer = behind.browser("192.0.2.2").get(path, **ANN)
        assert answer.status_code == HTTPStatus.FORBIDDEN
        assert "set-cookie" not in answer.headers
    stolen = behind.browser("192.0.2.2")
    stolen.cookies = entered(behind).cookies
    assert stolen.get(QUEUE).headers["location"].startswith(SIGN_IN)


def test_given_no_such_setting_then_the_header_means_nothing(console: ConsoleApp) -> None:
    assert console.browser(PROXY).get(SIGN_IN, **ANN).status_code == HTTPStatus.OK


def test_given_no_sign_in_by_the_operator_token_then_it_is_refused_and_a_persons_token_is_not(
    behind: ConsoleApp, console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    visitor = behind.browser()
    refused = visitor.sign_in(tenant["operatorToken"])
    assert refused.status_code == HTTPStatus.UNAUTHORIZED
    assert "The operator token does not sign in here." in refused.text
    earlier = console.browser()
    earlier.sign_in(tenant["operatorToken"])
    visitor.cookies = earlier.cookies
    assert visitor.get(QUEUE).status_code == HTTPStatus.SEE_OTHER
    token = person_token(api, tenant, "bob@bank.example")
    assert behind.browser().sign_in(token["token"], "").status_code == HTTPStatus.SEE_OTHER
