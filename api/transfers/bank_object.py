"""The bank's object of a stored transfer, from the log or its copy; for a settlement the scan index's item.

Errors  NotFoundError when it is lost with a part of the log; UnavailableError while the log cannot be read
"""

from typing import Final

import msgspec

from clearhold.features.core.errors import ErrorCode, NotFoundError, UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.transfers import TransferRow
from clearhold.store.lake.raw_events import RawEvents

UNREADABLE: Final = "The bank's object cannot be read at the moment. Try again."
LOST: Final = "The bank's object of this transfer is lost with a part of the log; lists and exports have the transfer."


class _Delivered(msgspec.Struct, frozen=True):
    """The object in a bank event."""

    data: msgspec.Raw = msgspec.Raw(b"{}")


_DELIVERED: Final = msgspec.json.Decoder(_Delivered)


def object_of(raw_events: RawEvents, row: TransferRow) -> bytes:
    """The object as JSON, from the entry of this version of the transfer; for a worker thread."""
    try:
        entry = raw_events.entry(row.shard, row.raw_offset)
    except ConnectionError as error:
        raise UnavailableError(UNREADABLE) from error
    if entry is None:
        raise NotFoundError(LOST, ErrorCode.OBJECT_LOST)
    return entry.body if entry.kind == EntryKind.SETTLEMENT else bytes(_DELIVERED.decode(entry.body).data)
