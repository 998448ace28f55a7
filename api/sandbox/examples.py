"""Examples of the sandbox for the OpenAPI document; none of them exists."""

from typing import Any, Final

LISTING: Final[dict[str, Any]] = {
    "name": "ach_debits_returned_r10",
    "description": "Two ACH debits of one customer that come back as not authorized.",
    "rails": ["ach"],
    "expects": ["unauthorized_return"],
}
SCENARIO_REQUEST: Final = {"scenario": "ach_debits_returned_r10", "seed": 7, "count": 1}
RESULT: Final[dict[str, Any]] = {
    "events": ["evnt_sbx0c1d2e3f4a5b0001", "evnt_sbx0c1d2e3f4a5b0002"],
    "transferId": "acht_sbx0c1d2e3f4a5b0021",
    "alertIds": ["3c0f1d52-7a84-5be1-9d7f-2f6c1a7be011"],
    "score": {
        "score": 5,
        "band": "clear",
        "version": "trs-v1",
        "n": 9,
        "confidence": 0.31,
        "signals": [{"code": "first_time_counterparty", "weight": 5}],
    },
    "committed": True,
    "simulated": True,
}
TRANSFER_REQUEST: Final[dict[str, Any]] = {
    "rail": "ach",
    "direction": "outgoing",
    "type": "DEBIT",
    "amountCents": "12500",
    "entityId": "enti_2zHarbor01",
    "counterparty": {"name": "RETURN_UNAUTH", "routingNumber": "021000021", "accountLast4": "6789"},
}
EVENT_REQUEST: Final[dict[str, Any]] = {
    "type": "identity.created",
    "data": {
        "id": "enti_2zHarbor01",
        "type": "PERSON",
        "verification_status": "PENDING",
        "person_details": {"first_name": "Dana", "last_name": "Review"},
    },
}
RETURN_REQUEST: Final = {"transferId": "acht_sbx0c1d2e3f4a5b0001", "returnCode": "R01"}
