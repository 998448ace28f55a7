"""Decision clocks over HTTP."""

from typing import Any, Final

from litestar import get
from litestar.di import NamedDependency

from clearhold.api.alerts.examples import ALERT
from clearhold.api.area import Area, Resources
from clearhold.api.clocks.schemas import Overdue, OverdueQuery
from clearhold.api.clocks.service import ClockService
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.policies.examples import POLICY
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.alerts import Alerts

OVERDUE: Final[dict[str, Any]] = {
    "asOf": "2026-03-06T09:00:00.000Z",
    "policy": POLICY["body"],
    "count": 1,
    "alerts": [
        {name: ALERT[name] for name in ("id", "programId", "detector", "severity", "status", "route", "slaTier")}
        | {name: ALERT[name] for name in ("openedAt", "dueAt", "escalatedAt", "summary", "fromHistory")}
    ],
}


_OVERDUE: Final = Operation(
    id="listOverdueAlerts",
    tag="clocks",
    summary="Alerts that are undecided after their due time, oldest due first, and the worst of equally due ones "
    "first. The worst thousand are shown.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Overdue},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    query=RequestSchema(OverdueQuery),
    answer_example=OVERDUE,
)


@get("/api/clocks/overdue", opt=_OVERDUE.as_opt)
async def list_overdue_alerts(request: ApiRequest, clocks: NamedDependency[ClockService]) -> Overdue:
    return await clocks.overdue(principal_of(request.scope), query_of(request.scope, OverdueQuery))


def _clocks(resources: Resources) -> ClockService:
    stores = resources.stores
    return ClockService(
        programs=resources.programs,
        policies=stores.registry.tenancy.policies,
        alerts=Alerts(stores.database),
        clock=stores.clock,
    )


AREA: Final = Area(
    routes=(list_overdue_alerts,),
    provide={"clocks": _clocks},
)
