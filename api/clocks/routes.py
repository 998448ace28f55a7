"""Decision clocks over HTTP."""

from typing import Any, Final

from litestar import Request, get
from litestar.di import NamedDependency

from api.clocks.schemas import Overdue
from api.clocks.service import ClockService
from api.examples import OVERDUE
from api.http.gate import principal_of
from api.http.operation import Access, Operation
from features.core.principal import KeyScope

_OVERDUE: Final = Operation(
    id="listOverdueAlerts",
    tag="clocks",
    summary="Alerts that still wait although their time to decide ran out, oldest due first, at most a thousand.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Overdue},
    answer_example=OVERDUE,
)


@get("/api/clocks/overdue", opt=_OVERDUE.as_opt)
async def list_overdue_alerts(request: Request[Any, Any, Any], clocks: NamedDependency[ClockService]) -> Overdue:
    return await clocks.overdue(principal_of(request.scope))


ROUTES: Final = (list_overdue_alerts,)
