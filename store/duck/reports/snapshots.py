"""Reads snapshots of key risk indicators: a program's newest, and program scores for reports.

How     The instant orders snapshots, and of equal ones the offset: a snapshot of the history is as of a past day. A
        program's newest is found by narrow columns alone; only its row is read, with its indicators.
Errors  ForbiddenError for a program that the tenant has and the principal may not touch
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.catalogue.kris import KriValue
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.timeline import Place, Timeline
from clearhold.store.tables.predicate import Predicate, Span

_POINTS: Final = """
    WITH within AS MATERIALIZED (
        SELECT epoch_us(as_of_at) AS instant, program_score, band, program_score_n,
            row_number() OVER (ORDER BY as_of_at, "offset") AS place
        FROM kri_snapshots WHERE {matching}
    )
    SELECT instant, program_score, band, program_score_n FROM within WHERE place IN (
        SELECT max(place) FROM within
        GROUP BY CASE WHEN (SELECT count(*) FROM within) <= ? THEN place ELSE (instant - ?) // ? END
    ) ORDER BY place"""
_SCORES: Final = """
    SELECT program_id, program_score FROM kri_snapshots WHERE {matching}
    QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY as_of_at DESC, "offset" DESC) = 1"""


class ScorePoint(NamedTuple):
    at: int
    score: int | None
    band: str
    n: int


class ReportSnapshots(CommittedRows):
    def points(self, principal: Principal, program_id: str, span: Span, most: int) -> list[ScorePoint]:
        """The snapshots of the span, oldest first: all, or above ``most`` the last of each of ``most`` equal parts."""
        principal.require_program(program_id)
        predicate = Predicate(principal)
        predicate.add("program_id = ?", program_id)
        predicate.between("as_of_at", *span)
        part = -((span.start - span.end) // most)  # rounded up, so that there are not more
        values = [*predicate.values, most, span.start, part]
        rows = self._read(_POINTS.format(matching=predicate.sql), values)
        return [ScorePoint(*row) for row in rows]

    def scores(self, principal: Principal, program_ids: Sequence[str], *, before: int) -> dict[str, int]:
        """The program score of the last snapshot before an instant, of the programs with a score then."""
        predicate = Predicate(principal)
        predicate.among("program_id", program_ids)
        predicate.between("as_of_at", None, before)
        rows = self._read(_SCORES.format(matching=predicate.sql), predicate.values)
        return {program_id: score for program_id, score in rows if score is not None}


_NEWEST: Final = """SELECT arg_max(id, (as_of_at, "offset")) FROM kri_snapshots WHERE {matching}"""
_TABLE: Final = Timeline("kri_snapshots", KriSnapshotRow, at="as_of_at")


class SnapshotFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of a list. None is any. Instants are half-open, microseconds."""

    program_ids: tuple[str, ...] | None = None
    causes: tuple[str, ...] | None = None
    as_of_from: int | None = None
    as_of_to: int | None = None


class KriSnapshots(CommittedRows):
    def newest(self, principal: Principal, program_id: str, *, upto: int | None = None) -> KriSnapshotRow | None:
        """The newest snapshot of a program, or its newest at or before an instant (microseconds); None without one."""
        principal.require_program(program_id)
        predicate = Predicate(principal)
        predicate.add("program_id = ?", program_id)
        predicate.between("as_of_at", None, None if upto is None else upto + 1)
        with self._connection.cursor() as cursor:
            cursor.execute(_NEWEST.format(matching=predicate.sql), predicate.values)
            newest = cursor.fetchone()
            return None if newest is None or newest[0] is None else _TABLE.find(cursor, principal, newest[0])

    def find(self, principal: Principal, snapshot_id: str) -> KriSnapshotRow | None:
        """ForbiddenError when the tenant has it on a program out of the principal's reach."""
        with self._connection.cursor() as cursor:
            return _TABLE.find(cursor, principal, snapshot_id)

    def list_page(
        self, principal: Principal, wanted: SnapshotFilter, after: Place | None, limit: int
    ) -> list[KriSnapshotRow]:
        """Newest first, by the instant of the figures."""
        predicate = Predicate(principal)
        predicate.among("program_id", wanted.program_ids)
        predicate.among("cause", wanted.causes)
        predicate.between("as_of_at", wanted.as_of_from, wanted.as_of_to)
        with self._connection.cursor() as cursor:
            return _TABLE.page(cursor, principal, predicate, after, limit)


# Rows are only added, so rows since the last read have a higher rowid.
_SINCE: Final = """
    SELECT max(rowid) OVER (), program_id, epoch_us(as_of_at), program_score, program_score_n, kris FROM kri_snapshots
    WHERE rowid > ? QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY as_of_at DESC, "offset" DESC) = 1
"""
_KRIS: Final = msgspec.json.Decoder(dict[str, KriValue])


class NewestSnapshot(NamedTuple):
    """A program's newest snapshot; ``as_of_at`` in microseconds."""

    as_of_at: int
    score: int | None
    score_n: int
    kris: Mapping[str, KriValue]


class NewestSnapshots(CommittedRows):
    """Used by one thread. A read costs as much as the new rows; the first one reads the whole table."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection)
        self._read_upto = -1
        self._by_program: dict[str, NewestSnapshot] = {}

    def by_program(self) -> Mapping[str, NewestSnapshot]:
        for rowid, program_id, as_of_at, score, score_n, kris in self._read(_SINCE, [self._read_upto]):
            self._read_upto = rowid
            known = self._by_program.get(program_id)
            if known is None or known.as_of_at <= as_of_at:
                self._by_program[program_id] = NewestSnapshot(as_of_at, score, score_n, _KRIS.decode(kris))
        return self._by_program
