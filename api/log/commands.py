"""The path of every command that changes state: its entry goes to the log, the flow decides, the result is read back.

entry appended ─▶ applied to the current state ─▶ result committed ─▶ result read, or its refusal raised

Nothing is decided here. The id of an entry follows from the request's Idempotency-Key, if it has one. The flow applies
an id once, so a repeat after a lost answer finds the first result.

Errors  UnavailableError when the log does not accept the entry, or when it is not committed in time;
        the refusal of the flow (``api/log/refusals.py``)
"""

from collections.abc import Callable
from typing import Final, Protocol

import msgspec
from anyio import to_thread

from clearhold.api.log.pending_entries import PendingEntries
from clearhold.api.log.refusals import refusal_of
from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import EntryResultRow
from clearhold.store.clock import Clock
from clearhold.store.duck.alerts import EntryResults
from clearhold.store.ids import IdFactory
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.offsets import CommitWaiter

COMMITTED_WITHIN_S: Final = 5.0
NOT_CONFIRMED: Final = "The request was accepted but is not confirmed yet. Repeat it with the same Idempotency-Key."


class Command(Protocol):
    """The body of a log entry that has a result."""

    @property
    def id(self) -> str: ...

    @property
    def at(self) -> int: ...


class CommandLog:
    """One for the process; belongs to the API's event loop."""

    def __init__(
        self,
        *,
        appender: LogAppender,
        shards: int,
        pending: PendingEntries,
        waiter: CommitWaiter,
        results: EntryResults,
        clock: Clock,
        new_id: IdFactory,
    ) -> None:
        self._appender, self._shard_count, self._pending, self._waiter = appender, shards, pending, waiter
        self._results, self._clock, self._new_id = results, clock, new_id

    async def submit(
        self,
        principal: Principal,
        kind: EntryKind,
        program_id: str,
        command: Callable[[str, int], Command],
        *,
        effect_id: str | None,
    ) -> EntryResultRow:
        """Execute a command once for each ``effect_id``; ``command`` builds it from its id and its time.

        Returns the result of an executed command, now or under the same ``effect_id`` before; all its consequences can
        then be read. Raises the refusal of a command that was not executed.
        """
        earlier = await self.carried_out(principal, effect_id)
        return earlier or await self.carry_out(principal, kind, program_id, command, effect_id=effect_id)

    async def carry_out(
        self,
        principal: Principal,
        kind: EntryKind,
        program_id: str,
        command: Callable[[str, int], Command],
        *,
        effect_id: str | None,
    ) -> EntryResultRow:
        """As ``submit``, for a command that ``carried_out`` does not know."""
        entry = command(effect_id or self._new_id(), self._clock.now())
        shard = shard_of(program_id, self._shard_count)
        offset = await self._appender.append(shard, kind, program_id, entry.at, msgspec.json.encode(entry))
        self._pending.add(shard, offset, entry.at)
        try:
            await self._waiter.wait(shard, offset, within_s=COMMITTED_WITHIN_S)
        except TimeoutError:
            raise UnavailableError(NOT_CONFIRMED, ErrorCode.NOT_CONFIRMED) from None
        result = await self._result(principal, entry.id)
        assert result is not None, "a committed entry of this kind has a result"
        refusal = refusal_of(result)
        if refusal is not None:
            raise refusal
        return result

    async def carried_out(self, principal: Principal, effect_id: str | None) -> EntryResultRow | None:
        """The result of the command that was executed under this id before."""
        result = None if effect_id is None else await self._result(principal, effect_id)
        return None if result is None or refusal_of(result) is not None else result

    async def _result(self, principal: Principal, entry_id: str) -> EntryResultRow | None:
        return await to_thread.run_sync(self._results.find, principal, entry_id)
