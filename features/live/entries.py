"""A live event on its way from the scorer that made it into Redis, beside the rows that are committed. It is in no
table: it can be made again from those rows.
"""

from typing import Final

import msgspec

_BODY: Final = "{"  # ids of programs are UUIDs, and kinds are words


class LiveEntryRow(msgspec.Struct, frozen=True, gc=False):
    """``added`` is the command of Redis that adds the event to its stream; ``newest`` the one that keeps the newest
    score of its actor, under ``newest_key``, both None for other events. The other fields are those of ``LiveEvent``.
    """

    tenant_id: str
    program_id: str
    shard: int
    offset: int
    index: int
    kind: str
    severity: str | None
    band: str | None
    added: str
    newest_key: str | None
    newest: str | None

    @property
    def body(self) -> bytes:
        """The event as JSON."""
        return self.added[self.added.index(_BODY) : -2].encode()
