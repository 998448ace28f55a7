"""Hot views in Redis: what happened last, for whoever looks at the live service; all of it can be made again.

``live:{tenant}``        a stream of the newest scored transfers, capped
``view:program:{id}``    a hash: how many transfers the program has, the newest of them, and the log offset it stands at

Errors  the built-in ``ConnectionError`` while Redis is gone or refuses; the next publication brings the newest state
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
import redis
from redis.exceptions import RedisError

LIVE_LENGTH: Final = 1_000
LIVE_AT_ONCE: Final = 100  # of one publication; a feed that moves faster cannot be watched anyway


class LiveScore(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One scored transfer on the live feed; ids, words and numbers only."""

    tenant_id: str
    program_id: str
    transfer_id: str
    rail: str
    direction: str
    amount_cents: str
    score: int | None
    band: str
    scored_at: str


class ProgramView(msgspec.Struct, frozen=True, gc=False):
    """How a program stands after a commit."""

    program_id: str
    offset: int
    transfers: int
    newest_transfer_id: str


def live_key(tenant_id: str) -> str:
    return f"live:{tenant_id}"


def view_key(program_id: str) -> str:
    return f"view:program:{program_id}"


class HotViews:
    """Publishes after a commit, in one round trip."""

    def __init__(self, client: redis.Redis) -> None:
        self._redis = client

    def publish(self, scores: Iterable[LiveScore], programs: Iterable[ProgramView]) -> None:
        """Append to the live feeds and replace the programs' views."""
        pipeline = self._redis.pipeline(transaction=False)
        for score in scores:
            body = msgspec.json.encode(score)
            pipeline.xadd(live_key(score.tenant_id), {"b": body}, maxlen=LIVE_LENGTH, approximate=True)
        for program in programs:
            fields: dict[Any, Any] = {
                "offset": program.offset,
                "transfers": program.transfers,
                "newestTransferId": program.newest_transfer_id,
            }
            pipeline.hset(view_key(program.program_id), mapping=fields)
        try:
            pipeline.execute()
        except RedisError as error:
            raise ConnectionError(f"The views cannot be published: {error}") from error

    def live(self, tenant_id: str, *, newest: int) -> list[LiveScore]:
        """The newest scored transfers of a tenant, newest first."""
        entries: Any = self._redis.xrevrange(live_key(tenant_id), count=newest)
        return [msgspec.json.decode(fields[b"b"], type=LiveScore) for _, fields in entries]

    def program(self, program_id: str) -> ProgramView | None:
        """How the program stands; None when that was never published."""
        found: Any = self._redis.hgetall(view_key(program_id))
        if not found:
            return None
        newest = found[b"newestTransferId"].decode()
        return ProgramView(program_id, int(found[b"offset"]), int(found[b"transfers"]), newest)
