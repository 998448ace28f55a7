"""A backfill as log entries: a program's scores are computed again beside the stream, in steps.

start ─▶ step ─▶ … ─▶ done. Every step carries the whole progress, so after a crash the newest one is where to resume.
"""

from enum import StrEnum
from typing import Annotated

import msgspec

from clearhold.features.core.reason import Score
from clearhold.features.core.vocabulary import about

Value = int | float | str | bool | None


class Subjects(StrEnum):
    TRANSFERS = "transfers"
    ACTORS = "actors"


class Stage(StrEnum):
    STARTED = "started"
    RUNNING = "running"
    DONE = "done"


class Progress(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The progress of a backfill.

    ``started_offset`` is the offset of its start entry, 0 within it; later scores of the stream are left alone.
    ``position`` is the offset of the last finished subject's stored scoring; while ``replaying``, the offset of the log
    entry that scored it. For actors and counterparties, in the order in which the program met them and actors first, it
    is the number of finished ones.
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


class ActorsRescored(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of evaluated subjects. Agents are counted among the entities too."""

    entities: Annotated[int, about("How many entities were scored again.")]
    counterparties: Annotated[int, about("How many counterparties were scored again.")]
    agents: Annotated[int, about("How many of them are agents.")]


class ActorRange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Actors and counterparties to evaluate, from one index up to another.

    ``transfers`` are their transfers that the detectors examine again, in this order.
    """

    actors: tuple[int, int] = (0, 0)
    counterparties: tuple[int, int] = (0, 0)
    transfers: tuple[str, ...] = ()


class BackfillStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The body of a backfill's log entry."""

    progress: Progress
    rescored: tuple[Rescored, ...] = ()
    evaluate: ActorRange | None = None
