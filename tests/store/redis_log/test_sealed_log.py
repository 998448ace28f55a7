"""Entries that Clearhold appended are read as genuine. Forged ones are marked in a shard, and left out of a control
stream.
"""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from structlog.testing import capture_logs

from clearhold.features.core.log_entry import FORGED, EntryKind, LogEntry
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.shard.shard import ShardState
from clearhold.store.control.entries import ControlKind
from clearhold.store.lake.log_segments import ControlCopy, LogSegments, Segmenter
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_async
from clearhold.store.redis_log.reader import LogReader, control_key, offset_of, shard_key, stream_id_of
from clearhold.store.redis_log.writes import ToProgram
from clearhold.store.seals import EntrySeals
from tests.support.clock import T0

SHARD = 2
SEALS = EntrySeals.under(bytes(range(32)))
SEALED = [kind for kind in EntryKind if kind is not EntryKind.BANK]

pytestmark = pytest.mark.anyio


@pytest.fixture
async def appender(redis_server: EmbeddedRedis, log_redis: Redis) -> AsyncIterator[LogAppender]:  # noqa: ARG001
    client = connect_async(redis_server.socket_path)
    yield LogAppender(client, shards=4, seals=SEALS)
    await client.aclose()


def in_shard(redis: Redis) -> list[LogEntry]:
    return LogReader(redis, [SHARD], seals=SEALS).range(SHARD, 0, 2**62, count=99)


def fields_of(redis: Redis, key: str) -> list[dict[bytes, bytes]]:
    found: Any = redis.xrange(key)
    return [fields for _, fields in found]


def add(redis: Redis, key: str, fields: Any) -> int:
    stream_id: Any = redis.xadd(key, fields)
    return offset_of(stream_id)


async def test_given_entries_of_every_kind_when_read_then_all_are_genuine_and_only_bank_events_have_no_seal(
    appender: LogAppender, log_redis: Redis
) -> None:
    for kind in EntryKind:
        await appender.append(SHARD, kind, "prg_1", T0, b"{}")
    await appender.append_events(SHARD, "prg_1", T0, [b"{}", b"{ }"], kind=EntryKind.AGENT)
    to_programs = [ToProgram(SHARD, EntryKind.PROGRAM, "prg_1", b"{}")]
    await appender.append_control("ten_1", ControlKind.PROGRAM, T0, b"{}", to_programs=to_programs)

    entries = in_shard(log_redis)
    (read,) = LogReader(log_redis, [SHARD], seals=SEALS).read({}, count=99, block_ms=0)
    control = list(LogReader(log_redis, [], seals=SEALS).control())

    assert read == (SHARD, entries)
    assert len(entries) == len(EntryKind) + 3
    assert not any(entry.is_forged for entry in entries)
    assert {entry.kind for entry in entries if not entry.seal} == {"bank"}
    assert [entry[2:] for entry in control] == [("program", T0, b"{}")]


@pytest.mark.parametrize("kind", SEALED)
async def test_given_a_forged_entry_of_each_kind_when_applied_then_it_is_quarantined_and_changes_nothing(
    log_redis: Redis, kind: EntryKind
) -> None:
    add(log_redis, shard_key(SHARD), {"k": kind.value, "p": "prg_1", "t": T0, "b": b"{}"})
    state, rows = ShardState(SHARD), list[Any]()
    before = list(state.dump())

    (entry,) = in_shard(log_redis)
    state.apply(entry, rows.append)

    assert rows == [QuarantineRow("prg_1", SHARD, entry.offset, kind.value, T0, FORGED)]
    state.applied_offset = 0
    assert list(state.dump()) == before


@pytest.mark.parametrize(
    "change",
    [{b"p": b"prg_2"}, {b"k": b"label"}, {b"t": b"%d" % (T0 + 1)}, {b"b": b'{"a":1}'}, {b"s": b""}],
    ids=["program", "kind", "time", "body", "seal"],
)
async def test_given_a_copy_of_a_genuine_entry_that_differs_when_read_then_only_the_copy_is_forged(
    appender: LogAppender, log_redis: Redis, change: dict[bytes, bytes]
) -> None:
    await appender.append(SHARD, EntryKind.DECISION, "prg_1", T0, b"{}")
    (fields,) = fields_of(log_redis, shard_key(SHARD))
    add(log_redis, shard_key(SHARD), fields | change)
    add(log_redis, shard_key(1), fields)

    elsewhere = LogReader(log_redis, [1], seals=SEALS).range(1, 0, 2**62, count=9)

    assert [entry.is_forged for entry in (*in_shard(log_redis), *elsewhere)] == [False, True, True]


@pytest.mark.parametrize(
    "fields",
    [
        {"x": "y"},
        {"k": "bank", "p": "prg_1", "t": "yesterday", "b": "{}"},
        {"k": "bank", "p": "prg_1", "t": "-1", "b": "{}"},
        {"k": "bank", "p": "prg_1", "t": "9" * 30, "b": "{}"},
        {"k": b"\xff", "p": "prg_1", "t": "1", "b": "{}"},
    ],
)
async def test_given_an_entry_that_cannot_be_read_when_read_then_it_is_forged_and_the_next_one_comes(
    appender: LogAppender, log_redis: Redis, tmp_path: Path, fields: Any
) -> None:
    add(log_redis, shard_key(SHARD), fields)
    await appender.append(SHARD, EntryKind.TICK, "", T0, b"")

    entries = in_shard(log_redis)
    plain, segments = LogReader(log_redis, [SHARD]), LogSegments(tmp_path, seals=SEALS)
    Segmenter(plain, segments, linger_ms=0).run_once(SHARD, entries[-1].offset, 0)

    assert [(entry.kind, entry.is_forged) for entry in entries] == [("unreadable", True), ("tick", False)]
    assert list(segments.shard(SHARD).read(0)) == entries


@pytest.mark.parametrize(
    "reads",
    [
        lambda reader: reader.read({}, count=9, block_ms=0),
        lambda reader: reader.range(SHARD, 0, 2**62, count=9),
    ],
    ids=["read", "range"],
)
async def test_given_forged_entries_of_a_shard_when_read_then_a_line_of_the_log_names_each_and_no_other(
    appender: LogAppender, log_redis: Redis, reads: Callable[[LogReader], object]
) -> None:
    await appender.append(SHARD, EntryKind.DECISION, "prg_1", T0, b"{}")
    (sealed,) = fields_of(log_redis, shard_key(SHARD))
    unsealed = {key: sealed[key] for key in (b"k", b"p", b"t", b"b")}
    forged = [
        ("forged_entry", shard_key(SHARD), add(log_redis, shard_key(SHARD), fields), kind)
        for fields, kind in (
            (unsealed, "decision"),
            (sealed | {b"k": b"policy"}, "policy"),
            ({"x": "y"}, "unreadable"),
        )
    ]
    add(log_redis, shard_key(SHARD), {"k": "bank", "p": "prg_1", "t": T0, "b": b"{}"})

    with capture_logs() as lines:
        reads(LogReader(log_redis, [SHARD], seals=SEALS))

    assert [(line["event"], line["stream"], line["offset"], line["kind"]) for line in lines] == forged


def applied(state: ShardState, entries: list[LogEntry]) -> list[tuple[str, int]]:
    """Kind and offset of the entries that were quarantined as forged."""
    rows = list[Any]()
    for entry in entries:
        if entry.offset > state.applied_offset:
            state.apply(entry, rows.append)
    return [(row.kind, row.offset) for row in rows if isinstance(row, QuarantineRow) and row.error == FORGED]


@pytest.mark.parametrize("kind", SEALED)
async def test_given_a_genuine_entry_of_each_kind_when_repeated_then_only_the_copy_is_forged_also_after_a_reload(
    appender: LogAppender, log_redis: Redis, kind: EntryKind
) -> None:
    await appender.append(SHARD, kind, "prg_1", T0, b"{}")
    (fields,) = fields_of(log_redis, shard_key(SHARD))
    at_once = add(log_redis, shard_key(SHARD), fields)
    await appender.append(SHARD, kind, "prg_1", T0, b"{}")  # equal, and ours
    later = add(log_redis, shard_key(SHARD), fields)
    state = ShardState(SHARD)

    assert applied(state, in_shard(log_redis)) == [(kind, at_once), (kind, later)]
    reloaded = ShardState.loaded(iter(list(state.dump())))
    after_reload = add(log_redis, shard_key(SHARD), fields)
    await appender.append(SHARD, kind, "prg_1", T0, b"{}")
    assert applied(reloaded, in_shard(log_redis)) == [(kind, after_reload)]


async def test_given_an_entry_that_was_moved_behind_later_ones_when_applied_then_it_is_forged(
    appender: LogAppender, log_redis: Redis
) -> None:
    moved = await appender.append(SHARD, EntryKind.LABEL, "prg_1", T0, b"{}")
    await appender.append(SHARD, EntryKind.PROGRAM, "prg_2", T0, b"{}")
    fields, _ = fields_of(log_redis, shard_key(SHARD))
    log_redis.xdel(shard_key(SHARD), stream_id_of(moved))
    again = add(log_redis, shard_key(SHARD), fields)

    assert applied(ShardState(SHARD), in_shard(log_redis)) == [("label", again)]


async def test_given_a_bank_event_with_a_seal_when_applied_then_entries_after_it_are_still_ours(
    appender: LogAppender, log_redis: Redis, tmp_path: Path
) -> None:
    fields = {"k": "bank", "p": "prg_1", "t": T0, "b": b"{}", "s": b"\xff" * 24}
    add(log_redis, shard_key(SHARD), fields)
    await appender.append(SHARD, EntryKind.TICK, "", T0, b"")
    segments = LogSegments(tmp_path, seals=SEALS)
    Segmenter(LogReader(log_redis, [SHARD]), segments, linger_ms=0).run_once(SHARD, in_shard(log_redis)[-1].offset, 0)

    for entries in (in_shard(log_redis), list(segments.shard(SHARD).read(0))):
        assert applied(ShardState(SHARD), entries) == []


@pytest.mark.parametrize("ahead", [0, 5, 2**62 - 2**30])
async def test_given_a_later_process_when_it_appends_then_its_entries_are_ours_also_while_the_clock_is_behind(
    redis_server: EmbeddedRedis, log_redis: Redis, ahead: int
) -> None:
    """``ahead``: entries that were never confirmed have used up numbers, so these are above the offsets."""
    async with connect_async(redis_server.socket_path) as client:
        log_redis.xadd(shard_key(SHARD), {"k": "bank", "p": "", "t": T0, "b": b""}, id=stream_id_of(2**61))
        reader, numbers = LogReader(log_redis, [SHARD], seals=SEALS), [2**61 + ahead] * 4
        await LogAppender(client, shards=4, seals=SEALS, numbers=numbers).append(SHARD, EntryKind.TICK, "", T0, b"")
        for kind in ("bank", "decision"):
            add(log_redis, shard_key(SHARD), {"k": kind, "p": "prg_1", "t": T0, "b": b"{}"})

        numbers = [reader.newest_number(shard) for shard in range(4)]
        await LogAppender(client, shards=4, seals=SEALS, numbers=numbers).append(SHARD, EntryKind.TICK, "", T0, b"")

        (forged,) = applied(ShardState(SHARD), in_shard(log_redis))
        assert forged[0] == "decision"
        assert [numbers[0], numbers[SHARD]] == [0, max(2**61 + ahead + 1, 2**61 + 3)]


async def test_given_forged_entries_when_moved_into_segments_then_they_are_forged_there_too(
    appender: LogAppender, log_redis: Redis, tmp_path: Path
) -> None:
    await appender.append(SHARD, EntryKind.DECISION, "prg_1", T0, b"{}")
    (fields,) = fields_of(log_redis, shard_key(SHARD))
    add(log_redis, shard_key(SHARD), fields | {b"p": b"prg_2"})
    await appender.append(SHARD, EntryKind.BANK, "prg_1", T0, b"{}")
    entries, segments = in_shard(log_redis), LogSegments(tmp_path, seals=SEALS)

    Segmenter(LogReader(log_redis, [SHARD]), segments, linger_ms=0).run_once(SHARD, entries[-1].offset, 0)

    assert [entry.is_forged for entry in entries] == [False, True, False]
    assert list(segments.shard(SHARD).read(0)) == entries
    assert segments.shard(SHARD).find_all([entry.offset for entry in entries]) == entries


async def test_given_forged_and_repeated_control_entries_when_read_then_only_genuine_ones_count_and_the_lake_keeps_all(
    appender: LogAppender, log_redis: Redis, tmp_path: Path
) -> None:
    for tenant, body in (("ten_1", b'{"a":1}'), ("ten_1", b'{"a":2}'), ("ten_2", b'{"a":3}')):
        await appender.append_control(tenant, ControlKind.API_KEY, T0, body)
    first, _ = fields_of(log_redis, control_key("ten_1"))
    reader, segments = LogReader(log_redis, [], seals=SEALS), LogSegments(tmp_path, seals=SEALS)
    before = list(reader.control())
    forged = {
        ("ten_1", add(log_redis, control_key("ten_1"), first)),  # the same again
        ("ten_1", add(log_redis, control_key("ten_1"), {key: first[key] for key in (b"k", b"p", b"t", b"b")})),
        ("ten_1", add(log_redis, control_key("ten_1"), first | {b"k": b"operator_token"})),
        ("ten_2", add(log_redis, control_key("ten_2"), first)),
    }

    ControlCopy(reader, segments).copy_all()

    assert len(before) == 3
    assert reader.forged_control == forged
    for each in (reader, LogReader(log_redis, [], seals=SEALS)):
        assert list(each.control()) == before
        assert each.forged_control == forged
    assert len(list(segments.control("ten_1").read(0))) == 5
