"""The newest score and indicators of every program, and its scores of the last days, in memory.

How     A read first takes in the snapshots that were committed since the last one, which DuckDB finds by ``rowid``; the
        first read takes in the newest of each program and day. The instant orders snapshots, and of equal ones the
        offset: a snapshot of loaded history is as of a past day
Unit    instants in microseconds; a day is one of UTC, counted since the epoch
"""

from collections.abc import Mapping
from threading import Lock
from typing import Final, NamedTuple

import duckdb

from clearhold.features.catalogue.kris import read_kris
from clearhold.features.core.instants import DAY_US
from clearhold.store.duck.committed_rows import CommittedRows

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

KEPT_DAYS: Final = 40

_COLUMNS: Final = """
    rowid, program_id, epoch_us(as_of_at) AS at, "offset", program_score, program_score_n, band, kris"""
_FIRST: Final = f"""
    SELECT {_COLUMNS} FROM kri_snapshots WHERE rowid <= $upto
    QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY as_of_at DESC, "offset" DESC) = 1"""
_DAYS: Final = f"""
    SELECT program_id, epoch_us(as_of_at) // {DAY_US} AS day, arg_max(
        {{'at': epoch_us(as_of_at), 'offset': "offset", 'score': program_score}}, (as_of_at, "offset"))
    FROM kri_snapshots WHERE rowid <= $upto AND as_of_at >= make_timestamp($since) GROUP BY ALL"""
_SINCE: Final = f"SELECT {_COLUMNS} FROM kri_snapshots WHERE rowid > ? ORDER BY rowid"
_NEWEST_ROW: Final = "SELECT max(rowid) FROM kri_snapshots"


class ProgramStanding(NamedTuple):
    """A program's newest snapshot: its score, and the status of each indicator by name."""

    at: int
    offset: int
    score: int | None
    n: int
    band: str
    statuses: Mapping[str, str]


class _Point(NamedTuple):
    at: int
    offset: int
    score: int | None


class ProgramBoard(CommittedRows):
    """Thread-safe. One for the process; the caller asks for programs within reach."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection)
        self._lock = Lock()
        self._read_upto: int | None = None
        self._standing: dict[str, ProgramStanding] = {}
        self._points: dict[str, dict[int, _Point]] = {}

    def read(self, program_id: str, *, upto_day: int, days: int) -> tuple[ProgramStanding | None, list[int | None]]:
        """The newest snapshot, None without one; and the last score of each of ``days`` days up to ``upto_day``, the
        oldest first, None for a day without a score.
        """
        points = self._points.get(program_id, {})
        scores = [points[day].score if day in points else None for day in range(upto_day - days + 1, upto_day + 1)]
        return self._standing.get(program_id), scores

    def catch_up(self, *, now: int) -> None:
        """Take in the new snapshots; before reads."""
        with self._lock:
            if self._read_upto is not None:
                for row in self._read(_SINCE, [self._read_upto]):
                    self._take(*row)
                return
            newest = self._value(_NEWEST_ROW, [])
            upto = -1 if newest is None else newest
            since = now - now % DAY_US - KEPT_DAYS * DAY_US
            days, first = self._read(_DAYS, {"upto": upto, "since": since}), self._read(_FIRST, {"upto": upto})
            self._read_upto = upto
            for program_id, day, point in days:
                self._points.setdefault(program_id, {})[day] = _Point(point["at"], point["offset"], point["score"])
            for row in first:
                self._take(*row)

    def _take(
        self, rowid: int, program_id: str, at: int, offset: int, score: int | None, n: int, band: str, kris: str
    ) -> None:
        assert self._read_upto is not None
        self._read_upto = max(self._read_upto, rowid)
        standing = self._standing.get(program_id)
        if standing is None or (standing.at, standing.offset) <= (at, offset):
            statuses = {name: str(kri.status) for name, kri in read_kris(kris).items()}
            self._standing[program_id] = ProgramStanding(at, offset, score, n, band, statuses)
        points, day = self._points.setdefault(program_id, {}), at // DAY_US
        if day not in points or points[day][:2] <= (at, offset):
            points[day] = _Point(at, offset, score)
        for past in [past for past in points if past < max(points) - KEPT_DAYS]:
            del points[past]
