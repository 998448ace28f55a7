"""Bodies of right calls, made from a world and the ids that a call names (``operations.py``)."""

from typing import Any

from clearhold.api.policies.routes import ACTIVATION, NEW_POLICY
from clearhold.store.keys import ANNOUNCED_FOR_US
from tests.support.callers import TRANSFER, WEBHOOK_URL, Ids, World


def preflight(_: World, ids: Ids) -> dict[str, Any]:
    return {"programId": ids["program"], "transfer": TRANSFER}


def preflight_by_slug(_: World, ids: Ids) -> dict[str, Any]:
    return {"programSlug": ids["slug"], "transfer": TRANSFER}


def handshake(_: World, __: Ids) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}


def key(world: World, _: Ids) -> dict[str, Any]:
    return {"name": world.fresh(), "mode": "live", "scopes": ["preflight"]}


def policy(world: World, _: Ids) -> dict[str, Any]:
    return NEW_POLICY | {"version": world.next_clock(world.tenant)}


def policy_of_program(world: World, ids: Ids) -> dict[str, Any]:
    return policy(world, ids) | {"programId": ids["program"]}


def activation(_: World, __: Ids) -> dict[str, Any]:
    return ACTIVATION


def key_of_program(world: World, ids: Ids) -> dict[str, Any]:
    return {"name": world.fresh(), "mode": "live", "programId": ids["program"], "scopes": []}


def event(world: World, _: Ids) -> dict[str, Any]:
    return {"id": world.fresh(), "created_at": "2026-03-02T14:00:00Z", "type": "odd.thing.happened", "data": {}}


def tenant(world: World, _: Ids) -> dict[str, Any]:
    return {"slug": world.fresh(), "name": "Bank"}


def program(world: World, ids: Ids) -> dict[str, Any]:
    return {"tenantId": ids["tenant"], "slug": world.fresh(), "name": "Program"}


def decision(_: World, __: Ids) -> dict[str, Any]:
    return {"decision": "close", "narrative": "It was explained to us."}


def decision_on_several(_: World, ids: Ids) -> dict[str, Any]:
    return {"alertIds": [ids["alert"]], "decision": "hold", "narrative": "It is being looked into."}


def note(_: World, __: Ids) -> dict[str, Any]:
    return {"note": "The customer was called."}


def assignment(_: World, __: Ids) -> dict[str, Any]:
    return {"assignee": "ann"}


def assignment_of_several(world: World, ids: Ids) -> dict[str, Any]:
    return assignment(world, ids) | {"alertIds": [ids["alert"]]}


def decision_on_stack(_: World, __: Ids) -> dict[str, Any]:
    return {"decision": "hold", "narrative": "It is being looked into."}


def split(_: World, ids: Ids) -> dict[str, Any]:
    return {"alertIds": [ids["alert to take out"]]}


def narrow_tier(_: World, __: Ids) -> dict[str, Any]:
    return {"tier": "supervised", "note": "We look at each."}


def limit(_: World, __: Ids) -> dict[str, Any]:
    return {"kind": "per_transaction", "capCents": "500000", "note": "As agreed."}


def evaluation(_: World, ids: Ids) -> dict[str, Any]:
    return {"programId": ids["program"], "transfer": {"rail": "wire", "direction": "outgoing", "amountCents": "100"}}


def appeal(_: World, __: Ids) -> dict[str, Any]:
    return {"reason": "It was not."}


def action(_: World, ids: Ids) -> dict[str, Any]:
    return {"programId": ids["program"], "type": "pause_card", "targetType": "card", "targetId": "card_1"}


def action_on_alert(world: World, ids: Ids) -> dict[str, Any]:
    return action(world, world.mine) | {"alertId": ids["alert"]}


def approval(_: World, __: Ids) -> dict[str, Any]:
    return {"approverId": "bob"}


def ending(_: World, __: Ids) -> dict[str, Any]:
    return {"note": "Not needed any more."}


def label(_: World, ids: Ids) -> dict[str, Any]:
    return {"transferId": ids["transfer"], "label": "bad", "reason": "It came back."}


def proof(_: World, ids: Ids) -> dict[str, Any]:
    return {"type": "entity", "id": ids["scored entity"]}


def proof_of_program(world: World, ids: Ids) -> dict[str, Any]:
    return proof(world, world.mine) | {"programId": ids["program"]}


def token_to_verify(_: World, __: Ids) -> dict[str, Any]:
    return {"token": "a.b.c"}


def signing_key(world: World, _: Ids) -> dict[str, Any]:
    """Of a purpose of which none is announced, whoever announced one before."""
    world.api.clock.advance(ANNOUNCED_FOR_US)
    return {"purpose": "proof"}


def overlap(_: World, __: Ids) -> dict[str, Any]:
    return {"overlapHours": 24}


def person_token(_: World, __: Ids) -> dict[str, Any]:
    return {"name": "ann", "expiresAt": "2026-06-01"}


def bank_key(world: World, _: Ids) -> dict[str, Any]:
    return {"key": f"test_{world.fresh()}"}


def change(world: World, _: Ids) -> dict[str, Any]:
    return {"name": world.fresh()}


def webhook(_: World, ids: Ids) -> dict[str, Any]:
    return {"url": WEBHOOK_URL, "programId": ids["program"], "events": ["alert.opened"]}


def webhook_change(world: World, _: Ids) -> dict[str, Any]:
    return {"description": world.fresh()}


def scenario(_: World, __: Ids) -> dict[str, Any]:
    return {"scenario": "account_frozen"}


def sandbox_transfer(_: World, __: Ids) -> dict[str, Any]:
    return TRANSFER


def sandbox_event(world: World, _: Ids) -> dict[str, Any]:
    return {"type": "account.frozen", "data": {"id": f"bacc_{world.fresh()}"}}


def sandbox_return(_: World, ids: Ids) -> dict[str, Any]:
    return {"transferId": ids["returnable transfer"], "returnCode": "R03"}
