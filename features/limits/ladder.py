"""Compares a proposed transfer with the limit ladder, and dates the next screening of its parties.

The caps are those of each actor's band at the instant (``features/measurement/actor_evaluation.py``).

Window  day and month of the calendar (UTC) up to the instant, the transfer itself not included; direction outgoing
Errors  none: an amount that is not known in US dollars is a cent (``whole_cents``), which crosses a cap that is used up
"""

from collections.abc import Callable
from typing import Annotated, Final, NamedTuple

import msgspec

from clearhold.features.core.entries.preflight import HARD_HIT, SOFT_HIT, LimitHit
from clearhold.features.core.instants import DAY_US, format_instant, month_of_day
from clearhold.features.core.vocabulary import Band, about
from clearhold.features.measurement.actor_evaluation import band_of_actor, band_of_counterparty, cadence_of
from clearhold.features.policy.bodies import BandCaps, Ladder, LimitLadder
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState

ENTITY: Final = "entity"
COUNTERPARTY: Final = "counterparty"
NOT_ON_FILE: Final = "not_on_file"
"""The id of a counterparty that the request describes and that has no id from the bank."""


class LadderParties(NamedTuple):
    """The two sides of a proposed transfer; an id is None when the request names no party there."""

    entity_id: str | None
    entity: Actor | None
    counterparty_id: str | None
    counterparty: KnownCounterparty | None


class LadderBands(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The bands that the caps were taken from; None for a side that the request does not name."""

    entity: Band | None
    counterparty: Annotated[Band | None, about("The counterparty's.")]


class Rescreen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """When an actor is to be screened again.

    ``overdue`` follows the score's screening signals; None where the bank has not reported whether it screens the
    actor, which it reports of entities alone.
    """

    cadence_days: int
    last_screened_at: str | None
    due_at: Annotated[str | None, about("When it is to be screened again; null when it never was.")]
    overdue: Annotated[
        bool | None,
        about(
            "Whether its screening is over the cadence by a whole day, or was never done although it is "
            "required; null when the bank has reported nothing."
        ),
    ]


class RescreenOfBoth(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    entity: Rescreen | None
    counterparty: Annotated[Rescreen | None, about("The counterparty's; the bank reports no screening of them.")]


def bands_of(program: ProgramState, parties: LadderParties, *, at: int) -> LadderBands:
    """The bands of both sides; a side that is not on file is unscored."""
    entity, counterparty = parties.entity, parties.counterparty
    of_entity = Band.UNSCORED if entity is None else band_of_actor(program, entity, at)
    of_counterparty = Band.UNSCORED if counterparty is None else band_of_counterparty(program, counterparty, at)
    return LadderBands(
        entity=None if parties.entity_id is None else of_entity,
        counterparty=None if parties.counterparty_id is None else of_counterparty,
    )


def ladder_hits(
    ladder: LimitLadder, parties: LadderParties, bands: LadderBands, *, cents: int, at: int
) -> tuple[LimitHit, ...]:
    """The caps that an outgoing transfer of ``cents`` would cross, of the counterparty and then of the entity."""
    counterparty, entity = parties.counterparty, parties.entity
    hits = list[LimitHit]()
    if bands.counterparty is not None and parties.counterparty_id is not None:
        moved = _moved(None if counterparty is None else counterparty.times.measure, at)
        hits += _hits((COUNTERPARTY, parties.counterparty_id, bands.counterparty), ladder.counterparty, moved, cents)
    if bands.entity is not None and parties.entity_id is not None:
        moved = _moved(None if entity is None else entity.outgoing, at)
        hits += _hits((ENTITY, parties.entity_id, bands.entity), ladder.entity, moved, cents)
    return tuple(hits)


def rescreen_of(ladder: LimitLadder, parties: LadderParties, bands: LadderBands, *, at: int) -> RescreenOfBoth:
    """When both sides are to be screened again."""
    return RescreenOfBoth(
        entity=None if bands.entity is None else _rescreen(parties.entity, cadence_of(ladder, bands.entity), at),
        counterparty=None
        if bands.counterparty is None
        else _rescreen(None, cadence_of(ladder, bands.counterparty), at),
    )


def _hits(who: tuple[str, str, Band], ladder: Ladder, observed: tuple[int, int, int], cents: int) -> list[LimitHit]:
    actor, actor_id, band = who
    caps: BandCaps = getattr(ladder, band.value)
    limits = (
        ("per_transaction", caps.per_transaction_cents),
        ("daily", caps.daily_cents),
        ("monthly", caps.monthly_cents),
    )
    return [
        LimitHit(
            limit=f"{actor}.{kind}",
            actor=actor,
            actor_id=actor_id,
            band=band,
            cap=cap,
            observed=str(moved),
            proposed=str(cents),
            severity=HARD_HIT if band is Band.HOLD else SOFT_HIT,
        )
        for (kind, cap), moved in zip(limits, observed, strict=True)
        if cap is not None and moved + cents > int(cap)
    ]


def _moved(measure: Callable[[int, int], tuple[int, int]] | None, at: int) -> tuple[int, int, int]:
    """Cents that an actor moved: none before this transfer, in the day and in the month."""
    if measure is None:
        return 0, 0, 0
    return 0, measure(at - at % DAY_US - 1, at)[1], measure(month_of_day(at // DAY_US)[0] - 1, at)[1]


def _rescreen(actor: Actor | None, cadence_days: int, at: int) -> Rescreen:
    profile = None if actor is None else actor.profile_at(at)
    screened_at = None if profile is None else profile.last_screened_at
    if screened_at is not None:
        return Rescreen(
            cadence_days=cadence_days,
            last_screened_at=format_instant(screened_at),
            due_at=format_instant(screened_at + cadence_days * DAY_US),
            overdue=max(0, at - screened_at) // DAY_US > cadence_days,
        )
    is_required = None if profile is None else profile.words.requires_screening
    return Rescreen(cadence_days=cadence_days, last_screened_at=None, due_at=None, overdue=is_required)
