"""Metrics of the score itself over HTTP: reliability, precision and recall by score, and its drift from week to week.

Scores  the first scoring of each transfer, by its own time; labels are the newest of each transfer
Errors  NotFoundError for a program that is not this tenant's; InvalidRequestError for programs of both kinds
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import ProgramIds
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.features.core.instants import DAY_US, DAYS_7, format_instant, week_of
from clearhold.features.core.measured import Measured, measured, rounded
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.scorecards import ACT, LOOK, stability_index
from clearhold.features.core.vocabulary import about
from clearhold.store.duck.reports.score_quality import ScoreOutcome, ScoreQuality, WeekClasses
from clearhold.store.tables import Span

TENTHS: Final = range(0, 100, 10)
STEPS: Final = range(10, 100, 10)
FEWEST_COMPARED: Final = 200
"""The fewest transfers of a week of whose drift anything is said."""


class ScoreQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] = 90
    program_id: ProgramIds | None = None


class DriftQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    weeks: Annotated[int, msgspec.Meta(ge=1, le=52)] = 12
    program_id: ProgramIds | None = None


class ScoreTenth(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Scores of one tenth of the scale; the last one includes 100."""

    score_from: Annotated[int, about("The lowest score of the tenth.")]
    score_to: Annotated[int, about("The highest score of the tenth.")]
    transfers: Annotated[int, about("Transfers with such a score, labelled or not.")]
    mean_score: Annotated[float | None, about("The mean score of the labelled ones, 0 to 100; null without a label.")]
    observed: Annotated[Measured, about("Bad among the labelled ones.")]


class ScoreStep(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An alert from a score on."""

    score_from: Annotated[int, about("The lowest score that counts as alerted.")]
    alerted: Annotated[int, about("Transfers with at least this score, labelled or not.")]
    precision: Annotated[Measured, about("Bad among the labelled ones with at least this score.")]
    recall: Annotated[
        Measured,
        about("At least this score among the ones labelled bad, unscored ones included. An upper estimate."),
    ]


class ScoreFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Null where nothing was measured, never 0."""

    as_of: Annotated[str, about("When the figures were taken.")]
    window_days: Annotated[int, about("How many UTC days are covered; the last may not be over.")]
    tenths: Annotated[tuple[ScoreTenth, ...], about("Reliability, by tenth of the scale from 0 on.")]
    steps: Annotated[tuple[ScoreStep, ...], about("Precision and recall, by the score from which one would alert.")]
    simulated: Simulated = msgspec.UNSET


class DriftWeek(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A week of scores against the week before it."""

    week: Annotated[str, about("The ISO week, as in 2026-W37; of the last one only the days so far.")]
    n: Annotated[int, about("Transfers that were scored first in the week, unscored ones included.")]
    n_before: Annotated[int, about("Those of the week before.")]
    psi: Annotated[
        float | None,
        about("The stability index of the tenths of the scale and unscored; null below 200 in either week."),
    ]
    verdict: Annotated[str | None, about("steady under 0.1, look from there, act from 0.25 on; null without an index.")]


class ScoreDrift(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    as_of: Annotated[str, about("When the figures were taken.")]
    weeks: Annotated[tuple[DriftWeek, ...], about("The weeks, oldest first.")]
    simulated: Simulated = msgspec.UNSET


def tenths_of(outcomes: Iterable[ScoreOutcome]) -> tuple[ScoreTenth, ...]:
    """Reliability by tenth: a score is no chance of bad, but its observed share must rise with it.

    >>> tenth = tenths_of([ScoreOutcome(80, True, 3), ScoreOutcome(84, False, 1), ScoreOutcome(84, None, 6)])[8]
    >>> tenth.transfers, tenth.mean_score, tenth.observed.value, tenth.observed.n
    (10, 81.0, 0.75, 4)
    """
    known = [each for each in outcomes if each.score is not None]
    return tuple(
        _tenth(low, [each for each in known if min((each.score or 0) // 10, 9) == low // 10]) for low in TENTHS
    )


def _tenth(low: int, outcomes: Sequence[ScoreOutcome]) -> ScoreTenth:
    labelled = [each for each in outcomes if each.is_bad is not None]
    n = _sum(labelled)
    points = sum((each.score or 0) * each.transfers for each in labelled)
    return ScoreTenth(
        score_from=low,
        score_to=100 if low == TENTHS[-1] else low + 9,
        transfers=_sum(outcomes),
        mean_score=rounded(points / n) if n else None,
        observed=measured(_sum(each for each in labelled if each.is_bad), n),
    )


def steps_of(outcomes: Sequence[ScoreOutcome]) -> tuple[ScoreStep, ...]:
    """Precision and recall from each step of the scale on.

    >>> step = steps_of([ScoreOutcome(80, True, 3), ScoreOutcome(84, False, 1), ScoreOutcome(None, True, 1)])[7]
    >>> step.score_from, step.alerted, step.precision.value, step.recall.value, step.recall.n
    (80, 4, 0.75, 0.75, 4)
    """
    every_bad = _sum(each for each in outcomes if each.is_bad)
    return tuple(_step(low, every_bad, [each for each in outcomes if (each.score or 0) >= low]) for low in STEPS)


def _step(low: int, every_bad: int, outcomes: Sequence[ScoreOutcome]) -> ScoreStep:
    bad = _sum(each for each in outcomes if each.is_bad)
    return ScoreStep(
        score_from=low,
        alerted=_sum(outcomes),
        precision=measured(bad, _sum(each for each in outcomes if each.is_bad is not None)),
        recall=measured(bad, every_bad),
    )


def _sum(outcomes: Iterable[ScoreOutcome]) -> int:
    return sum(each.transfers for each in outcomes)


def drift_of(weeks: Sequence[WeekClasses]) -> tuple[DriftWeek, ...]:
    """Each week but the first, against the one before it."""
    return tuple(_drift(before, after) for before, after in pairwise(weeks))


def _drift(before: WeekClasses, after: WeekClasses) -> DriftWeek:
    n_before, n = sum(before.counts), sum(after.counts)
    is_measured = min(n_before, n) >= FEWEST_COMPARED
    psi = rounded(stability_index(before.counts, after.counts)) if is_measured else None
    verdict = None if psi is None else "steady" if psi < LOOK else "look" if psi < ACT else "act"
    return DriftWeek(week=str(week_of(after.at)), n=n, n_before=n_before, psi=psi, verdict=verdict)


class ScoreMetrics:
    def __init__(self, resources: Resources) -> None:
        self._programs, self._clock = resources.programs, resources.stores.clock
        self._scores = ScoreQuality(resources.stores.database)

    async def read(self, principal: Principal, query: ScoreQuery) -> ScoreFigures:
        """Of the last days, today included."""
        programs, now = self._programs.counted(principal, query.program_id), self._clock.now()
        end = now - now % DAY_US + DAY_US
        span, ids = Span(end - query.days * DAY_US, end), [each.id for each in programs]
        outcomes = await in_reader(lambda: self._scores.outcomes(principal, ids, span))
        figures = ScoreFigures(
            as_of=format_instant(now),
            window_days=query.days,
            tenths=tenths_of(outcomes),
            steps=steps_of(outcomes),
        )
        return self._programs.marked_of(figures, programs)

    async def drift(self, principal: Principal, query: DriftQuery) -> ScoreDrift:
        """Of the last weeks, this one included."""
        programs, now = self._programs.counted(principal, query.program_id), self._clock.now()
        end = week_of(now).start + DAYS_7
        span, ids = Span(end - (query.weeks + 1) * DAYS_7, end), [each.id for each in programs]
        weeks = await in_reader(lambda: self._scores.weeks(principal, ids, span))
        return self._programs.marked_of(ScoreDrift(as_of=format_instant(now), weeks=drift_of(weeks)), programs)


_TAG: Final = "metrics"
_SERVICE: Final = "score_metrics"
_EXAMPLES: Final = examples_of(__file__)
_READ: Final = Operation(
    id="getScoreMetrics",
    tag=_TAG,
    access=Access.BEARER,
    scope=KeyScope.REPORTS,
    summary="How right the score is, score by score. "
    "Reliability by tenth of the scale, and precision and recall by the score from which one would alert: of transfers "
    "first scored in the last `days` UTC days, with their newest labels.",
    answers={200: ScoreFigures},
    query=RequestSchema(ScoreQuery),
    answer_example=_EXAMPLES["scores"],
)
_DRIFT: Final = Operation(
    id="getScoreDrift",
    tag=_TAG,
    access=Access.BEARER,
    scope=KeyScope.REPORTS,
    summary="How scores drift from week to week. "
    "The stability index of each of the last `weeks` against the week before it, not measured below 200 transfers.",
    answers={200: ScoreDrift},
    query=RequestSchema(DriftQuery),
    answer_example=_EXAMPLES["drift"],
)

AREA: Final = Area(
    routes=(
        answer_route("/api/metrics/scores", _READ, _SERVICE, ScoreMetrics.read),
        answer_route("/api/metrics/drift", _DRIFT, _SERVICE, ScoreMetrics.drift),
    ),
    provide={_SERVICE: ScoreMetrics},
)
