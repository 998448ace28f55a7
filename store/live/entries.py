"""An entry of a stream as the service writes it: its command, finished, and the newest score that it brings.

Scorers make entries beside the rows that they are of, since the service answers requests with the same interpreter
that would make them. Rows that are read back from the tables are made into the same entries.
"""

from functools import lru_cache
from typing import Final

import msgspec
import pyarrow.compute as pc

from clearhold.features.core.rows.events import TransferRow
from clearhold.features.live.entries import LiveEntryRow
from clearhold.features.live.events import LIVE_COLUMNS, LIVE_KINDS, LiveRows, marked_simulated
from clearhold.features.live.payloads import LiveActorScore, LiveEvent, LiveKind
from clearhold.store.redis_log.pipeline import command
from clearhold.store.redis_log.reader import SEQ_BITS, SEQ_LIMIT
from clearhold.store.tables import RowTables, columns_by_type

_PROGRAM: Final = "program"
_TRANSFERS: Final = TransferRow.__name__
_KINDS: Final = tuple(kind.__name__ for kind in LIVE_KINDS)
_FIELDS_OF: Final = {kind: f"$4\r\nkind\r\n${len(kind)}\r\n{kind}\r\n$5\r\nevent\r\n$" for kind in LiveKind}


def stream_key(program_id: str) -> str:
    return f"out:{program_id}"


def latest_key(subject_type: str, program_id: str, subject_id: str) -> str:
    place = f"latest:{subject_type}:{program_id}"
    return place if subject_type == _PROGRAM else f"{place}:{subject_id}"


def entry_id(offset: int, index: int) -> str:
    return f"{offset >> SEQ_BITS}-{(offset & (SEQ_LIMIT - 1)) << SEQ_BITS | index}"


def live_columns(rows: RowTables) -> LiveRows:
    """The rows that have events; versions of transfers without a new score, about half of a commit's, are left out as
    columns.
    """
    transfers = rows.get(_TRANSFERS)
    if transfers is not None:
        has_own = pc.equal(transfers["scored_offset"], transfers["offset"])
        rows = {**rows, _TRANSFERS: transfers.select(LIVE_COLUMNS[TransferRow]).filter(has_own)}
    return columns_by_type(rows, LIVE_COLUMNS)


def count_of_events(rows: RowTables) -> int:
    """The number of the rows' events."""
    counts = {kind: rows[kind].num_rows for kind in _KINDS if kind in rows}
    if _TRANSFERS in rows:
        offsets = rows[_TRANSFERS]["offset"]
        counts[_TRANSFERS] = len(offsets.filter(pc.equal(rows[_TRANSFERS]["scored_offset"], offsets)))
    return sum(counts.values())


def entry_of(event: LiveEvent) -> LiveEntryRow:
    """The entry of an event."""
    program_id, data = event.program_id, event.data
    newest_key = newest = None
    if isinstance(data, LiveActorScore):
        newest_key = latest_key(data.subject_type, program_id, data.subject_id)
        newest = command("HSET", newest_key, *_fields_of(data)).decode()
    return LiveEntryRow(
        event.tenant_id,
        program_id,
        event.shard,
        event.offset,
        event.index,
        event.kind,
        event.severity,
        event.band,
        _added(program_id, event.offset, event.index, event.kind, event.body),
        newest_key,
        newest,
    )


def simulated(entry: LiveEntryRow) -> LiveEntryRow:
    """The entry with the mark of a simulated program."""
    body = marked_simulated(entry.body)
    added = _added(entry.program_id, entry.offset, entry.index, LiveKind(entry.kind), body)
    return msgspec.structs.replace(entry, added=added)


def _added(program_id: str, offset: int, index: int, kind: LiveKind, body: bytes) -> str:
    """The command that adds an entry with two fields."""
    entry = entry_id(offset, index)
    return f"{_head_of(program_id)}{len(entry)}\r\n{entry}\r\n{_FIELDS_OF[kind]}{len(body)}\r\n{body.decode()}\r\n"


@lru_cache(maxsize=4_096)
def _head_of(program_id: str) -> str:
    """The beginning of a command that adds an entry, up to the length of its id."""
    key = stream_key(program_id)
    return f"*7\r\n$4\r\nXADD\r\n${len(key.encode())}\r\n{key}\r\n$"


def _fields_of(score: LiveActorScore) -> tuple[str | int, ...]:
    """Names and values; an empty text is null."""
    return (
        *("score", "" if score.score is None else score.score),
        *("band", score.band),
        *("n", score.n),
        *("confidence", "" if score.confidence is None else repr(score.confidence)),
        *("version", score.version),
        *("at", score.scored_at),
    )
