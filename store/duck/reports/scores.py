"""Scores for reports: a subject's records in a span of time, their changes of band, and its signals.

How     Statements narrow by program, subject and time before they read other columns, and read the wide reasons only
        of rows that are returned or counted.
Errors  ForbiddenError for a program that the tenant has and the principal may not touch
"""

from typing import Any, Final, NamedTuple

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.columns import row_builder, select_list
from clearhold.store.tables.predicate import Predicate, Span

MOST_CROSSINGS: Final = 200

_ROW: Final = row_builder(ScoreRow)

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
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
        """The signals in records of the span or of the span before, by name; None unless both have records."""
        predicate = _of_subject(principal, subject, span.before.start, span.end)
        with self._connection.cursor() as cursor:
            (counted,) = cursor.execute(_COUNTED.format(matching=predicate.sql), predicate.values).fetchall()
            if not counted[0]:
                return None
            sql = _SIGNALS.format(matching=predicate.sql)
            rows = cursor.execute(sql, [span.start, *predicate.values]).fetchall()
        return [SignalCount(*row) for row in rows]

    def transfer_versions(self, principal: Principal, program_id: str, span: Span) -> list[str]:
        """The versions of the scores of a program's transfers within the span."""
        principal.require_program(program_id)
        predicate = Predicate(principal)
        predicate.add("program_id = ?", program_id)
        predicate.between("scored_at", *span)
        rows = self._read(_VERSIONS.format(matching=predicate.sql), predicate.values)
        return [version for (version,) in rows]

    def entered_band(
        self, principal: Principal, program_id: str, band: str, span: Span
    ) -> tuple[int, list[EnteredBand]]:
        """The number of a program's subjects that came into a band within the span, and the first of them, oldest
        first.
        """
        principal.require_program(program_id)
        predicate = Predicate(principal)
        predicate.add("program_id = ?", program_id)
        predicate.between("scored_at", *span)
        values = [*predicate.values, band, MOST_CROSSINGS]
        rows = self._read(_ENTERED.format(matching=predicate.sql), values)
        return (rows[0][-1] if rows else 0), [EnteredBand(*row[:-1]) for row in rows]

    def _rows(self, sql: str, predicate: Predicate, limit: int) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            return cursor.execute(sql.format(matching=predicate.sql), [*predicate.values, limit]).fetchall()


def _of_subject(principal: Principal, subject: ReportSubject, start: int | None, end: int) -> Predicate:
    principal.require_program(subject.program_id)
    predicate = Predicate(principal)
    predicate.add("program_id = ? AND subject_type = ? AND subject_id = ?", *subject)
    predicate.between("scored_at", start, end)
    return predicate
