"""The one assessment that the stream, pre-flight, backfill and backtest share: measure, then score."""

import msgspec

from features.catalogue.vector import FeatureVector
from features.core.reason import Score
from features.measurement.degraded import STATE_BEHIND, missing_at_landing
from features.measurement.measure import measure
from features.measurement.subject import Subject
from features.scorers.trs_v1 import scorer as trs_v1
from features.state.program_series import Declared, ProgramSeries
from features.windows.baseline import BaselineValues


class Assessment(msgspec.Struct, frozen=True, gc=False):
    """A vector with the score it gives. ``degraded`` halves the confidence and changes no points.

    ``degraded_reasons`` are what it lacks; a stored score that is read back has the flag alone. ``layering`` and
    ``round_trip`` are the transfers that the two graph features rest on, as rows, oldest first.
    """

    vector: FeatureVector
    score: Score
    degraded: bool
    layering: tuple[int, ...] = ()
    round_trip: tuple[int, ...] = ()
    degraded_reasons: tuple[str, ...] = ()


def assess(
    subject: Subject,
    program: ProgramSeries,
    declared: Declared,
    baseline: BaselineValues,
    *,
    at: int,
    stale: bool = False,
) -> Assessment:
    """Score the subject with the facts of its own time; ``stale`` says that newer facts are known to be missing."""
    vector, layering, round_trip = measure(subject, program, declared, baseline, at)
    missing = missing_at_landing(subject, vector)
    if stale:
        missing = (*missing, STATE_BEHIND)
    degraded = bool(missing)
    return Assessment(vector, trs_v1.score(vector, degraded=degraded), degraded, layering, round_trip, missing)
