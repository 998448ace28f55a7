"""Numbers for badges: how much waits for people, without reading any list."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import ProgramIds
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.features.core.instants import HOUR_US, format_instant
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.vocabulary import WAITING, Band, SlaTier, about
from clearhold.store.duck.alerts import Actions
from clearhold.store.duck.waiting_alerts import DueAlerts, WaitingCount

_TAG: Final = "counts"
DUE_SOON_US: Final = 4 * HOUR_US
NO_BAND: Final = "none"


class CountsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None


class ProgramCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    program_id: str
    waiting: Annotated[int, about("Alerts that wait.")]
    overdue: Annotated[int, about("Those past their due time.")]
    due_soon: Annotated[int, about("Those due within four hours.")]
    simulated: Simulated = msgspec.UNSET


class Counts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Alerts that wait for a decision, their stacks, and actions that wait for an approver."""

    as_of: str
    stacks: Annotated[int, about("Stacks of waiting alerts, each decided at once.")]
    stacks_overdue: Annotated[int, about("Stacks with an alert past its due time.")]
    stacks_due_soon: Annotated[int, about("Stacks whose first due time is within four hours.")]
    waiting: Annotated[int, about("Alerts that wait.")]
    overdue: Annotated[int, about("Those past their due time.")]
    due_soon: Annotated[int, about("Those due within four hours.")]
    by_status: Annotated[dict[str, int], about("Waiting alerts by status.")]
    by_tier: Annotated[dict[str, int], about("Waiting alerts by tier.")]
    by_band: Annotated[dict[str, int], about("Waiting alerts by band of the score at the opening; none without one.")]
    by_program: Annotated[tuple[ProgramCounts, ...], about("Programs with waiting alerts, the most overdue first.")]
    approvals: Annotated[int, about("Requested actions that wait for another person's approval.")]
    simulated: Simulated = msgspec.UNSET


def by_word(field: str, counts: Sequence[WaitingCount]) -> Counter[str]:
    """Waiting alerts by one of the words of a count."""
    numbers = Counter[str]()
    for each in counts:
        numbers[getattr(each, field) or NO_BAND] += each.alerts
    return numbers


class CountService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._clock = resources.programs, stores.clock
        self._waiting, self._actions = resources.waiting_alerts, Actions(stores.database)

    async def read(self, principal: Principal, query: CountsQuery) -> Counts:
        """Of the bank's programs within reach, or of the named ones; a programId of another tenant is a 404."""
        programs = self._programs.counted(principal, query.program_id)
        ids = [program.id for program in programs]
        of_tenant = () if query.program_id is not None else (principal.tenant_id,)
        counts = await in_reader(self._read, principal, ids, [*ids, *of_tenant])
        return self._programs.marked_of(counts, programs)

    def _read(self, principal: Principal, program_ids: Sequence[str], acted_on: Sequence[str]) -> Counts:
        now = self._clock.now()
        counts = self._waiting.counts(principal, program_ids)
        due = self._waiting.due(principal, program_ids, now=now, within_us=DUE_SOON_US)
        stacks = self._stacks(principal, frozenset(program_ids))
        return Counts(
            as_of=format_instant(now),
            stacks=len(stacks),
            stacks_overdue=sum(at is not None and at < now for at in stacks),
            stacks_due_soon=sum(at is not None and now <= at < now + DUE_SOON_US for at in stacks),
            waiting=sum(each.alerts for each in counts),
            overdue=due.overdue.total(),
            due_soon=due.soon.total(),
            by_status=_numbers(counts, "status", WAITING),
            by_tier=_numbers(counts, "sla_tier", SlaTier),
            by_band=_numbers(counts, "band", (*Band, NO_BAND)),
            by_program=self._by_program(by_word("program_id", counts), due),
            approvals=self._actions.requested(principal, acted_on),
        )

    def _stacks(self, principal: Principal, program_ids: Collection[str]) -> list[int | None]:
        """The first due time of each stack of waiting alerts on these programs."""
        return [
            min((alert.due_at for alert in members if alert.due_at is not None), default=None)
            for _, members in self._waiting.every_stack(principal)
            if members[0].program_id in program_ids
        ]

    def _by_program(self, waiting: Counter[str], due: DueAlerts) -> tuple[ProgramCounts, ...]:
        ordered = sorted(waiting, key=lambda each: (-due.overdue[each], -waiting[each], each))
        return tuple(
            self._programs.marked(
                ProgramCounts(
                    program_id=each, waiting=waiting[each], overdue=due.overdue[each], due_soon=due.soon[each]
                ),
                each,
            )
            for each in ordered
        )


def _numbers(counts: Sequence[WaitingCount], field: str, every: Iterable[str]) -> dict[str, int]:
    numbers = by_word(field, counts)
    return {str(word): numbers[word] for word in every}


COUNTS: Final[dict[str, Any]] = {
    "asOf": "2026-03-05T12:00:00.000Z",
    "stacks": 2,
    "stacksOverdue": 0,
    "stacksDueSoon": 1,
    "waiting": 3,
    "overdue": 0,
    "dueSoon": 1,
    "byStatus": {"open": 2, "held": 1, "escalated": 0},
    "byTier": {"auto": 0, "standard": 1, "complex": 2, "appeal": 0},
    "byBand": {"clear": 0, "review": 2, "hold": 1, "unscored": 0, "none": 0},
    "byProgram": [{"programId": PROGRAM_ID, "waiting": 3, "overdue": 0, "dueSoon": 1}],
    "approvals": 1,
}
_READ: Final = Operation(
    id="getCounts",
    tag=_TAG,
    summary="Numbers of waiting alerts, stacks and approvals. Simulated programs are left out unless named.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Counts},
    query=RequestSchema(CountsQuery),
    answer_example=COUNTS,
)


AREA: Final = Area(routes=(answer_route("/api/counts", _READ, _TAG, CountService.read),), provide={_TAG: CountService})
