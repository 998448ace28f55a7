"""The words of caps and of the limit ladder, a part of ``api/http/glossary.py``."""

from collections.abc import Mapping
from typing import Final

LIMIT_PROPERTIES: Final[Mapping[str, str]] = {
    "LimitHit.actorId": "The bank's id of the actor; not_on_file for a counterparty that the bank has given none.",
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
