"""A transfer measured and scored, with the facts as of its time.

``degradedReasons`` are the facts that an answer needs and lacks. ``missing_at_landing`` halves the
confidence, is stored with the score, and keeps a policy from closing an alert alone. A question also names facts that
leave its answer thin without being missing: unknown parties, nothing reported of them, no baseline. There ``n`` and the
confidence are low already, so these words halve nothing.

A stored vector is scored again and compared with its stored score. Such a vector always has a score, and one of another
feature version is filled up or cut.
"""

from types import NoneType
from typing import Any, Final, get_args

import msgspec

from clearhold.features.catalogue.vector import FeatureVector, TransferFeaturesRow
from clearhold.features.core.entries.commands import Rescored, Value
from clearhold.features.core.vocabulary import Rail, Reason, Score
from clearhold.features.measurement.measure import measure
from clearhold.features.measurement.subject import Subject
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.state.party_details import UNKNOWN_PROFILE
from clearhold.features.state.program_series import Declared, ProgramSeries
from clearhold.features.windows.baseline import BaselineValues

COUNTRY_MISSING: Final = "counterparty_country_missing"
AMOUNT_NOT_IN_USD: Final = "amount_not_in_usd"
CARD_UNKNOWN: Final = "card_unknown"
SCREENING_MISSING: Final = "screening_missing"
STATE_BEHIND: Final = "state_behind"
STATE_LATE: Final = "state_late"
ENTITY_UNKNOWN: Final = "entity_unknown"
ENTITY_UNVERIFIED: Final = "entity_unverified"
BASELINE_THIN: Final = "baseline_thin"
_IAT: Final = "IAT"
_INTL_WIRE: Final = Rail.INTL_WIRE.value
_ENCODE: Final = msgspec.json.Encoder().encode
_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])


def missing_at_landing(subject: Subject, vector: FeatureVector) -> tuple[str, ...]:
    """The facts that the answer to a transfer, landed or proposed, needs and lacks.

    A missing country matters only where money crosses borders: international wires and IAT entries.
    """
    missing: list[str] = []
    if vector.amount_cents is None:
        missing.append(AMOUNT_NOT_IN_USD)
    if subject.country is None and (vector.rail == _INTL_WIRE or subject.sec_code == _IAT):
        missing.append(COUNTRY_MISSING)
    if vector.card_declines_1h is None:
        missing.append(CARD_UNKNOWN)
    if vector.entity_requires_screening and vector.entity_screening_age_days is None:
        missing.append(SCREENING_MISSING)
    return tuple(missing)


def thin_in_question(subject: Subject, vector: FeatureVector, *, is_known: bool) -> tuple[str, ...]:
    """The facts whose absence leaves the answer to a question thin; ``is_known`` when its entity or account is."""
    thin: list[str] = []
    if not is_known:
        thin.append(ENTITY_UNKNOWN)
    elif subject.actor is not None and subject.actor.profile is UNKNOWN_PROFILE:
        thin.append(ENTITY_UNVERIFIED)
    if vector.program_n_90d is None:
        thin.append(BASELINE_THIN)
    return tuple(thin)


class Assessment(msgspec.Struct, frozen=True, gc=False):
    """A vector with its score. ``degraded`` halves the confidence and changes no points.

    ``degraded_reasons`` name the missing facts; a stored score that is read back has the flag alone. ``layering`` and
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


def rescored(stored: TransferFeaturesRow, card: CompiledCard[FeatureVector]) -> Rescored | None:
    """The score of the stored vector by a card; None when it equals the stored one."""
    score = card.score(stored.vector, degraded=stored.degraded)
    if (
        score.value == stored.score
        and score.n == stored.n
        and score.confidence == stored.confidence
        and score.version == stored.score_version
        and _ENCODE(score.reasons).decode() == stored.reasons
    ):
        return None
    return _rescored(stored, score)


def replayed(scoring: TransferFeaturesRow) -> Rescored:
    """The score of a transfer by a replay of the log."""
    reasons = _REASONS.decode(scoring.reasons)
    return _rescored(
        scoring,
        Score(
            version=scoring.score_version,
            value=scoring.score,
            n=scoring.n,
            confidence=scoring.confidence,
            reasons=reasons,
        ),
    )


def scored_with(card: CompiledCard[FeatureVector], result: Rescored) -> Rescored:
    """The same vector, scored with a card unless it was scored with it."""
    if result.score.version == card.version:
        return result
    return msgspec.structs.replace(result, score=card.score(vector_of(result.vector), degraded=result.degraded))


def vector_of(values: tuple[Value, ...]) -> FeatureVector:
    """The vector of these values. Features are only ever added at the end: a later feature has no value."""
    filled: list[Any] = [*values[: len(_NOTHING)], *_NOTHING[len(values) :]]
    return FeatureVector(*filled)


def _rescored(row: TransferFeaturesRow, score: Score) -> Rescored:
    values = msgspec.structs.astuple(row.vector)
    return Rescored(row.transfer_id, row.taken_at, row.degraded, score, row.paths, values)


def _nothing(kind: type) -> Value:
    """The empty value of a column that cannot be null."""
    empty: Value = None if NoneType in get_args(kind) else kind()
    return empty


_NOTHING: Final = tuple(_nothing(field.type) for field in msgspec.structs.fields(FeatureVector))
