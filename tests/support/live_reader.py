"""A reader that knows Redis alone, and the rows of the tables that it must end with."""

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, NamedTuple, Self, cast

import duckdb
import msgspec
from redis import Redis, RedisError

from clearhold.store.live.entries import stream_key
from clearhold.store.live.streams import place_of
from clearhold.store.redis_log.connect import connect_sync
from tests.support.waiting import eventually

_RETRY_S: Final = 0.05
_BLOCK_MS: Final = 200
_ID_AND_WORD: Final = {
    "transfer.scored": ("transferId", "version"),
    "actor.scored": ("scoreId", "version"),
    "program.scored": ("scoreId", "version"),
    "kri.snapshot": ("snapshotId", "cause"),
    "alert.opened": ("alertId", "status"),
    "alert.changed": ("alertId", "status"),
    "disposition.created": ("dispositionId", "decision"),
    "action.changed": ("actionId", "status"),
}
"""Each kind, in the order of the events of one entry."""

# Each kind by its own reading of the tables, without the code that makes the events.
_ROWS: Final = """WITH live AS (
    SELECT program_id, "offset", 'transfer.scored' AS kind, id, score_band AS band, score_version AS told
        FROM transfers WHERE scored_offset = "offset"
    UNION ALL SELECT program_id, "offset", CASE subject_type WHEN 'program' THEN 'program.scored' ELSE 'actor.scored'
        END, id, band, version FROM scores
    UNION ALL SELECT program_id, "offset", 'kri.snapshot', id, band, cause FROM kri_snapshots
    UNION ALL SELECT a.program_id, a."offset", CASE WHEN b.alert_id IS NULL THEN 'alert.changed' ELSE 'alert.opened'
        END, a.id, a.band_at_alert, a.status
        FROM alerts a LEFT JOIN alert_bodies b ON b.alert_id = a.id AND b."offset" = a."offset"
    UNION ALL SELECT program_id, "offset", 'disposition.created', id, NULL, decision FROM dispositions
    UNION ALL SELECT program_id, "offset", 'action.changed', id, NULL, status FROM actions)
    SELECT * EXCLUDE program_id FROM live WHERE program_id = ?
"""


class ReadEvent(NamedTuple):
    """As it stands in a stream."""

    entry: str
    place: tuple[int, int]
    kind: str
    body: dict[str, Any]

    @property
    def row(self) -> tuple[int, str, str, str | None, str]:
        """What the tables must have of it."""
        data = self.body["data"]
        row_id, word = (data[name] for name in _ID_AND_WORD[self.kind])
        return self.place[0], self.kind, row_id, self.body.get("band"), word


class LiveReader:
    """Reads the streams of programs on a thread, from their beginning, and begins again where it was after failures."""

    def __init__(self, target: str | Path, program_ids: Sequence[str]) -> None:
        self._target, self.read = target, {program_id: list[ReadEvent]() for program_id in program_ids}
        self.failures = 0
        self._stopping = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def last(self, program_id: str) -> tuple[int, int]:
        events = self.read[program_id]
        return events[-1].place if events else (0, 0)

    def _run(self) -> None:
        at = {stream_key(program_id): "0-0" for program_id in self.read}
        while not self._stopping.is_set():
            try:
                with closing(connect_sync(self._target)) as client:
                    while not self._stopping.is_set():
                        for key, entries in cast("Any", client.xread(cast("Any", at), count=500, block=_BLOCK_MS)):
                            for entry, fields in entries:
                                at[key.decode()] = entry.decode()
                                self._note(key.decode().removeprefix("out:"), entry.decode(), fields)
            except (RedisError, OSError):
                self.failures += 1
                time.sleep(_RETRY_S)

    def _note(self, program_id: str, entry: str, fields: dict[bytes, bytes]) -> None:
        body = msgspec.json.decode(fields[b"event"])
        self.read[program_id].append(ReadEvent(entry, place_of(entry), fields[b"kind"].decode(), body))


def rows_of(database: Path, program_id: str) -> list[tuple[int, str, str, str | None, str]]:
    """The rows that a program's stream must have, in the order of the log, and by kind and id within an entry."""
    with closing(duckdb.connect(str(database), read_only=True)) as connection:
        rows = connection.execute(_ROWS, [program_id])
        order = {kind: rank for rank, kind in enumerate(_ID_AND_WORD)}
        return sorted(rows.fetchall(), key=lambda row: (row[0], order[row[1]], row[2]))


Score = dict[str, str]


def newest_scores(reader: LiveReader, program_id: str) -> dict[str, Score]:
    """The newest score of each actor and of the program by their events, under the keys of Redis."""
    scores = {}
    for each in reader.read[program_id]:
        data = each.body["data"]
        if "formerBand" not in data:
            continue
        key = f"latest:{data['subjectType']}:{program_id}"
        key += "" if data["subjectType"] == "program" else f":{data['subjectId']}"
        words = {name: data[name] for name in ("score", "band", "n", "confidence", "version")} | {
            "at": data["scoredAt"]
        }
        scores[key] = {name: "" if value is None else str(value) for name, value in words.items()}
    return scores


def stored_scores(client: Redis, program_id: str) -> dict[str, Score]:
    """The hashes of a program's scores."""
    keys: list[bytes] = list(client.scan_iter(f"latest:*:{program_id}*", count=10_000))
    found: list[Any] = [client.hgetall(key) for key in keys]
    return {
        key.decode(): {name.decode(): value.decode() for name, value in stored.items()}
        for key, stored in zip(keys, found, strict=True)
    }


def assert_same(reader: LiveReader, expected: list[Any], program_id: str) -> None:
    """The reader has these rows, in order and each once, however long it takes; later ones do not count."""
    assert expected
    upto = expected[-1][0]
    eventually(lambda: reader.last(program_id)[0] >= upto)
    events = [each for each in reader.read[program_id] if each.place[0] <= upto]
    places = [each.place for each in events]
    assert places == sorted(set(places)), "an entry is there twice, or out of order"
    assert [each.row for each in events] == expected
