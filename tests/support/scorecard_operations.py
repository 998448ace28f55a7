"""The operations on scorecards, a part of ``tests/support/operations.py``, and the cards that they need."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from clearhold.api.scorecards.routes import ACTIVATION, NEW_REPORT, NEW_SCORECARD
from clearhold.features.core.instants import format_instant
from tests.support.callers import Ids, World, bearer
from tests.support.operation import Access, Operation

_MORE_THAN_THEIRS: Final = 10


def proposed(world: World) -> str:
    """A card of the whole tenant. Versions are counted by tenant: this is one that no other tenant has come to."""
    listed = _sent(world, "GET", "")
    for _ in range(len(listed), _MORE_THAN_THEIRS + 1):
        _propose(world)
    return f"scorecard-v{_MORE_THAN_THEIRS}"


def reported(world: World) -> str:
    """A fresh one, so that no activation of it waits."""
    proposed(world)
    version = _propose(world)
    _sent(world, "POST", f"/{version}/reports", _report(world, {}))
    return version


def in_force(world: World) -> str:
    active = [card["version"] for card in _sent(world, "GET", "") if card["active"]]
    if active != ["trs-v1"]:
        return str(active[0])
    version = reported(world)
    action = _sent(world, "POST", f"/{version}/activate", {})
    approval = world.send(
        "POST",
        f"/api/actions/{action['id']}/approve",
        bearer(world.tenant["operatorToken"], "ann"),
        json={"approverId": "ben"},
    )
    assert approval.json()["status"] == "executed", approval.text
    return version


SCORECARDS_THAT_ARE_NEEDED: Final[Mapping[str, Callable[[World], str]]] = {
    "scorecard": proposed,
    "reported scorecard": reported,
}


def _propose(world: World) -> str:
    return str(_sent(world, "POST", "", NEW_SCORECARD)["version"])


def _sent(world: World, method: str, path: str, body: Any = None) -> Any:
    answer = world.send(method, f"/api/scorecards{path}", bearer(world.tenant["operatorToken"], "ann"), json=body)
    assert answer.status_code < 300, answer.text
    return answer.json()


def _new(_: World, __: Ids) -> dict[str, Any]:
    return dict(NEW_SCORECARD)


def _new_of_program(_: World, ids: Ids) -> dict[str, Any]:
    return NEW_SCORECARD | {"programId": ids["program"]}


def _report(world: World, _: Ids) -> dict[str, Any]:
    made_at = format_instant(world.api.clock.now())
    return {"report": NEW_REPORT["report"] | {"generatedAt": made_at}}


def _activation(_: World, __: Ids) -> dict[str, Any]:
    return dict(ACTIVATION)


def _get(path: str, **over: Any) -> Operation:
    return Operation(
        method="GET", path=f"/api/scorecards{path}", access=Access.BEARER, scope="policies", tenant_wide=True, **over
    )


def _write(path: str, method: str = "POST", **over: Any) -> Operation:
    return Operation(
        method=method,
        path=f"/api/scorecards{path}",
        access=Access.OPERATOR,
        **{"success": 201, "tenant_wide": True} | over,
    )


SCORECARD_OPERATIONS: Final = (
    _get(""),
    _get("/{}", fills=("scorecard",)),
    _get("/{}/reports", fills=("scorecard",)),
    _get("/{}/shadow", fills=("scorecard",)),
    _write("", body=_new),
    _write("", body=_new_of_program, body_ids=("program",), names="a program"),
    _write("/{}/reports", fills=("scorecard",), body=_report),
    _write("/{}/shadow", fills=("scorecard",), success=200),
    _write("/{}/shadow", "DELETE", fills=("scorecard",), success=200),
    _write("/{}/activate", fills=("reported scorecard",), body=_activation, body_optional=True),
)
