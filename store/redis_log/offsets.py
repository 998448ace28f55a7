"""Offsets of the log: a Redis stream id ``ms-seq`` as the integer ``ms << 20 | seq``, which fits 63 bits until 2248.

Errors  ``ValueError`` for an id that has no offset
"""

from typing import Final

SEQ_BITS: Final = 20
SEQ_LIMIT: Final = 1 << SEQ_BITS
_MS_LIMIT: Final = 1 << (63 - SEQ_BITS)


def offset_of(stream_id: bytes | str) -> int:
    text = stream_id if isinstance(stream_id, bytes) else stream_id.encode("ascii")
    ms_text, _, seq_text = text.partition(b"-")
    ms, seq = int(ms_text), int(seq_text)
    if not 0 <= ms < _MS_LIMIT or not 0 <= seq < SEQ_LIMIT:
        raise ValueError(f"The stream id {text.decode()} has no offset: its parts must be below 2**43 and 2**20.")
    return ms << SEQ_BITS | seq


def stream_id_of(offset: int) -> str:
    if offset < 0:
        raise ValueError(f"An offset is not negative: {offset}.")
    return f"{offset >> SEQ_BITS}-{offset & (SEQ_LIMIT - 1)}"


def log_time_of(offset: int) -> int:
    """The time at which Redis took the entry, in microseconds, to the millisecond."""
    return (offset >> SEQ_BITS) * 1_000
