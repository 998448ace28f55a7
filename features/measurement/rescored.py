"""Scores a stored vector again, and compares the result with the stored score.

Errors  none: a stored vector always has a score; a vector of another feature version is filled up or cut
"""

from types import NoneType
from typing import Any, Final, get_args

import msgspec

from clearhold.features.catalogue.vector import FeatureVector, TransferFeaturesRow
from clearhold.features.core.entries.backfill import Rescored, Value
from clearhold.features.core.reason import Reason, Score
from clearhold.features.scorers.engine import CompiledCard

_ENCODE: Final = msgspec.json.Encoder().encode
_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])


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
