"""The words of reports, a part of ``api/openapi/glossary.py``."""

from collections.abc import Mapping
from typing import Final

_CURRENT: Final = "The last score record before the end of the period; null when there is none."
_TRANSITIONS: Final = (
    "The score records of the period with another band than the one before, oldest first, at most 200."
)
_TRANSFERS: Final = "The transfers that the bank created in the period, as they stand now."
_GENERATED: Final = "When the report was made; alerts and transfers are as they then stood."
_INDICATORS: Final = "How many indicators were measured."
_VALUE: Final = "As measured, never smoothed; null when not measured."
_DENOMINATOR: Final = "How many observations the value rests on."
_STATUS: Final = "watch at its line of attention, breach beyond the threshold, unmeasured without a value."

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
    "signals": "The signals that fired, without their sentences.",
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
    "ProgramReport.kind": "Always program.",
    "ProgramReport.id": "The program's id, minted here.",
    "ProgramReport.history": "The snapshots of the period, oldest first; of more than 200 the last of each of 200 "
    "equal parts of it.",
    "ProgramPoint.asOf": "The instant of the snapshot.",
    "ProgramPoint.n": _INDICATORS,
    "programScore": "The Program Risk Score, 0 to 100; null below three measured indicators.",
    "kris": "The key risk indicators of the last snapshot before the end of the period, by name.",
    "KriValue.value": _VALUE,
    "KriValue.n": _DENOMINATOR,
    "KriValue.status": _STATUS,
    "KriValue.note": "What the figure leaves open; absent where that is nothing.",
    "unit": "The unit of value and threshold.",
    "threshold": "Beyond it the indicator is in breach; null where there is no line.",
    "kriDeltas": "The same indicators against the last snapshot before the period.",
    "KriDelta.name": "Name of the indicator.",
    "KriDelta.from": "The value in the last snapshot before the period; null when not measured.",
    "KriDelta.to": "The value in the last snapshot before the end of the period; null when not measured.",
    "KriDelta.n": _DENOMINATOR,
    "delta": "The later value less the earlier one; null where one is not measured.",
    "statusFrom": "The status before the period; unmeasured without a snapshot.",
    "statusTo": "The status at its end.",
    "rank": "Place of the program's score among those of its tenant's programs; null while unscored.",
    "ProgramRank.rank": "1 is the highest score, so the highest risk; equal scores share the lower number.",
    "of": "How many programs of the same source, within the caller's reach, had a score.",
    "ProgramRank.n": _INDICATORS,
    "alertsByDetector": "The alerts that opened in the period, by detector and the route that they now have.",
    "DetectorCount.count": "How many alerts.",
    "WeeklyReport.kind": "Always weekly.",
    "WeeklyReport.programScore": "The Program Risk Score at the end of the week and of the week before.",
    "key": "weekly, the program and the week: what the report is kept under.",
    "programName": "The program's name.",
    "isoWeek": "The ISO week, as in 2026-W37.",
    "WeeklyReport.from": "Monday 00:00 UTC.",
    "WeeklyReport.to": "The next Monday 00:00 UTC; in the current week figures go up to generatedAt.",
    "WeeklyReport.kris": "The key risk indicators of the last snapshot by the end of the week, against the last one "
    "before it began.",
    "WeeklyReport.alerts": "The alerts that opened in the week, as they stand now.",
    "WeeklyReport.dispositions": "The decisions of the week.",
    "WeeklyReport.summary": "The report in sentences from a template, with ids and numbers only.",
    "WeeklyScore.current": "The score of the last snapshot by the end of the week; null when not measured.",
    "WeeklyScore.prior": "The score of the last snapshot before the week; null when not measured.",
    "WeeklyScore.n": _INDICATORS,
    "WeeklyKri.name": "Name of the indicator.",
    "WeeklyKri.value": _VALUE,
    "WeeklyKri.prior": "The value before the week began; null when not measured.",
    "WeeklyKri.status": _STATUS,
    "priorStatus": "The status before the week began; unmeasured without a snapshot.",
    "WeeklyKri.n": _DENOMINATOR,
    "total": "How many in all.",
    "byDetector": "By detector and the route that the alerts now have, most alerts first.",
    "byStatus": "By where they stand now.",
    "enteredHold": "What came into the hold band in the week: entities, counterparties, agents and the program itself, "
    "each once with its last time, oldest first, at most 200.",
    "EnteredHold.type": "entity, counterparty, agent or program.",
    "EnteredHold.id": "The bank's id of it, or the program's id.",
    "byPlatform": "By the policy alone.",
    "byPerson": "By persons.",
    "WeeklyDispositions.overturned": "Those that went against a draft or an earlier automatic close.",
    "timeToDecisionHours": "Hours from an alert's opening to a person's first decision on it, over the first decisions "
    "of the week.",
    "median": "Half took no longer; null without a decision.",
    "PersonDecisionHours.p90": "Nine in ten took no longer; null without a decision.",
    "PersonDecisionHours.n": "How many first decisions of persons.",
}
