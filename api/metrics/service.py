"""Metrics: current ones from the owners of the programs, and the stored ones of past days.

Window  whole UTC days; the last one of ``read`` is today
Errors  NotFoundError for a program that is not this tenant's; InvalidRequestError for a cursor of another list,
        and for programs of both kinds; UnavailableError while a program has no owner
"""

import asyncio
from typing import Final

from anyio import to_thread

from clearhold.api.lists.cursors import Place, cursor_for, place_of
from clearhold.api.lists.lists import days_between
from clearhold.api.metrics.figures import to_metrics
from clearhold.api.metrics.schemas import Metrics, MetricsHistoryQuery, MetricsPage, MetricsQuery
from clearhold.api.program_service import ProgramService
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.measured import DayTotals, sum_of
from clearhold.features.core.principal import Principal
from clearhold.features.shard.questions import Owner, ReadDays
from clearhold.store.clock import Clock
from clearhold.store.duck.reports.scores import MetricsDays, StoredDay

AT_A_TIME: Final = 32
"""Programs whose owners are asked together."""


class MetricsService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, *, programs: ProgramService, owner: Owner, stored: MetricsDays, clock: Clock) -> None:
        self._programs, self._owner, self._stored, self._clock = programs, owner, stored, clock

    async def read(self, principal: Principal, query: MetricsQuery) -> Metrics:
        """Of the last days, today included."""
        programs = self._programs.counted(principal, query.program_id)
        now = self._clock.now()
        upto_day = now // DAY_US + 1
        question = ReadDays(upto_day - query.days, upto_day)
        totals: list[DayTotals] = []
        for start in range(0, len(programs), AT_A_TIME):
            batch = programs[start : start + AT_A_TIME]
            answers = await asyncio.gather(*(self._owner.query(program.id, question) for program in batch))
            totals += [answer.value for answer in answers]
        metrics = to_metrics(sum_of(totals), days=query.days, to=upto_day * DAY_US, as_of=now)
        return self._programs.marked_of(metrics, programs)

    async def history(self, principal: Principal, query: MetricsHistoryQuery) -> MetricsPage:
        """The stored metrics of each past day, newest first."""
        programs = self._programs.counted(principal, query.program_id)
        program_ids = tuple(program.id for program in programs)
        filters = {"programs": program_ids, "from": query.from_, "to": query.to}
        start, end = days_between(query.from_, query.to)
        before = None if query.cursor is None else place_of(query.cursor, filters).at
        days = await to_thread.run_sync(
            lambda: self._stored.list_page(
                principal,
                program_ids,
                from_=start,
                to=end,
                before=before,
                limit=query.limit + 1,
            )
        )
        page = days[: query.limit]
        cursor = cursor_for(Place(page[-1].day_at, "", ""), filters) if len(days) > query.limit else None
        return MetricsPage.of([self._programs.marked_of(_of_day(day), programs) for day in page], cursor)


def _of_day(day: StoredDay) -> Metrics:
    return to_metrics(day.totals, days=day.window_days, to=day.day_at + DAY_US, as_of=day.as_of_at)
