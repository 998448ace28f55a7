"""Metrics over HTTP."""

from functools import partial
from typing import Any, Final

from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import moments_exist
from clearhold.api.metrics.service import Metrics, MetricsHistoryQuery, MetricsPage, MetricsQuery, MetricsService
from clearhold.features.core.principal import KeyScope

_TAG: Final = "metrics"
_NOTHING: Final = {"value": None, "n": 0, "low": None, "high": None}

METRICS: Final[dict[str, Any]] = {
    "asOf": "2026-03-02T15:00:00.000Z",
    "windowDays": 30,
    "from": "2026-02-01T00:00:00.000Z",
    "to": "2026-03-03T00:00:00.000Z",
    "calibration": {
        "clear": {"value": 0.005, "n": 200, "low": 0.000883, "high": 0.027774},
        "review": {"value": 0.25, "n": 40, "low": 0.141871, "high": 0.40194},
        "hold": {"value": 0.75, "n": 20, "low": 0.531299, "high": 0.888138},
        "unscored": _NOTHING,
    },
    "labelMaturity": {"value": 0.1, "n": 260, "low": 0.069159, "high": 0.142488},
    "coverage": {
        "transfers": {"value": 0.998, "n": 5_000, "low": 0.996322, "high": 0.998913},
        "programs": {"value": 1.0, "n": 3, "low": 0.438503, "high": 1.0},
    },
    "holdBand": {
        "precision": {"value": 0.75, "n": 20, "low": 0.531299, "high": 0.888138},
        "recall": {"value": 0.576923, "n": 26, "low": 0.389486, "high": 0.744556},
        "tp": 15,
        "fp": 5,
        "fn": 11,
    },
    "autoClosed": {"value": 0.4, "n": 150, "low": 0.325043, "high": 0.479951},
    "overturned": {"value": 0.05, "n": 80, "low": 0.019614, "high": 0.121623},
    "timeToDecisionHours": {
        "automated": {"median": 0.0, "p90": 0.0, "n": 60},
        "reviewed": {"median": 3.25, "p90": 18.5, "n": 78},
    },
    "approvedWithoutWaiting": {"count": 4_700, "cents": "823450000", "n": 4_990},
    "eventCoverage": {
        "value": 0.666667,
        "n": 3,
        "seen": ["ach", "loan", "wire"],
        "byFamily": [
            {"family": "ach", "result": "applied", "count": 9_120},
            {"family": "loan", "result": "stored", "count": 12},
            {"family": "wire", "result": "applied", "count": 870},
        ],
    },
}


_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.REPORTS)
_READ: Final = _operation(
    id="getMetrics",
    summary="How right the scores were, how much they cover, and how alerts were decided. "
    "Of the last `days` UTC days, today included. Without programId: of all programs that the bank's events come from; "
    "for a test key, of the simulated ones.",
    answers={200: Metrics},
    asks_owner=True,
    query=RequestSchema(MetricsQuery),
    answer_example=METRICS,
)
_HISTORY: Final = _operation(
    id="listMetricsHistory",
    summary="The metrics at the end of each day, newest first. "
    "Each covers the 30 UTC days up to its `to`. from and to bound the days that ended.",
    answers={200: MetricsPage},
    query=RequestSchema(MetricsHistoryQuery, rules=moments_exist),
    answer_example={"data": [METRICS], "hasMore": False, "nextCursor": None},
)


AREA: Final = Area(
    routes=(
        answer_route("/api/metrics", _READ, _TAG, MetricsService.read),
        answer_route("/api/metrics/history", _HISTORY, _TAG, MetricsService.history),
    ),
    provide={_TAG: MetricsService},
)
