"""Rules of the gate that a route can ask for: the owner's token alone, test keys alone, If-Match."""

from collections.abc import Iterator
from typing import Any

import pytest
from litestar import Litestar, Request, post, put
from litestar.testing import TestClient

from clearhold.api.areas import wired_checks, wired_gate
from clearhold.api.http.envelope import render_error, stamp_headers
from clearhold.api.http.gate import principal_of, replaces_of
from clearhold.api.http.head import Origins
from clearhold.api.http.operation import Access, Operation
from clearhold.features.core.principal import KeyScope
from tests.support.running_app import ADMIN_TOKEN, BASE_URL, RunningApp, assert_refused

_OWNED = Operation(id="owned", tag="t", summary="s", access=Access.OWNER, answers={200: dict[str, str]})
_SANDBOXED = Operation(
    id="sandboxed",
    tag="t",
    summary="s",
    access=Access.BEARER,
    scope=KeyScope.SANDBOX,
    sandbox=True,
    answers={200: dict[str, str]},
)
_REPLACING = Operation(
    id="replacing", tag="t", summary="s", access=Access.OPERATOR, answers={200: dict[str, bool]}, needs_if_match=True
)


@post("/owned/{program_id:str}", status_code=200, opt=_OWNED.as_opt)
async def owned(request: Request[Any, Any, Any]) -> dict[str, str]:
    return {"tenant": principal_of(request.scope).tenant}


@post("/sandbox/{program_id:str}", status_code=200, opt=_SANDBOXED.as_opt)
async def sandboxed(request: Request[Any, Any, Any]) -> dict[str, str]:
    return {"operator": principal_of(request.scope).operator}


@put("/replacing", opt=_REPLACING.as_opt)
async def replacing(request: Request[Any, Any, Any]) -> dict[str, bool]:
    return {"may": replaces_of(request.scope)('"one"')}


@put("/replacing/unseen", opt=_REPLACING.as_opt)
async def replacing_unseen() -> dict[str, bool]:
    return {}


@pytest.fixture
def gated(api: RunningApp) -> Iterator[TestClient[Litestar]]:
    checks = wired_checks(api.stores, Origins(BASE_URL), admin_token=ADMIN_TOKEN, limits=api.limits)
    app = Litestar(
        route_handlers=[owned, sandboxed, replacing, replacing_unseen],
        middleware=[wired_gate(api.stores, checks)],
        exception_handlers={Exception: render_error},
        before_send=[stamp_headers],
        openapi_config=None,
    )
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_given_the_owners_token_when_no_operator_is_named_then_it_is_enough(
    api: RunningApp, gated: TestClient[Litestar]
) -> None:
    tenant = api.create_tenant()
    program = api.create_program(tenant)

    answer = gated.post(f"/owned/{program['id']}", headers=bearer(tenant["operatorToken"]))

    assert (answer.status_code, answer.json()) == (200, {"tenant": "first-bank"})


def test_given_any_other_bearer_or_program_when_it_is_the_owners_alone_then_401_and_foreign_is_as_unknown(
    api: RunningApp, gated: TestClient[Litestar]
) -> None:
    tenant, other = api.create_tenant(), api.create_tenant("second-bank")
    program = api.create_program(tenant)
    token = tenant["operatorToken"]
    not_owned = [
        gated.post(f"/owned/{program['id']}", headers=bearer(other["operatorToken"])),
        gated.post("/owned/7b4b5f0c-0000-4000-8000-000000000000", headers=bearer(token)),
        gated.post("/owned/7B4B5F0C-0000-4000-8000-000000000000", headers=bearer(token)),
    ]
    no_id = gated.post("/owned/nothing", headers=bearer(token))
    others = [
        gated.post(f"/owned/{program['id']}", headers=api.key(tenant)),
        gated.post(f"/owned/{program['id']}", headers=bearer(ADMIN_TOKEN)),
        gated.post(f"/owned/{program['id']}"),
    ]

    for answer in [*not_owned, *others]:
        assert_refused(answer, 401)
    assert len({answer.json()["error"] for answer in not_owned}) == 1
    assert_refused(no_id, 400, "programId must be a UUID")
    assert_refused(gated.post("/owned/nothing"), 401)
    codes = [answer.json()["code"] for answer in others]
    assert codes == ["token_of_another_kind", "token_of_another_kind", "token_missing"]


def test_given_a_sandbox_route_when_called_then_only_a_test_key_on_a_simulated_program_is_let_in(
    api: RunningApp, gated: TestClient[Litestar]
) -> None:
    tenant = api.create_tenant()
    real = api.create_program(tenant)
    simulated = api.create_program(tenant, slug="sim", source="simulated")
    test_key = api.key(tenant, mode="test")

    let_in = gated.post(f"/sandbox/{simulated['id']}", headers=test_key)

    assert (let_in.status_code, let_in.json()) == (200, {"operator": f"key:{test_key['Authorization'][7:19]}"})
    live, scoped = api.key(tenant), api.key(tenant, mode="test", scopes=["preflight"])
    assert_refused(gated.post(f"/sandbox/{real['id']}", headers=test_key), 403)
    assert_refused(gated.post(f"/sandbox/{simulated['id']}", headers=live), 403)
    assert_refused(gated.post(f"/sandbox/{simulated['id']}", headers=scoped), 403)
    assert_refused(gated.post(f"/sandbox/{simulated['id']}", headers=api.operator(tenant)), 403)


def test_given_a_route_that_replaces_when_if_match_is_missing_then_400_whatever_its_handler_looks_at(
    api: RunningApp, gated: TestClient[Litestar]
) -> None:
    headers = api.operator(api.create_tenant())

    missing = gated.put("/replacing/unseen", json={"surprise": 1}, headers=headers)
    text = gated.put("/replacing/unseen", content=b"x", headers=headers | {"Content-Type": "text/plain"})
    tags = ('"one"', '"two", "one"', "*", '"two"', 'W/"one"')
    answers = [gated.put("/replacing", headers=headers | {"If-Match": each}) for each in tags]

    assert_refused(missing, 400, "If-Match is required")
    assert missing.json()["fields"] == [{"path": "If-Match", "code": "required"}]
    assert text.json()["fields"] == missing.json()["fields"]
    assert [answer.json() for answer in answers] == [{"may": may} for may in (True, True, True, False, False)]
