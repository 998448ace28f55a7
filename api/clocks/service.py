"""Decision clocks, for reading."""

from typing import Final

from anyio import to_thread

from clearhold.api.clocks.schemas import Overdue, OverdueAlert, OverdueQuery
from clearhold.api.lists.lists import to_answer
from clearhold.api.program_service import ProgramService
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal
from clearhold.features.policy.in_force import clock_in_force
from clearhold.store.clock import Clock
from clearhold.store.control.policies import Policies
from clearhold.store.duck.alerts import AlertFilter, Alerts

MOST_SHOWN: Final = 1_000


class ClockService:
    def __init__(self, *, programs: ProgramService, policies: Policies, alerts: Alerts, clock: Clock) -> None:
        self._programs, self._policies, self._alerts, self._clock = programs, policies, alerts, clock

    async def overdue(self, principal: Principal, query: OverdueQuery) -> Overdue:
        """Alerts that are open, held or escalated after their due time, oldest due first."""
        now = self._clock.now()
        clocks = clock_in_force(self._policies.of_tenant(principal.tenant_id), now)
        programs = self._programs.counted(principal, query.program_id)
        wanted = AlertFilter(
            program_ids=tuple(program.id for program in programs), overdue=True, from_history=query.from_history
        )
        count, rows = await to_thread.run_sync(lambda: self._alerts.overdue(principal, wanted, MOST_SHOWN, now=now))
        alerts = tuple(self._programs.marked(to_answer(row, OverdueAlert), row.program_id) for row in rows)
        overdue = Overdue(as_of=format_instant(now), policy=clocks, count=count, alerts=alerts)
        return self._programs.marked_of(overdue, programs)
