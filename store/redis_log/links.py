"""The stream of links in Redis: ``log:links``, whose ids ``N-0`` are its entries' numbers, and the base behind which it
begins, the hash ``log:links:base``.

Appends and trims are server functions of the owner's epoch. Entries that were read are on the demanded number of
replicas, and so are appended ones when the append returns.

Errors  the client's errors while Redis does not answer, or refuses; ``NotReplicatedError`` without enough replicas;
        ``LostLinksError`` when this Redis lacks entries that were read from it
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from clearhold.store.redis_log.owner import load_library
from clearhold.store.redis_log.replication import CONFIRMED_WITHIN_S, read_replicated, replicated
from clearhold.store.redis_log.writes import OWNER

LINKS: Final = "log:links"
LINKS_BASE: Final = "log:links:base"
_FIELD: Final = "l"
_UPTO: Final = b"upto"


class LostLinksError(RedisConnectionError):
    """Redis has fewer entries than it had, as after a failover that lost some."""


class Ownership(Protocol):
    @property
    def epoch(self) -> int: ...

    def note(self, error: Exception) -> bool:
        """Look at a refusal of Redis: end as a former owner if it says so. True when the functions are gone."""


class RedisLinks:
    """For any thread."""

    def __init__(
        self,
        client: redis.Redis,
        ownership: Ownership | None,
        *,
        replicas: int,
    ) -> None:
        """``client`` belongs to it. Without ``ownership`` it only reads."""
        self._client, self._ownership, self._replicas = client, ownership, replicas

    def base(self) -> tuple[int, dict[str, str]] | None:
        """The number behind which the stream begins, and the ends of the chains there; None before it was begun."""
        fields: dict[bytes, bytes] = self._read("HGETALL", LINKS_BASE)
        if _UPTO not in fields:
            return None
        return int(fields.pop(_UPTO)), {name.decode(): value.decode() for name, value in fields.items()}

    def read(self, after: int, count: int) -> list[tuple[int, bytes]]:
        """The next entries, by number; none at the end."""
        page = self._read("XRANGE", LINKS, f"{after + 1}-0", "+", "COUNT", count)
        return [(_number_of(entry_id), fields[_FIELD.encode()]) for entry_id, fields in page]

    def wait(self, after: int, within_s: float) -> None:
        """Return when there is an entry after this one, or the time is over."""
        block_ms = max(1, int(within_s * 1_000))
        self._client.execute_command("XREAD", "COUNT", 1, "BLOCK", block_ms, "STREAMS", LINKS, f"{after}-0")

    def append(self, after: int | None, entries: Sequence[bytes]) -> bool:
        """Append for the owner alone; False, and nothing is appended, unless ``after`` is the last entry or None."""
        last = int(self._call("clearhold_append_links", (OWNER, LINKS), "" if after is None else after, *entries))
        if after is None:
            return True
        if last < after:
            raise LostLinksError(f"The log of links in Redis ends with entry {last}; it had {after}.")
        return last == after

    def trim(self, upto: int, heads: Mapping[str, str]) -> None:
        """Drop the entries up to a number, and keep the ends of the chains behind them; for the owner alone."""
        pairs = (part for pair in heads.items() for part in pair)
        self._call("clearhold_trim_links", (OWNER, LINKS, LINKS_BASE), upto, *pairs)

    def _read(self, *command: str | int) -> Any:
        return read_replicated(self._client, *command, replicas=self._replicas, within_s=CONFIRMED_WITHIN_S)

    def _call(self, function: str, keys: Sequence[str], *arguments: str | int | bytes) -> Any:
        if self._ownership is None:
            raise ValueError("This process does not own the log.")
        call = ("FCALL", function, len(keys), *keys, self._ownership.epoch, *arguments)
        try:
            return replicated(self._client, *call, replicas=self._replicas, within_s=CONFIRMED_WITHIN_S)
        except ResponseError as error:
            if self._ownership.note(error):
                load_library(self._client)
            raise


def _number_of(entry_id: bytes) -> int:
    return int(entry_id.partition(b"-")[0])
