"""Metrics over HTTP."""

from functools import partial
from typing import Any, Final

from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import moments_exist
from clearhold.api.metrics.service import Metrics, MetricsHistoryQuery, MetricsPage, MetricsQuery, MetricsService
from clearhold.features.core.principal import KeyScope

_TAG: Final = "metrics"

METRICS: Final[dict[str, Any]] = examples_of(__file__)["metrics"]


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
