"""Key risk indicators: snapshots to read, and one on request, which the flow takes, since it has the state.

Errors  NotFoundError for a snapshot or program that is not this tenant's; UnavailableError when the snapshot is not
        committed in time
"""

from typing import Any, Final

import structlog
from anyio import to_thread
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import effect_id_of, principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.kris.schemas import KriSnapshot, SnapshotPage, SnapshotsQuery, SnapshotTaken, to_snapshot
from clearhold.api.lists.cursors import Place, place_key
from clearhold.api.lists.list_reader import ListReader
from clearhold.api.lists.lists import instant_in, next_link
from clearhold.api.lists.operations import list_operation
from clearhold.api.log.commands import CommandLog
from clearhold.api.program_service import ProgramService
from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID
from clearhold.features.catalogue.kris import SnapshotEntry
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.store.duck.reports.scores import KriSnapshots, SnapshotFilter

UNKNOWN_SNAPSHOT: Final = "Unknown snapshot on this tenant."
log = structlog.get_logger()


class KriService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, *, programs: ProgramService, snapshots: KriSnapshots, command_log: CommandLog) -> None:
        self._programs, self._snapshots, self._commands = programs, snapshots, command_log
        self._list = ListReader(
            read_page=snapshots.list_page,
            items_of=lambda _, rows: [*map(self._marked, rows)],
            place=_place,
            key=place_key,
        )

    async def page(self, principal: Principal, query: SnapshotsQuery) -> SnapshotPage:
        """Newest first; a programId of another tenant is a 404."""
        wanted = SnapshotFilter(
            program_ids=self._programs.filter_by(principal, query.program_id),
            causes=query.cause,
            as_of_from=instant_in(query.from_),
            as_of_to=instant_in(query.to),
        )
        return SnapshotPage.of(*await self._list.page(principal, wanted, query))

    async def read(self, principal: Principal, snapshot_id: str) -> KriSnapshot:
        row = await to_thread.run_sync(self._snapshots.find, principal, snapshot_id.lower())
        if row is None:
            raise NotFoundError(UNKNOWN_SNAPSHOT, ErrorCode.SNAPSHOT_NOT_FOUND)
        return self._marked(row)

    async def take_snapshot(self, principal: Principal, program_id: str, effect_id: str | None) -> SnapshotTaken:
        """The snapshot of the principal's program; a repeated ``effect_id`` returns the first one."""

        def snapshot(entry_id: str, at: int) -> SnapshotEntry:
            return SnapshotEntry(id=entry_id, at=at)

        program_id = program_id.lower()
        result = await self._commands.submit(principal, EntryKind.SNAPSHOT, program_id, snapshot, effect_id=effect_id)
        log.info("kri_snapshot_taken", program_id=program_id, snapshot_id=result.id)
        return SnapshotTaken(snapshot_id=result.id)

    def _marked(self, row: KriSnapshotRow) -> KriSnapshot:
        return self._programs.marked(to_snapshot(row), row.program_id)


def _place(row: KriSnapshotRow) -> Place:
    return Place(row.as_of_at, row.id, row.program_id)


_TAG: Final = "kris"
SNAPSHOT: Final[dict[str, Any]] = {
    "id": "6f1c7a52-9f0e-4c0b-8a53-0f1d2c3b4a59",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "cause": "scheduled",
    "asOf": "2026-03-02T15:15:00.005Z",
    "windowDays": 60,
    "kris": {
        "ach_overall_return_rate": {"value": 0.021, "n": 240, "unit": "ratio", "threshold": 0.15, "status": "ok"},
        "card_decline_rate": {
            "value": 0.5,
            "n": 2,
            "unit": "ratio",
            "threshold": 0.3,
            "status": "unmeasured",
            "note": "Not measured: 2 of 20 needed.",
        },
        "volume_velocity": {"value": 2.4, "n": 30, "unit": "ratio", "threshold": 3.0, "status": "watch"},
        "freeze_events": {"value": 0.0, "n": 12, "unit": "count", "threshold": 2.0, "status": "ok"},
    },
    "programScore": 10,
    "programScoreN": 3,
    "programScoreVersion": "prs-v1",
    "band": "clear",
    "createdAt": "2026-03-02T15:15:00.005Z",
}
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
    "instant.",
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


@post("/api/kri/snapshot/{program_id:str}", status_code=200, opt=_TAKE.as_opt)
async def take_snapshot(
    program_id: FromPath[str], request: ApiRequest, kris: NamedDependency[KriService]
) -> SnapshotTaken:
    return await kris.take_snapshot(principal_of(request.scope), program_id, effect_id_of(request.scope))


@get("/api/kri/snapshots", opt=_LIST.as_opt)
async def list_snapshots(request: ApiRequest, kris: NamedDependency[KriService]) -> Response[SnapshotPage]:
    page = await kris.page(principal_of(request.scope), query_of(request.scope, SnapshotsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/kri/snapshots/{snapshot_id:str}", opt=_READ.as_opt)
async def get_snapshot(
    snapshot_id: FromPath[str], request: ApiRequest, kris: NamedDependency[KriService]
) -> KriSnapshot:
    return await kris.read(principal_of(request.scope), snapshot_id)


def _kris(resources: Resources) -> KriService:
    return KriService(
        programs=resources.programs,
        snapshots=KriSnapshots(resources.stores.database),
        command_log=resources.command_log,
    )


AREA: Final = Area(routes=(take_snapshot, list_snapshots, get_snapshot), provide={"kris": _kris})
