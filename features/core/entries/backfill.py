"""A backfill as log entries: the scores of a program computed again beside the stream, in steps.

start ─▶ step ─▶ … ─▶ done. Every step carries the whole progress, so the newest one says where to go on after a crash.
"""

from enum import StrEnum
from typing import Annotated

import msgspec

from clearhold.features.core.reason import Score
from clearhold.features.core.words import about

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
    feature_version: str
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
    """A transfer's new score with its inputs; the vector is given field by field."""

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

    entities: Annotated[int, about("How many entities were scored again.")]
    counterparties: Annotated[int, about("How many counterparties were scored again.")]
    agents: Annotated[int, about("How many of them are agents.")]


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
