"""A backfill as the log carries it: a program's scores given again beside the stream, in steps.

start ─▶ step ─▶ … ─▶ done. Every step carries the whole progress, so the newest one says where to go on after a crash.

Errors  none: a stored vector always has a score, and one of another feature version is filled up or cut
"""

from enum import StrEnum
from types import NoneType
from typing import Any, Final, get_args

import msgspec

from features.catalogue.vector import FEATURE_VERSION, FeatureVector, TransferFeaturesRow
from features.core.reason import Reason, Score
from features.scorers.trs_v1 import scorer as trs_v1

_ENCODE: Final = msgspec.json.Encoder().encode
_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])

Value = int | float | str | bool | None


class Subjects(StrEnum):
    TRANSFERS = "transfers"
    ACTORS = "actors"


class Stage(StrEnum):
    STARTED = "started"
    RUNNING = "running"
    DONE = "done"


class Progress(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How far a backfill has come.

    ``started_offset`` is that of its start entry, 0 within it; what the stream scored behind it stays as it is.
    ``position`` is where the last subject that is done stands: the offset of its stored scoring; while ``replaying``
    the offset of the log entry that scored it. Actors and counterparties are counted through in the order in which the
    program met them, the actors first: there it is how many of them are done.
    """

    id: str
    subjects: Subjects
    stage: Stage = Stage.STARTED
    feature_version: str = FEATURE_VERSION
    score_version: str
    started_offset: int = 0
    replaying: bool = False
    position: int = 0
    total: int = 0
    done: int = 0
    changed: int = 0
    actors: int = 0
    counterparties: int = 0


class Rescored(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A transfer's new score with what it was made from; the vector is field by field."""

    transfer_id: str
    taken_at: int
    degraded: bool
    score: Score
    paths: str | None
    vector: tuple[Value, ...]


class Strongest(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stored transfer score that counts for its entity, with its points of identity and of returns."""

    transfer_id: str
    score: int
    identity: int
    returns: int


class ActorsRescored(msgspec.Struct, frozen=True, kw_only=True):
    """How many subjects have been evaluated. Agents are counted among the entities too."""

    entities: int
    counterparties: int
    agents: int


class ActorRange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Actors and counterparties to be evaluated, from one index up to another, and what is stored of those actors.

    ``newest`` are their newest transfers, for the detectors.
    """

    actors: tuple[int, int] = (0, 0)
    counterparties: tuple[int, int] = (0, 0)
    strongest: tuple[Strongest, ...] = ()
    newest: tuple[str, ...] = ()


class BackfillStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The body of a backfill's log entry."""

    progress: Progress
    rescored: tuple[Rescored, ...] = ()
    evaluate: ActorRange | None = None


def rescored(stored: TransferFeaturesRow) -> Rescored | None:
    """The score that the stored vector gets from the present scorer; None when that is what is stored."""
    score = trs_v1.score(stored.vector, degraded=stored.degraded)
    if (
        score.value == stored.score
        and score.n == stored.n
        and score.confidence == stored.confidence
        and score.version == stored.score_version
        and _ENCODE(score.reasons).decode() == stored.reasons
    ):
        return None
    return _rescored(stored, score)


def replayed(made: TransferFeaturesRow) -> Rescored:
    """What a replay of the log has made of a transfer."""
    reasons = _REASONS.decode(made.reasons)
    return _rescored(
        made,
        Score(version=made.score_version, value=made.score, n=made.n, confidence=made.confidence, reasons=reasons),
    )


def vector_of(values: tuple[Value, ...]) -> FeatureVector:
    """The vector of these values. Features are only ever added at the end: one that was not known yet has no value."""
    filled: list[Any] = [*values[: len(_NOTHING)], *_NOTHING[len(values) :]]
    return FeatureVector(*filled)


def _rescored(row: TransferFeaturesRow, score: Score) -> Rescored:
    values = msgspec.structs.astuple(row.vector)
    return Rescored(row.transfer_id, row.taken_at, row.degraded, score, row.paths, values)


def _nothing(kind: type) -> Value:
    """What stands in a column that cannot be null."""
    empty: Value = None if NoneType in get_args(kind) else kind()
    return empty


_NOTHING: Final = tuple(_nothing(field.type) for field in msgspec.structs.fields(FeatureVector))
