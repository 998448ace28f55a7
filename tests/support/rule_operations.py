"""The operations on rules, a part of ``tests/support/operations.py``, and the rules that they need."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from clearhold.api.rules.routes import BACKTEST_REQUEST, CHANGE, NEW_RULE
from tests.support.callers import Headers, Ids, World, bearer
from tests.support.operation import Access, Operation
from tests.support.rule_calls import RuleCalls

IF_MATCH: Final[Headers] = [("If-Match", "*")]


def rule_of(world: World, tenant: dict[str, Any], program: dict[str, Any]) -> str:
    """A rule of a program, written unless it is there; its id."""
    rule_id = f"of-{program['slug']}"
    _write(world, tenant, {"id": rule_id, "programId": program["id"]})
    return rule_id


def of_payroll(world: World) -> str:
    return rule_of(world, world.tenant, world.payroll)


def their_rule(world: World) -> str:
    return rule_of(world, world.other, world.theirs)


def draft(world: World) -> str:
    """A fresh one, if the last one is archived."""
    return _in_status(world, "draft", "archived")


def tested(world: World) -> str:
    """Tested as it was just written, so that no activation of it waits."""
    rule_id = _in_status(world, "tested")
    rules = RuleCalls(world.api, world.tenant)
    assert rules.write(rule_id, name=world.fresh()).status_code == 200
    assert rules.backtest(rule_id).status_code == 201
    return rule_id


def active(world: World) -> str:
    rule_id, rules = _in_status(world, "active"), RuleCalls(world.api, world.tenant)
    if rules.status(rule_id) != "active":
        assert rules.backtest(rule_id).status_code == 201
        rules.in_force(rule_id)
    return rule_id


RULES_THAT_ARE_NEEDED: Final[Mapping[str, Callable[[World], str]]] = {
    "rule": of_payroll,
    "draft rule": draft,
    "tested rule": tested,
    "active rule": active,
}


def _in_status(world: World, name: str, but: str = "") -> str:
    rules = RuleCalls(world.api, world.tenant).send("GET", "").json()
    here = [rule["id"] for rule in rules if rule["id"].startswith(f"{name}-") and rule["status"] != but]
    if here:
        return str(here[0])
    return str(_write(world, world.tenant, {"id": f"{name}-{world.fresh()}"})["id"])


def _write(world: World, tenant: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    answer = world.send("POST", "/api/rules", bearer(tenant["operatorToken"], "ann"), json=NEW_RULE | over)
    assert answer.status_code == 201 or answer.json()["code"] == "rule_id_taken", answer.text
    written: dict[str, Any] = answer.json()
    return written


def _new(world: World, _: Ids) -> dict[str, Any]:
    return NEW_RULE | {"id": world.fresh()}


def _new_of_program(world: World, ids: Ids) -> dict[str, Any]:
    return _new(world, ids) | {"programId": ids["program"]}


def _written(_: World, ids: Ids) -> dict[str, Any]:
    return NEW_RULE | {"id": ids["draft rule"]}


def _written_of_program(world: World, ids: Ids) -> dict[str, Any]:
    return _written(world, ids) | {"programId": ids["program"]}


def _change(_: World, __: Ids) -> dict[str, Any]:
    return dict(CHANGE)


def _backtest(_: World, __: Ids) -> dict[str, Any]:
    return dict(BACKTEST_REQUEST)


def _post(path: str, rule: str, body: Callable[[World, Ids], dict[str, Any]], success: int) -> Operation:
    return Operation(
        method="POST",
        path=f"/api/rules/{{}}/{path}",
        access=Access.OPERATOR,
        success=success,
        fills=(rule,),
        body=body,
        tenant_wide=True,
        body_optional=True,
    )


def _put(body: Callable[[World, Ids], dict[str, Any]], **over: Any) -> Operation:
    return Operation(
        method="PUT",
        path="/api/rules/{}",
        access=Access.OPERATOR,
        fills=("draft rule",),
        body=body,
        sends=tuple(IF_MATCH),
        **over,
    )


def _get(path: str, **over: Any) -> Operation:
    return Operation(method="GET", path=f"/api/rules{path}", access=Access.BEARER, scope="rules", **over)


RULE_OPERATIONS: Final = (
    _get(""),
    _get("", query=(("programId", "program"),), names="a program"),
    _get("/fields"),
    _get("/versions"),
    _get("/{}", fills=("rule",)),
    _get("/{}/backtests", fills=("rule",)),
    _get("/{}/shadow", fills=("rule",)),
    Operation(method="POST", path="/api/rules", access=Access.OPERATOR, success=201, body=_new),
    Operation(
        method="POST",
        path="/api/rules",
        access=Access.OPERATOR,
        success=201,
        body=_new_of_program,
        body_ids=("program",),
        names="a program",
    ),
    _put(_written),
    _put(_written_of_program, body_ids=("program",), names="a program"),
    _post("backtest", "draft rule", _backtest, 201),
    _post("activate", "tested rule", _change, 201),
    _post("pause", "active rule", _change, 200),
    _post("archive", "draft rule", _change, 200),
)
