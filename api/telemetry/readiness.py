"""Readiness of the service, from a check of each component."""

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Annotated, Final, NamedTuple, Self

import msgspec
from anyio import to_thread

from clearhold.features.core.instants import format_instant
from clearhold.features.core.vocabulary import about

KEPT_S: Final = 1.0
UP: Final = "up"
DOWN: Final = "down"
READY: Final = "ready"
UNAVAILABLE: Final = "unavailable"
DATABASE: Final = "database"
BACKGROUND: Final = "background"
LOG: Final = "log"
CLOCK: Final = "clock"
DEGRADED: Final = "degraded"
"""A component that fails in part; the service stays ready."""


class Replay(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Progress of the replay after a start: of the shard furthest behind, and the end of the log.

    Times are arrivals of entries in the log; None before the first.
    """

    shards: Annotated[int, about("How many shards there are.")]
    shards_behind: Annotated[int, about("How many of them are not at the end of the log yet.")]
    replayed_until: Annotated[
        str | None, about("When the last replayed entry of the hindmost shard came in; null before it.")
    ]
    log_until: Annotated[str, about("When the last entry of the log came in.")]

    @classmethod
    def of(cls, shards: int, shards_behind: int, replayed_until: int, log_until: int) -> Self:
        """From instants in microseconds; 0 is the beginning."""
        return cls(
            shards=shards,
            shards_behind=shards_behind,
            replayed_until=format_instant(replayed_until) if replayed_until else None,
            log_until=format_instant(log_until),
        )


ROLE: Final = about("standby, of a node that does not own the log; else absent.")
BEHIND_SECONDS: Final = about(
    "Of a standby: the age of the oldest entry of the log that it lacks; null while Redis does not answer."
)
OWNER: Final = about("Of a standby: the address of the node that owns the log; null while none is known.")


class StandingBy(NamedTuple):
    """Of a node that does not own the log: its role, how far it is behind in seconds, the owner's address."""

    role: str
    behind_s: float | None
    owner: str | None


class ReadinessReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``components`` maps the name of each component to up, down or degraded. ``replay`` is there only while the log is
    replayed after a start, ``degraded_work`` only while background work is degraded, and ``forged_entries`` and
    ``removed_entries`` only when there are any. ``role``, ``behind_seconds`` and ``owner`` are those of a standby,
    which is not ready.
    """

    status: Annotated[str, about("ready, or unavailable.")]
    components: dict[str, str]
    replay: Replay | msgspec.UnsetType = msgspec.UNSET
    degraded_work: Sequence[str] | msgspec.UnsetType = msgspec.UNSET
    forged_entries: int | msgspec.UnsetType = msgspec.UNSET
    removed_entries: int | msgspec.UnsetType = msgspec.UNSET
    role: Annotated[str | msgspec.UnsetType, ROLE] = msgspec.UNSET
    behind_seconds: Annotated[float | msgspec.UnsetType | None, BEHIND_SECONDS] = msgspec.UNSET
    owner: Annotated[str | msgspec.UnsetType | None, OWNER] = msgspec.UNSET


class Readiness:
    """Checks each component; a check that raises counts as down.

    ``degraded_work`` names failing background work. The service stays ready meanwhile: it answers requests, and the
    work restarts by itself. ``forged_entries`` counts the entries of the log that Clearhold did not write, and
    ``removed_entries`` the removed entries of control streams: neither has an effect. The service stays ready
    also while its clock may be wrong.
    """

    def __init__(
        self,
        checks: dict[str, Callable[[], bool]],
        *,
        replay: Callable[[], Replay | None] = lambda: None,
        degraded_work: Callable[[], Sequence[str]] = lambda: (),
        forged_entries: Callable[[], int] = lambda: 0,
        removed_entries: Callable[[], int] = lambda: 0,
        is_clock_doubtful: Callable[[], bool] = lambda: False,
        standing_by: Callable[[], StandingBy | None] = lambda: None,
        kept_s: float = KEPT_S,
    ) -> None:
        self._checks, self._replay, self._degraded_work, self._kept_s = checks, replay, degraded_work, kept_s
        self._forged_entries, self._removed_entries = forged_entries, removed_entries
        self._is_clock_doubtful, self._standing_by = is_clock_doubtful, standing_by
        self._latest: asyncio.Future[ReadinessReport] | None = None
        self._latest_at = 0.0

    def add(self, name: str, check: Callable[[], bool]) -> None:
        self._checks[name] = check

    async def latest(self) -> ReadinessReport:
        """The report for any number of callers: one check at a time, cached for a moment."""
        latest, now = self._latest, monotonic()
        if latest is None or (latest.done() and now - self._latest_at >= self._kept_s):
            latest = self._latest = asyncio.ensure_future(to_thread.run_sync(self.report))
            self._latest_at = now
        return await asyncio.shield(latest)

    def report(self) -> ReadinessReport:
        components = {name: UP if _is_up(check) else DOWN for name, check in self._checks.items()}
        forged = 0
        if components.get(DATABASE) != DOWN:
            try:
                forged = self._forged_entries()
            except Exception:  # noqa: BLE001 - as in ``_is_up``: its table cannot be read
                components[DATABASE] = DOWN
        standing_by = self._standing_by()
        status = READY if standing_by is None and DOWN not in components.values() else UNAVAILABLE
        degraded = self._degraded_work()
        components[BACKGROUND] = DEGRADED if degraded else UP
        removed = self._removed_entries()
        components[LOG] = DEGRADED if forged or removed else UP
        components[CLOCK] = DEGRADED if self._is_clock_doubtful() else UP
        return ReadinessReport(
            status=status,
            components=components,
            replay=self._replay() or msgspec.UNSET,
            degraded_work=degraded or msgspec.UNSET,
            forged_entries=forged or msgspec.UNSET,
            removed_entries=removed or msgspec.UNSET,
            role=msgspec.UNSET if standing_by is None else standing_by.role,
            behind_seconds=msgspec.UNSET if standing_by is None else standing_by.behind_s,
            owner=msgspec.UNSET if standing_by is None else standing_by.owner,
        )


def _is_up(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:  # noqa: BLE001 - whatever a component raises, it is down; its own code logs why
        return False
