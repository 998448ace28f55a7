"""The scores of a challenger and the champion on the same transfers, counted from the rows of the shadow."""

from collections.abc import Sequence
from typing import Final

from clearhold.features.core.instants import DAYS_60
from clearhold.features.core.principal import Principal
from clearhold.features.core.scorecards import ADDED, LAST_TEN, SCORE_CLASSES, UNSCORED_CLASS
from clearhold.features.policy.comparison import PairCount
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.schema import LABEL_ORDER
from clearhold.store.tables.predicate import Predicate


def score_class_sql(score: str) -> str:
    """The class of a score. DuckDB's ``least`` leaves out null."""
    return f"if({score} IS NULL, {UNSCORED_CLASS}, least({score} // 10, {LAST_TEN}))"


def share_sql(count: str, whole: str) -> str:
    """The share of a class with ``count`` among all classes, with ``whole``."""
    return f"({count} + {ADDED}) / ({whole} + {ADDED * SCORE_CLASSES})"


MATURES_AFTER_US: Final = DAYS_60

# A transfer counts with its newest scoring.
_COUNTS: Final = """
    WITH pairs AS (
        SELECT program_id, transfer_id, arg_max(champion_band, "offset") AS champion_band,
            arg_max(band, "offset") AS band,
            arg_max_null(champion_score, "offset") AS champion_score, arg_max_null(score, "offset") AS score,
            any_value(bank_created_at) AS taken_at
        FROM shadow_scores WHERE {shadowed} GROUP BY program_id, transfer_id
    ), known AS (
        SELECT program_id, transfer_id, arg_max(label, {order}) AS label FROM labels WHERE {labelled} GROUP BY ALL
    )
    SELECT champion_band, band, {champion_class} AS champion_class, {score_class} AS score_class, label,
        taken_at <= make_timestamp(?) AS is_mature, count(*)
    FROM pairs LEFT JOIN known USING (program_id, transfer_id) GROUP BY ALL ORDER BY ALL"""
_CLASSES: Final = {
    "champion_class": score_class_sql("champion_score"),
    "score_class": score_class_sql("score"),
}
_CHAMPIONS: Final = "SELECT DISTINCT champion_version FROM shadow_scores WHERE {shadowed} ORDER BY ALL"


class ShadowScores(CommittedRows):
    """Safe from several threads: it reads on its own cursor.

    Errors  ForbiddenError for a program that the principal may not touch
    """

    def counts(
        self, principal: Principal, version: str, *, program_ids: Sequence[str] | None, since: int, now: int
    ) -> tuple[list[PairCount], list[str]]:
        """The counts of a version's scores since an instant, and the champions that it ran beside."""
        shadowed, labelled = Predicate(principal), Predicate(principal)
        for program_id in program_ids or ():
            principal.require_program(program_id)
        for predicate in (shadowed, labelled):
            predicate.of_programs(program_ids)
        shadowed.add("version = ?", version)
        shadowed.between("scored_at", since, None)
        values = [*shadowed.values, *labelled.values, now - MATURES_AFTER_US]
        with self._connection.cursor() as cursor:
            sql = _COUNTS.format(shadowed=shadowed.sql, labelled=labelled.sql, order=LABEL_ORDER, **_CLASSES)
            counts = cursor.execute(sql, values).fetchall()
            champions = cursor.execute(_CHAMPIONS.format(shadowed=shadowed.sql), shadowed.values).fetchall()
        return [PairCount(*row) for row in counts], [version for (version,) in champions]
