"""Every program in one read: its standing, its waiting alerts, and its scores of the last days."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.counts.routes import DUE_SOON_US, by_word
from clearhold.api.http.fields import ProgramIds
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.features.core.entries.actions import CapKind
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.principal import KeyScope, Principal, Program, Simulated
from clearhold.features.core.vocabulary import Band, about
from clearhold.features.limits.caps import CapUse
from clearhold.features.shard.questions import ReadCapUse
from clearhold.store.duck.reports.program_board import ProgramBoard
from clearhold.store.duck.reports.recent_activity import EVENTS_MINUTES, NO_ACTIVITY, RecentActivity

_TAG: Final = "programs"
_SERVICE: Final = "overview"
POINTS: Final = 30
NEAR_CAP: Final = 0.8
AT_ONCE: Final = 50  # queries to owners
_DECIMALS: Final = 4


class OverviewQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None


class CapNearlyUsed(msgspec.Struct, frozen=True, kw_only=True):
    kind: Annotated[CapKind, about("Kind of cap.")]
    cap: Annotated[str, about("The cap, in cents or as a count, in a string of digits.")]
    observed: Annotated[str, about("Its use now, in the same unit.")]
    share: Annotated[float, about("observed by cap, over 1 when it is crossed; a cap of 0 counts as 1.")]


class ProgramOverview(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    program_id: str
    slug: str
    name: str
    as_of: Annotated[str | None, about("The instant of its newest snapshot of indicators; null without one.")]
    score: Annotated[int | None, about("The Program Risk Score of that snapshot; null when not measured.")]
    band: Annotated[Band | None, about("Band of that score; null without a snapshot.")]
    n: Annotated[int, about("How many indicators the score rests on.")]
    kris: Annotated[dict[str, str], about("Status of each indicator by name: ok, watch, breach or unmeasured.")]
    waiting: Annotated[int, about("Alerts that wait.")]
    overdue: Annotated[int, about("Those past their due time.")]
    due_soon: Annotated[int, about("Those due within four hours.")]
    caps: Annotated[
        tuple[CapNearlyUsed, ...] | None,
        about("Caps used over 80 %, the most used first; null while its state cannot be read."),
    ]
    history: Annotated[
        tuple[int | None, ...], about(f"The last score of each of {POINTS} UTC days up to today, oldest first.")
    ]
    events_per_minute: Annotated[
        float, about(f"Bank events that arrived in the last {EVENTS_MINUTES} minutes, by minute.")
    ]
    scored_last_hour: Annotated[
        dict[str, int], about("Transfers scored in the last hour, by the band of their newest score.")
    ]
    simulated: Simulated = msgspec.UNSET


class Overview(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    as_of: str
    programs: Annotated[
        tuple[ProgramOverview, ...],
        about("The highest score first, programs without one last; of equal ones the most overdue, then by name."),
    ]


class OverviewService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._owner, self._clock = resources.programs, stores.owner, stores.clock
        self._waiting, self._board = resources.waiting_alerts, ProgramBoard(stores.database)
        self._activity = RecentActivity(stores.database)

    async def read(self, principal: Principal, query: OverviewQuery) -> Overview:
        """Of all programs within reach, or of the named ones; a programId of another tenant is a 404."""
        if query.program_id is None:
            programs = self._programs.list(principal, source=None)
        else:
            programs = tuple(self._programs.read(principal, each) for each in dict.fromkeys(query.program_id))
        now = self._clock.now()
        limit = asyncio.Semaphore(AT_ONCE)
        caps = await asyncio.gather(*(self._caps(program.id, now, limit) for program in programs))
        return await in_reader(self._read, principal, programs, caps, now)

    async def _caps(self, program_id: str, now: int, limit: asyncio.Semaphore) -> tuple[CapUse, ...] | None:
        """None while the program's state has no owner, which the answer shows."""
        async with limit:
            try:
                return (await self._owner.query(program_id, ReadCapUse(now))).value
            except UnavailableError:
                return None

    def _read(
        self,
        principal: Principal,
        programs: Sequence[Program],
        caps: Sequence[tuple[CapUse, ...] | None],
        now: int,
    ) -> Overview:
        ids = [program.id for program in programs]
        waiting = by_word("program_id", self._waiting.counts(principal, ids))
        due = self._waiting.due(principal, ids, now=now, within_us=DUE_SOON_US)
        self._board.catch_up(now=now)
        activity = self._activity.read(principal.tenant_id, now=now)
        rows = []
        for program, uses in zip(programs, caps, strict=True):
            recent = activity.get(program.id, NO_ACTIVITY)
            standing, history = self._board.read(program.id, upto_day=now // DAY_US, days=POINTS)
            row = ProgramOverview(
                program_id=program.id,
                slug=program.slug,
                name=program.name,
                as_of=None if standing is None else format_instant(standing.at),
                score=None if standing is None else standing.score,
                band=None if standing is None else Band(standing.band),
                n=0 if standing is None else standing.n,
                kris={} if standing is None else dict(standing.statuses),
                waiting=waiting[program.id],
                overdue=due.overdue[program.id],
                due_soon=due.soon[program.id],
                caps=None if uses is None else nearly_used(uses),
                history=tuple(history),
                events_per_minute=round(recent.events / EVENTS_MINUTES, 1),
                scored_last_hour={band.value: recent.scored.get(band, 0) for band in Band},
            )
            rows.append(self._programs.marked(row, program.id))
        rows.sort(key=lambda row: (row.score is None, -(row.score or 0), -row.overdue, row.name, row.program_id))
        return Overview(as_of=format_instant(now), programs=tuple(rows))


def nearly_used(uses: Sequence[CapUse]) -> tuple[CapNearlyUsed, ...]:
    """The caps used over ``NEAR_CAP``, the most used first. Any use of a cap of 0 is over it."""
    near = [
        (use.observed / max(use.cap, 1), use)
        for use in uses
        if use.observed is not None and use.observed > NEAR_CAP * use.cap
    ]
    near.sort(key=lambda each: (-each[0], each[1].kind))
    return tuple(
        CapNearlyUsed(kind=use.kind, cap=str(use.cap), observed=str(use.observed), share=round(share, _DECIMALS))
        for share, use in near
    )


OVERVIEW: Final[dict[str, Any]] = {
    "asOf": "2026-03-05T12:00:00.000Z",
    "programs": [
        {
            "programId": PROGRAM_ID,
            "slug": "payroll",
            "name": "Example Payroll",
            "asOf": "2026-03-05T11:45:00.000Z",
            "score": 35,
            "band": "review",
            "n": 5,
            "kris": {"ach_overall_return_rate": "watch"},
            "waiting": 3,
            "overdue": 0,
            "dueSoon": 1,
            "caps": [{"kind": "ach_debit_daily", "cap": "10000000", "observed": "8500000", "share": 0.85}],
            "history": [*[None] * (POINTS - 2), 30, 35],
            "eventsPerMinute": 12.4,
            "scoredLastHour": {"clear": 402, "review": 8, "hold": 2, "unscored": 11},
        }
    ],
}
_READ: Final = Operation(
    id="getProgramsOverview",
    tag=_TAG,
    summary="All programs in one read. Each has the score and indicators of its newest snapshot, its waiting alerts, "
    "caps over 80 %, the scores of the last 30 days and its arrivals. Simulated programs are marked.",
    access=Access.BEARER,
    scope=KeyScope.REPORTS,
    answers={200: Overview},
    query=RequestSchema(OverviewQuery),
    answer_example=OVERVIEW,
)


AREA: Final = Area(
    routes=(answer_route("/api/programs/overview", _READ, _SERVICE, OverviewService.read),),
    provide={_SERVICE: OverviewService},
)
