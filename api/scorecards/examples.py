"""Examples of scorecards for the OpenAPI document; none of them exists."""

from typing import Any, Final

import msgspec

from clearhold.features.core.scorecards import scorecard_sha256
from clearhold.features.scorers.trs_v1.scorer import DEFAULT_CARD, SCORER

_CARD: Final = msgspec.structs.replace(
    DEFAULT_CARD,
    name="Fitted on the first half of 2026",
    signals=tuple(
        each
        for each in DEFAULT_CARD.signals
        if SCORER.signals[each.id].hard or each.id.startswith(("TRS-AMT", "TRS-CPY"))
    ),
)
CARD: Final[dict[str, Any]] = msgspec.to_builtins(_CARD)
NEW_SCORECARD: Final[dict[str, Any]] = {"programId": None, "card": CARD}
REPORT: Final[dict[str, Any]] = {
    "reportSha256": "8d0f6b1a2c3e4d5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7",
    "cardSha256": scorecard_sha256(_CARD),
    "madeAt": "2026-09-08T16:20:00.000Z",
    "receivedAt": "2026-09-09T08:01:44.000Z",
    "sentBy": "ann",
}
NEW_REPORT: Final[dict[str, Any]] = {
    "report": {
        "cardSha256": REPORT["cardSha256"],
        "generatedAt": REPORT["madeAt"],
        "data": {"source": "tables of the tenant", "later": {"transfers": 16400, "bad": 61, "ok": 230}},
        "rankings": [
            {"name": "the card", "averagePrecision": 0.41},
            {"name": "the champion", "averagePrecision": 0.18},
        ],
        "findings": [],
    }
}
SCORECARD: Final[dict[str, Any]] = {
    "version": "scorecard-v3",
    "scoreVersion": "trs-v1+scorecard-v3",
    "programId": None,
    "name": _CARD.name,
    "cardSha256": REPORT["cardSha256"],
    "active": False,
    "wasActive": False,
    "inShadow": True,
    "createdAt": "2026-09-08T16:25:00.000Z",
    "reports": [REPORT],
}
ACTIVATION: Final = {"note": "Agreed by model risk on 9 September."}
_SHARE: Final = {"value": 0.42, "n": 120, "low": 0.335, "high": 0.509}
COMPARISON: Final[dict[str, Any]] = {
    "version": "scorecard-v3",
    "championVersions": ["trs-v1"],
    "since": "2026-09-09T08:05:00.000Z",
    "transfers": 41200,
    "moves": [{"championBand": "clear", "band": "review", "transfers": 310}],
    "champion": {
        "toReview": 700,
        "perThousand": 16.990291,
        "hold": 40,
        "unscored": 900,
        "precision": _SHARE,
        "recall": _SHARE,
    },
    "challenger": {
        "toReview": 820,
        "perThousand": 19.902913,
        "hold": 95,
        "unscored": 900,
        "precision": _SHARE,
        "recall": _SHARE,
    },
    "psi": 0.043,
    "labelledBad": 61,
    "labelledOk": 230,
    "provisionalBad": 17,
    "provisionalOk": 540,
    "mcNemar": {"labelled": 291, "onlyChampionRight": 4, "onlyChallengerRight": 17, "pValue": 0.007197},
}
