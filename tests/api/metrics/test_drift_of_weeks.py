"""Drift of weeks: the index of two weeks, and its words."""

import pytest

from clearhold.api.metrics.scores import drift_of
from clearhold.features.core.instants import DAYS_7, week_of
from clearhold.features.core.scorecards import SCORE_CLASSES, stability_index
from clearhold.store.duck.reports.score_quality import WeekClasses

MONDAY = week_of(1_772_000_000_000_000).start


def classes(low: int, high: int) -> tuple[int, ...]:
    return (low, *[0] * (SCORE_CLASSES - 2), high)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [(classes(900, 100), "steady"), (classes(800, 200), "steady"), (classes(700, 300), "act"), (classes(199, 0), None)],
)
def test_given_two_weeks_then_the_index_is_that_of_the_project_and_its_word_follows(
    after: tuple[int, ...], verdict: str | None
) -> None:
    before = classes(900, 100)
    (week,) = drift_of([WeekClasses(MONDAY, before), WeekClasses(MONDAY + DAYS_7, after)])
    assert week.psi == (None if verdict is None else round(stability_index(before, after), 6))
    assert (week.verdict, week.n, week.n_before) == (verdict, sum(after), 1000)
