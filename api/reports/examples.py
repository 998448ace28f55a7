"""Examples of reports for the OpenAPI document; none of them exists."""

from typing import Any, Final

from api.programs.examples import PROGRAM_ID

_TRANSFERS: Final[dict[str, Any]] = {
    "count": 42,
    "volumeCents": "1250000",
    "returns": {"any": 2, "unauthorized": 1},
    "bands": {"clear": 36, "review": 4, "hold": 1, "unscored": 1},
}
_REASON: Final[dict[str, Any]] = {
    "id": "ERS-RET-02",
    "signal": "unauthorized_returns",
    "weight": 36,
    "hard": False,
    "sentence": "2 unauthorized returns in 60 days (n = 40).",
}
_CURRENT: Final[dict[str, Any]] = {
    "score": 36,
    "band": "review",
    "n": 40,
    "confidence": 0.67,
    "version": "ers-v1",
    "reasons": [_REASON],
    "hard": False,
    "scoredAt": "2026-09-10T15:04:05.000Z",
}
_TRANSITION: Final[dict[str, Any]] = {
    "at": "2026-09-10T15:04:05.000Z",
    "from": "clear",
    "to": "review",
    "score": 36,
    "n": 40,
}
_ALERT_ID: Final = "6f1c2d3e-4a5b-4c6d-8e7f-001122334455"

ACTOR_REPORT: Final[dict[str, Any]] = {
    "kind": "actor",
    "type": "entity",
    "id": "enti_2zExample0001",
    "name": "Ada Example",
    "programId": PROGRAM_ID,
    "generatedAt": "2026-09-14T08:00:00.000Z",
    "current": _CURRENT,
    "history": [
        {
            "at": "2026-09-10T15:04:05.000Z",
            "score": 36,
            "band": "review",
            "n": 40,
            "version": "ers-v1",
            "signals": [{"code": "unauthorized_returns", "weight": 36}],
        }
    ],
    "transitions": [_TRANSITION],
    "signalTrends": {"unauthorized_returns": {"count": 1, "prior": 0}},
    "transfers": _TRANSFERS,
    "alerts": [
        {
            "id": _ALERT_ID,
            "detector": "unauthorized_return",
            "status": "closed",
            "route": "reviewed",
            "openedAt": "2026-09-10T15:04:05.000Z",
            "summary": "A second debit of enti_2zExample0001 was returned as unauthorized within 60 days.",
        }
    ],
    "dispositions": [
        {
            "alertId": _ALERT_ID,
            "decidedBy": "operator:j.lee",
            "decision": "close",
            "overturnsDraft": False,
            "createdAt": "2026-09-10T17:20:00.000Z",
        }
    ],
}
