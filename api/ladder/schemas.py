"""The limit ladder for callers, and a proposed transfer to compare with it."""

from typing import Annotated
from uuid import UUID

import msgspec

from clearhold.api.http.fields import CursorText, PageLimit, ProgramId, ProgramIds
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT, instant_text
from clearhold.api.preflight.schemas import TransferRequest
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.program import Simulated
from clearhold.features.core.vocabulary import Band, about
from clearhold.features.policy.bodies import LimitLadder
from clearhold.store.duck.parties import DueEntity


class LadderQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramId | None = None


class LadderInForce(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A ladder and its version."""

    version: Annotated[str, about("Version of the ladder.")]
    ladder: LimitLadder


class EvaluationRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A proposed transfer, as a pre-flight takes it."""

    program_id: Annotated[UUID, about("The program.")]
    transfer: Annotated[TransferRequest, about("The proposed transfer, as a pre-flight takes it.")]


class RescreenQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class RescreenDue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An entity to be screened again; ``lastScreenedAt`` null: it must be screened and never was."""

    program_id: str
    entity_id: Annotated[str, about("The bank's id of the entity.")]
    band: Annotated[Band, about("The entity's band, whose cadence this is.")]
    requires_screening: bool
    cadence_days: int
    last_screened_at: str | None
    due_at: Annotated[str | None, about("When it was to be screened again; null when it never was.")]
    simulated: Simulated = msgspec.UNSET


class RescreenPage(ListPage[RescreenDue], frozen=True, kw_only=True, rename="camel"):
    pass


def to_due(due: DueEntity) -> RescreenDue:
    due_at = None if due.screened_at is None else due.screened_at + due.cadence_days * DAY_US
    return RescreenDue(
        program_id=due.program_id,
        entity_id=due.entity_id,
        band=Band(due.band),
        requires_screening=due.requires_screening,
        cadence_days=due.cadence_days,
        last_screened_at=instant_text(due.screened_at),
        due_at=instant_text(due_at),
    )
