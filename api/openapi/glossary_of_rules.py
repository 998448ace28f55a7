"""The words of rules, a part of ``api/openapi/glossary.py``."""

from collections.abc import Mapping
from typing import Final

from clearhold.features.core.backtests import MOST_CAUGHT, MOST_EXAMPLES, MOST_SAMPLED

_ID: Final = "By which the author knows the rule: lower-case letters and digits with inner - and _."
_NOTE: Final = "What its author writes beside it."
_PROGRAM: Final = "The program that it is for; null is every program of the tenant."
_EXAMPLES: Final = f"The newest of them, at most {MOST_EXAMPLES}."
_FALSE_POSITIVES: Final = f"Matched, and labelled ok; the newest, at most {MOST_EXAMPLES}."

_OF_RULES: Final[Mapping[str, str]] = {
    **{f"{name}.id": _ID for name in ("Rule", "NewRule", "WrittenRule")},
    **{f"{name}.note": _NOTE for name in ("Rule", "NewRule", "WrittenRule")},
    **{f"{name}.programId": _PROGRAM for name in ("Rule", "NewRule", "WrittenRule")},
    **{
        f"{name}.severity": "Of the alerts that it opens; those of high need the longest look."
        for name in ("Rule", "NewRule", "WrittenRule")
    },
    "scope": "What it is about. Only rules about transfers fire.",
    "when": "All of these have to hold. A field that is null makes every comparison false, neq and not_in too.",
    "action": "alert, hold and review open an alert, which always waits for a person; log only counts.",
    "Rule.status": "draft has no effect; testing is counted in live shadow; active is in force; paused and archived "
    "are not.",
    "WrittenRule.status": "As it was read; it is not looked at.",
    "field": "A field of a scored transfer; GET /api/rules/fields lists them.",
    "op": "How the field is compared with the value.",
    "RuleCondition.value": "A single value; a list for in and not_in, two bounds that both count for between; left out "
    "for is_null and not_null. Money is integer cents, as a number or a string of digits.",
    "RuleChange.note": "Why. It stands on the record with the activation or pause; of an archiving, in the log alone.",
    "RuleField.type": "What its values are.",
    "ops": "The operations that it has.",
    "RuleFields.fields": "The fields that conditions may name.",
    "RuleFields.ops": "All operations.",
    "RulesVersion.id": "The version's id, minted here.",
    "RulesVersion.version": "rules-v and a number, counted by tenant.",
    "RulesVersion.note": "What was written by whoever requested the change.",
    "rules": "The rules in force, each as it was when it was activated.",
}
_OF_BACKTESTS: Final[Mapping[str, str]] = {
    "full": "What only a backtest of every transfer in its window says.",
    "BacktestRequest.full": f"Whether every transfer of the window is read, and not the newest {MOST_SAMPLED} alone.",
    "BacktestRequest.days": "How many days back to look.",
    "ruleId": "The rule's id.",
    "ruleSha256": "SHA-256 of the rule exactly as it was written then, its status left out.",
    "Backtest.key": "The backtest's id, minted here.",
    "Backtest.programId": "The program that the rule was of when it was tested; null is every program.",
    "Backtest.at": "When it was made; it looks at the days before.",
    "Backtest.days": "How many days before were read.",
    "scanned": "Transfers that were held against the rule.",
    "sampled": f"Whether the window has more than {MOST_SAMPLED} transfers, of which the newest were read.",
    **{f"{name}.matched": "Transfers that it matched." for name in ("Backtest", "BacktestWeek", "ShadowReport")},
    "ShadowDay.matched": "Transfers that it matched on that day.",
    "matchedShare": "The share that matched; null where none was read.",
    "wouldHold": "Matches of a rule whose action is hold.",
    "wouldAlert": "Matches of a rule whose action opens an alert: alert, hold or review.",
    "overlapWithExistingAlerts": "Matches that an alert of another detector names already.",
    "byBand": "Matches by the band of the transfer's score.",
    "sampleTransferIds": _EXAMPLES,
    "falsePositiveTransferIds": _FALSE_POSITIVES,
    "FullBacktest.precision": "Bad among the labelled transfers that matched.",
    "FullBacktest.recall": "Matched among the transfers labelled bad.",
    "volumeADay": "Matches a day.",
    "DailyVolume.n": "Over how many days.",
    "mean": "The mean; null over no day.",
    "p95": "The 95th percentile; null over no day.",
    "max": "The most; null over no day.",
    "byWeek": "By ISO week, the oldest first.",
    "BacktestWeek.week": "The ISO week, as in 2026-W37.",
    "preflightsHeld": "Of the pre-flights whose transfer landed, those that match a rule whose action is hold.",
    "caught": "The past transfers that the rule would have caught.",
    "CaughtTransfers.count": "How many.",
    "CaughtTransfers.cents": "Their sum in US cents, those without an amount in US dollars left out.",
    "CaughtTransfers.transferIds": f"The newest of them, at most {MOST_CAUGHT}.",
    "ShadowReport.version": "The version of the rules that has it; null for a rule that is not counted.",
    "ShadowReport.since": "Since when it is counted as it is written; null for a rule that is not.",
    "ShadowReport.precision": "Bad among the labelled transfers that matched.",
    "byDay": "Matches by day, UTC.",
    "day": "The day, UTC.",
}
RULE_PROPERTIES: Final[Mapping[str, str]] = {**_OF_RULES, **_OF_BACKTESTS}
