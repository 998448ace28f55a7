"""Key risk indicators: snapshots to read, and one on request, which the flow takes, since it has the state.

Errors  NotFoundError for a snapshot or program that is not this tenant's; UnavailableError when the snapshot is not
        committed in time
"""

from typing import Annotated, Any, Final, Literal

import msgspec
import structlog

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import CursorText, Moment, PageLimit, ProgramIds
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.reading import in_reader
from clearhold.api.lists.handlers import answer_route, list_operation, write_route
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage, ListReader, filter_of, place_by, place_key, to_answer
from clearhold.features.catalogue.kris import KriName, KriValue, SnapshotCause, SnapshotEntry, read_kris
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.features.core.vocabulary import Band, about, minted
from clearhold.store.duck.reports.scores import KriSnapshots, SnapshotFilter

log = structlog.get_logger()
_TAG: Final = "kris"


class SnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``snapshot_id`` is the id of the stored snapshot."""

    snapshot_id: Annotated[str, about("The snapshot; `GET /api/kri/snapshots/{id}` reads it.")]


class SnapshotsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None
    cause: Annotated[tuple[SnapshotCause, ...], msgspec.Meta(min_length=1, max_length=len(SnapshotCause))] | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    every: Literal["snapshot", "day"] = "snapshot"
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class KriSnapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All indicators of a program as of one instant, with the program's score."""

    id: Annotated[str, minted("snapshot")]
    tenant_id: str
    program_id: str
    cause: Annotated[
        SnapshotCause,
        about(
            "scheduled once a quarter of an hour, transfers after every 200, requested by an operator, history for a "
            "past day that was loaded."
        ),
    ]
    as_of: Annotated[str, about("The instant of the figures; of a past day its end.")]
    window_days: Annotated[int, about("Days of the longest window of an indicator.")]
    kris: Annotated[dict[str, KriValue], about("Each indicator by its name.")]
    program_score: Annotated[int | None, about("Program Risk Score, 0-100; null below three measured indicators.")]
    program_score_n: Annotated[int, about("Indicators that were measured for the score.")]
    program_score_version: Annotated[str, about("Which scorer gave the score, as in prs-v1.")]
    band: Annotated[Band, about("Band of the program's score; unscored when it is null.")]
    created_at: Annotated[str, about("When the snapshot was taken.")]
    simulated: Simulated = msgspec.UNSET


class SnapshotPage(ListPage[KriSnapshot], frozen=True, kw_only=True, rename="camel"):
    pass


def indicators_of(row: KriSnapshotRow) -> dict[str, KriValue]:
    """The indicators, in their order."""
    kris = read_kris(row.kris)
    return {name.value: kris[name] for name in KriName if name in kris}


class KriService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        self._programs, self._commands = resources.programs, resources.command_log
        self._snapshots = KriSnapshots(resources.stores.database)
        self._list = ListReader(
            self._snapshots.list_page, lambda _, rows: [*map(self._marked, rows)], place_by("as_of_at"), place_key
        )

    async def page(self, principal: Principal, query: SnapshotsQuery) -> SnapshotPage:
        """Newest first; a programId of another tenant is a 404."""
        wanted = filter_of(SnapshotFilter, query, self._programs.filter_by(principal, query.program_id))
        return SnapshotPage.of(*await self._list.page(principal, wanted, query))

    async def read(self, principal: Principal, snapshot_id: str) -> KriSnapshot:
        row = await in_reader(self._snapshots.find, principal, snapshot_id.lower())
        if row is None:
            raise NotFoundError("Unknown snapshot on this tenant.", ErrorCode.SNAPSHOT_NOT_FOUND)
        return self._marked(row)

    async def take_snapshot(self, principal: Principal, program_id: str, effect_id: str | None) -> SnapshotTaken:
        """The snapshot of the principal's program; a repeated ``effect_id`` returns the first one."""
        program_id = program_id.lower()
        result = await self._commands.submit(
            principal, EntryKind.SNAPSHOT, program_id, SnapshotEntry, effect_id=effect_id
        )
        log.info("kri_snapshot_taken", program_id=program_id, snapshot_id=result.id)
        return SnapshotTaken(snapshot_id=result.id)

    def _marked(self, row: KriSnapshotRow) -> KriSnapshot:
        snapshot = to_answer(row, KriSnapshot, as_of=format_instant(row.as_of_at), kris=indicators_of(row))
        return self._programs.marked(snapshot, row.program_id)


SNAPSHOT: Final[dict[str, Any]] = examples_of(__file__)["snapshot"]
_TAKE: Final = Operation(
    id="takeKriSnapshot",
    tag=_TAG,
    summary="Measures every key risk indicator of the program now and stores the snapshot. "
    "The detectors of programs run on it, and the Program Risk Score follows from it. The answer comes when all of "
    "this is recorded.",
    access=Access.OWNER,
    answers={200: SnapshotTaken},
    refusals=(ErrorCode.NOT_CONFIRMED,),
    answer_example={"snapshotId": SNAPSHOT["id"]},
)
_LIST: Final = list_operation(
    "listKriSnapshots",
    tag=_TAG,
    summary="Snapshots of key risk indicators, newest first by the instant of their figures. They are "
    "scheduled, requested, taken after 200 transfers, or of past days that were loaded. `from` and `to` bound the "
    "instant. `every=day` has a program's last one of each UTC day alone.",
    scope=KeyScope.REPORTS,
    page=SnapshotPage,
    query=SnapshotsQuery,
    example=SNAPSHOT,
)
_READ: Final = Operation(
    id="getKriSnapshot",
    tag=_TAG,
    summary="One snapshot of key risk indicators, whole.",
    access=Access.BEARER,
    scope=KeyScope.REPORTS,
    answers={200: KriSnapshot},
    refusals=(ErrorCode.SNAPSHOT_NOT_FOUND,),
    answer_example=SNAPSHOT,
)


AREA: Final = Area(
    routes=(
        write_route("/api/kri/snapshot/{program_id:str}", _TAKE, _TAG, KriService.take_snapshot),
        answer_route("/api/kri/snapshots", _LIST, _TAG, KriService.page),
        answer_route("/api/kri/snapshots/{snapshot_id:str}", _READ, _TAG, KriService.read),
    ),
    provide={_TAG: KriService},
)
