"""The drift of scores from week to week, with the drift that two weeks without a change have by chance.

A stability index over few transfers is large without any change. Over n and m transfers of equal weeks, the index
divided by 1 / n + 1 / m tends to chi-square with one degree of freedom less than there are classes of scores.

Source  E. B. Wilson and M. M. Hilferty, PNAS 17 (1931) for the percentile of chi-square; the index is that of
        clearhold.features.core.scorecards
"""

from typing import Final

from clearhold.features.core.scorecards import ACT, LOOK, SCORE_CLASSES
from clearhold.store.duck.scorings.labelled import score_class_sql, share_sql

# ruff: noqa: S608 - the statement is built from constants

FEWEST_COMPARED: Final = 200
"""The fewest transfers of a week of whose drift anything is said."""
# The 95th percentile of chi-square.
_CHI_SQUARE_95: Final = "freedom * pow(1 - 2 / (9 * freedom) + 1.6448536269514722 * sqrt(2 / (9 * freedom)), 3)"


def weekly_drift(passed: str) -> str:
    """The query, with the arguments of ``scorings``."""
    return f"""
    WITH scored AS MATERIALIZED (
        SELECT date_trunc('week', taken_at)::DATE AS week, {score_class_sql("score")} AS class, band,
            degraded, n AS observations
        FROM scorings({passed})
    ), classes AS (
        SELECT week, class, band, count(*) AS n, count(*) FILTER (degraded) AS degraded FROM scored GROUP BY ALL
    ), weeks AS (
        SELECT week, sum(n)::BIGINT AS n, sum(n) FILTER (band = 'clear') AS clear,
            sum(n) FILTER (band = 'review') AS review, sum(n) FILTER (band = 'hold') AS hold,
            sum(n) FILTER (band = 'unscored') AS unscored, sum(degraded) AS degraded
        FROM classes GROUP BY week
    ), medians AS (
        SELECT week, quantile_disc(observations, 0.5) AS median_n FROM scored GROUP BY week
    ), pairs AS (
        SELECT week, range AS class, week - 7 AS former
        FROM weeks, range({SCORE_CLASSES})
    ), counts AS (
        SELECT pairs.week, pairs.class,
            coalesce(sum(classes.n) FILTER (classes.week = pairs.week), 0) AS n_after,
            coalesce(sum(classes.n) FILTER (classes.week = pairs.former), 0) AS n_before
        FROM pairs LEFT JOIN classes ON classes.class = pairs.class AND classes.week IN (pairs.week, pairs.former)
        GROUP BY ALL
    ), shares AS (
        SELECT week, sum(n_before) OVER whole AS before, n_before + n_after > 0 AS is_used,
            {share_sql("n_before", "sum(n_before) OVER whole")} AS share_before,
            {share_sql("n_after", "sum(n_after) OVER whole")} AS share_after
        FROM counts WINDOW whole AS (PARTITION BY week)
    ), indexes AS (
        SELECT week, if(any_value(before) > 0, sum((share_after - share_before) * ln(share_after / share_before)), NULL)
            AS psi, any_value(before)::BIGINT AS n_before, count(*) FILTER (is_used) - 1 AS freedom
        FROM shares GROUP BY week
    ), chances AS (
        SELECT *, CASE WHEN n_before = 0 THEN NULL WHEN freedom < 1 THEN 0.0
            ELSE {_CHI_SQUARE_95} * (1 / n + 1 / n_before) END AS psi_by_chance
        FROM weeks JOIN indexes USING (week)
    )
    SELECT week, n, coalesce(clear, 0) / n AS clear_share, coalesce(review, 0) / n AS review_share,
        coalesce(hold, 0) / n AS hold_share, coalesce(unscored, 0) / n AS unscored_share,
        degraded / n AS degraded_share, median_n, psi, n_before, psi_by_chance,
        CASE WHEN psi IS NULL THEN NULL WHEN least(n, n_before) < {FEWEST_COMPARED} THEN 'few'
            WHEN psi < {LOOK} OR psi <= psi_by_chance THEN 'steady' WHEN psi < {ACT} THEN 'look' ELSE 'act'
            END AS verdict
    FROM chances JOIN medians USING (week) ORDER BY week"""
