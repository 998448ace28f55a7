"""The score, score by score and week by week, as tables with their charts."""

from collections.abc import Iterable

from clearhold.api.console.components.figures import Axes, line_of
from clearhold.api.console.components.quality import INTERVAL, FigureTable, row_of
from clearhold.api.console.components.words import count
from clearhold.api.metrics.scores import FEWEST_COMPARED, ScoreDrift, ScoreFigures
from clearhold.features.core.scorecards import ACT, LOOK


def score_tables(figures: ScoreFigures) -> Iterable[FigureTable]:
    """Reliability, precision and recall."""
    tenths = [(f"{each.score_from} to {each.score_to}", each) for each in figures.tenths]
    yield FigureTable(
        "reliability",
        "Reliability by score",
        "Of the labelled transfers with a score in each tenth of the scale, the share that went bad. A score is no "
        "chance of bad, but its share must rise with it.",
        ("Score", *INTERVAL, "Mean score", "Transfers"),
        tuple(
            (
                *row_of(name, each.observed),
                None if each.mean_score is None else round(each.mean_score),
                each.transfers,
            )
            for name, each in tenths
        ),
        tuple((name, each.observed) for name, each in tenths),
    )
    for name, words in (
        ("precision", "Of the labelled transfers with at least this score, the share that went bad."),
        ("recall", "Of the transfers labelled bad, the share with at least this score: an upper estimate."),
    ):
        steps = [(f"from {each.score_from}", getattr(each, name), each.alerted) for each in figures.steps]
        yield FigureTable(
            f"{name}-by-score",
            f"{name.capitalize()} by score",
            f"{words} The last column is how many transfers an alert from there on would be.",
            ("Score", *INTERVAL, "Alerted"),
            tuple((*row_of(score, share), alerted) for score, share, alerted in steps),
            tuple((score, share) for score, share, _ in steps),
        )


def drift_table(drift: ScoreDrift) -> FigureTable:
    """The stability index of each week, newest first."""
    values = [each.psi for each in drift.weeks]
    known = [each for each in values if each is not None]
    words = (
        f"Measured in {len(known)} of {count(len(values), 'week')}, at most {max(known):.3f}; act from {ACT}"
        if known
        else ""
    )
    return FigureTable(
        "drift",
        "Drift from week to week",
        f"The stability index of the scores of each week against the week before it: steady under {LOOK}, look from "
        f"there, act from {ACT} on. It is not measured below {FEWEST_COMPARED} transfers in either week; the last week "
        "is not over.",
        ("Week", "Index", "Reading", "n", "n before"),
        tuple(
            (each.week, None if each.psi is None else f"{each.psi:.3f}", each.verdict, each.n, each.n_before)
            for each in reversed(drift.weeks)
        ),
        drawing=line_of(values, None, words, ends=(0.0, max(ACT, *known)), axes=_axes_of(drift)) if known else None,
    )


def _axes_of(drift: ScoreDrift) -> Axes:
    levels = {0.0: "0", LOOK: f"look {LOOK}", ACT: f"act {ACT}"}
    return Axes(levels, drift.weeks[0].week, drift.weeks[-1].week)
