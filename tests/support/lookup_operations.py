"""The operations that look one thing up, dry runs, and those on a configuration: a part of ``operations.py``."""

from typing import Any, Final

import msgspec

from clearhold.api.policies.routes import DRY_RUN
from tests.support.callers import Ids, World
from tests.support.config_operations import CONFIG_OPERATIONS
from tests.support.operation import Access, Operation


def _timeline(kind: str, name: str) -> tuple[Operation, Operation]:
    """What happened to one thing, wherever it is and of one program."""
    anywhere = Operation(
        method="GET",
        path=f"/api/timeline/{kind}/{{}}",
        template="/api/timeline/{}/{}",
        access=Access.BEARER,
        scope="alerts:read",
        fills=(name,),
    )
    return anywhere, msgspec.structs.replace(anywhere, query=(("programId", "program"),), names="a program")


_SEARCH: Final = Operation(method="GET", path="/api/search", access=Access.BEARER, scope="alerts:read", asks="q=acht")


def _figures(path: str) -> tuple[Operation, Operation]:
    """Figures of everything and of one program."""
    everything = Operation(method="GET", path=path, access=Access.BEARER, scope="reports")
    return everything, msgspec.structs.replace(everything, query=(("programId", "program"),), names="a program")


def _draft(_: World, __: Ids) -> dict[str, Any]:
    return DRY_RUN


def _draft_of_program(_: World, ids: Ids) -> dict[str, Any]:
    return DRY_RUN | {"programId": ids["program"]}


_DRY_RUN: Final = Operation(
    method="POST", path="/api/policies/dry-run", access=Access.BEARER, scope="policies", body=_draft
)
LOOKUP_OPERATIONS: Final = (
    *CONFIG_OPERATIONS,
    _DRY_RUN,
    msgspec.structs.replace(_DRY_RUN, body=_draft_of_program, body_ids=("program",), names="a program"),
    *_figures("/api/metrics/scores"),
    *_figures("/api/metrics/drift"),
    _SEARCH,
    msgspec.structs.replace(_SEARCH, query=(("programId", "program"),), names="a program"),
    *_timeline("transfer", "transfer"),
    *_timeline("alert", "alert"),
    *_timeline("entity", "entity"),
    *_timeline("counterparty", "counterparty"),
    *_timeline("account", "known account"),
    _timeline("program", "program")[0],
)
