"""A log entry as a record of Kafka: the fields that it has in Redis, as headers, and the body as the value.

partition   the shard
key         none: a topic without keys cannot be compacted, and a broker that compacts refuses records without one
value       the body, byte for byte
headers     ``k`` kind, ``p`` program, ``t`` microseconds at which it was appended, all as text
timestamp   for people; it counts only for a record without ``t``
offset      an entry's is its record's plus one: offset 0 is before the first entry, and an entry's offset is the
            record's position from which reading goes on. Offsets grow; some may have no entry
"""

from typing import Final

from confluent_kafka import Message

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.redis_log.keys import FIELD_APPENDED_AT, FIELD_KIND, FIELD_PROGRAM

UNREADABLE: Final = "unreadable"
"""The kind of an entry made of a record that is none. The shard sets it aside, as any kind that it does not know."""

_KIND: Final = FIELD_KIND.decode()
_PROGRAM: Final = FIELD_PROGRAM.decode()
_APPENDED_AT: Final = FIELD_APPENDED_AT.decode()
_US_PER_MS: Final = 1_000


def entry_of(shard: int, message: Message) -> LogEntry:
    """The entry; of kind ``UNREADABLE`` for a record without a kind, or with a header that cannot be read."""
    offset, body = offset_after(message), message.value() or b""
    _, timestamp_ms = message.timestamp()
    stamped_at = max(0, timestamp_ms) * _US_PER_MS
    try:
        headers = {name: _text(value) for name, value in dict(message.headers() or ()).items()}
        appended_at = int(headers.get(_APPENDED_AT, stamped_at))
        return LogEntry(shard, offset, headers[_KIND], headers.get(_PROGRAM, ""), appended_at, body)
    except (KeyError, ValueError):
        return LogEntry(shard, offset, UNREADABLE, "", stamped_at, body)


def offset_after(message: Message) -> int:
    """The offset of the record's entry: where the next record may stand."""
    offset = message.offset()
    assert offset is not None  # only a message that was not sent yet has none
    return offset + 1


def _text(value: str | bytes | None) -> str:
    return value.decode() if isinstance(value, bytes) else value or ""
