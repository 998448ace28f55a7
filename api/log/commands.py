"""The path of every command that changes state: its entry goes to the log, the flow decides, the result is read back.

entry appended ─▶ applied to the current state ─▶ result committed ─▶ result read, or its refusal raised

Nothing is decided here. The id of an entry follows from the request's Idempotency-Key, if it has one. The flow applies
an id once, so a repeat after a lost answer finds the first result.

Errors  UnavailableError when the log does not accept the entry, or when it is not committed in time;
        the refusal of the flow, one for each result but ``made``
"""

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import Final, Protocol

import msgspec
from anyio import to_thread

from clearhold.features.core.entries.commands import EntryResult, ResultKind
from clearhold.features.core.errors import (
    ConflictError,
    ErrorCode,
    FieldCode,
    FieldError,
    InvalidRequestError,
    NotFoundError,
    RiskError,
    UnavailableError,
)
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import EntryResultRow
from clearhold.store.clock import Clock
from clearhold.store.duck.alerts import EntryResults
from clearhold.store.ids import IdFactory
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.progress import LogProgress

UNAPPLIED_LIMIT: Final = 65_536
"""Entries a shard. Beyond it the oldest are forgotten: their duplicates are appended, and skipped by the flow."""

EventKey = tuple[str, str, int]
"""Program, event id and the checksum of the body."""
_Arrival = tuple[str, int]  # program and instant of an event
_NEVER: Final[_Arrival] = ("", -1)


class PendingEntries:
    """Belongs to the API's event loop."""

    def __init__(self, progress: LogProgress) -> None:
        self._progress = progress
        self._waiting: list[deque[tuple[int, int, EventKey | None]]] = [deque() for _ in range(progress.shards)]
        self._keys: set[EventKey] = set()
        self._events: Counter[str] = Counter()  # by program, the ones being appended among them
        self._newest: list[tuple[_Arrival, _Arrival]] = [(_NEVER, _NEVER)] * progress.shards

    def add(self, shard: int, offset: int, appended_at: int, key: EventKey | None = None) -> None:
        """Note an entry that has just become durable; ``key`` is given for a bank event."""
        waiting = self._waiting[shard]
        waiting.append((offset, appended_at, key))
        if key is not None:
            self._keys.add(key)
            self._events[key[0]] += 1
            newest, other = self._newest[shard]
            self._newest[shard] = (key[0], appended_at), other if newest[0] == key[0] else newest
        self._drop_applied(shard)
        if len(waiting) > UNAPPLIED_LIMIT:
            self._forget(waiting.popleft())

    def holds(self, key: EventKey) -> bool:
        """Whether the event was appended here and may be unapplied."""
        return key in self._keys

    def events_of(self, program_id: str, shard: int) -> int:
        """The number of the program's events that are being appended or are unapplied."""
        self._drop_applied(shard)
        return self._events[program_id]

    @contextmanager
    def appending(self, program_id: str, events: int) -> Iterator[None]:
        """Count the events of a request from its beginning on."""
        self._events[program_id] += events
        try:
            yield
        finally:
            self._events[program_id] -= events

    def is_shared(self, program_id: str, shard: int, *, since: int) -> bool:
        """Whether another program of the shard had an event from this instant on."""
        newest, other = self._newest[shard]
        return (other if newest[0] == program_id else newest)[1] >= since

    def waiting_us(self, shard: int, *, now: int) -> int:
        """The wait of the shard's oldest unapplied entry; 0 without one."""
        self._drop_applied(shard)
        waiting = self._waiting[shard]
        return max(0, now - waiting[0][1]) if waiting else 0

    def entries(self, shard: int) -> int:
        """The number of the shard's unapplied entries; for any thread."""
        offsets = list(self._waiting[shard])  # One step, while the event loop may be appending.
        return len(offsets) - bisect_right(offsets, self._progress.applied_offset(shard), key=itemgetter(0))

    def _drop_applied(self, shard: int) -> None:
        waiting = self._waiting[shard]
        applied = self._progress.applied_offset(shard)
        while waiting and waiting[0][0] <= applied:
            self._forget(waiting.popleft())

    def _forget(self, entry: tuple[int, int, EventKey | None]) -> None:
        if entry[2] is not None:
            self._keys.discard(entry[2])
            self._events[entry[2][0]] -= 1


unknown_alert: Final = partial(NotFoundError, "Unknown alert on this tenant.", ErrorCode.ALERT_NOT_FOUND)
not_in_stack: Final = partial(
    ConflictError, "An alert named does not wait in this stack. Read the stack again.", ErrorCode.ALERT_NOT_IN_STACK
)
unknown_transfer: Final = partial(NotFoundError, "Unknown transfer on this tenant.", ErrorCode.TRANSFER_NOT_FOUND)
person_needed: Final = partial(
    InvalidRequestError,
    "This alert needs a person: name one in the header X-Operator when calling with an API key.",
    ErrorCode.PERSON_REQUIRED,
)
unknown_action: Final = partial(NotFoundError, "Unknown action on this tenant.", ErrorCode.ACTION_NOT_FOUND)
approver_needed: Final = partial(
    InvalidRequestError,
    "An approval needs a person: name one in the header X-Operator when calling with an API key.",
    ErrorCode.PERSON_REQUIRED,
)
change_pending: Final = partial(
    ConflictError, "A change of this is already requested and waits for its approver.", ErrorCode.CHANGE_PENDING
)

_CARRIED_OUT: Final = frozenset({EntryResult.MADE, EntryResult.NOT_WAITING})
"""An approval of an action that no longer waits is not a refusal: the action stays unchanged."""
_UNKNOWN: Final[Mapping[ResultKind, Callable[[], RiskError]]] = {
    ResultKind.DECISION: unknown_alert,
    ResultKind.APPEAL: unknown_alert,
    ResultKind.NOTE: unknown_alert,
    ResultKind.ASSIGN: unknown_alert,
    ResultKind.LABEL: unknown_transfer,
    ResultKind.APPROVAL: unknown_action,
    ResultKind.ACTION: unknown_transfer,  # of a ``clear_hold``
}
_REFUSALS: Final[Mapping[EntryResult, Callable[[], RiskError]]] = {
    EntryResult.FINAL: partial(
        ConflictError, "This alert is closed, which is final. An appeal opens a new alert.", ErrorCode.ALERT_CLOSED
    ),
    EntryResult.NOT_HELD: partial(
        ConflictError, "Only an alert with status held can be released.", ErrorCode.ALERT_NOT_HELD
    ),
    EntryResult.ALREADY: partial(
        ConflictError, "This alert already has this decision, and nothing has changed since.", ErrorCode.ALREADY_DECIDED
    ),
    EntryResult.APPEALED: partial(
        ConflictError,
        "This alert was already appealed. Decide the alert that the appeal opened.",
        ErrorCode.ALREADY_APPEALED,
    ),
    EntryResult.NOT_FINAL: partial(ConflictError, "Only a closed alert can be appealed.", ErrorCode.ALERT_NOT_CLOSED),
    EntryResult.NEEDS_PERSON: person_needed,
    EntryResult.NOT_IN_STACK: not_in_stack,
    EntryResult.WHOLE_STACK: partial(
        ConflictError,
        "All alerts that wait in this stack were named. Name only those to take out.",
        ErrorCode.STACK_NOT_SPLIT,
    ),
    EntryResult.NARRATIVE_TOO_SHORT: partial(
        InvalidRequestError,
        "Validation failed: narrative must have the characters that minNarrativeChars of the policy in force asks for "
        "an alert of this severity, without the white space around them",
        fields=[FieldError(path="narrative", code=FieldCode.TOO_SHORT)],
    ),
    EntryResult.PENDING: change_pending,
    EntryResult.NOT_REQUESTED: partial(
        ConflictError, "This action no longer waits for a second person.", ErrorCode.ACTION_NOT_WAITING
    ),
    EntryResult.OWN_REQUEST: partial(
        ConflictError,
        "The requester of an action may not decline it. Withdraw it, or have another person decline it.",
        ErrorCode.OWN_ACTION,
    ),
    EntryResult.NOT_REQUESTER: partial(
        ConflictError,
        "Only the requester of an action may withdraw it. Another person may decline it.",
        ErrorCode.NOT_THE_REQUESTER,
    ),
    EntryResult.UNCHANGED: partial(
        ConflictError, "The program has this tier, and no withdrawn detector is eligible.", ErrorCode.AUTONOMY_UNCHANGED
    ),
    EntryResult.NOT_ELIGIBLE: partial(
        ConflictError,
        "The evidence lets no further detector be closed without a person.",
        ErrorCode.AUTONOMY_NOT_ELIGIBLE,
    ),
    EntryResult.TOO_EARLY: partial(
        ConflictError, "The program's autonomy was widened less than 7 days ago.", ErrorCode.AUTONOMY_TOO_EARLY
    ),
    EntryResult.IN_FORCE: partial(ConflictError, "This policy is in force already.", ErrorCode.POLICY_IN_FORCE),
    EntryResult.SAME_CAP: partial(ConflictError, "This cap is in force already.", ErrorCode.LIMIT_UNCHANGED),
}


def refusal_of(row: EntryResultRow) -> RiskError | None:
    """The error of a refused entry; None for an executed one."""
    result = EntryResult(row.result)
    if result in _CARRIED_OUT:
        return None
    if result is EntryResult.UNKNOWN:
        return _UNKNOWN[ResultKind(row.kind)]()
    return _REFUSALS[result]()


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
        pending: PendingEntries,
        progress: LogProgress,
        results: EntryResults,
        clock: Clock,
        new_id: IdFactory,
    ) -> None:
        self._appender, self._pending, self._progress = appender, pending, progress
        self._results, self._clock, self._new_id = results, clock, new_id

    async def submit(
        self,
        principal: Principal,
        kind: EntryKind,
        program_id: str,
        command: Callable[..., Command],
        *,
        effect_id: str | None,
    ) -> EntryResultRow:
        """Execute a command once for each ``effect_id``; ``command`` builds it from its ``id`` and its time, ``at``.

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
        command: Callable[..., Command],
        *,
        effect_id: str | None,
    ) -> EntryResultRow:
        """As ``submit``, for a command that ``carried_out`` does not know."""
        entry = command(id=effect_id or self._new_id(), at=self._clock.now())
        shard = shard_of(program_id, self._progress.shards)
        offset = await self._appender.append(shard, kind, program_id, entry.at, msgspec.json.encode(entry))
        self._pending.add(shard, offset, entry.at)
        try:
            await self._progress.committed(shard, offset, within_s=COMMITTED_WITHIN_S)
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
