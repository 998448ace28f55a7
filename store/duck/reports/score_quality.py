"""How right scores were, score by score, and how they change from week to week: of the first scoring of each transfer.

How     Only narrow columns are read, within the span. Labels are the newest of each transfer, whenever it was given
Null    a share without an observation; a mean without a label; the index of a week without one before it
Source  the index is that of clearhold.features.core.scorecards, in whole weeks from Monday
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from clearhold.features.core.instants import DAYS_7
from clearhold.features.core.principal import Principal
from clearhold.features.core.scorecards import SCORE_CLASSES
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.database import LABEL_ORDER
from clearhold.store.duck.scorings.labelled import score_class_sql
from clearhold.store.tables import Predicate, Span

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_OUTCOMES: Final = f"""
    WITH known AS (
        SELECT program_id, transfer_id, arg_max(label, {LABEL_ORDER}) = 'bad' AS is_bad
        FROM labels WHERE {{labelled}} GROUP BY ALL
    )
    SELECT score, is_bad, count(*) FROM transfer_features LEFT JOIN known USING (program_id, transfer_id)
    WHERE {{matching}} AND NOT rescored GROUP BY ALL ORDER BY ALL"""
_CLASSES: Final = f"""
    SELECT epoch_us(date_trunc('week', taken_at)) AS week, {score_class_sql("score")} AS class, count(*)
    FROM transfer_features WHERE {{matching}} AND NOT rescored GROUP BY ALL ORDER BY ALL"""


class ScoreOutcome(NamedTuple):
    """How many transfers of a score (None is unscored) have a label, bad or ok, or None for no label."""

    score: int | None
    is_bad: bool | None
    transfers: int


class WeekClasses(NamedTuple):
    """The transfers of the week that begins ``at`` by the class of their score (``features.core.scorecards``)."""

    at: int
    counts: tuple[int, ...]


class ScoreQuality(CommittedRows):
    def outcomes(self, principal: Principal, program_ids: Sequence[str], span: Span) -> list[ScoreOutcome]:
        """By score and label."""
        labelled, matching = Predicate(principal), Predicate(principal)
        for each in (labelled, matching):
            each.of_programs(program_ids)
        matching.between("taken_at", *span)
        sql = _OUTCOMES.format(labelled=labelled.sql, matching=matching.sql)
        return [ScoreOutcome(*row) for row in self._read(sql, [*labelled.values, *matching.values])]

    def weeks(self, principal: Principal, program_ids: Sequence[str], span: Span) -> list[WeekClasses]:
        """Each week of the span, oldest first, also one without a transfer; the span begins on a Monday."""
        matching = Predicate(principal)
        matching.of_programs(program_ids)
        matching.between("taken_at", *span)
        counts = {at: [0] * SCORE_CLASSES for at in range(span.start, span.end, DAYS_7)}
        for at, place, transfers in self._read(_CLASSES.format(matching=matching.sql), matching.values):
            counts[at][place] = transfers
        return [WeekClasses(at, tuple(each)) for at, each in counts.items()]
