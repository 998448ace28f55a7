"""Reports over HTTP, for reading: of an actor, of a program, of a program's week."""

from typing import Final

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.area import Area, Resources
from api.http.envelope import ApiRequest
from api.http.gate import principal_of, query_of
from api.http.operation import Access, Operation
from api.http.request_schema import RequestSchema
from api.programs.service import ProgramService
from api.reports.actors import ActorReports
from api.reports.examples import ACTOR_REPORT
from api.reports.periods import whole_days
from api.reports.schemas import ActorQuery, ActorReport
from features.core.errors import ErrorCode
from features.core.principal import KeyScope

_TAG: Final = "reports"
_PERIOD: Final = (
    "from and to are midnights in UTC, at most 366 days apart; left out, they are the last 30 days including today."
)

_ACTOR: Final = Operation(
    id="getActorReport",
    tag=_TAG,
    summary="An entity, counterparty or agent over a period: score, transfers, alerts and decisions. "
    "actorType is entity, counterparty or agent; an agent is an entity of the program agents. " + _PERIOD + " "
    "History, transitions, alerts and dispositions are the newest 200 of the period, the first two oldest first. "
    "400 if several programs have an actor of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.REPORTS,
    answers={200: ActorReport},
    refusals=(
        ErrorCode.PROGRAM_REQUIRED,
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.ENTITY_NOT_FOUND,
        ErrorCode.COUNTERPARTY_NOT_FOUND,
    ),
    answer_example=ACTOR_REPORT,
    query=RequestSchema(ActorQuery, rules=whole_days),
)


@get("/api/reports/actor/{actor_type:str}/{actor_id:str}", opt=_ACTOR.as_opt)
async def get_actor_report(
    actor_type: FromPath[str],
    actor_id: FromPath[str],
    request: ApiRequest,
    actor_reports: NamedDependency[ActorReports],
) -> ActorReport:
    query = query_of(request.scope, ActorQuery)
    return await actor_reports.read(principal_of(request.scope), actor_type, actor_id, query)


def _actor_reports(resources: Resources) -> ActorReports:
    stores = resources.stores
    return ActorReports(programs=ProgramService(stores.registry.tenancy), database=stores.database, clock=stores.clock)


AREA: Final = Area(routes=(get_actor_report,), provide={"actor_reports": _actor_reports})
