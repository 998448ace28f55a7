"""Key risk indicators: a snapshot on request. The flow takes it, since it has the state.

Errors  UnavailableError when the snapshot is not committed in time
"""

from typing import Annotated, Final

import msgspec
import structlog
from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import effect_id_of, principal_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.log.commands import CommandLog
from clearhold.features.core.entries.kris import SnapshotEntry
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Principal
from clearhold.features.core.words import about


class SnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``snapshot_id`` is the id of the snapshot in the program report."""

    snapshot_id: Annotated[str, about("The snapshot of key risk indicators, as the program report names it.")]


log = structlog.get_logger()


class KriService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, command_log: CommandLog) -> None:
        self._commands = command_log

    async def take_snapshot(self, principal: Principal, program_id: str, effect_id: str | None) -> SnapshotTaken:
        """The snapshot of the principal's program; a repeated ``effect_id`` returns the first one."""

        def snapshot(entry_id: str, at: int) -> SnapshotEntry:
            return SnapshotEntry(id=entry_id, at=at)

        program_id = program_id.lower()
        result = await self._commands.submit(principal, EntryKind.SNAPSHOT, program_id, snapshot, effect_id=effect_id)
        log.info("kri_snapshot_taken", program_id=program_id, snapshot_id=result.id)
        return SnapshotTaken(snapshot_id=result.id)


_SNAPSHOT: Final = Operation(
    id="takeKriSnapshot",
    tag="kris",
    summary="Measures every key risk indicator of the program now and stores the snapshot. "
    "The detectors of programs run on it, and the Program Risk Score follows from it. The answer comes when all of "
    "this is recorded.",
    access=Access.OWNER,
    answers={200: SnapshotTaken},
    refusals=(ErrorCode.NOT_CONFIRMED,),
    answer_example={"snapshotId": "6f1c7a52-9f0e-4c0b-8a53-0f1d2c3b4a59"},
)


@post("/api/kri/snapshot/{program_id:str}", status_code=200, opt=_SNAPSHOT.as_opt)
async def take_snapshot(
    program_id: FromPath[str], request: ApiRequest, kris: NamedDependency[KriService]
) -> SnapshotTaken:
    return await kris.take_snapshot(principal_of(request.scope), program_id, effect_id_of(request.scope))


AREA: Final = Area(routes=(take_snapshot,), provide={"kris": lambda resources: KriService(resources.command_log)})
