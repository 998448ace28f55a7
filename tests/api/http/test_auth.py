"""Who may call: bearers, X-Operator, tenants, versions, and the order in which they are checked."""

from typing import Any

import httpx
import pytest

from clearhold.api.http.auth import operator_of
from clearhold.features.core.errors import InvalidRequestError
from tests.support.principals import an_operator
from tests.support.running_app import ADMIN_TOKEN, RunningApp, assert_refused, assert_stamped

PATHS = ("/api/programs", "/api/transfers", "/api/transfers/t", "/api/preflight/x", "/api/programs/x")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "authorization",
    [
        [],
        [""],
        ["Bearer"],
        ["Bearer "],
        ["Basic dXNlcjpwYXNz"],
        ["Bearer op_0000000000000000000000000000000000000000000"],
        ["Bearer " + ADMIN_TOKEN],
        ["Bearer {token} x"],
        ["Bearer {token}", "Bearer {token}"],
        ["{token}"],
    ],
)
def test_given_a_bearer_that_proves_nothing_when_read_then_401(
    api: RunningApp, tenant: dict[str, Any], path: str, authorization: list[str]
) -> None:
    sent = [("Authorization", value.format(token=tenant["operatorToken"])) for value in authorization]

    answer = api.client.get(path, headers=httpx.Headers([*sent, ("X-Operator", "ann")]))

    assert_refused(answer, 401, "bearer token")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("damage", [str.upper, lambda token: token[:-1], lambda token: token + "0"])
def test_given_a_damaged_token_when_used_then_401(api: RunningApp, tenant: dict[str, Any], damage: Any) -> None:
    headers = api.operator(tenant) | {"Authorization": f"Bearer {damage(tenant['operatorToken'])}"}

    assert_refused(api.client.get("/api/programs", headers=headers), 401)


def test_given_an_operator_token_when_used_on_an_admin_route_then_401(api: RunningApp, tenant: dict[str, Any]) -> None:
    assert_refused(api.client.get("/api/admin/tenants", headers=api.operator(tenant)), 401)


@pytest.mark.parametrize(
    "named", [None, "", "   ", "key:abc", "Policy:v1", "OPERATOR:ann", "a\tb", "ann\u00e9", "x" * 129]
)
def test_given_a_bad_operator_name_when_used_then_400(
    api: RunningApp, tenant: dict[str, Any], named: str | None
) -> None:
    sent = [(b"Authorization", f"Bearer {tenant['operatorToken']}".encode())]
    if named is not None:
        sent.append((b"X-Operator", named.encode("latin-1")))

    assert_refused(api.client.get("/api/programs", headers=sent), 400, "X-Operator")


def test_given_two_operator_names_when_used_then_400() -> None:
    with pytest.raises(InvalidRequestError, match="X-Operator"):
        operator_of({"headers": [(b"x-operator", b"ann"), (b"x-operator", b"bob")]}, an_operator("tnt_1"))


def test_given_a_name_with_spaces_when_read_then_it_is_trimmed_and_folded() -> None:
    assert operator_of({"headers": [(b"x-operator", b"  ann   b.  lee ")]}, an_operator("tnt_1")) == "ann b. lee"


def test_given_no_bearer_and_no_operator_when_called_then_the_bearer_answers_first(api: RunningApp) -> None:
    assert_refused(api.client.post("/api/preflight", content=b"{nope"), 401)


def test_given_an_admin_without_a_name_when_called_then_400(api: RunningApp) -> None:
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}

    assert_refused(api.client.get("/api/admin/tenants", headers=headers), 400, "X-Operator")


def test_given_another_tenants_slug_when_named_then_401_with_one_sentence(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    api.create_tenant("second-bank")
    answers = [
        api.client.get(f"/api/programs?tenant={slug}", headers=api.operator(tenant))
        for slug in ("second-bank", "no-such-bank", "", "first-bank")
    ]

    for answer in answers[:3]:
        assert_refused(answer, 401)
    assert len({answer.json()["error"] for answer in answers[:3]}) == 1
    assert answers[3].status_code == 200


def test_given_a_rotated_operator_token_when_the_overlap_ends_then_only_the_new_one_holds(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    path = f"/api/admin/tenants/{tenant['id']}/operator-token"
    rotated = api.client.post(path, json={"overlapHours": 2}, headers=api.admin)
    renewed = tenant | {"operatorToken": rotated.json()["token"]}

    def statuses() -> list[int]:
        return [api.client.get("/api/programs", headers=api.operator(each)).status_code for each in (tenant, renewed)]

    assert rotated.status_code == 201
    assert statuses() == [200, 200]
    api.clock.advance(2 * 3_600_000_000)
    assert statuses() == [401, 200]


@pytest.mark.parametrize("version", ["2026-09-16", "", "latest"])
def test_given_another_interface_version_when_asked_for_then_400(
    api: RunningApp, tenant: dict[str, Any], version: str
) -> None:
    headers = api.operator(tenant) | {"Score-Version": version}

    assert_refused(api.client.get("/api/programs", headers=headers), 400, "Score-Version")


def test_given_this_interface_version_when_asked_for_then_it_is_answered(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    headers = api.operator(tenant) | {"Score-Version": "2026-09-17"}

    answer = api.client.get("/api/programs", headers=headers)

    assert answer.status_code == 200
    assert_stamped(answer)


@pytest.mark.parametrize(
    ("sent", "kept"), [("abc.DEF_1-2", True), ("x" * 128, True), ("x" * 129, False), ("a b", False)]
)
def test_given_a_request_id_when_well_formed_then_it_is_kept(api: RunningApp, sent: str, *, kept: bool) -> None:
    answered = api.client.get("/nowhere", headers={"X-Request-Id": sent})

    assert_refused(answered, 404)
    assert (answered.headers["x-request-id"] == sent) is kept


@pytest.mark.parametrize("path", ["/api", "/api/nothing", "/api/preflight/a/b", "/api/transfers%2Fa", "/docs/a"])
def test_given_a_path_that_is_not_there_when_read_then_404_is_the_envelope(api: RunningApp, path: str) -> None:
    assert_refused(api.client.get(path), 404)


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/api/preflight"), ("DELETE", "/api/programs"), ("POST", "/healthz")]
)
def test_given_a_method_that_a_path_does_not_take_when_sent_then_405_lists_those_it_takes(
    api: RunningApp, method: str, path: str
) -> None:
    answer = api.client.request(method, path)

    assert_refused(answer, 405)
    assert {"GET", "POST"} & set(answer.headers["allow"].split(", "))


def test_given_a_fault_of_ours_when_it_happens_then_500_says_nothing(
    api: RunningApp, tenant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("the secret inside")

    monkeypatch.setattr(api.registry.tenancy.programs, "of_principal", broken)

    answer = api.client.get("/api/programs", headers=api.operator(tenant))

    assert_refused(answer, 500)
    assert answer.json()["error"] == "Internal error."
