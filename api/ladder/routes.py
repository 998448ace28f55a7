"""The limit ladder: read, compared with a proposed transfer, and the entities that are due for screening.

Errors  NotFoundError for a program that is not this tenant's; InvalidRequestError for a cursor of another list;
        UnavailableError while the state has no owner
"""

from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import CursorText, PageLimit, ProgramId, ProgramIds
from clearhold.api.http.operation import PREFLIGHT_BODY_LIMIT, Access, Operation, RateClass, examples_of
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage, Place, cursor_for, instant_text, place_of, to_answer
from clearhold.api.preflight.schemas import TransferRequest, proposed, transfer_rules
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.vocabulary import Band, about
from clearhold.features.limits.proposed import LimitEvaluation
from clearhold.features.policy.bodies import LADDER, LimitLadder
from clearhold.features.policy.in_force import ladder_in_force, version_in_force
from clearhold.features.policy.seeds import LADDER_V1, LADDER_VERSION
from clearhold.features.shard.questions import EvaluateLadder
from clearhold.store.duck.parties import FIRST, DueEntity, Rescreening

_TAG: Final = "ladder"


class LadderQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramId | None = None


class LadderInForce(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A ladder and its version."""

    version: Annotated[str, about("Version of the ladder.")]
    ladder: LimitLadder


class EvaluationRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A proposed transfer, as a pre-flight takes it."""

    program_id: Annotated[UUID, about("The program.")]
    transfer: Annotated[TransferRequest, about("The proposed transfer, as a pre-flight takes it.")]


class RescreenQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class RescreenDue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An entity to be screened again; ``lastScreenedAt`` null: it must be screened and never was."""

    program_id: str
    entity_id: Annotated[str, about("The bank's id of the entity.")]
    band: Annotated[Band, about("The entity's band, whose cadence this is.")]
    requires_screening: bool
    cadence_days: int
    last_screened_at: str | None
    due_at: Annotated[str | None, about("When it was to be screened again; null when it never was.")]
    simulated: Simulated = msgspec.UNSET


class RescreenPage(ListPage[RescreenDue], frozen=True, kw_only=True, rename="camel"):
    pass


def to_due(due: DueEntity) -> RescreenDue:
    due_at = None if due.screened_at is None else due.screened_at + due.cadence_days * DAY_US
    return to_answer(due, RescreenDue, last_screened_at=instant_text(due.screened_at), due_at=instant_text(due_at))


class LadderService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._policies = resources.programs, stores.registry.tenancy.policies
        self._owner, self._clock = stores.owner, stores.clock
        self._rescreening = Rescreening(stores.database)

    async def read(self, principal: Principal, query: LadderQuery) -> LadderInForce:
        """The tenant's ladder, or the program's."""
        program_id = query.program_id
        return self._in_force(principal, None if program_id is None else self._programs.read(principal, program_id).id)

    def _in_force(self, principal: Principal, program_id: str | None) -> LadderInForce:
        policies = self._policies[principal.tenant_id]
        for own in policies.all() if program_id is not None else ():
            if own.active and own.program_id == program_id and isinstance(own.body, LimitLadder):
                return LadderInForce(version=own.version, ladder=own.body)
        now = self._clock.now()
        return LadderInForce(
            version=version_in_force(policies, LADDER, now).version, ladder=ladder_in_force(policies, now)
        )

    async def evaluate(self, principal: Principal, request: EvaluationRequest) -> LimitEvaluation:
        """The limits in the transfer's pre-flight; nothing is recorded."""
        program = self._programs.read(principal, str(request.program_id))
        question = EvaluateLadder(proposed(request.transfer), self._clock.now())
        evaluation = (await self._owner.query(program.id, question)).value
        return self._programs.marked(evaluation, program.id)

    async def due(self, principal: Principal, query: RescreenQuery) -> RescreenPage:
        """By program and entity; a programId of another tenant is a 404."""
        programs = self._programs.filter_by(principal, query.program_id)
        filters = {"programId": programs}
        place = None if query.cursor is None else place_of(query.cursor, filters)
        after = FIRST if place is None else (place.program_id, place.id)
        cadences = [
            (program.id, band, days)
            for program in self._programs.list(principal, source=None)
            for band, days in msgspec.structs.asdict(self._in_force(principal, program.id).ladder.rescreen_days).items()
        ]
        rows = await in_reader(
            lambda: self._rescreening.due(principal, programs, cadences, after, query.limit + 1, now=self._clock.now())
        )
        page = rows[: query.limit]
        last = Place(0, page[-1].entity_id, page[-1].program_id) if len(rows) > query.limit else None
        return RescreenPage.of(
            [self._programs.marked(to_due(row), row.program_id) for row in page],
            None if last is None else cursor_for(last, filters),
        )


_LADDER: Final[dict[str, Any]] = msgspec.to_builtins(LADDER_V1)
_EXAMPLES: Final = examples_of(__file__)
LIMIT_EVALUATION: Final[dict[str, Any]] = {
    "hits": [_EXAMPLES["limit_hit"]],
    "hard": False,
    "bands": {"entity": "clear", "counterparty": "review"},
    "rescreen": {
        "entity": {
            "cadenceDays": 365,
            "lastScreenedAt": "2026-02-20T08:00:00.000Z",
            "dueAt": "2027-02-20T08:00:00.000Z",
            "overdue": False,
        },
        "counterparty": {"cadenceDays": 180, "lastScreenedAt": None, "dueAt": None, "overdue": None},
    },
    "ladder": _LADDER,
}


_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.POLICIES)

_READ: Final = _operation(
    id="getLadder",
    summary="The limit ladder in force for the tenant, or for one program, which may have its own. It caps entities "
    "and counterparties by band, and sets how often each is screened.",
    answers={200: LadderInForce},
    query=RequestSchema(LadderQuery),
    answer_example={"version": LADDER_VERSION, "ladder": _LADDER},
)
_EVALUATE: Final = Operation(
    id="evaluateLadder",
    tag=_TAG,
    summary="Compares a proposed transfer with the limit ladder, as its pre-flight would; nothing is recorded. Caps "
    "are on outgoing transfers; a day and a month are of the calendar (UTC).",
    access=Access.BEARER,
    scope=KeyScope.PREFLIGHT,
    rate=RateClass.PREFLIGHT,
    answers={200: LimitEvaluation},
    refusals=(ErrorCode.STARTING,),
    body=RequestSchema(EvaluationRequest, rules=transfer_rules),
    body_limit=PREFLIGHT_BODY_LIMIT,
    example=_EXAMPLES["evaluation_request"],
    answer_example=LIMIT_EVALUATION,
)
_DUE: Final = _operation(
    id="listRescreeningDue",
    summary="The entities that are due to be screened again. It is due if it must be screened and never was, "
    "or if its last screening is older than its band's cadence. The bank reports no screening of counterparties.",
    answers={200: RescreenPage},
    query=RequestSchema(RescreenQuery),
    answer_example={"data": [_EXAMPLES["rescreen_due"]], "hasMore": False, "nextCursor": None},
)


AREA: Final = Area(
    routes=(
        answer_route("/api/ladder", _READ, _TAG, LadderService.read),
        write_route("/api/ladder/evaluate", _EVALUATE, _TAG, LadderService.evaluate),
        answer_route("/api/ladder/rescreen", _DUE, _TAG, LadderService.due),
    ),
    provide={_TAG: LadderService},
)
