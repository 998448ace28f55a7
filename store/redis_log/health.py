"""Whether Redis confirms entries and keeps them: an attempt to write, and its settings, which may change while it runs.

A Redis at its memory limit, one that became a replica, one that runs a long script or whose disk fails still answers
reads and refuses writes. One that may evict keys, or does not fsync, confirms entries that it can lose.
"""

from threading import Lock
from typing import Final

import redis
import structlog
from redis.exceptions import RedisError

from clearhold.store.redis_log.connect import unsafe_settings
from clearhold.store.redis_log.replication import CONFIRMED_WITHIN_S, replicated

_PROBE: Final = "log:probe"
_PROBE_KEPT_MS: Final = 60_000

log = structlog.get_logger()


class RedisHealth:
    """For any thread. Logs when the state changes. An entry needs ``replicas`` that confirm it."""

    def __init__(self, client: redis.Redis, *, replicas: int = 0) -> None:
        self._client, self._replicas, self._lock = client, replicas, Lock()
        self._fault: str | None = None

    def keeps_entries(self) -> bool:
        fault = self._fault_now()
        with self._lock:
            if fault != self._fault and fault is not None:
                log.error("redis_does_not_keep_entries", error=fault)
            elif fault != self._fault:
                log.warning("redis_keeps_entries_again")
            self._fault = fault
        return fault is None

    def _fault_now(self) -> str | None:
        try:
            probe = ("SET", _PROBE, b"", "PX", _PROBE_KEPT_MS)
            replicated(self._client, *probe, replicas=self._replicas, within_s=CONFIRMED_WITHIN_S)
            wrong = unsafe_settings(self._client)
        except (RedisError, OSError) as error:
            return f"{type(error).__name__}: {error}"
        return ", ".join(f"{name} is {value or 'unknown'}" for name, value in wrong.items()) or None
