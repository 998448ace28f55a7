"""Transaction Risk Score, trs-v1: the signals over the feature vector, and the default card.

Unit    points 0-100, integers; None below the floor and without an amount in US dollars: unscored is not clear
n       the entity's earlier transfers from the card's floor on, else the program's transfers of 90 days
Errors  none: every FeatureVector has an answer, and equal vectors have equal answers
Source  measures and triggers are named beside each signal, a family a file; caps and floors are [P], to be tuned
"""

from typing import Final

from clearhold.features.catalogue.thresholds import COUNTED_SIGNALS
from clearhold.features.catalogue.vector import FeatureVector, is_attempt
from clearhold.features.core.vocabulary import Rail
from clearhold.features.scorers.engine import default_card
from clearhold.features.scorers.signal import Common, Fact, Family, InputKind, Scorer, SignalGroup
from clearhold.features.scorers.trs_v1 import (
    amount,
    flow,
    habits,
    identity,
    joint,
    purchases,
    relationship,
    returns,
    shares,
    timing,
)

VERSION: Final = "trs-v1"
ENTITY_FLOOR: Final = 5
PROGRAM_FLOOR: Final = 30

Group = SignalGroup[FeatureVector]

_GROUPS: Final[tuple[Group, ...]] = (
    Group(amount.SIGNALS),
    Group(timing.SIGNALS),
    *relationship.GROUPS,
    Group(returns.SIGNALS, returns.may_fire),
    Group(identity.SIGNALS, identity.may_fire),
    Group(identity.GEOGRAPHY_SIGNALS, identity.may_geography_fire),
    Group(identity.DECLARED_SIGNALS),
    Group(returns.HISTORY_SIGNALS),
    Group(flow.SIGNALS, flow.may_fire),
    Group(timing.CARD_SIGNALS),
    *habits.GROUPS,
    Group(purchases.SIGNALS),
    *shares.GROUPS,
    *joint.GROUPS,
)
_ATTEMPTED: Final = {rail.value: f"{rail.value}, no money moved" for rail in Rail}
_KINDS: Final = (
    *(InputKind(rail, rail) for rail in _ATTEMPTED),
    *(InputKind(name, rail, attempts=True) for rail, name in _ATTEMPTED.items()),
)


def _observations(vector: FeatureVector, floor: int, program_floor: int) -> tuple[int, bool]:
    """Without an amount in US dollars the moved money is unknown, and there is no score."""
    prior, of_program = vector.entity_prior_transfers, vector.program_n_90d
    is_priced = vector.amount_cents is not None
    if prior >= floor or of_program is None:
        return prior, is_priced and prior >= floor
    return of_program, is_priced and of_program >= program_floor


_CAPS: Final = {
    Family.AMOUNT: 30,
    Family.TIMING: 50,
    Family.RELATIONSHIP: 50,
    Family.RETURNS: 45,
    Family.IDENTITY: 60,
    Family.GEOGRAPHY: 40,
    Family.DECLARED: 30,
    Family.FLOW: 70,
    Family.CARD: 45,
}
_FACTS: Final = {
    Fact(
        "money_back",
        Family.FLOW,
        "see money come back to the side that sent it",
        frozenset({flow.ROUND_TRIP.id, habits.PAID_BACK.id}),
    ): 30,
    Fact(
        "money_passed_on",
        Family.FLOW,
        "see received money leave again",
        frozenset(
            signal.id
            for signal in (
                *(flow.RAPID, flow.LAYERING, habits.IN_AND_OUT, habits.QUICK_HOPS, habits.CAME_BEFORE),
                *(shares.HOPS, shares.LAST_RECEIPT, shares.DRAINED, shares.SENT, shares.CHAIN),
            )
        ),
    ): 60,
    Fact(
        "many_parties",
        Family.FLOW,
        "see a party deal with many others",
        frozenset(
            signal.id
            for signal in (
                *(flow.FAN_IN, flow.FAN_OUT, flow.SCATTER_GATHER, flow.GATHER_SCATTER, shares.MIDDLES),
                *(shares.PAYEE_NEW_PAYERS, shares.PAYEE_OVER_USUAL, shares.FIRST_AFTER_FIRST, shares.PAYER_OVER_USUAL),
            )
        ),
    ): 60,
}
"""What several signals of a family see, and the most points that it has on the default card."""
SCORER: Final = Scorer[FeatureVector](
    version=VERSION,
    groups=_GROUPS,
    observations=_observations,
    capped=tuple(_CAPS),
    facts=tuple(_FACTS),
    common=Common(frozenset(COUNTED_SIGNALS), lambda vector: vector.common_signals),
    kinds=_KINDS,
    kind_of=lambda vector: _ATTEMPTED[vector.rail] if is_attempt(vector) else vector.rail,
    has_program_floor=True,
)

DEFAULT: Final = default_card(
    SCORER,
    caps=_CAPS,
    facts=_FACTS,
    common=0,
    floor=ENTITY_FLOOR,
    program_floor=PROGRAM_FLOOR,
    signals=(
        *amount.POINTS,
        *timing.POINTS,
        *relationship.POINTS,
        *returns.POINTS,
        *identity.POINTS,
        *identity.GEOGRAPHY_POINTS,
        *returns.HISTORY_POINTS,
        *flow.POINTS,
        *timing.CARD_POINTS,
        *habits.POINTS,
        *shares.POINTS,
    ),
)
DEFAULT_CARD: Final = DEFAULT.card
