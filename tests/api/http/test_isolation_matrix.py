"""Every operation, called by every kind of caller and with every kind of wrong id."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from litestar.routes import HTTPRoute

from clearhold.api.docs_page.routes import REDOC_PATH
from clearhold.api.policies.routes import NEW_POLICY
from tests.support.callers import UNKNOWN_ID, Ids, World, running_world
from tests.support.config_operations import as_planned, in_force
from tests.support.naming import naming
from tests.support.operations import OPERATIONS, Access, Operation, Place, call, ids_for
from tests.support.rule_operations import RULES_THAT_ARE_NEEDED, their_rule
from tests.support.running_app import assert_refused, assert_stamped

METHODS: Final = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

PROGRAMS: Final = {"program", "slug", "wide program", "simulated program"}
NO_BEARER: Final = {
    "nobody",
    "forged",
    "forged key",
    "truncated",
    "truncated key",
    "upper-cased",
    "upper-cased key",
    "prefix of a key",
    "hash of a key",
    "duplicated",
    "revoked key",
}
FOREIGN: Final = {"operator of another tenant", "key of another tenant"}
ELSEWHERE: Final = {"test key", "key of another program", "key of the simulated program"}
OF_SANDBOX: Final = {"test key", "key of the simulated program"}
KEYS: Final = {"live key", "key of the program", "key with the scopes", "key with another scope", *ELSEWHERE}
OTHERS: Final = {"operator", "nameless operator", "admin", "nameless admin"}
ALL_CALLERS: Final = sorted(NO_BEARER | FOREIGN | KEYS | OTHERS)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("matrix")) as running:
        yield running


def titled(value: object) -> str | None:
    return value.title if isinstance(value, Operation) else None


def anonymous(path: str) -> str:
    """A path without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def registered(world: World) -> set[tuple[str, str]]:
    routes = [route for route in world.api.app.routes if isinstance(route, HTTPRoute)]
    assert len(routes) == len(world.api.app.routes)  # Nothing is mounted beside the routes that can be read here.
    return {(str(method), anonymous(route.path_format)) for route in routes for method in route.methods} - {
        ("OPTIONS", anonymous(route.path_format)) for route in routes
    }


def documented(world: World) -> set[tuple[str, str]]:
    paths = world.api.client.get("/openapi.json").json()["paths"]
    return {
        (method.upper(), anonymous(path))
        for path, item in paths.items()
        for method in item
        if method.upper() in METHODS
    }


def test_given_the_route_table_when_compared_with_the_document_then_only_admin_routes_are_not_in_it(
    world: World,
) -> None:
    undocumented = {route for route in registered(world) if route[1].startswith("/api/admin/")}

    assert len(undocumented) >= 5
    assert registered(world) - undocumented == documented(world)


def test_given_the_operations_that_are_there_when_looked_up_then_each_has_its_expectations(world: World) -> None:
    assert {operation.route for operation in OPERATIONS} == registered(world) | documented(world)


def test_given_the_kinds_of_caller_then_each_has_its_expectations(world: World) -> None:
    assert set(world.callers) == set(ALL_CALLERS)


def expected(operation: Operation, caller: str) -> int:
    """The status by the order of checks: bearer, mode and program and scope, X-Operator, then the object."""
    if operation.access in {Access.PUBLIC, Access.SIGNATURE}:
        return operation.success
    if operation.access is Access.ADMIN:
        return {"admin": operation.success, "nameless admin": 400}.get(caller, 401)
    if caller in NO_BEARER or caller.endswith("admin"):
        return 401
    if operation.access is Access.OWNER:
        return operation.success if caller in {"operator", "nameless operator"} else 401
    if (operation.access is Access.OPERATOR and "key" in caller) or (operation.sandbox and caller not in OF_SANDBOX):
        return 403
    elsewhere = operation.ids and not operation.tenant_wide and not operation.sandbox
    refused = {
        "nameless operator": operation.success if operation.access is Access.BEARER_ALONE else 400,
        **dict.fromkeys(FOREIGN, 404 if operation.ids else operation.success),
        **dict.fromkeys(ELSEWHERE, 403 if elsewhere else operation.success),
        "key with another scope": 403 if operation.scope else operation.success,
    }
    if elsewhere and not names_a_program(operation):
        refused["key of another program"] = 404
    if operation.whole_tenant:
        refused |= dict.fromkeys(ELSEWHERE | {"key of the program"}, 403)
    if operation.needs_person:
        refused |= {key: 400 for key in KEYS if refused.get(key, operation.success) == operation.success}
    return refused.get(caller, operation.success)


def names_a_program(operation: Operation) -> bool:
    """Beside what it is about; the body of an action always does."""
    return operation.route == ("POST", "/api/actions") or not PROGRAMS.isdisjoint(name for name, _ in operation.ids)


def theirs_to_write(world: World, operation: Operation, caller: str) -> dict[str, Any]:
    """Another tenant counts the versions of its own policies, and its configuration names it."""
    if caller in FOREIGN and operation.path.startswith("/api/config/"):
        return {
            "json": as_planned(world, {}, world.other)
            if operation.path.endswith("/apply")
            else in_force(world, {}, world.other)
        }
    if caller not in FOREIGN or operation.route != ("POST", "/api/policies") or operation.ids:
        return {}
    return {"json": NEW_POLICY | {"version": world.next_clock(world.other)}}


@pytest.mark.parametrize("operation", OPERATIONS, ids=titled)
def test_given_an_operation_when_called_by_each_kind_of_caller_then_the_first_check_that_fails_answers(
    world: World, operation: Operation
) -> None:
    """Those that are refused come first, and name the same things, which none of them ends."""
    ids = ids_for(world, operation)
    for caller in sorted(ALL_CALLERS, key=lambda each: expected(operation, each) < 400):
        with naming(caller):
            if expected(operation, caller) < 400 and operation.method != "GET":
                ids = ids_for(world, operation)
            assert_answered(world, operation, caller, ids)


def assert_answered(world: World, operation: Operation, caller: str, ids: Ids) -> None:
    status = expected(operation, caller)
    before = world.stored()

    answer = call(world, operation, world.callers[caller].headers, ids, **theirs_to_write(world, operation, caller))

    assert answer.status_code == status, answer.text
    if status < 400:
        assert_headers_of_success(operation, answer)
        return
    assert_refused(answer, status)
    assert world.stored() == before
    assert (answer.headers.get("www-authenticate") == "Bearer") is (status == 401)
    assert ("X-Operator" in answer.json()["error"]) is (status == 400)
    assert not [secret for _, secret in world.callers[caller].headers if secret.split()[-1] in answer.text]


def assert_headers_of_success(operation: Operation, answer: Any) -> None:
    assert answer.headers["x-request-id"]
    if operation.path in {"/docs", "/"}:  # The only page, and what leads there; it has a policy of its own.
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["content-type"].startswith("text/html")
        return
    assert_stamped(answer)
    public = operation.path in {"/openapi.json", "/.well-known/jwks.json", REDOC_PATH}
    assert answer.headers["cache-control"].startswith("public" if public else ("no-store", "private, no-cache"))


@pytest.mark.parametrize("caller", sorted(NO_BEARER))
def test_given_bearers_that_prove_nothing_when_refused_then_all_hear_one_sentence(world: World, caller: str) -> None:
    forged = world.send("GET", "/api/programs", world.callers["forged"].headers)
    answer = world.send("GET", "/api/programs", world.callers[caller].headers)

    assert_refused(answer, 401)
    if caller not in {
        "nobody",
        "duplicated",
        "revoked key",
    }:  # What is not there, or is known whole.
        assert answer.json()["error"] == forged.json()["error"]


def theirs_of(world: World, name: str) -> str:
    """What the other tenant has; an admin has no other."""
    if name == "key":
        return str(world.key_of(world.other)["id"])
    alert = world.alerts[world.theirs["id"]]
    action = world.action_on(world.theirs) if name in {"action", "waiting action"} else ""
    stack = world.stack_of(world.theirs, alert) if name.startswith("stack") else ""
    rule = their_rule(world) if name.endswith("rule") else ""
    named: dict[str, str] = {
        "webhook": world.their_webhook,
        "delivery": world.their_delivery,
        "alert": alert,
        "waiting alert": alert,
        "closed alert": alert,
        "stack": stack,
        "stack of two": stack,
        "disposition": world.dispositions[world.theirs["id"]],
        "snapshot": world.snapshots[world.theirs["id"]],
        "action": action,
        "waiting action": action,
        **dict.fromkeys(RULES_THAT_ARE_NEEDED, rule),
        "policy": world.policy_of(world.other),
        "new policy": world.policy_of(world.other),
        "program": world.theirs["id"],
        "wide program": world.theirs["id"],
        "slug": world.theirs["slug"],
        "transfer": "acht_3",
        "entity": "enti_3",
        "scored entity": "enti_3",
        "event": "evnt_acht_3",
        "counterparty": "cpty_of_3",
        "known account": "bacc_of_3",
        "preflight": world.preflights[world.theirs["id"]],
    }
    return named.get(name, UNKNOWN_ID)


def status_of_malformed(place: Place, name: str) -> set[int]:
    if name in {"program", "wide program", "simulated program", "spare"}:
        return {400}
    if name in {"slug", "transfer", "scored entity"} or place is Place.PATH:
        return {404}
    return {400} if place is Place.BODY else {400, 404}


Named = tuple[str, Place, str]


def naming_calls(operation: Operation) -> list[Named]:
    """Each id that an operation takes, where, and who may name one."""
    return [
        (name, place, caller)
        for name, place in operation.ids
        if name != "account"  # an account may have an owner before anything else is known of it
        for caller in ("operator", "live key", "key of the program", "admin")
        if expected(operation, caller) == operation.success
    ]


def foreigners(operation: Operation) -> list[str]:
    """Callers of another tenant, for whom an operation answers 404."""
    if not operation.ids or operation.access not in {Access.BEARER, Access.OPERATOR}:
        return []
    return [caller for caller in sorted(FOREIGN) if expected(operation, caller) == 404]


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if naming_calls(each)], ids=titled)
def test_given_another_tenants_id_when_named_then_the_answer_is_that_of_an_unknown_one(
    world: World, operation: Operation
) -> None:
    ids = ids_for(world, operation)
    for name, place, caller in naming_calls(operation):
        with naming(f"{caller}, {name}"):
            assert_unknown(world, operation, ids, (name, place, caller))


def assert_unknown(world: World, operation: Operation, ids: Ids, named: Named) -> None:
    name, place, caller = named
    status = 401 if operation.access in {Access.SIGNATURE, Access.OWNER} else 404
    wrong = {"theirs": theirs_of(world, name), "unknown": UNKNOWN_ID, "malformed": "not-a-uuid"}
    before = world.stored()

    answers = {
        kind: call(world, operation, world.callers[caller].headers, ids | {name: value})
        for kind, value in wrong.items()
    }

    for kind in ("theirs", "unknown"):
        assert_refused(answers[kind], status)
    assert answers["theirs"].json()["error"] == answers["unknown"].json()["error"]
    malformed = answers["malformed"].status_code
    assert malformed in status_of_malformed(place, name)
    assert_refused(answers["malformed"], malformed)
    assert world.stored() == before
    assert not [value for kind, value in wrong.items() if value in answers[kind].json()["error"]]


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if foreigners(each)], ids=titled)
def test_given_an_object_of_this_tenant_when_another_names_it_then_it_hears_what_it_hears_of_nothing(
    world: World, operation: Operation
) -> None:
    ids = ids_for(world, operation)
    for caller in foreigners(operation):
        with naming(caller):
            headers = world.callers[caller].headers

            theirs = call(world, operation, headers, ids)
            nobodys = call(world, operation, headers, ids | {name: UNKNOWN_ID for name, _ in operation.ids})

            assert_refused(theirs, 404)
            assert theirs.json()["error"] == nobodys.json()["error"]
            assert unchanging(theirs) == unchanging(nobodys)


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS if expected(each, "key of another program") == 404], ids=titled
)
def test_given_an_object_of_another_program_when_a_key_of_one_names_it_then_it_hears_what_it_hears_of_nothing(
    world: World, operation: Operation
) -> None:
    ids = ids_for(world, operation)
    headers = world.callers["key of another program"].headers

    elsewhere = call(world, operation, headers, ids)
    nowhere = call(world, operation, headers, ids | {name: UNKNOWN_ID for name, _ in operation.ids})

    assert_refused(elsewhere, 404)
    assert elsewhere.json()["error"] == nowhere.json()["error"]
    assert unchanging(elsewhere) == unchanging(nowhere)


def unchanging(answer: Any) -> dict[str, str]:
    """The headers that do not differ from one call to the next."""
    return {name: value for name, value in answer.headers.items() if name not in {"x-request-id", "ratelimit"}}
