"""Accepted holes in the log: a file in the lake, so that an operator is asked once about each.

File    ``lake/accepted-losses.ndjson``
"""

from pathlib import Path
from typing import Final

import msgspec

from clearhold.store.errors import StartupError
from clearhold.store.record.chain_file import append_durably, cut_torn_line

FILE: Final = "accepted-losses.ndjson"


class Hole(msgspec.Struct, frozen=True, kw_only=True, rename="camel", order=True):
    """Of ``stream``, the entries with ``after`` < offset <= ``upto`` are missing.

    A stream is named after its folder in the lake: ``shard=03`` or ``tenant=<id>``.
    """

    stream: str
    after: int
    upto: int

    def covers(self, other: "Hole") -> bool:
        return self.stream == other.stream and self.after <= other.after and other.upto <= self.upto

    def holds(self, offset: int) -> bool:
        return self.after < offset <= self.upto


class AcceptedLosses:
    """Read when opened; appended durably."""

    def __init__(self, lake_dir: Path, *, tidies: bool = True) -> None:
        """``tidies`` for the one process that may remove leftovers of a crash."""
        self._path = lake_dir / FILE
        if tidies:
            cut_torn_line(self._path)
        try:
            content = self._path.read_bytes() if self._path.exists() else b""
            self.holes = tuple(msgspec.json.Decoder(Hole).decode_lines(content))
        except msgspec.MsgspecError as error:
            raise StartupError(f"{self._path} is damaged: {error}.") from error

    def accept(self, hole: Hole) -> None:
        append_durably(self._path, msgspec.json.encode(hole) + b"\n")
        self.holes = (*self.holes, hole)

    def unaccepted(self, holes: list[Hole]) -> list[Hole]:
        return [hole for hole in holes if not any(accepted.covers(hole) for accepted in self.holes)]
