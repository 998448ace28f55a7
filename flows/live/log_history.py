"""Whether a position in the feed is of this log, or of a log whose backup this one was restored from.

A restored log has its ancestor's entries up to the backup, and then others. Offsets are times, so after a while every
offset of the ancestor is below the newest one here: the offset alone does not tell the two apart.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from clearhold.flows.live.positions import Position
from clearhold.store.data_dir import LogAncestor

_MARK_BYTES: Final = 6


def log_mark(log_id: str) -> str:
    """Eight characters that name a log."""
    return urlsafe_b64encode(sha256(log_id.encode()).digest()[:_MARK_BYTES]).decode()


class LogHistory:
    """``mark`` names the log of the data directory."""

    def __init__(self, log_id: str, ancestors: Iterable[LogAncestor] = ()) -> None:
        self.mark = log_mark(log_id)
        self._until = {log_mark(each.log_id): each.until for each in ancestors}

    def has(self, position: Position) -> bool:
        """Whether all that was read up to the position is in this log, too."""
        if position.log == self.mark:
            return True
        until = self._until.get(position.log)
        return until is not None and all(place.offset <= until[shard] for shard, place in position.places.items())
