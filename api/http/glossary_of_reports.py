"""The words of reports, a part of ``api/http/glossary.py``."""

from collections.abc import Mapping
from typing import Final

_CURRENT: Final = "The last score record before the end of the period; null when there is none."
_TRANSITIONS: Final = (
    "The score records of the period with another band than the one before, oldest first, at most 200."
)
_TRANSFERS: Final = "The transfers that the bank created in the period, as they stand now."
_GENERATED: Final = "When the report was made; alerts and transfers are as they then stood."

REPORT_PROPERTIES: Final[Mapping[str, str]] = {
    "ActorReport.kind": "Always actor.",
    "ActorReport.type": "What the actor is.",
    "ActorReport.id": "The bank's id of the actor.",
    "ActorReport.name": "The name that the bank gave last; null when it gave none.",
    "generatedAt": _GENERATED,
    "current": _CURRENT,
    "ActorReport.history": "The newest 200 score records of the period, oldest first.",
    "transitions": _TRANSITIONS,
    "signalTrends": "By code of a signal, how many score records carried it; null without a record in the period and "
    "in the one of equal length before it.",
    "SignalTrend.count": "How many score records of the period.",
    "SignalTrend.prior": "How many of the period of equal length before it.",
    "transfers": _TRANSFERS,
    "ActorReport.alerts": "The newest 200 alerts of the period on the actor, on its accounts and on its transfers, "
    "newest first.",
    "ActorReport.dispositions": "The newest 200 decisions of the period on such alerts, whenever those opened, newest "
    "first.",
    "ActorAlert.id": "The alert's id, minted here.",
    "ActorAlert.status": "Where the alert stands now.",
    "ActorDisposition.decision": "What was decided.",
    "CurrentScore.scoredAt": "The time of the record.",
    "at": "The time of the score record.",
    "SkoorPoint.signals": "The signals that fired, without their sentences.",
    "ScoreSignal.code": "Code of the signal, as in velocity_spike.",
    "from": "The band before.",
    "to": "The band from then on.",
    "TransfersSummary.count": "How many, attempts included.",
    "volumeCents": "US cents of those that moved money, as a string of digits; returned ones moved.",
    "returns": "How many of them were returned, and still are.",
    "any": "For any reason.",
    "unauthorized": "ACH debits of the program, with a code of unauthorized entries.",
    "bands": "How many stand in which band.",
    "unscored": "How many have no score.",
}
