"""Metrics over HTTP: current ones from the owners of the programs, and the stored ones of past days.

Window  whole UTC days; the last one of ``read`` is today
Errors  NotFoundError for a program that is not this tenant's; InvalidRequestError for a cursor of another list,
        and for programs of both kinds; UnavailableError while a program has no owner
"""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import repeat
from typing import Annotated, Any, Final

import msgspec
from anyio import to_thread

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import CursorText, DayBound, PageLimit, ProgramIds
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage, Place, cursor_for, days_between, moments_exist, place_of
from clearhold.features.bank.event_types import READ_FAMILIES
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.log_entry import EventResult
from clearhold.features.core.measured import DayTotals, Measured, measured, rounded, sum_of
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.vocabulary import about
from clearhold.features.shard.questions import ReadDays
from clearhold.store.duck.reports.scores import MetricsDays, StoredDay


class MetricsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] = 30
    program_id: ProgramIds | None = None


class MetricsHistoryQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None
    from_: DayBound | None = msgspec.field(default=None, name="from")
    to: DayBound | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    clear: Annotated[Measured, about("clear: labelled bad among labelled transfers that landed in this band.")]
    review: Annotated[Measured, about("review: labelled bad among labelled transfers that landed in this band.")]
    hold: Annotated[Measured, about("hold: labelled bad among labelled transfers that landed in this band.")]
    unscored: Annotated[Measured, about("unscored: labelled bad among labelled transfers that landed in this band.")]


class MetricsCoverage(msgspec.Struct, frozen=True, kw_only=True):
    transfers: Annotated[Measured, about("Transfers with a score among all, attempts included.")]
    programs: Annotated[Measured, about("Programs with a Program Risk Score, as of asOf, among all.")]


class HoldBand(msgspec.Struct, frozen=True, kw_only=True):
    precision: Annotated[Measured, about("Bad among the labelled transfers in hold.")]
    recall: Annotated[
        Measured,
        about(
            "In hold among the transfers labelled bad. Labels favour alerted transfers, so this is an upper estimate."
        ),
    ]
    tp: Annotated[int, about("In hold and bad.")]
    fp: Annotated[int, about("In hold and ok.")]
    fn: Annotated[int, about("Bad and not in hold, unscored ones included.")]


class DecisionHours(msgspec.Struct, frozen=True, kw_only=True):
    """Null without a decision."""

    median: Annotated[float | None, about("The median, interpolated; null without a decision.")]
    p90: Annotated[float | None, about("The 90th percentile, interpolated; null without a decision.")]
    n: Annotated[int, about("How many decisions.")]


class TimeToDecision(msgspec.Struct, frozen=True, kw_only=True):
    automated: Annotated[DecisionHours, about("Decided by the policy alone, which decides as the alert opens.")]
    reviewed: Annotated[DecisionHours, about("Decided by a person.")]


class ApprovedWithoutWaiting(msgspec.Struct, frozen=True, kw_only=True):
    count: Annotated[int, about("How many; attempts that the bank declined are among them.")]
    cents: Annotated[str, about("US cents of the transfers that moved money, as a string of digits.")]
    n: Annotated[int, about("How many transfers have a score.")]


class FamilyCount(msgspec.Struct, frozen=True, kw_only=True):
    family: str
    result: Annotated[EventResult, about("Their result.")]
    count: Annotated[int, about("How many deliveries.")]


class EventCoverage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Null without an event."""

    value: Annotated[float | None, about("The share of the sent families that is read; null when none was sent.")]
    n: Annotated[int, about("How many families the bank sent.")]
    seen: Annotated[tuple[str, ...], about("The families that the bank sent, in order.")]
    by_family: Annotated[tuple[FamilyCount, ...], about("Deliveries by family and result, on the days of created_at.")]


class Metrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Null where nothing was measured, never 0."""

    as_of: Annotated[str, about("When the figures were taken.")]
    window_days: Annotated[int, about("How many UTC days are covered; the last may not be over.")]
    from_: Annotated[str, about("The midnight at which the first day begins.")] = msgspec.field(name="from")
    to: Annotated[str, about("The midnight at which the last day ends.")]
    calibration: Annotated[
        Calibration,
        about(
            "By band, how many transfers went bad. The band is that of the score with which a transfer landed, "
            "however it was scored again since."
        ),
    ]
    label_maturity: Annotated[
        Measured,
        about(
            "Final labels among all. A label ok is provisional on the transfers of the last day covered and of "
            "the 60 days before it, which may yet come back as unauthorized."
        ),
    ]
    coverage: Annotated[MetricsCoverage, about("Transfers and programs with a score.")]
    hold_band: Annotated[HoldBand, about("How right the hold band was, by labels and the score at landing.")]
    auto_closed: Annotated[Measured, about("Closed by the policy at opening, among the alerts opened in the window.")]
    overturned: Annotated[
        Measured,
        about(
            "Decisions of persons against the draft or against a close by the policy, among all on alerts with "
            "one of them; an appeal has neither."
        ),
    ]
    time_to_decision_hours: TimeToDecision
    approved_without_waiting: Annotated[
        ApprovedWithoutWaiting, about("Transfers in the band clear that no alert was opened or written with.")
    ]
    event_coverage: Annotated[
        EventCoverage, about("Families of events that the bank sent, and which of them are read.")
    ]
    simulated: Simulated = msgspec.UNSET


class MetricsPage(ListPage[Metrics], frozen=True, kw_only=True, rename="camel"):
    pass


AT_A_TIME: Final = 32
"""Programs whose owners are asked together."""


class MetricsService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._owner, self._clock = resources.programs, stores.owner, stores.clock
        self._stored = MetricsDays(stores.database)

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


_HOUR_S: Final = 3_600


def to_metrics(totals: DayTotals, *, days: int, to: int, as_of: int) -> Metrics:
    """The metrics of the days that end at the midnight ``to``."""
    labelled_ok = totals.clear_ok + totals.review_ok + totals.hold_ok + totals.unscored_ok
    missed = totals.clear_bad + totals.review_bad + totals.unscored_bad
    labelled = labelled_ok + totals.hold_bad + missed
    scored = totals.transfers - totals.unscored
    return Metrics(
        as_of=format_instant(as_of),
        window_days=days,
        from_=format_instant(to - days * DAY_US),
        to=format_instant(to),
        calibration=Calibration(
            clear=measured(totals.clear_bad, totals.clear_bad + totals.clear_ok),
            review=measured(totals.review_bad, totals.review_bad + totals.review_ok),
            hold=measured(totals.hold_bad, totals.hold_bad + totals.hold_ok),
            unscored=measured(totals.unscored_bad, totals.unscored_bad + totals.unscored_ok),
        ),
        label_maturity=measured(labelled - totals.provisional_ok, labelled),
        coverage=MetricsCoverage(
            transfers=measured(scored, totals.transfers),
            programs=measured(totals.scored_programs, totals.programs),
        ),
        hold_band=HoldBand(
            precision=measured(totals.hold_bad, totals.hold_bad + totals.hold_ok),
            recall=measured(totals.hold_bad, totals.hold_bad + missed),
            tp=totals.hold_bad,
            fp=totals.hold_ok,
            fn=missed,
        ),
        auto_closed=measured(totals.auto_closed, totals.alerts),
        overturned=measured(totals.overturns, totals.reviews),
        time_to_decision_hours=TimeToDecision(
            automated=hours(repeat(0, totals.auto_closed)), reviewed=hours(totals.waits)
        ),
        approved_without_waiting=ApprovedWithoutWaiting(
            count=totals.unalerted, cents=str(totals.unalerted_cents), n=scored
        ),
        event_coverage=_event_coverage(totals.events),
    )


def hours(waits: Iterable[int]) -> DecisionHours:
    """Quantiles of waits in seconds, interpolated between two waits."""
    ordered = sorted(waits)

    def quantile(tenths: int) -> float | None:
        if not ordered:
            return None
        place, beyond = divmod((len(ordered) - 1) * tenths, 10)
        lower, upper = ordered[place], ordered[min(place + 1, len(ordered) - 1)]
        return rounded((lower + (upper - lower) * beyond / 10) / _HOUR_S)

    return DecisionHours(median=quantile(5), p90=quantile(9), n=len(ordered))


def _event_coverage(events: Mapping[str, Mapping[str, int]]) -> EventCoverage:
    read = len(READ_FAMILIES.intersection(events))
    return EventCoverage(
        value=rounded(read / len(events)) if events else None,
        n=len(events),
        seen=tuple(sorted(events)),
        by_family=tuple(
            FamilyCount(family=family, result=EventResult(result), count=count)
            for family in sorted(events)
            for result, count in sorted(events[family].items())
        ),
    )


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
