"""Decision clocks, for reading: the alerts that are overdue."""

from typing import Annotated, Any, Final

import msgspec

from clearhold.api.alerts.schemas import ALERT
from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import ProgramIds
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import to_answer
from clearhold.api.policies.routes import POLICY_EXAMPLE
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.vocabulary import about, minted
from clearhold.features.policy.bodies import ClockPolicy
from clearhold.features.policy.in_force import clock_in_force
from clearhold.store.duck.alerts import AlertFilter, Alerts

_TAG: Final = "clocks"
MOST_SHOWN: Final = 1_000


class OverdueQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``fromHistory`` false leaves out alerts on transfers that were delivered as history. Without a program, alerts of
    simulated ones are left out.
    """

    program_id: ProgramIds | None = None
    from_history: bool | None = None


class OverdueAlert(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: Annotated[str, minted("alert")]
    program_id: str
    detector: str
    severity: str
    status: Annotated[str, about("The alert's status.")]
    route: str | None
    sla_tier: str | None
    opened_at: str
    due_at: str | None
    escalated_at: str | None
    summary: str
    from_history: bool
    simulated: Simulated = msgspec.UNSET


class Overdue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``count`` is of all overdue alerts that match; ``alerts`` has the worst of them, oldest due first."""

    as_of: str
    policy: Annotated[ClockPolicy, about("The decision clocks in force.")]
    count: Annotated[int, about("How many there are in all.")]
    alerts: Annotated[tuple[OverdueAlert, ...], about("The worst thousand of them, oldest due first.")]
    simulated: Simulated = msgspec.UNSET


class ClockService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._policies = resources.programs, stores.registry.tenancy.policies
        self._alerts, self._clock = Alerts(stores.database), stores.clock

    async def overdue(self, principal: Principal, query: OverdueQuery) -> Overdue:
        """Alerts that are open, held or escalated after their due time, oldest due first."""
        now = self._clock.now()
        clocks = clock_in_force(self._policies[principal.tenant_id], now)
        programs = self._programs.counted(principal, query.program_id)
        ids = tuple(program.id for program in programs)
        wanted = AlertFilter(program_ids=ids, overdue=True, now=now, from_history=query.from_history)
        count, rows = await in_reader(self._alerts.overdue, principal, wanted, MOST_SHOWN)
        alerts = tuple(self._programs.marked(to_answer(row, OverdueAlert), row.program_id) for row in rows)
        overdue = Overdue(as_of=format_instant(now), policy=clocks, count=count, alerts=alerts)
        return self._programs.marked_of(overdue, programs)


OVERDUE: Final[dict[str, Any]] = {
    "asOf": "2026-03-06T09:00:00.000Z",
    "policy": POLICY_EXAMPLE["body"],
    "count": 1,
    "alerts": [
        {name: ALERT[name] for name in ("id", "programId", "detector", "severity", "status", "route", "slaTier")}
        | {name: ALERT[name] for name in ("openedAt", "dueAt", "escalatedAt", "summary", "fromHistory")}
    ],
}


_OVERDUE: Final = Operation(
    id="listOverdueAlerts",
    tag=_TAG,
    summary="Alerts that are undecided after their due time, oldest due first, and the worst of equally due ones "
    "first. The worst thousand are shown.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Overdue},
    query=RequestSchema(OverdueQuery),
    answer_example=OVERDUE,
)


AREA: Final = Area(
    routes=(answer_route("/api/clocks/overdue", _OVERDUE, _TAG, ClockService.overdue),), provide={_TAG: ClockService}
)
