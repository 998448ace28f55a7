"""Every operation of the service as the documents describe it: who may call it, what it names, a call that is right.

Whoever adds a route adds it here; ``tests/api/http/test_isolation_matrix.py`` fails until then.
"""

from typing import Any, Final

import httpx
import msgspec

from tests.support import operation_bodies as bodies
from tests.support.action_operations import ACTION_OPERATIONS
from tests.support.callers import Headers, Ids, World
from tests.support.graph_operations import GRAPH_OPERATIONS
from tests.support.key_state_operations import KEY_STATE_OPERATIONS
from tests.support.lookup_operations import LOOKUP_OPERATIONS
from tests.support.operation import Access as Access
from tests.support.operation import Operation as Operation
from tests.support.operation import Place as Place
from tests.support.rule_operations import RULE_OPERATIONS, RULES_THAT_ARE_NEEDED
from tests.support.sandbox_operations import SANDBOX_OPERATIONS
from tests.support.scorecard_operations import SCORECARD_OPERATIONS, SCORECARDS_THAT_ARE_NEEDED
from tests.support.stack_operations import STACK_OPERATIONS, stacks_for
from tests.support.webhook_operations import WEBHOOK_OPERATIONS


def ids_for(world: World, operation: Operation) -> Ids:
    """Ids that are there, with a fresh one where the call ends what it names."""
    fresh: Ids = {}
    if "key" in operation.fills:
        fresh["key"] = world.key_of(world.tenant)["id"]
    if "waiting alert" in operation.fills:
        fresh["waiting alert"] = world.waiting_alert(world.payroll)
    fresh |= stacks_for(world, operation.fills)
    if "waiting action" in operation.fills:
        by = "bob" if operation.path.endswith("/decline") else "ann"  # ann calls, and may not decline her own
        fresh["waiting action"] = world.action_on(world.payroll, by=by)
    if "wide program" in operation.fills:
        fresh["wide program"] = world.api.create_program(world.tenant, slug=world.fresh())["id"]
    if "new policy" in operation.fills:
        fresh["new policy"] = world.new_policy(world.tenant)
    if "signing key" in operation.fills:
        fresh["signing key"] = world.api.stores.record.signing_keys.published()[0].kid
    if "closed alert" in operation.fills:
        fresh["closed alert"] = world.closed_alert(world.payroll)
    needed = {**RULES_THAT_ARE_NEEDED, **SCORECARDS_THAT_ARE_NEEDED, "person token": _person_token}
    for name in needed.keys() & set(operation.fills):
        fresh[name] = needed[name](world)
    if "returnable transfer" in operation.body_ids:
        fresh["returnable transfer"] = world.returnable_transfer(world.simulated)
    return world.mine | fresh


def _person_token(world: World) -> str:
    token_id: str = world.person_token(world.spare, "ann")["id"]
    return token_id


def call(world: World, operation: Operation, headers: Headers, ids: Ids | None = None, **sent: Any) -> httpx.Response:
    """Call as the documents say, with these ids in place of those that are there."""
    ids = ids_for(world, operation) if ids is None else ids
    if operation.body is not None and not sent.keys() & {"content", "json"}:
        sent["content"] = msgspec.json.encode(operation.body(world, ids))
    if "content" in sent:
        sent["extra"] = [("Content-Type", "application/json"), *sent.get("extra", [])]
    sent["extra"] = [*operation.sends, *sent.get("extra", [])]
    if operation.access is Access.SIGNATURE:
        sent["extra"] = [*sent.get("extra", []), world.signed(world.payroll, sent["content"])[0]]
    return world.send(operation.method, operation.url(ids), headers, **sent)


def _listed(path: str, scope: str) -> tuple[Operation, Operation]:
    """A list, of everything and of one program."""
    everything = Operation(method="GET", path=path, access=Access.BEARER, scope=scope)
    return everything, msgspec.structs.replace(everything, query=(("programId", "program"),), names="a program")


def _actor_report(kind: str) -> tuple[Operation, Operation]:
    """The report of one entity or counterparty, wherever it is and of one program."""
    anywhere = Operation(
        method="GET",
        path=f"/api/reports/actor/{kind}/{{}}",
        template="/api/reports/actor/{}/{}",
        access=Access.BEARER,
        scope="reports",
        fills=("known account" if kind == "account" else kind,),
    )
    return anywhere, msgspec.structs.replace(anywhere, query=(("programId", "program"),), names="a program")


def _party(resource: str, name: str) -> tuple[Operation, Operation]:
    """One entity or counterparty, wherever it is and of one program."""
    anywhere = Operation(
        method="GET", path=f"/api/{resource}/{{}}", access=Access.BEARER, scope="alerts:read", fills=(name,)
    )
    return anywhere, msgspec.structs.replace(anywhere, query=(("programId", "program"),), names="a program")


def _explained(resource: str, name: str) -> tuple[Operation, Operation]:
    """The score of one transfer or party explained, wherever it is and of one program."""
    anywhere = Operation(
        method="GET", path=f"/api/{resource}/{{}}/explain", access=Access.BEARER, scope="alerts:read", fills=(name,)
    )
    return anywhere, msgspec.structs.replace(anywhere, query=(("programId", "program"),), names="a program")


def _record(path: str, asks: str = "") -> Operation:
    """A route of the record, which is the tenant's as a whole."""
    return Operation(
        method="GET", path=f"/api/record/{path}", access=Access.BEARER, scope="record", whole_tenant=True, asks=asks
    )


def _subject(resource: str, name: str) -> tuple[Operation, Operation]:
    """All about one entity or counterparty, wherever it is and of one program."""
    anywhere = Operation(
        method="GET",
        path=f"/api/{resource}/{{}}/export",
        access=Access.BEARER,
        scope="record",
        whole_tenant=True,
        fills=(name,),
    )
    return anywhere, msgspec.structs.replace(anywhere, query=(("programId", "program"),), names="a program")


def _admin(method: str, path: str, **more: Any) -> Operation:
    """A route of the platform's administration."""
    return Operation(method=method, path=f"/api/admin/{path}", access=Access.ADMIN, **more)


_AGENTS: Final = (
    Operation(method="GET", path="/api/agents", access=Access.BEARER, scope="reports", whole_tenant=True),
    Operation(method="GET", path="/api/agents/import", access=Access.BEARER, scope="reports", whole_tenant=True),
    *(
        Operation(method="GET", path=path, access=Access.BEARER, scope="reports", whole_tenant=True, fills=("agent",))
        for path in ("/api/agents/{}", "/api/agents/{}/explain")
    ),
    Operation(method="POST", path="/api/agents/import", access=Access.OPERATOR),
)
"""On the program `agents`, which no key of one other program reaches."""

OPERATIONS: Final = (
    *_AGENTS,
    Operation(method="GET", path="/healthz", access=Access.PUBLIC),
    Operation(method="GET", path="/readyz", access=Access.PUBLIC),
    Operation(method="GET", path="/", access=Access.PUBLIC),
    Operation(method="GET", path="/openapi.json", access=Access.PUBLIC),
    Operation(method="GET", path="/docs", access=Access.PUBLIC),
    Operation(method="GET", path="/docs/redoc-2.5.2.js", access=Access.PUBLIC),
    Operation(
        method="POST", path="/api/ingest/bank/{}", access=Access.SIGNATURE, fills=("program",), body=bodies.event
    ),
    Operation(
        method="POST", path="/api/ingest/bank/{}/batch", access=Access.SIGNATURE, fills=("program",), body=bodies.event
    ),
    Operation(
        method="POST",
        path="/api/ingest/bank/{}/check",
        access=Access.PUBLIC,
        fills=("simulated program",),
        body=bodies.event,
    ),
    Operation(method="POST", path="/api/mcp", access=Access.BEARER_ALONE, scope="connector", body=bodies.handshake),
    *_listed("/api/events", "alerts:read"),
    *_party("events", "event"),
    Operation(
        method="POST",
        path="/api/preflight",
        access=Access.BEARER,
        scope="preflight",
        success=201,
        body=bodies.preflight,
        body_ids=("program",),
        names="a program",
    ),
    Operation(
        method="POST",
        path="/api/preflight",
        access=Access.BEARER,
        scope="preflight",
        success=201,
        body=bodies.preflight_by_slug,
        body_ids=("slug",),
        names="a slug",
    ),
    *_listed("/api/preflight", "preflight"),
    *_listed("/api/preflight/stats", "preflight"),
    Operation(method="GET", path="/api/preflight/{}", access=Access.BEARER, scope="preflight", fills=("preflight",)),
    Operation(
        method="GET", path="/api/preflight/{}/explain", access=Access.BEARER, scope="preflight", fills=("preflight",)
    ),
    *_explained("transfers", "transfer"),
    *_explained("entities", "entity"),
    *_explained("counterparties", "counterparty"),
    Operation(method="GET", path="/api/programs", access=Access.BEARER),
    *_listed("/api/programs/overview", "reports"),
    Operation(method="GET", path="/api/programs/{}", access=Access.BEARER, fills=("program",)),
    *_listed("/api/transfers", "alerts:read"),
    *_listed("/api/transfers/export", "alerts:read"),
    *_party("transfers", "transfer"),
    *_listed("/api/accounts", "alerts:read"),
    *_party("accounts", "known account"),
    *LOOKUP_OPERATIONS,
    *_party("entities", "entity"),
    *_party("counterparties", "counterparty"),
    *_listed("/api/alerts", "alerts:read"),
    *_listed("/api/alerts/summaries", "alerts:read"),
    *_listed("/api/alerts/export", "alerts:read"),
    Operation(method="GET", path="/api/alerts/{}", access=Access.BEARER, scope="alerts:read", fills=("alert",)),
    Operation(
        method="POST",
        path="/api/alerts/{}/decide",
        access=Access.BEARER,
        scope="alerts:decide",
        success=201,
        fills=("waiting alert",),
        body=bodies.decision,
        needs_person=True,
    ),
    *GRAPH_OPERATIONS,
    *STACK_OPERATIONS,
    Operation(
        method="POST",
        path="/api/alerts/{}/appeal",
        access=Access.BEARER,
        scope="alerts:decide",
        success=201,
        fills=("closed alert",),
        body=bodies.appeal,
    ),
    Operation(
        method="GET", path="/api/alerts/{}/dispositions", access=Access.BEARER, scope="alerts:read", fills=("alert",)
    ),
    *_listed("/api/dispositions", "alerts:read"),
    *_listed("/api/dispositions/export", "alerts:read"),
    Operation(
        method="GET", path="/api/dispositions/{}", access=Access.BEARER, scope="alerts:read", fills=("disposition",)
    ),
    *ACTION_OPERATIONS,
    *_listed("/api/actions", "actions"),
    Operation(method="GET", path="/api/actions/{}", access=Access.BEARER, scope="actions", fills=("action",)),
    Operation(
        method="POST",
        path="/api/labels",
        access=Access.BEARER,
        scope="labels",
        success=201,
        body=bodies.label,
        body_ids=("transfer",),
    ),
    *_listed("/api/labels", "labels"),
    *_listed("/api/kri/snapshots", "reports"),
    Operation(method="GET", path="/api/kri/snapshots/{}", access=Access.BEARER, scope="reports", fills=("snapshot",)),
    *_listed("/api/policies", "policies"),
    Operation(
        method="GET",
        path="/api/policies/{}",
        access=Access.BEARER,
        scope="policies",
        fills=("policy",),
        tenant_wide=True,
    ),
    *_listed("/api/ladder", "policies"),
    *_listed("/api/ladder/rescreen", "policies"),
    Operation(
        method="POST",
        path="/api/ladder/evaluate",
        access=Access.BEARER,
        scope="preflight",
        body=bodies.evaluation,
        body_ids=("program",),
    ),
    Operation(
        method="POST",
        path="/api/limits/program/{}",
        access=Access.OPERATOR,
        success=201,
        fills=("wide program",),
        body=bodies.limit,
    ),
    Operation(method="GET", path="/api/limits/program/{}", access=Access.BEARER, fills=("program",)),
    Operation(method="GET", path="/api/limits/program/{}/history", access=Access.BEARER, fills=("program",)),
    *_listed("/api/metrics", "reports"),
    *_listed("/api/metrics/history", "reports"),
    Operation(method="GET", path="/api/autonomy", access=Access.BEARER, scope="policies"),
    Operation(method="GET", path="/api/autonomy/{}", access=Access.BEARER, scope="policies", fills=("program",)),
    Operation(
        method="POST", path="/api/autonomy/{}", access=Access.OPERATOR, fills=("wide program",), body=bodies.narrow_tier
    ),
    Operation(method="POST", path="/api/policies", access=Access.OPERATOR, success=201, body=bodies.policy),
    Operation(
        method="POST",
        path="/api/policies",
        access=Access.OPERATOR,
        success=201,
        body=bodies.policy_of_program,
        body_ids=("program",),
        names="a program",
    ),
    Operation(
        method="POST",
        path="/api/policies/{}/activate",
        access=Access.OPERATOR,
        success=201,
        fills=("new policy",),
        body=bodies.activation,
        tenant_wide=True,
    ),
    *_listed("/api/counts", "alerts:read"),
    Operation(method="GET", path="/api/clocks/overdue", access=Access.BEARER, scope="alerts:read"),
    *_listed("/api/live", "alerts:read"),
    Operation(method="POST", path="/api/keys", access=Access.OPERATOR, success=201, body=bodies.key),
    Operation(
        method="POST",
        path="/api/keys",
        access=Access.OPERATOR,
        success=201,
        body=bodies.key_of_program,
        body_ids=("program",),
        names="a program",
    ),
    Operation(method="GET", path="/api/keys", access=Access.OPERATOR),
    Operation(method="DELETE", path="/api/keys/{}", access=Access.OPERATOR, fills=("key",)),
    *WEBHOOK_OPERATIONS,
    *KEY_STATE_OPERATIONS,
    *RULE_OPERATIONS,
    *SANDBOX_OPERATIONS,
    *SCORECARD_OPERATIONS,
    Operation(method="GET", path="/.well-known/jwks.json", access=Access.PUBLIC),
    Operation(
        method="POST",
        path="/api/proofs",
        access=Access.BEARER,
        scope="proofs",
        success=201,
        body=bodies.proof,
        body_ids=("scored entity",),
    ),
    Operation(
        method="POST",
        path="/api/proofs",
        access=Access.BEARER,
        scope="proofs",
        success=201,
        body=bodies.proof_of_program,
        body_ids=("program",),
        names="a program",
    ),
    Operation(method="POST", path="/api/proofs/verify", access=Access.PUBLIC, body=bodies.token_to_verify),
    _record("verify"),
    _record("export"),
    _record("checkpoint", "chain=dispositions"),
    _record("checkpoints"),
    _record("proof", "chain=dispositions&seq=0"),
    *_subject("entities", "entity"),
    *_subject("counterparties", "counterparty"),
    Operation(method="POST", path="/api/kri/snapshot/{}", access=Access.OWNER, fills=("program",)),
    *_actor_report("entity"),
    *_actor_report("counterparty"),
    *_actor_report("account"),
    Operation(method="GET", path="/api/reports/program/{}", access=Access.BEARER, scope="reports", fills=("program",)),
    Operation(method="GET", path="/api/reports/weekly/{}", access=Access.BEARER, scope="reports", fills=("program",)),
    Operation(method="POST", path="/api/skoor/backfill/{}", access=Access.OWNER, fills=("program",)),
    Operation(method="POST", path="/api/skoor/actors/backfill/{}", access=Access.OWNER, fills=("program",)),
    _admin("POST", "tenants", success=201, body=bodies.tenant),
    _admin("GET", "tenants"),
    _admin("GET", "backup"),
    _admin(
        "POST", "tenants/{}/operator-token", success=201, fills=("tenant",), body=bodies.overlap, body_optional=True
    ),
    _admin("POST", "tenants/{}/operator-tokens", success=201, fills=("tenant",), body=bodies.person_token),
    _admin("GET", "tenants/{}/operator-tokens", fills=("tenant",)),
    _admin("DELETE", "tenants/{}/operator-tokens/{}", fills=("tenant", "person token")),
    _admin("PUT", "tenants/{}/bank-key", success=204, fills=("tenant",), body=bodies.bank_key),
    _admin("DELETE", "tenants/{}/bank-key", success=204, fills=("tenant",)),
    _admin("POST", "programs", success=201, body=bodies.program, body_ids=("tenant",)),
    _admin("PATCH", "programs/{}", fills=("spare",), body=bodies.change),
    _admin("PUT", "programs/{}/accounts/{}", fills=("spare", "account"), body=lambda *_: {"entityId": "enti_1"}),
    _admin("POST", "programs/{}/ingest-secret", success=201, fills=("spare",), body=bodies.overlap, body_optional=True),
    _admin("GET", "signing-keys"),
    _admin("POST", "signing-keys", success=201, body=bodies.signing_key),
    _admin("DELETE", "signing-keys/{}", fills=("signing key",)),
)

WRITES: Final = tuple(each for each in OPERATIONS if each.method != "GET")
