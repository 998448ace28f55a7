"""Metrics over HTTP."""

from functools import partial
from typing import Final

from litestar import Response, get
from litestar.di import NamedDependency

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.lists import next_link, whole_days
from clearhold.api.metrics.examples import METRICS
from clearhold.api.metrics.schemas import Metrics, MetricsHistoryQuery, MetricsPage, MetricsQuery
from clearhold.api.metrics.service import MetricsService
from clearhold.api.programs.service import ProgramService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.reports.metrics_days import MetricsDays

_operation: Final = partial(Operation, tag="metrics", access=Access.BEARER, scope=KeyScope.REPORTS)
_READ: Final = _operation(
    id="getMetrics",
    summary="How right the scores were, how much they cover, and how alerts were decided. "
    "Of the last `days` UTC days, today included. Without programId: of all programs that the bank's events come from; "
    "for a test key, of the simulated ones.",
    answers={200: Metrics},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.STARTING, ErrorCode.UNAVAILABLE),
    query=RequestSchema(MetricsQuery),
    answer_example=METRICS,
)
_HISTORY: Final = _operation(
    id="listMetricsHistory",
    summary="The metrics at the end of each day, newest first. "
    "Each covers the 30 UTC days up to its `to`. from and to are midnights in UTC and narrow the days that ended.",
    answers={200: MetricsPage},
    refusals=(ErrorCode.CURSOR_INVALID, ErrorCode.PROGRAM_NOT_FOUND),
    query=RequestSchema(MetricsHistoryQuery, rules=whole_days),
    answer_example={"data": [METRICS], "hasMore": False, "nextCursor": None},
    headers=("Link",),
)


@get("/api/metrics", opt=_READ.as_opt)
async def get_metrics(request: ApiRequest, metrics: NamedDependency[MetricsService]) -> Metrics:
    return await metrics.read(principal_of(request.scope), query_of(request.scope, MetricsQuery))


@get("/api/metrics/history", opt=_HISTORY.as_opt)
async def list_metrics_history(request: ApiRequest, metrics: NamedDependency[MetricsService]) -> Response[MetricsPage]:
    page = await metrics.history(principal_of(request.scope), query_of(request.scope, MetricsHistoryQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


def _metrics(resources: Resources) -> MetricsService:
    stores = resources.stores
    return MetricsService(
        programs=ProgramService(stores.registry.tenancy),
        owner=stores.owner,
        stored=MetricsDays(stores.database),
        clock=stores.clock,
    )


AREA: Final = Area(routes=(get_metrics, list_metrics_history), provide={"metrics": _metrics})
