"""The answer of a snapshot."""

import msgspec


class SnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``snapshot_id`` is that of the snapshot, which the program report shows."""

    snapshot_id: str
