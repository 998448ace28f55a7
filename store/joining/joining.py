"""Brings directory, log and database together before the service starts, and checks an existing record.

It stops for places of different logs, and for streams that do not join up. With ``accept_loss`` it continues despite
losses: Redis gets its missing entries from the lake, and each tenant's record gets a link that names the loss. Of the
record it checks the keys that signed it, and the results of the newest decisions. A checkpoint covers earlier links.
Later decisions, and steps of actions, are still in the log's newest part, so a deleted row or link of one is detected
there.

Errors  ``StartupError``, one sentence that says what to do; ``DamagedSegmentError``
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import structlog

from clearhold.features.core.entries.commands import EntryResult, LossEntry
from clearhold.features.core.log_entry import EntryKind, LogEntry, shard_of
from clearhold.features.core.principal import Program
from clearhold.store.clock import Clock
from clearhold.store.control.entries import ControlKind
from clearhold.store.data_dir import DataDir
from clearhold.store.duck.database import committed_offsets
from clearhold.store.errors import StartupError
from clearhold.store.ids import new_id
from clearhold.store.joining.agreement import (
    AcceptedLosses,
    Hole,
    LogInRedis,
    StreamEnds,
    check_database,
    check_redis,
    control_ends,
    has_history_in,
    mark_database,
    sentence_of,
    shard_ends,
)
from clearhold.store.keys import KeyPurpose, SecretBox, SigningKeys
from clearhold.store.lake.log_segments import ControlCopy, LogSegments
from clearhold.store.nodes.shared_keys import KeysInLog, opened_keys
from clearhold.store.record.checkpoints import CheckpointLog
from clearhold.store.record.signed_trees import NoteError, opened_note
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.fields import entry_fields
from clearhold.store.redis_log.reader import (
    TENANTS,
    TRIMMED,
    LogReader,
    control_key,
    shard_key,
    stream_id_of,
)

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

PAGE_ENTRIES: Final = 5_000
_HAS_LINKS: Final = "SELECT count(*) > 0 FROM record_chain"
_NEWEST_NOTES: Final = """
    SELECT tenant_id, chain, arg_max(note, created_at) FROM record_checkpoints GROUP BY ALL ORDER BY ALL
"""
_WHOLE: Final = f"""
    SELECT id FROM decision_results r WHERE id = ? AND (result <> '{EntryResult.MADE}' OR {{has_rows}})
    UNION ALL SELECT 'quarantined' FROM quarantine WHERE shard = ? AND "offset" = ?
"""
_HAS_DISPOSITION: Final = """
    (disposition_id IN (SELECT id FROM record_chain) AND disposition_id IN (SELECT id FROM dispositions))
"""
_STEPS: Final = (EntryKind.ACTION, EntryKind.APPROVAL, EntryKind.OUTCOME)
_HAS_STEP: Final = """
    ((shard, "offset") IN (SELECT (shard, "offset") FROM record_chain WHERE chain = 'actions')
        AND (shard, "offset") IN (SELECT (shard, "offset") FROM actions))
"""
_HAS_DISPOSITIONS: Final = f"""
    NOT EXISTS (
        SELECT 1 FROM decision_results WHERE (shard, "offset") = (r.shard, r."offset")
        AND disposition_id IS NOT NULL AND NOT {_HAS_DISPOSITION}
    )
"""
_HAS_NOTE: Final = "(id IN (SELECT id FROM record_chain) AND id IN (SELECT id FROM alert_notes))"
_WHOLE_BY_KIND: Final[Mapping[str, str]] = {
    EntryKind.DECISION: _WHOLE.format(has_rows=_HAS_DISPOSITION),
    EntryKind.NOTE: _WHOLE.format(has_rows=_HAS_NOTE),
    EntryKind.DECISIONS: _WHOLE.format(has_rows=_HAS_DISPOSITIONS),
    **dict.fromkeys(_STEPS, _WHOLE.format(has_rows=_HAS_STEP)),
}


class _WithId(msgspec.Struct):
    id: str


_ID: Final = msgspec.json.Decoder(_WithId)


def open_signing_keys(
    data_dir: DataDir,
    database: duckdb.DuckDBPyConnection,
    *,
    box: SecretBox,
    clock: Clock,
    in_log: KeysInLog | None = None,
) -> SigningKeys:
    """The keys that sign the record, minted only if there are no keys yet."""
    path = data_dir.signing_keys_path
    CheckpointLog(database, data_dir.record_dir).open()
    with database.cursor() as cursor:
        notes = cursor.execute(_NEWEST_NOTES).fetchall()
        (has_links,) = cursor.execute(_HAS_LINKS).fetchall()[0]
    if (notes or has_links) and not path.exists():
        raise StartupError(
            f"{path} is missing, and the record of {data_dir.path} was signed with its keys. Put your copy of it back."
        )
    keys = opened_keys(path, box=box, clock=clock, in_log=in_log)
    public_keys = keys.public_keys(KeyPurpose.CHECKPOINT)
    for tenant_id, chain, note in notes:
        try:
            opened_note(note, public_keys)
        except NoteError as error:
            raise StartupError(
                f"{path} does not hold the key that signed the chain {chain} of tenant {tenant_id}. Put your copy of "
                "that file back."
            ) from error
    keys.create(KeyPurpose)
    return keys


def check_decisions(reader: LogReader, database: duckdb.DuckDBPyConnection, committed: Mapping[int, int]) -> None:
    """Each committed decision, note, and step of an action, that Redis still has must have its result, and a successful
    one its row and link.
    """
    for shard, upto in committed.items():
        for entry in reader.entries(shard, 0, upto, page=PAGE_ENTRIES):
            if entry.kind in _WHOLE_BY_KIND and not _is_whole(database, entry):
                noun = "a step of an action" if entry.kind in _STEPS else "a decision"
                noun = "a note" if entry.kind == EntryKind.NOTE else noun
                raise StartupError(
                    f"The log holds {noun}, at {entry.offset} of shard {shard}, that database and record do not: "
                    "rows were deleted. Run clearhold rebuild --data DIR, which makes them again from the log."
                )


def _is_whole(database: duckdb.DuckDBPyConnection, entry: LogEntry) -> bool:
    try:
        decision_id = _ID.decode(entry.body).id
    except msgspec.MsgspecError:
        decision_id = ""  # then it was quarantined
    with database.cursor() as cursor:
        values = [decision_id, entry.shard, entry.offset]
        return bool(cursor.execute(_WHOLE_BY_KIND[entry.kind], values).fetchall())


def _loss(program: Program, hole: Hole, now: int) -> bytes:
    return msgspec.json.encode(
        LossEntry(
            id=new_id(),
            tenant_id=program.tenant_id,
            stream=hole.stream,
            after=stream_id_of(hole.after),
            upto=stream_id_of(hole.upto),
            accepted_at=now,
        )
    )


log = structlog.get_logger()


def join_log(
    data_dir: DataDir,
    target: str | Path,
    database: duckdb.DuckDBPyConnection,
    segments: LogSegments,
    *,
    clock: Clock,
    accept_loss: bool,
) -> None:
    """Make sure that the Redis at ``target`` and the database have the directory's whole log."""
    check_database(data_dir, database)
    joining = Joining(data_dir, target, segments, clock=clock, accept_loss=accept_loss)
    committed = committed_offsets(database)
    joining.join(committed, has_history=has_history_in(data_dir, database))
    with closing(connect_sync(target)) as client:
        check_decisions(LogReader(client, range(data_dir.shards)), database, committed)
    mark_database(database, data_dir.identity)  # Last, because it counts as a history.


class Joining:
    """The log of one directory, in its Redis and its lake; the only writer to that Redis."""

    def __init__(
        self, data_dir: DataDir, target: str | Path, segments: LogSegments, *, clock: Clock, accept_loss: bool
    ) -> None:
        self._data_dir, self._target, self._segments = data_dir, target, segments
        self._clock, self._accept_loss = clock, accept_loss
        self._redis_name, self._seals = name_of(data_dir, target), data_dir.entry_seals()

    def join(self, committed: Mapping[int, int], *, has_history: bool) -> None:
        """``committed`` are the offsets of the database, if there is one."""
        with closing(connect_sync(self._target)) as client:
            in_redis = LogInRedis(client, self._redis_name)
            check_redis(self._data_dir, in_redis, has_history=has_history, accept_loss=self._accept_loss)
            reader = LogReader(client, range(self._data_dir.shards))
            self._join_streams(reader, committed)
            in_redis.claim(self._data_dir.identity)

    def _join_streams(self, reader: LogReader, committed: Mapping[int, int]) -> None:
        self._rewrite_control(reader)
        shards = shard_ends(reader, self._segments, committed, shards=self._data_dir.shards)
        control = control_ends(reader, self._segments)
        losses = AcceptedLosses(self._data_dir.lake_dir)
        ends = [*shards, *control.values()]
        holes = losses.unaccepted([hole for each in ends for hole in each.holes()])
        if not holes and not any(each.is_behind for each in ends):
            return
        if not self._accept_loss:
            raise StartupError(self._refusal(holes, ends))
        self._restore(shards, control, holes)
        for hole in holes:
            losses.accept(hole)
            log.critical("log_loss_accepted", stream=hole.stream, after=hole.after, upto=hole.upto)

    def _restore(self, shards: Sequence[StreamEnds], control: Mapping[str, StreamEnds], holes: Sequence[Hole]) -> None:
        """Bring the streams in Redis to their known ends, and append a loss for each affected tenant."""
        now = self._clock.now()
        with closing(connect_sync(self._target)) as client, client.pipeline(transaction=True) as transaction:
            for tenant_id, ends in control.items():
                for each in self._segments.control(tenant_id).read(ends.tail):
                    transaction.sadd(TENANTS, tenant_id)
                    fields = entry_fields(each.kind, each.program_id, each.appended_at, each.body, each.seal)
                    transaction.execute_command("XADD", control_key(tenant_id), stream_id_of(each.offset), *fields)
            reader = LogReader(client, range(self._data_dir.shards), seals=self._seals)
            numbers = [max(reader.newest_number(shard), ends.known) for shard, ends in enumerate(shards)]

            def add(shard: int, kind: EntryKind, program_id: str, body: bytes, at: str = "*") -> None:
                key, numbers[shard] = shard_key(shard), numbers[shard] + 1
                seal = self._seals.seal(key, kind, program_id, now, body, number=numbers[shard])
                transaction.execute_command("XADD", key, at, *entry_fields(kind, program_id, now, body, seal))

            for shard, ends in enumerate(shards):
                if ends.is_behind:  # A tick behind the last known offset: nothing may be appended before it.
                    add(shard, EntryKind.TICK, "", b"", stream_id_of(ends.known + 1))
                if ends.trimmed > ends.segments:  # The hole is accepted, so a reader goes on behind it.
                    transaction.hdel(TRIMMED, str(shard))
            for program, hole in self._affected(reader, control, holes):
                add(shard_of(program.id, self._data_dir.shards), EntryKind.LOSS, program.id, _loss(program, hole, now))
            transaction.execute()

    def _affected(
        self, reader: LogReader, control: Mapping[str, StreamEnds], holes: Sequence[Hole]
    ) -> Iterator[tuple[Program, Hole]]:
        """For each hole, one program of each affected tenant."""
        programs = self._programs(reader, control)
        for hole in holes:
            seen: set[str] = set()
            for program in programs:
                shard = self._segments.shard(shard_of(program.id, self._data_dir.shards)).name
                own_control = self._segments.control(program.tenant_id).name
                if hole.stream in {shard, own_control} and program.tenant_id not in seen:
                    seen.add(program.tenant_id)
                    yield program, hole

    def _programs(self, reader: LogReader, control: Mapping[str, StreamEnds]) -> list[Program]:
        """All programs that the lake or Redis knows."""
        programs: dict[str, Program] = {}
        for tenant_id, ends in control.items():
            in_lake, in_redis = self._segments.control(tenant_id).read(ends.tail), reader.control_entries(tenant_id)
            for entry in (*in_lake, *in_redis):
                if entry.kind == ControlKind.PROGRAM and not entry.is_forged:
                    program = msgspec.json.decode(entry.body, type=Program)
                    programs[program.id] = program
        return sorted(programs.values(), key=lambda program: program.id)

    def _rewrite_control(self, reader: LogReader) -> None:
        """Write again the control streams that the lake has in part, and Redis whole."""
        for tenant_id, ends in control_ends(reader, self._segments).items():
            if ends.gaps and not ends.is_behind:
                log.warning("control_segments_rewritten", tenant_id=tenant_id)
                self._segments.forget_control(tenant_id)
                ControlCopy(reader, self._segments).copy(tenant_id)

    def _refusal(self, holes: Sequence[Hole], ends: Sequence[StreamEnds]) -> str:
        lake, path = self._data_dir.lake_dir / "log", self._data_dir.path
        end = "or, if it is lost for good, add --accept-loss: the loss is then a link of the record."
        if any(each.is_behind for each in ends):
            missing = sentence_of(holes) if holes else "the lake has all that it lacks"
            return f"{path} knows more of its log than {self._redis_name}, an older copy: {missing}. Put it back, {end}"
        return f"The log of {path} has a hole: {sentence_of(holes)}. Put the missing files back in {lake}, {end}"


def name_of(data_dir: DataDir, target: str | Path | None) -> str:
    """Which Redis this is, for a sentence; an address may hold a password and is not quoted."""
    return "the Redis at CLEARHOLD_REDIS_URL" if isinstance(target, str) else f"the Redis in {data_dir.redis_dir}"
