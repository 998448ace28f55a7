"""A program's caps: a change is requested here, decided as an action by two people, and read from the program's state.

Errors  NotFoundError for a program that is not this tenant's; ConflictError while a change of the kind waits;
        InvalidRequestError for a cursor of another list; UnavailableError while the state has no owner
"""

from typing import Final

import msgspec
from anyio import to_thread

from clearhold.api.actions.service import ActionService
from clearhold.api.limits.schemas import (
    LimitAction,
    LimitHistoryPage,
    LimitHistoryQuery,
    Limits,
    NewLimit,
    change_requested,
    to_changed,
    to_limit,
    to_pending,
    to_values,
)
from clearhold.api.lists.cursors import Place, cursor_for, place_key, place_of
from clearhold.api.program_service import ProgramService
from clearhold.features.actions.set_limit import change_of
from clearhold.features.core.entries.actions import ActionType, CapVersion
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal
from clearhold.features.shard.questions import Owner, ReadLimits
from clearhold.store.clock import Clock
from clearhold.store.duck.decisions import Actions

PROGRAM: Final = "program"


class LimitService:
    """One for the process; belongs to the API's event loop."""

    def __init__(
        self, *, programs: ProgramService, owner: Owner, requests: ActionService, actions: Actions, clock: Clock
    ) -> None:
        self._programs, self._owner, self._requests = programs, owner, requests
        self._actions, self._clock = actions, clock

    async def request(
        self, principal: Principal, program_id: str, request: NewLimit, effect_id: str | None
    ) -> LimitAction:
        """The action that waits for a second approver; a repeated id returns the first one."""
        program = self._programs.read(principal, program_id)
        action = await self._requests.request_change(
            principal,
            ActionType.SET_LIMIT,
            program_id=program.id,
            target=(PROGRAM, program.id),
            change=msgspec.to_builtins(change_requested(request)),
            effect_id=effect_id,
        )
        stored = await to_thread.run_sync(self._actions.find, principal, action.id)
        assert stored is not None, "an action that was requested has a row"
        assert stored.row.change is not None, "an action of this type has a change"
        change = change_of(msgspec.json.decode(stored.row.change))
        fields = {name: getattr(action, name) for name in action.__struct_fields__}
        return LimitAction(**fields, limit=to_values(change))

    async def read(self, principal: Principal, program_id: str) -> Limits:
        program, now = self._programs.read(principal, program_id), self._clock.now()
        read = (await self._owner.query(program.id, ReadLimits(now))).value
        limits = Limits(
            program_id=program.id,
            as_of=format_instant(now),
            limits=tuple(map(to_limit, read.limits)),
            pending=tuple(map(to_pending, read.pending)),
        )
        return self._programs.marked(limits, program.id)

    async def history(self, principal: Principal, program_id: str, query: LimitHistoryQuery) -> LimitHistoryPage:
        """Newest first."""
        program = self._programs.read(principal, program_id)
        filters = {"programId": program.id}
        after = None if query.cursor is None else place_of(query.cursor, filters)
        limits = (await self._owner.query(program.id, ReadLimits(self._clock.now()))).value
        changes = sorted(limits.history, key=lambda change: place_key(_place(change, program.id)), reverse=True)
        rest = [each for each in changes if after is None or place_key(_place(each, program.id)) < place_key(after)]
        page = rest[: query.limit]
        cursor = cursor_for(_place(page[-1], program.id), filters) if len(rest) > query.limit else None
        return LimitHistoryPage.of([self._programs.marked(to_changed(each), program.id) for each in page], cursor)


def _place(change: CapVersion, program_id: str) -> Place:
    return Place(change.since, change.action_id, program_id)
