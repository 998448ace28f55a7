"""What detectors ask beyond a reason: whose structuring it is, sums and counts that only the state has."""

from collections.abc import Callable
from typing import Final

from features.detectors.detector import DAYS_7, DAYS_30, HARD, HIGH, HOURS_24, MEDIUM, Gravity, Scene, Subject
from features.detectors.subjects import named_actor, named_counterparty, the_actor, the_counterparty, the_payee
from features.reason import Reason
from features.scorers.trs_v1_amount import MICRO_COUNT, STRUCTURING_7D_COUNT, STRUCTURING_24H_COUNT
from features.state.parties import Actor, Counterparty
from features.thresholds import structuring_zones
from features.vocabulary import Direction, SubjectType

UNVERIFIED_7D_CENTS: Final = 100_000
UNAUTHORIZED_RETURNS: Final = 2
DORMANT_HIGH_DAYS: Final = 365
ROUND_TRIPS_HARD: Final = 3
STRUCTURING: Final = "structuring_pattern"
UNAUTHORIZED_RETURN: Final = "unauthorized_return"
ROUND_TRIP: Final = "round_trip"
_OUTGOING: Final = Direction.OUTGOING.value


def the_structurer(scene: Scene, reason: Reason) -> Subject:
    """The entity when its own transfers are the pattern, else the counterparty that many of them pay."""
    actor, party = scene.actor, scene.counterparty
    if actor is not None and _structures(scene, actor):
        return named_actor(actor)
    return the_counterparty(scene, reason) if party is not None else the_actor(scene, reason)


def _structures(scene: Scene, party: Actor | Counterparty) -> bool:
    missing = 0 if scene.program.transfers.read(scene.landed.place).moved else 1  # in the windows it is, if it moved
    for threshold in structuring_zones(scene.vector.amount_cents):
        times = (party.zones or {}).get(threshold)
        if times is None:
            continue
        if times.count(scene.at - HOURS_24, scene.at) + missing >= STRUCTURING_24H_COUNT:
            return True
        if times.count(scene.at - DAYS_7, scene.at) + missing >= STRUCTURING_7D_COUNT:
            return True
    return False


def weigh_structuring(scene: Scene, subject: Subject) -> Gravity:
    """Hard when somebody decided on it before: it goes on all the same."""
    return HARD if scene.program.alerts.was_decided(STRUCTURING, subject.type, subject.id) else HIGH


def weigh_dormant(scene: Scene, _subject: Subject) -> Gravity:
    days = scene.vector.typology_dormant_days
    long = days is not None and days >= DORMANT_HIGH_DAYS and scene.vector.direction == _OUTGOING
    return HIGH if long else MEDIUM


def weigh_round_trip(scene: Scene, subject: Subject) -> Gravity:
    """Hard at the third that comes back to the same side in 30 days."""
    trips = scene.program.alerts.tally(
        ROUND_TRIP, subject.type, subject.id, at=scene.at, row=scene.landed.place, within_us=DAYS_30
    )
    return HARD if trips >= ROUND_TRIPS_HARD else HIGH


def weigh_unverified(scene: Scene, _subject: Subject) -> Gravity | None:
    return MEDIUM if seven_day_cents(scene) >= UNVERIFIED_7D_CENTS else None


def seven_day_cents(scene: Scene) -> int:
    """What the actor moved in 7 days, the transfer included if it moved."""
    return 0 if scene.actor is None else scene.actor.amounts.measure(scene.at - DAYS_7, scene.at)[1]


def the_chain_end(scene: Scene, reason: Reason) -> Subject:
    """The entity that the chain ended at; when it left the program, the last one of the program."""
    end = the_payee(scene, reason)
    return the_actor(scene, reason) if end.type is SubjectType.COUNTERPARTY else end


def the_returning_entity(scene: Scene, reason: Reason) -> Subject | None:
    enough = scene.vector.entity_unauthorized_returns_60d >= UNAUTHORIZED_RETURNS
    return the_actor(scene, reason) if enough and scene.actor is not None else None


def the_returning_counterparty(scene: Scene, _reason: Reason) -> Subject | None:
    party = scene.counterparty
    enough = scene.vector.counterparty_prior_unauthorized_returns >= UNAUTHORIZED_RETURNS
    return named_counterparty(party) if enough and party is not None and not party.unlisted else None


def micro_sender(scene: Scene, reason: Reason) -> Subject | None:
    return the_actor(scene, reason) if scene.vector.entity_micro_24h >= MICRO_COUNT else None


def micro_program(scene: Scene, _reason: Reason) -> Subject | None:
    """The program when no single entity of it reaches the line."""
    if scene.vector.entity_micro_24h >= MICRO_COUNT:
        return None
    return Subject(SubjectType.PROGRAM, scene.program.id)


def _unverified_figures(scene: Scene) -> dict[str, int | str]:
    return {"entity.sum7dCents": seven_day_cents(scene)}


FIGURES_OF: Final[dict[str, Callable[[Scene], dict[str, int | str]]]] = {"kyc_unverified_moving": _unverified_figures}
"""Evidence that is no feature of the vector, by detector."""
