"""The parties that wait for their fetch or for a retry, by tenant, and the candidates for a first fetch.

The candidates are the parties in the rows of a commit. The committer's thread offers them, the event loop takes them,
and neither waits for the other. Candidates beyond the limit are counted and left to the sweep.

Unit    instants in microseconds, handed in
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from clearhold.features.core.canonical import is_sandbox_id
from clearhold.features.core.entries.directory import DirectoryKind, PartyKey, kind_of_counterparty
from clearhold.features.core.instants import HOUR_US, MINUTE_US, SECOND_US, pause_after
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, DirectoryRow, EntityRow
from clearhold.store.duck.parties import DueParty
from clearhold.store.tables import RowTables

FIRST_BACKOFF_US: Final = SECOND_US
MAX_BACKOFF_US: Final = 300 * SECOND_US
MAX_RETRY_AFTER_US: Final = HOUR_US
PAUSE_US: Final = 15 * MINUTE_US
MAX_TURNS_AHEAD: Final = 8  # more than are waited for at once, unless the clock stepped back


class TenantPace:
    """One tenant's requests at even intervals; growing pauses after failures, a long one after a refused key."""

    def __init__(self, *, per_second: int) -> None:
        self._interval_us = SECOND_US // per_second
        self._next_at = 0
        self._failures = 0
        self._ready_at = 0
        self._refused_key: str | None = None

    def is_ready(self, key: str, *, now: int) -> bool:
        """Whether a request with this key may be sent now. A new key ends the pause of a refused one."""
        if self._refused_key is not None and self._refused_key != key:
            self._refused_key, self._ready_at = None, 0
        return now >= self._ready_at or self._ready_at - now > MAX_RETRY_AFTER_US  # the clock stepped back

    def is_paused(self, *, now: int) -> bool:
        """Whether the bank refused the key a short while ago."""
        return self._refused_key is not None and now < self._ready_at

    def take_turn(self, *, now: int) -> int:
        """Take the next turn; returns the wait for it."""
        is_ahead = now <= self._next_at <= now + MAX_TURNS_AHEAD * self._interval_us
        at = self._next_at if is_ahead else now
        self._next_at = at + self._interval_us
        return at - now

    def note_success(self) -> bool:
        """True for the first success after a failure or a refusal."""
        is_first = bool(self._failures) or self._refused_key is not None
        if self._refused_key is not None:
            self._ready_at = 0  # a request that was under way shows that the key is taken after all
        self._failures, self._refused_key = 0, None
        return is_first

    def note_failure(self, *, now: int, retry_after_us: int | None = None) -> bool:
        """Back off; failures at the same time count once. True for the first failure after a success."""
        is_first = not self._failures
        backoff_us = 0
        if now >= self._ready_at:
            self._failures += 1
            backoff_us = pause_after(self._failures, FIRST_BACKOFF_US, MAX_BACKOFF_US)
        wait_us = max(backoff_us, min(retry_after_us or 0, MAX_RETRY_AFTER_US))
        self._ready_at = max(self._ready_at, now + wait_us)
        return is_first

    def note_refusal(self, key: str, *, now: int) -> bool:
        """Pause until the key is replaced, or for a while; True unless the key was refused before."""
        is_first = self._refused_key != key
        self._refused_key, self._ready_at = key, now + PAUSE_US
        return is_first


MAX_WAITING: Final = 10_000
FIRST_RETRY_US: Final = 2 * SECOND_US
MAX_RETRY_US: Final = HOUR_US
_DOUBLINGS: Final = 2  # for each failure more


class WaitingParties:
    """A party is here once, from ``add`` until ``forget``: waiting for a fetch or a retry, or being fetched."""

    def __init__(self) -> None:
        self._by_tenant: dict[str, deque[DueParty]] = {}
        self._retries: dict[DueParty, int] = {}
        self._present: set[PartyKey] = set()
        self._failures: dict[PartyKey, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_tenant.values())) + len(self._retries)

    @property
    def room(self) -> int:
        return max(0, MAX_WAITING - len(self))

    def add(self, parties: Iterable[DueParty]) -> None:
        """Add parties that are not here yet, as far as there is room."""
        for party in parties:
            if self._is_taken_in(party[0]):
                self.put_back(party)

    def add_ahead(self, keys: Iterable[PartyKey]) -> None:
        """Add new parties ahead of all others."""
        for key in keys:
            if self._is_taken_in(key):
                self._by_tenant.setdefault(key.tenant_id, deque()).appendleft((key, None))

    def _is_taken_in(self, key: PartyKey) -> bool:
        if not self.room or key in self._present:
            return False
        self._present.add(key)
        return True

    def put_back(self, party: DueParty) -> None:
        """Put back a party that was taken and not fetched."""
        self._by_tenant.setdefault(party[0].tenant_id, deque()).append(party)

    def try_again(self, party: DueParty, *, now: int) -> None:
        """Retry a party later, with a longer pause after each failure, so that it does not hold up the others."""
        failures = self._failures.get(party[0], 0)
        self._failures[party[0]] = failures + 1
        self._retries[party] = now + pause_after(1 + _DOUBLINGS * failures, FIRST_RETRY_US, MAX_RETRY_US)

    def forget(self, key: PartyKey) -> None:
        """The fetch of the party is committed."""
        self._present.discard(key)
        self._failures.pop(key, None)

    def keep_tenants(self, tenant_ids: Collection[str]) -> None:
        """Forget the waiting parties of all other tenants."""
        for tenant_id in [each for each in self._by_tenant if each not in tenant_ids]:
            for key, _ in self._by_tenant.pop(tenant_id):
                self.forget(key)
        for party in [each for each in self._retries if each[0].tenant_id not in tenant_ids]:
            del self._retries[party]
            self.forget(party[0])

    def waits_for(self, tenant_ids: Collection[str]) -> bool:
        return any(self._by_tenant.get(tenant_id) for tenant_id in tenant_ids)

    def revive(self, *, now: int) -> None:
        """Move parties whose retry is due to the waiting ones."""
        for party in [each for each, at in self._retries.items() if at <= now or at - now > MAX_RETRY_US]:
            del self._retries[party]
            self.put_back(party)

    def take(self, tenant_ids: Collection[str], limit: int) -> list[DueParty]:
        """Up to ``limit`` parties of these tenants, one tenant after the other."""
        queues: Mapping[str, deque[DueParty]] = {
            tenant_id: queue for tenant_id in tenant_ids if (queue := self._by_tenant.get(tenant_id))
        }
        parties: list[DueParty] = []
        while len(parties) < limit and any(queues.values()):
            for queue in queues.values():
                if queue and len(parties) < limit:
                    parties.append(queue.popleft())
        return parties


MAX_CANDIDATES: Final = 10_000
_PARTY: Final = ("tenant_id", "program_id", "id")


class FirstSeen:
    """``has_key`` says whether a tenant has a key to the bank's API."""

    def __init__(self, *, has_key: Callable[[str], bool]) -> None:
        self._has_key = has_key
        self._candidates: deque[PartyKey] = deque()
        self.overflowed = 0

    def __len__(self) -> int:
        return len(self._candidates)

    def offer(self, rows: RowTables) -> None:
        """Take the parties of a commit, except those of the sandbox and those whose fetch it records."""
        fetched = set(_cells(rows, DirectoryRow, "tenant_id", "program_id", "kind", "id"))
        for key in dict.fromkeys(_parties_in(rows)):
            if not self._has_key(key.tenant_id) or key in fetched or is_sandbox_id(key.id):
                continue
            if len(self._candidates) >= MAX_CANDIDATES:
                self.overflowed += 1
            else:
                self._candidates.append(key)

    def take(self, limit: int) -> list[PartyKey]:
        """The oldest candidates, each once."""
        count = min(limit, len(self._candidates))
        return list(dict.fromkeys(self._candidates.popleft() for _ in range(count)))


def _parties_in(rows: RowTables) -> Iterator[PartyKey]:
    for row_type, kind in ((AccountRow, DirectoryKind.ACCOUNT), (EntityRow, DirectoryKind.ENTITY)):
        for tenant_id, program_id, party_id in _cells(rows, row_type, *_PARTY):
            yield PartyKey(tenant_id, program_id, kind, party_id)
    for tenant_id, program_id, party_id in _cells(rows, CounterpartyRow, *_PARTY):
        yield PartyKey(tenant_id, program_id, kind_of_counterparty(party_id), party_id)


def _cells(rows: RowTables, row_type: type[msgspec.Struct], *columns: str) -> Iterator[tuple[str, ...]]:
    table = rows.get(row_type.__name__)
    if table is not None:
        yield from zip(*(table.column(name).to_pylist() for name in columns), strict=True)
