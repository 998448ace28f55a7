"""Snapshots of a program's key risk indicators on request: requested here, taken by the flow, which has the state.

Errors  UnavailableError when the snapshot is not committed in time
"""

import structlog

from clearhold.api.kris.schemas import SnapshotTaken
from clearhold.api.log.commands import CommandLog
from clearhold.features.core.entries.kris import SnapshotEntry
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Principal

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
