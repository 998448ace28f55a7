"""Scores, snapshots of key risk indicators and daily totals of programs, in spans of time and as of their newest.

How     Statements narrow by program, subject and time before they read other columns, and read wide columns (reasons,
        indicators, totals) only of rows that are returned or counted. The instant orders snapshots, and of equal ones
        the offset: a snapshot of the history is as of a past day. A program's newest is found by narrow columns alone
Errors  ForbiddenError for a program that the tenant has and the principal may not touch
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.catalogue.kris import KriValue, read_kris
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.measured import DayTotals, sum_of
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.parties import KriSnapshotRow, ScoreRow
from clearhold.store.duck.committed_rows import CommittedRows, RowFilter, Timeline
from clearhold.store.tables import TEXTS, Predicate, Span, listed, row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter


MOST_CROSSINGS: Final = 200

_ROW: Final = row_builder(ScoreRow)

_NEWEST_FIRST: Final = f"""
    SELECT {select_list(ScoreRow)} FROM scores WHERE {{matching}}
    ORDER BY scores.scored_at DESC, "offset" DESC LIMIT ?"""
_BAND_CHANGES: Final = """
    SELECT epoch_us(scored_at), former_band, band, score, n FROM scores WHERE {matching} AND band <> former_band
    ORDER BY scored_at DESC, "offset" DESC LIMIT ?"""
_SIGNALS: Final = """
    SELECT signal, count(*) FILTER (recent), count(*) FILTER (NOT recent) FROM (
        SELECT DISTINCT recent, "offset", unnest(from_json(reasons, '[{{"signal": "VARCHAR"}}]')).signal AS signal
        FROM (SELECT scored_at >= make_timestamp(?) AS recent, "offset", reasons FROM scores WHERE {matching})
    ) GROUP BY signal ORDER BY signal"""
_VERSIONS: Final = "SELECT DISTINCT score_version FROM transfer_features WHERE {matching} ORDER BY ALL"
_COUNTED: Final = "SELECT count(*) FROM scores WHERE {matching}"
# A subject counts once, with its last entry into the band.
_ENTERED: Final = """
    WITH entered AS (
        SELECT subject_type, subject_id, score, n, scored_at, "offset" FROM scores
        WHERE {matching} AND band = ? AND former_band <> band
        QUALIFY row_number() OVER (PARTITION BY subject_type, subject_id ORDER BY "offset" DESC) = 1
    )
    SELECT subject_type, subject_id, score, n, epoch_us(scored_at), count(*) OVER () FROM entered
    ORDER BY scored_at, "offset", subject_type, subject_id LIMIT ?"""


class ReportSubject(NamedTuple):
    """A scored subject: an entity, counterparty or agent of a program, or the program itself."""

    program_id: str
    type: str
    id: str


class BandChange(NamedTuple):
    at: int
    former: str
    band: str
    score: int | None
    n: int


class SignalCount(NamedTuple):
    """The number of score records with a signal, in a span and in the one before it."""

    signal: str
    recent: int
    before: int


class EnteredBand(NamedTuple):
    type: str
    id: str
    score: int | None
    n: int
    at: int


class ReportScores(CommittedRows):
    def newest(self, principal: Principal, subject: ReportSubject, *, before: int) -> ScoreRow | None:
        """The subject's last record before an instant; it may be older than the span of any report."""
        rows = self._rows(_NEWEST_FIRST, _of_subject(principal, subject, None, before), 1)
        return _ROW(rows[0]) if rows else None

    def history(self, principal: Principal, subject: ReportSubject, span: Span, limit: int) -> list[ScoreRow]:
        """The newest ``limit`` records of the span, oldest first."""
        rows = self._rows(_NEWEST_FIRST, _of_subject(principal, subject, *span), limit)
        return [_ROW(row) for row in reversed(rows)]

    def band_changes(self, principal: Principal, subject: ReportSubject, span: Span, limit: int) -> list[BandChange]:
        """The newest ``limit`` changes of band within the span, oldest first."""
        rows = self._rows(_BAND_CHANGES, _of_subject(principal, subject, *span), limit)
        return [BandChange(*row) for row in reversed(rows)]

    def signals(self, principal: Principal, subject: ReportSubject, span: Span) -> list[SignalCount] | None:
        """The signals in records of the span or of the span before, by name; None when neither has a record."""
        predicate = _of_subject(principal, subject, span.before.start, span.end)
        ((count,),) = self._read(_COUNTED.format(matching=predicate.sql), predicate.values)
        if not count:
            return None
        rows = self._read(_SIGNALS.format(matching=predicate.sql), [span.start, *predicate.values])
        return [SignalCount(*row) for row in rows]

    def transfer_versions(self, principal: Principal, program_id: str, span: Span) -> list[str]:
        """The versions of the scores of a program's transfers within the span."""
        predicate = Predicate.of_program(principal, program_id)
        predicate.between("scored_at", *span)
        rows = self._read(_VERSIONS.format(matching=predicate.sql), predicate.values)
        return [version for (version,) in rows]

    def entered_band(
        self, principal: Principal, program_id: str, band: str, span: Span
    ) -> tuple[int, list[EnteredBand]]:
        """The number of a program's subjects that came into a band within the span, and the first of them, oldest
        first.
        """
        predicate = Predicate.of_program(principal, program_id)
        predicate.between("scored_at", *span)
        values = [*predicate.values, band, MOST_CROSSINGS]
        rows = self._read(_ENTERED.format(matching=predicate.sql), values)
        return (rows[0][-1] if rows else 0), [EnteredBand(*row[:-1]) for row in rows]

    def _rows(self, sql: str, predicate: Predicate, limit: int) -> list[tuple[Any, ...]]:
        return self._read(sql.format(matching=predicate.sql), [*predicate.values, limit])


def _of_subject(principal: Principal, subject: ReportSubject, start: int | None, end: int) -> Predicate:
    principal.require_program(subject.program_id)
    predicate = Predicate(principal)
    predicate.add("program_id = ? AND subject_type = ? AND subject_id = ?", *subject)
    predicate.between("scored_at", start, end)
    return predicate


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
_PROGRAM_SCORES: Final = """
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
        predicate = Predicate.of_program(principal, program_id)
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
        rows = self._read(_PROGRAM_SCORES.format(matching=predicate.sql), predicate.values)
        return {program_id: score for program_id, score in rows if score is not None}


_NEWEST: Final = """SELECT arg_max(id, (as_of_at, "offset")) FROM kri_snapshots WHERE {matching}"""


EVERY_SNAPSHOT: Final = "snapshot"
LAST_OF_DAY: Final = "day"
_LAST_OF_DAYS: Final = f"""id IN (
    SELECT arg_max(id, (as_of_at, "offset")) FROM kri_snapshots WHERE {{matching}}
    GROUP BY program_id, epoch_us(as_of_at) // {DAY_US})"""


class SnapshotFilter(RowFilter, frozen=True, kw_only=True):
    """``every`` is LAST_OF_DAY for a program's last one of each UTC day, among the rows within the other filters."""

    causes: tuple[str, ...] | None = msgspec.field(default=None, name="cause")
    as_of_from: int | None = msgspec.field(default=None, name="from")
    as_of_to: int | None = msgspec.field(default=None, name="to")
    every: str = EVERY_SNAPSHOT

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("cause", self.causes)
        predicate.between("as_of_at", self.as_of_from, self.as_of_to)
        if self.every == LAST_OF_DAY:
            predicate.add(_LAST_OF_DAYS.format(matching=predicate.sql), *predicate.values)
        return predicate


class KriSnapshots(
    Timeline[KriSnapshotRow, KriSnapshotRow], table="kri_snapshots", row_type=KriSnapshotRow, at="as_of_at"
):
    """By the instant of the figures."""

    def newest(self, principal: Principal, program_id: str, *, upto: int | None = None) -> KriSnapshotRow | None:
        """The newest snapshot of a program, or its newest at or before an instant (microseconds); None without one."""
        predicate = Predicate.of_program(principal, program_id)
        predicate.between("as_of_at", None, None if upto is None else upto + 1)
        ((snapshot_id,),) = self._read(_NEWEST.format(matching=predicate.sql), predicate.values)
        return None if snapshot_id is None else self.find(principal, snapshot_id)


# Rows are only added, so rows since the last read have a higher rowid.
_SINCE: Final = """
    SELECT max(rowid) OVER (), program_id, epoch_us(as_of_at), program_score, program_score_n, kris FROM kri_snapshots
    WHERE rowid > ? QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY as_of_at DESC, "offset" DESC) = 1
"""


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
                self._by_program[program_id] = NewestSnapshot(as_of_at, score, score_n, read_kris(kris))
        return self._by_program


_DAY_TOTALS: Final = msgspec.json.Decoder(DayTotals)

_DAYS: Final = """
    SELECT DISTINCT epoch_us(day_at) AS day_us FROM metrics_days WHERE {matching} ORDER BY day_us DESC LIMIT ?"""
_TOTALS_OF_DAYS: Final = """
    SELECT epoch_us(day_at), any_value(window_days), epoch_us(max(as_of_at)), list(totals)
    FROM metrics_days WHERE {matching} GROUP BY day_at ORDER BY day_at DESC"""


class StoredDay(NamedTuple):
    """The totals of several programs together, over the days up to the end of the one that began at ``day_at``."""

    day_at: int
    window_days: int
    as_of_at: int
    totals: DayTotals


class MetricsDays(CommittedRows):
    def list_page(
        self,
        principal: Principal,
        program_ids: Sequence[str],
        *,
        from_: int | None,
        to: int | None,
        before: int | None,
        limit: int,
    ) -> list[StoredDay]:
        """The days of these programs within [from, to) and before ``before``, newest first."""
        predicate = Predicate(principal)
        predicate.add(f"program_id IN {TEXTS}", listed(program_ids))
        predicate.between("day_at", from_, to)
        predicate.between("day_at", None, before)
        days = self._read(_DAYS.format(matching=predicate.sql), [*predicate.values, limit])
        if not days:
            return []
        predicate.between("day_at", days[-1][0], None)
        page = self._read(_TOTALS_OF_DAYS.format(matching=predicate.sql), predicate.values)
        return [
            StoredDay(day_at, window_days, as_of_at, sum_of(map(_DAY_TOTALS.decode, totals)))
            for day_at, window_days, as_of_at, totals in page
        ]
