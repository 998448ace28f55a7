"""Each code of an error, provoked on a running application."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import httpx
import pytest

from clearhold.api.http.operation import RateClass
from clearhold.api.http.protocol import HEAD_LIMIT, Protocol
from clearhold.api.log import commands
from clearhold.api.policies.routes import NEW_POLICY
from clearhold.api.rules.routes import NEW_RULE
from clearhold.features.core.entries.actions import DetectorTally
from clearhold.features.core.errors import (
    ErrorCode,
    UnavailableError,
)
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.log_entry import shard_of
from clearhold.features.policy.bodies import CLOCK
from clearhold.store.control import credential_registry, rule_registry, webhook_registry
from clearhold.store.idempotency import IdempotencyClaims, InFlight
from clearhold.store.record.checkpoints import INCONSISTENT, InconsistentChainError, RecordCheckpoints
from clearhold.store.redis_log import appender
from clearhold.store.redis_log.waiting_append import UNAVAILABLE
from tests.support import config_operations, person_tokens, rule_operations, scorecard_operations, stack_operations
from tests.support.callers import TRANSFER, UNKNOWN_ID, UNSENT, WEBHOOK_URL, Headers, World
from tests.support.raw_http import RawClient, served
from tests.support.running_app import SHARDS
from tests.support.version_limits import limit_versions

Answer = tuple[int, bytes]
Provoke = Callable[[World, pytest.MonkeyPatch], Answer]


def of(answer: httpx.Response) -> Answer:
    return answer.status_code, answer.content


def sent(method: str, path: str, caller: str = "operator", *more: tuple[str, str], **content: Any) -> Provoke:
    """A request as one of the world's callers."""

    def provoke(world: World, _: pytest.MonkeyPatch) -> Answer:
        return of(world.send(method, path.format(**world.mine), [*world.callers[caller].headers, *more], **content))

    return provoke


def decided(decision: str, caller: str = "operator", *, closed: bool = False) -> Provoke:
    def provoke(world: World, _: pytest.MonkeyPatch) -> Answer:
        alert = world.closed_alert(world.payroll) if closed else world.waiting_alert(world.payroll)
        body = {"decision": decision, "narrative": "It was explained to us."}
        return of(world.send("POST", f"/api/alerts/{alert}/decide", world.callers[caller].headers, json=body))

    return provoke


def ended(how: str, by: str, *, is_refused: bool = False) -> Provoke:
    """An action that waits, ended by ann; a refused one does not wait."""

    def provoke(world: World, _: pytest.MonkeyPatch) -> Answer:
        headers, path = world.callers["operator"].headers, f"/api/actions/{world.action_on(world.payroll, by=by)}"
        if is_refused:
            world.send("POST", f"{path}/approve", headers, json={"approverId": by})
        return of(world.send("POST", f"{path}/{how}", headers, json={"note": "It is not needed."}))

    return provoke


def released_after_escalation(world: World, _: pytest.MonkeyPatch) -> Answer:
    headers, path = world.callers["operator"].headers, f"/api/alerts/{world.waiting_alert(world.payroll)}/decide"
    for decision in ("escalate", "release"):
        answer = world.send("POST", path, headers, json={"decision": decision, "narrative": "It was explained to us."})
    return of(answer)


def twice(path_of: Callable[[World], tuple[str, dict[str, Any]]], caller: str = "operator") -> Provoke:
    """The same write two times: the second is refused."""

    def provoke(world: World, _: pytest.MonkeyPatch) -> Answer:
        path, body = path_of(world)
        headers = world.callers[caller].headers
        world.send("POST", path, headers, json=body)
        return of(world.send("POST", path, headers, json=body))

    return provoke


def preflight(world: World, *more: tuple[str, str], amount: str = "1") -> Answer:
    body = {"programId": world.payroll["id"], "transfer": TRANSFER | {"amountCents": amount}}
    return of(world.send("POST", "/api/preflight", [*world.callers["operator"].headers, *more], json=body))


def key_used_again(world: World, _: pytest.MonkeyPatch) -> Answer:
    key = ("Idempotency-Key", world.fresh())
    preflight(world, key, amount="1")
    return preflight(world, key, amount="2")


def key_in_flight(world: World, patch: pytest.MonkeyPatch) -> Answer:
    async def claim(*_: object) -> InFlight:
        return InFlight()

    patch.setattr(IdempotencyClaims, "claim", claim)
    return preflight(world, ("Idempotency-Key", world.fresh()))


def widened_again(world: World, patch: pytest.MonkeyPatch) -> Answer:
    """A request to widen the autonomy of a program that has earned it, and that was widened just now."""
    program_id = world.payroll["id"]
    program = world.api.shards.state(shard_of(program_id, SHARDS)).program(program_id)
    tally = DetectorTally(alerts=150, labelled=150, reviewed=50)
    patch.setitem(program.closing_evidence.tallies, "fan_out", tally)
    patch.setattr(program.autonomy, "widened_at", world.api.clock.now())
    wider = {"tier": "trusted", "note": "It was earned."}
    return sent("POST", f"/api/autonomy/{program_id}", json=wider)(world, patch)


def replaced_token(world: World, _: pytest.MonkeyPatch) -> Answer:
    admin, tenant = world.callers["admin"].headers, world.api.create_tenant("rotating-bank")
    world.send("POST", f"/api/admin/tenants/{tenant['id']}/operator-token", admin, json={"overlapHours": 0})
    headers: Headers = [("Authorization", f"Bearer {tenant['operatorToken']}"), ("X-Operator", "ann")]
    return of(world.send("GET", "/api/programs", headers))


def empty_bucket(world: World, patch: pytest.MonkeyPatch) -> Answer:
    patch.setitem(world.api.limits, RateClass.READ, 0)
    answer = world.api.client.get("/api/programs", headers=httpx.Headers(world.callers["operator"].headers))
    world.api.clock.advance(SECOND_US)  # until it is full again for whatever is provoked next
    return of(answer)


def one_export_more(world: World, patch: pytest.MonkeyPatch) -> Answer:
    patch.setattr(world.api.services["downloads"]._limit, "_most", 0)
    return of(world.send("GET", "/api/transfers/export", world.callers["operator"].headers))


def one_more(module: ModuleType, limit: str, path: str, body: dict[str, Any]) -> Provoke:
    return lambda world, patch: (patch.setattr(module, limit, 0), sent("POST", path, json=body)(world, patch))[1]


def one_policy_more(world: World, patch: pytest.MonkeyPatch) -> Answer:
    limit_versions(patch, CLOCK, most=0)
    body = NEW_POLICY | {"version": world.next_clock(world.tenant)}
    return of(world.send("POST", "/api/policies", world.callers["operator"].headers, json=body))


def activation_of(version: str) -> Callable[[World], tuple[str, dict[str, Any]]]:
    """The activation of a version, which is written when it is not there."""

    def path_and_body(world: World) -> tuple[str, dict[str, Any]]:
        headers = world.callers["operator"].headers
        world.send("POST", "/api/policies", headers, json=NEW_POLICY)
        policies = world.send("GET", "/api/policies", headers).json()
        policy_id = next(policy["id"] for policy in policies if policy["version"] == version)
        return f"/api/policies/{policy_id}/activate", {"note": "decided"}

    return path_and_body


def on_rule(rule: Callable[[World], str], path: str) -> Provoke:
    """A call about a rule that is in a state."""
    return lambda world, patch: sent("POST", f"/api/rules/{rule(world)}/{path}", json={})(world, patch)


def on_scorecard(scorecard: Callable[[World], str]) -> Provoke:
    """The activation of a scorecard that is in a state."""
    return lambda world, patch: sent("POST", f"/api/scorecards/{scorecard(world)}/activate", json={})(world, patch)


def stale_rule(world: World, patch: pytest.MonkeyPatch) -> Answer:
    rule, stale = NEW_RULE | {"id": rule_operations.draft(world)}, [("If-Match", '"stale"')]
    return sent("PUT", f"/api/rules/{rule['id']}", "operator", *stale, json=rule)(world, patch)


def archived_rule(world: World) -> str:
    rule_id = rule_operations.draft(world)
    world.send("POST", f"/api/rules/{rule_id}/archive", world.callers["operator"].headers, json={})
    return rule_id


def nameless_service(world: World, patch: pytest.MonkeyPatch) -> Answer:
    patch.setattr(world.api.services["proofs"], "_issuer", None)
    return sent("POST", "/api/proofs", json={"type": "entity", "id": "enti_scored"})(world, patch)


def lost_object(world: World, patch: pytest.MonkeyPatch) -> Answer:
    patch.setattr(type(world.api.services["transfers"]._events), "entry", lambda *_: None)
    return of(world.send("GET", "/api/transfers/acht_0", world.callers["operator"].headers))


def broken_service(world: World, patch: pytest.MonkeyPatch) -> Answer:
    patch.setattr(type(world.api.services["programs"]), "list", lambda *_, **__: 1 / 0)
    return of(world.send("GET", "/api/programs", world.callers["operator"].headers))


def starting(world: World, patch: pytest.MonkeyPatch) -> Answer:
    patch.setattr(world.api.resources.preflight_log, "is_open", False)
    return preflight(world)


def catching_up(world: World, patch: pytest.MonkeyPatch) -> Answer:
    patch.setattr(world.api.resources.recorded_preflights, "has_room", lambda _: False)
    return preflight(world)


def overloaded(world: World, patch: pytest.MonkeyPatch) -> Answer:
    patch.setattr(appender, "MAX_WAITING_ENTRIES", 0)
    return preflight(world)


def log_refuses(sentence: str, code: ErrorCode) -> Callable[[World, pytest.MonkeyPatch], Answer]:
    async def refuse(*_: object, **__: object) -> None:
        raise UnavailableError(sentence, code)

    def refused(world: World, patch: pytest.MonkeyPatch) -> Answer:
        patch.setattr(appender.LogAppender, "_written", refuse)
        return preflight(world)

    return refused


def not_confirmed(world: World, patch: pytest.MonkeyPatch) -> Answer:
    patch.setattr(commands, "COMMITTED_WITHIN_S", 0.01)
    patch.setattr(world.api.appender, "stands_still", True)
    body = {"transferId": "acht_0", "label": "ok", "reason": "It was a refund."}
    return of(world.send("POST", "/api/labels", world.callers["operator"].headers, json=body))


def broken_chain(world: World, patch: pytest.MonkeyPatch) -> Answer:
    def refuse(*_: object) -> None:
        raise InconsistentChainError(INCONSISTENT, ErrorCode.CHAIN_INCONSISTENT)

    patch.setattr(RecordCheckpoints, "sign", refuse)
    path = "/api/record/checkpoint?chain=dispositions"
    return of(world.send("GET", path, world.callers["operator"].headers))


def on_the_wire(*parts: bytes, head_within_s: float = 10.0) -> Provoke:
    class Impatient(Protocol):
        pass

    Impatient.head_within_s = head_within_s

    def provoke(world: World, _: pytest.MonkeyPatch) -> Answer:
        with served(world.api, Impatient) as port, RawClient(port) as client:
            client.send(*parts)
            answer = client.answer()
        return answer.status, answer.body

    return provoke


def appeal_of(alert_id: str) -> tuple[str, dict[str, Any]]:
    return f"/api/alerts/{alert_id}/appeal", {"reason": "New facts."}


JSON: Final = {"Content-Type": "application/json"}


def without_index(world: World, monkeypatch: pytest.MonkeyPatch) -> Answer:
    monkeypatch.setattr(world.api.resources.agent_importer, "_root", None)
    return of(world.send("POST", "/api/agents/import", world.callers["operator"].headers))


def with_a_broken_index(world: World, monkeypatch: pytest.MonkeyPatch) -> Answer:
    monkeypatch.setattr(world.api.resources.agent_importer, "_root", "http://127.0.0.1:1")
    return of(world.send("POST", "/api/agents/import", world.callers["operator"].headers))


CASES: Final[dict[ErrorCode, Provoke]] = {
    ErrorCode.VALIDATION_FAILED: sent("GET", "/api/transfers?limit=0"),
    ErrorCode.INVALID_JSON: sent("POST", "/api/preflight", "operator", *JSON.items(), content=b"{nope"),
    ErrorCode.PROGRAM_REQUIRED: sent(
        "POST", "/api/labels", json={"transferId": "acht_of_two", "label": "ok", "reason": "A refund."}
    ),
    ErrorCode.CURSOR_INVALID: sent("GET", "/api/transfers?cursor=abc"),
    ErrorCode.OPERATOR_REQUIRED: sent("GET", "/api/programs", "nameless operator"),
    ErrorCode.OPERATOR_INVALID: sent("GET", "/api/programs", "nameless operator", ("X-Operator", "key:x")),
    ErrorCode.PERSON_REQUIRED: decided("close", "live key"),
    ErrorCode.IDEMPOTENCY_KEY_INVALID: lambda world, _: preflight(world, ("Idempotency-Key", "")),
    ErrorCode.VERSION_UNSUPPORTED: sent("GET", "/api/programs", "operator", ("Score-Version", "2020-01-01")),
    ErrorCode.REQUEST_TOO_SLOW: on_the_wire(b"GET / HTTP/1.1\r\n", head_within_s=0.05),
    ErrorCode.HTTP_UNREADABLE: on_the_wire(b"nonsense\r\n\r\n"),
    ErrorCode.TRANSFER_CODING_UNKNOWN: on_the_wire(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    ),
    ErrorCode.HTTP_VERSION_UNSUPPORTED: on_the_wire(b"GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
    ErrorCode.HEADERS_TOO_LARGE: on_the_wire(b"GET / HTTP/1.1\r\nX: " + b"x" * HEAD_LIMIT),
    ErrorCode.TOKEN_MISSING: sent("GET", "/api/programs", "nobody"),
    ErrorCode.TOKEN_UNKNOWN: sent("GET", "/api/programs", "forged"),
    ErrorCode.TOKEN_REPLACED: replaced_token,
    ErrorCode.TOKEN_OF_ANOTHER_KIND: sent("GET", "/api/programs", "admin"),
    ErrorCode.TOKEN_EXPIRED: person_tokens.expired,
    ErrorCode.TOKEN_REVOKED: person_tokens.revoked,
    ErrorCode.OPERATOR_MISMATCH: person_tokens.of_another,
    ErrorCode.PERSON_TOKEN_REQUIRED: person_tokens.approved_by_claim,
    ErrorCode.TOKEN_NOT_FOUND: sent("DELETE", f"/api/admin/tenants/{{tenant}}/operator-tokens/{UNKNOWN_ID}", "admin"),
    ErrorCode.KEY_REVOKED: sent("GET", "/api/programs", "revoked key"),
    ErrorCode.TENANT_MISMATCH: sent("GET", "/api/programs?tenant=second-bank"),
    ErrorCode.PROGRAM_NOT_OWNED: sent("POST", f"/api/skoor/backfill/{UNKNOWN_ID}"),
    ErrorCode.SIGNATURE_INVALID: sent("POST", "/api/ingest/bank/{program}", "nobody", content=b"{}"),
    ErrorCode.SCOPE_MISSING: sent("GET", "/api/transfers", "key with another scope"),
    ErrorCode.OPERATOR_TOKEN_REQUIRED: sent("GET", "/api/keys", "live key"),
    ErrorCode.TEST_KEY_REQUIRED: sent("GET", "/api/sandbox/scenarios"),
    ErrorCode.TENANT_WIDE_REQUIRED: sent("GET", "/api/record/verify", "key of the program"),
    ErrorCode.PROGRAM_OUT_OF_REACH: sent("GET", "/api/programs/{program}", "test key"),
    ErrorCode.ORIGIN_REFUSED: sent("POST", "/api/mcp", extra=[("Origin", "https://evil.example")]),
    ErrorCode.PATH_NOT_FOUND: sent("GET", "/api/nothing"),
    ErrorCode.TENANT_NOT_FOUND: sent(
        "POST", "/api/admin/programs", "admin", json={"tenantId": UNKNOWN_ID, "slug": "x", "name": "X"}
    ),
    ErrorCode.PROGRAM_NOT_FOUND: sent("GET", f"/api/programs/{UNKNOWN_ID}"),
    ErrorCode.ENTITY_NOT_FOUND: sent("GET", "/api/entities/enti_x"),
    ErrorCode.COUNTERPARTY_NOT_FOUND: sent("GET", "/api/counterparties/cpty_x"),
    ErrorCode.ACCOUNT_NOT_FOUND: sent("GET", "/api/accounts/bacc_x"),
    ErrorCode.TRANSFER_NOT_FOUND: sent("GET", "/api/transfers/acht_x"),
    ErrorCode.EVENT_NOT_FOUND: sent("GET", "/api/events/evnt_x"),
    ErrorCode.OBJECT_LOST: lost_object,
    ErrorCode.PREFLIGHT_NOT_FOUND: sent("GET", f"/api/preflight/{UNKNOWN_ID}"),
    ErrorCode.ALERT_NOT_FOUND: sent("GET", f"/api/alerts/{UNKNOWN_ID}"),
    ErrorCode.ACTION_NOT_FOUND: sent("GET", f"/api/actions/{UNKNOWN_ID}"),
    ErrorCode.SNAPSHOT_NOT_FOUND: sent("GET", f"/api/kri/snapshots/{UNKNOWN_ID}"),
    ErrorCode.DISPOSITION_NOT_FOUND: sent("GET", f"/api/dispositions/{UNKNOWN_ID}"),
    ErrorCode.POLICY_NOT_FOUND: sent("GET", f"/api/policies/{UNKNOWN_ID}"),
    ErrorCode.RULE_NOT_FOUND: sent("GET", "/api/rules/nobodys"),
    ErrorCode.RULE_ID_TAKEN: twice(lambda _: ("/api/rules", NEW_RULE)),
    ErrorCode.TOO_MANY_RULES: one_more(rule_registry, "MOST_RULES", "/api/rules", NEW_RULE | {"id": "one-more"}),
    ErrorCode.RULE_NOT_TESTED: on_rule(rule_operations.draft, "activate"),
    ErrorCode.RULE_IN_FORCE: on_rule(rule_operations.active, "archive"),
    ErrorCode.RULE_NOT_ACTIVE: on_rule(rule_operations.tested, "pause"),
    ErrorCode.RULE_ARCHIVED: on_rule(archived_rule, "activate"),
    ErrorCode.RULE_CHANGED: stale_rule,
    ErrorCode.SCORECARD_NOT_FOUND: sent("GET", "/api/scorecards/nobodys"),
    ErrorCode.SCORECARD_IN_FORCE: on_scorecard(scorecard_operations.in_force),
    ErrorCode.SCORECARD_NOT_REPORTED: on_scorecard(scorecard_operations.proposed),
    ErrorCode.KEY_NOT_FOUND: sent("DELETE", f"/api/keys/{UNKNOWN_ID}"),
    ErrorCode.AGENT_NOT_FOUND: sent("POST", "/api/proofs", json={"type": "agent", "id": "enti_0"}),
    ErrorCode.SIGNING_KEY_NOT_FOUND: sent("DELETE", "/api/admin/signing-keys/nobodys", "admin"),
    ErrorCode.TRANSFER_NOT_RETURNABLE: sent("POST", "/api/sandbox/{simulated program}/return", "test key", json=UNSENT),
    ErrorCode.ACTOR_UNSCORED: sent("POST", "/api/proofs", json={"type": "entity", "id": "enti_0"}),
    ErrorCode.ISSUER_UNKNOWN: nameless_service,
    ErrorCode.ROTATION_PENDING: twice(lambda _: ("/api/admin/signing-keys", {"purpose": "proof"}), "admin"),
    ErrorCode.WEBHOOK_NOT_FOUND: sent("DELETE", f"/api/webhooks/{UNKNOWN_ID}"),
    ErrorCode.DELIVERY_NOT_FOUND: sent("POST", f"/api/webhooks/{{webhook}}/deliveries/{UNKNOWN_ID}/redeliver"),
    ErrorCode.CHAIN_TOO_SHORT: sent("GET", "/api/record/proof?chain=dispositions&seq=999999"),
    ErrorCode.METHOD_NOT_ALLOWED: sent("DELETE", "/api/transfers"),
    ErrorCode.SLUG_TAKEN: sent("POST", "/api/admin/tenants", "admin", json={"slug": "first-bank", "name": "Again"}),
    ErrorCode.TOO_MANY_KEYS: one_more(credential_registry, "MOST_KEYS", "/api/keys", {"name": "k", "mode": "live"}),
    ErrorCode.TOO_MANY_WEBHOOKS: one_more(webhook_registry, "MOST_ENDPOINTS", "/api/webhooks", {"url": WEBHOOK_URL}),
    ErrorCode.POLICY_VERSION_EXISTS: twice(lambda _: ("/api/policies", NEW_POLICY)),
    ErrorCode.POLICY_VERSION_NOT_NEXT: sent("POST", "/api/policies", json=NEW_POLICY | {"version": "clock-v900"}),
    ErrorCode.TOO_MANY_POLICIES: one_policy_more,
    ErrorCode.POLICY_IN_FORCE: twice(activation_of("clock-v1")),
    ErrorCode.CHANGE_PENDING: twice(activation_of("clock-v2")),
    ErrorCode.ACTION_NOT_WAITING: ended("withdraw", "ann", is_refused=True),
    ErrorCode.OWN_ACTION: ended("decline", "ann"),
    ErrorCode.NOT_THE_REQUESTER: ended("withdraw", "bob"),
    ErrorCode.ALERT_CLOSED: decided("close", closed=True),
    ErrorCode.STACK_NOT_FOUND: sent("GET", f"/api/stacks/{UNKNOWN_ID}"),
    ErrorCode.ALERT_NOT_IN_STACK: lambda world, _: of(stack_operations.split_off(world, [UNKNOWN_ID])),
    ErrorCode.STACK_NOT_SPLIT: lambda world, _: of(stack_operations.split_off(world, None)),
    ErrorCode.ALERT_NOT_HELD: released_after_escalation,
    ErrorCode.ALERT_NOT_CLOSED: twice(lambda world: appeal_of(world.waiting_alert(world.payroll))),
    ErrorCode.ALREADY_DECIDED: twice(
        lambda world: (
            f"/api/alerts/{world.waiting_alert(world.payroll)}/decide",
            {"decision": "hold", "narrative": "Not explained to us so far."},
        )
    ),
    ErrorCode.ALREADY_APPEALED: twice(lambda world: appeal_of(world.closed_alert(world.payroll))),
    ErrorCode.LIMIT_UNCHANGED: sent(
        "POST", "/api/limits/program/{program}", json={"kind": "entity_daily", "capCents": None}
    ),
    ErrorCode.CONFIG_CHANGED: lambda world, _: of(config_operations.on_another_base(world)),
    ErrorCode.AUTONOMY_UNCHANGED: sent("POST", "/api/autonomy/{program}", json={"tier": "standard", "note": "As is."}),
    ErrorCode.AUTONOMY_NOT_ELIGIBLE: sent("POST", "/api/autonomy/{program}", json={"tier": "trusted", "note": "More."}),
    ErrorCode.AUTONOMY_TOO_EARLY: widened_again,
    ErrorCode.CHAIN_INCONSISTENT: broken_chain,
    ErrorCode.IDEMPOTENCY_MISMATCH: key_used_again,
    ErrorCode.IDEMPOTENCY_IN_FLIGHT: key_in_flight,
    ErrorCode.BODY_TOO_LARGE: sent("POST", "/api/preflight", content=b" " * 65_537),
    ErrorCode.MEDIA_TYPE_UNSUPPORTED: sent("POST", "/api/preflight", content=b"{}"),
    ErrorCode.RATE_LIMITED: empty_bucket,
    ErrorCode.TOO_MANY_AT_ONCE: one_export_more,
    ErrorCode.INTERNAL_ERROR: broken_service,
    ErrorCode.SCAN_INDEX_UNSET: without_index,
    ErrorCode.SCAN_INDEX_FAILED: with_a_broken_index,
    ErrorCode.UNAVAILABLE: log_refuses(UNAVAILABLE, ErrorCode.UNAVAILABLE),
    ErrorCode.STARTING: starting,
    ErrorCode.STANDBY: log_refuses(appender.STANDING_BY, ErrorCode.STANDBY),
    ErrorCode.CATCHING_UP: catching_up,
    ErrorCode.OVERLOADED: overloaded,
    ErrorCode.NOT_CONFIRMED: not_confirmed,
    ErrorCode.DEADLINE_EXCEEDED: lambda world, _: preflight(world, ("X-Deadline-Ms", "1")),
}
NOT_OVER_HTTP: Final = {ErrorCode.BODY_INCOMPLETE}  # Whoever could read it has hung up.
