"""The words of caps and of the limit ladder, a part of ``api/openapi/glossary.py``."""

from collections.abc import Mapping
from typing import Final

_OF_KINDS: Final = (
    "Cap of which kind; ach_debit_* are the ACH debits that the program originates, and the last two are of one entity."
)
_CENTS: Final = "The cap in integer cents, as a string of digits; null: no cap, or a kind that is counted."
_COUNT: Final = "The cap of entity_velocity_24h, as a count; null: no cap, or a kind in cents."
_NOTE: Final = "Why, in the requester's words; null when nothing was said."
_CAP: Final = "cents as a string of digits, a count as an integer, null for no cap."
_ACTION: Final = "The action, whose approval puts the cap in force."

LIMIT_PROPERTIES: Final[Mapping[str, str]] = {
    "capCents": _CENTS,
    "NewLimit.capCents": "The new cap in integer cents, at most 2^53, for every kind but entity_velocity_24h; null "
    "removes the cap.",
    "capCount": _COUNT,
    "NewLimit.capCount": "The new cap of entity_velocity_24h, at most 2^53; null removes the cap.",
    "NewLimit.kind": _OF_KINDS,
    "Limit.kind": _OF_KINDS,
    "LimitValues.kind": _OF_KINDS,
    "PendingLimit.kind": _OF_KINDS,
    "ChangedLimit.kind": _OF_KINDS,
    "NewLimit.note": "Why, in your words.",
    "Limit.note": _NOTE,
    "PendingLimit.note": _NOTE,
    "ChangedLimit.note": _NOTE,
    "Limit.version": "Version of the program's caps that the last change of this kind made; null when there was none.",
    "ChangedLimit.version": "Version of the program's caps that this change made.",
    "Limit.requestedBy": "Who requested the last change; null when there was none.",
    "Limit.approvedBy": "Who approved the last change; null when there was none.",
    "PendingLimit.requestedBy": "Who requested the change.",
    "ChangedLimit.requestedBy": "Who requested the change.",
    "ChangedLimit.approvedBy": "Who approved the change, a person other than the requester.",
    "since": "Since when the cap is in force, or removed; null when there never was one.",
    "Limit.observed": "What is used now: cents in a string of digits, a count as an integer; null when nothing moved.",
    "Limit.n": "How many transfers that is.",
    "limits": "All five kinds of cap.",
    "pending": "The changes that wait for an approver, in the order in which they were requested.",
    "LimitAction.limit": "The cap before and after.",
    "LimitAction.id": "The action's id, minted here.",
    "LimitAction.type": "Always set_limit.",
    "LimitAction.alertId": "Always null.",
    "LimitAction.status": "requested: it waits for a second person.",
    "LimitAction.error": "Always null.",
    "LimitAction.targetType": "Always program.",
    "LimitAction.targetId": "The program's id.",
    "LimitAction.bankResponse": "Always null: the bank has no part in it.",
    "PendingLimit.actionId": _ACTION,
    "actionId": "The action, whose approval put the cap in force.",
    "LimitValues.from": f"The cap in force: {_CAP}",
    "LimitValues.to": f"The cap requested: {_CAP}",
    "ChangedLimit.from": f"The cap before: {_CAP}",
    "ChangedLimit.to": f"The cap since: {_CAP}",
    "ChangedLimit.at": "When it came into force.",
    "LimitHit.actorId": "The bank's id of the actor; not_on_file for a counterparty that the bank has given none.",
    "LimitHit.proposed": "This amount in integer cents, in a string of digits; 1, the least that it can be, where "
    "its US dollars are not known.",
    "LadderInForce.version": "Version of the ladder.",
    "ladder": "The caps of each band, and how often it is screened again.",
    "LimitLadder.counterparty": "Caps of counterparties by band.",
    "LimitLadder.entity": "Caps of entities by band.",
    "rescreenDays": "Days after which an actor is screened again, by band.",
    "clear": "In the band clear.",
    "review": "In the band review.",
    "hold": "In the band hold.",
    "unscored": "Without a score.",
    "perTransactionCents": "The most that one outgoing transfer may be, in integer cents; null: no cap.",
    "dailyCents": "The most that may go out in a day (UTC), in integer cents; null: no cap.",
    "monthlyCents": "The most that may go out in a calendar month (UTC), in integer cents; null: no cap.",
    "hits": "Caps that the amount would cross.",
    "LimitEvaluation.hard": "Whether any hit is hard.",
    "bands": "The bands that the caps were taken from; null for a side that the request does not name.",
    "entity": "The entity's.",
    "LadderBands.counterparty": "The counterparty's.",
    "rescreen": "When each side is to be screened again; null for a side that the request does not name.",
    "RescreenOfBoth.counterparty": "The counterparty's; the bank reports no screening of counterparties.",
    "cadenceDays": "Days after which the actor's band is screened again.",
    "Rescreen.dueAt": "When it is to be screened again; null when it never was.",
    "RescreenDue.dueAt": "When it was to be screened again; null when it never was.",
    "overdue": "Whether its screening is over the cadence by a whole day, or was never done although it is required; "
    "null when the bank has reported nothing.",
    "RescreenDue.band": "The entity's band, whose cadence this is.",
    "RescreenDue.entityId": "The bank's id of the entity.",
    "EvaluationRequest.programId": "The program.",
    "EvaluationRequest.transfer": "The proposed transfer, as a pre-flight takes it.",
}
