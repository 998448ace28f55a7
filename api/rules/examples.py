"""Examples of rules for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID

NEW_RULE: Final[dict[str, Any]] = {
    "id": "large-wire-abroad",
    "name": "Large wires to a new payee abroad",
    "scope": "transfer",
    "programId": None,
    "when": [
        {"field": "rail", "op": "in", "value": ["wire", "intl_wire"]},
        {"field": "amountCents", "op": "gte", "value": "2500000"},
        {"field": "counterparty.firstTime", "op": "eq", "value": True},
    ],
    "action": "review",
    "severity": "medium",
    "note": "Agreed with the payments team.",
}
RULE: Final[dict[str, Any]] = NEW_RULE | {"status": "draft"}
CHANGE: Final = {"note": "Decided in the weekly meeting."}
RULES_VERSION: Final[dict[str, Any]] = {
    "id": "0c9d1a52-7f4e-5b07-9e3a-6d2b8c1f4a90",
    "version": "rules-v1",
    "rules": [RULE | {"status": "active"}],
    "createdAt": "2026-09-09T14:02:11.000Z",
    "active": True,
    "note": CHANGE["note"],
}
NAMED: Final = {"programId": PROGRAM_ID, "transferId": "wire_2hFq8sN1"}
BACKTEST_REQUEST: Final = {"days": 90, "full": False}
BACKTEST: Final[dict[str, Any]] = {
    "key": "5e1b3c44-90ab-5c3e-8f21-7d6a2b9c0e18",
    "ruleId": NEW_RULE["id"],
    "ruleSha256": "3d7a9e0c4f1b86d25ae97c03b4186f2d9ce05a7b31f84c6e2d90b5a7f3c1e864",
    "programId": None,
    "at": "2026-09-09T13:55:00.000Z",
    "days": 90,
    "scanned": 1000,
    "sampled": True,
    "matched": 12,
    "matchedShare": 0.012,
    "wouldHold": 0,
    "wouldAlert": 12,
    "overlapWithExistingAlerts": 5,
    "byBand": {"clear": 3, "review": 7, "hold": 2, "unscored": 0},
    "sampleTransferIds": ["wire_2hFq8sN1"],
    "sampleTransfers": [NAMED],
}
SHADOW: Final[dict[str, Any]] = {
    "ruleId": NEW_RULE["id"],
    "ruleSha256": BACKTEST["ruleSha256"],
    "version": "shadow-v3",
    "since": "2026-09-09T13:55:01.000Z",
    "scanned": 4120,
    "matched": 9,
    "matchedShare": 0.0022,
    "byBand": {"clear": 2, "review": 6, "hold": 1, "unscored": 0},
    "byDay": [{"day": "2026-09-09", "matched": 9}],
    "overlapWithExistingAlerts": 4,
    "precision": {"value": None, "n": 0, "low": None, "high": None},
    "sampleTransferIds": ["wire_2hFq8sN1"],
    "sampleTransfers": [NAMED],
    "falsePositiveTransferIds": [],
    "falsePositiveTransfers": [],
}
