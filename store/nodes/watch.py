"""A standby's look at the owner of the log: who it is, and for how long it has been silent by the standby's own clock.

The silence counts only over looks that were answered. While Redis is away the owner cannot renew either, and has its
full time again when Redis is back.

Errors  the client's errors while Redis does not answer
"""

from typing import NamedTuple

import redis

from clearhold.store.redis_log.owner import LIVE_S, now_s
from clearhold.store.redis_log.writes import FENCES, OWNER


class SeenOwner(NamedTuple):
    """The owner as Redis has it; without one ``node`` and ``address`` are empty. ``is_free``: it has released the log,
    or handed it to this node, or has been silent for too long. ``fences`` counts the services that ended as former
    owners.
    """

    node: str
    address: str
    beat: bytes
    silent_s: float
    is_free: bool
    fences: int = 0


class OwnerWatch:
    """For one thread at a time."""

    def __init__(self, client: redis.Redis, node: str, *, live_s: float = LIVE_S) -> None:
        """``node`` is the one that watches."""
        self._client, self._node, self._live_s = client, node, live_s
        self._beat: bytes | None = None
        self._since = 0.0

    def look(self) -> SeenOwner:
        """Look now; call it often, because a beat is known from the look that found it."""
        known, self._beat = self._beat, None  # a look that fails begins a new silence
        fields: list[bytes | None] = self._client.execute_command(
            "HMGET", OWNER, "node", "address", "beat", "seen", FENCES
        )
        now, (node, address, beat, seen, fences) = now_s(), (field or b"" for field in fields)
        if beat != known:
            self._since = now
        self._beat, silent_s = beat, now - self._since
        name = node.decode()
        is_free = seen == b"0" or name == self._node or silent_s > self._live_s
        return SeenOwner(name, address.decode(), beat, silent_s, is_free, int(fences or 0))
