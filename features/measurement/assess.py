"""The one assessment that the stream, pre-flight, backfill and backtest share: measure, then score."""

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.measurement.degraded import STATE_BEHIND, missing_at_landing
from clearhold.features.measurement.measure import measure
from clearhold.features.measurement.subject import Subject
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.state.program_series import Declared, ProgramSeries
from clearhold.features.windows.baseline import BaselineValues


def assess(
    subject: Subject,
    program: ProgramSeries,
    declared: Declared,
    baseline: BaselineValues,
    card: CompiledCard[FeatureVector],
    *,
    at: int,
    stale: bool = False,
) -> Assessment:
    """Score the subject with the facts of that time; ``stale`` says that newer ones are missing."""
    vector, layering, round_trip = measure(subject, program, declared, baseline, at)
    missing = missing_at_landing(subject, vector)
    if stale:
        missing = (*missing, STATE_BEHIND)
    degraded = bool(missing)
    return Assessment(vector, card.score(vector, degraded=degraded), degraded, layering, round_trip, missing)
