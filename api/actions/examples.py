"""Examples of actions for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.dispositions.examples import ALERT_ID
from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID

ACTION: Final[dict[str, Any]] = {
    "id": "7e0f1c52-3c57-4f0f-9b0e-5a3e7c1d9f21",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "alertId": ALERT_ID,
    "type": "cancel_transfer",
    "targetType": "transfer",
    "targetId": "acht_2zExample0001",
    "requestedBy": "ann",
    "requestedIdentity": "person",
    "approvedBy": None,
    "approvedIdentity": None,
    "status": "executed",
    "change": None,
    "bankResponse": {
        "dryRun": False,
        "request": {"method": "POST", "path": "/transfers/ach/acht_2zExample0001/cancel"},
        "status": 200,
        "attempts": 1,
        "body": {"id": "acht_2zExample0001", "status": "CANCELED"},
    },
    "error": None,
    "executedAt": "2026-03-02T15:10:00.400Z",
    "releasedAlertIds": [],
    "prevHash": None,
    "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "createdAt": "2026-03-02T15:10:00.000Z",
}
ACTION_REQUEST: Final = {name: ACTION[name] for name in ("programId", "alertId", "type", "targetType", "targetId")}
APPROVAL: Final = {"approverId": "bob"}
APPROVED_ACTION: Final[dict[str, Any]] = ACTION | {
    "id": "2f6a4f7e-1f0d-4f0b-8a38-0d3f4a6b9c55",
    "type": "freeze_account",
    "targetType": "account",
    "targetId": "bacc_2zExample0001",
    "approvedBy": "bob",
    "approvedIdentity": "person",
    "bankResponse": {
        "dryRun": True,
        "reason": "no_bank_key",
        "note": "This is a dry run: the tenant has no key to the bank's API, so nothing was sent to the bank.",
        "request": {"method": "POST", "path": "/bank-accounts/bacc_2zExample0001/freeze"},
    },
    "executedAt": "2026-03-02T16:00:00.100Z",
    "prevHash": ACTION["hash"],
    "hash": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
}
