"""The nearest amount with which a transfer would have been in another band, all other facts unchanged.

Unit    cents, 1 to 10^12
Errors  none: None says that no amount in that range changes the band, as it never does below the floor of the score

The figures that contain the amount change with it: the sums of 24 h, 48 h and 2 banking days, the counts of round
amounts, of micro-entries and of small card attempts, and its distance to a threshold. Five figures are known in part:

* Other transfers that repeat this amount are taken to carry exactly it: they repeat a new amount within 10 % of it.
* Others just under a threshold of that time stay counted while the new amount is under the same one. When this amount
  is under none, they are taken to be under the new amount's; when it is under another, the new amount is the only one
  known there.
* Whether the payment is regular does not change.
* The busiest day, and the balance and new money of 48 h, are known only where the transfer's own amount needed them.
* The graph does not change: chains and round trips are not searched again, and only the smallest amount of a chain
  follows this one downwards.
"""

from itertools import pairwise
from typing import Any, Final

import msgspec

from clearhold.features.catalogue.thresholds import ROUND_STEP_CENTS, lines_of
from clearhold.features.catalogue.vector import FeatureVector, is_attempt
from clearhold.features.core.vocabulary import Band, Rail
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.windows.series_kinds import SeriesKind, attempt_kinds, kinds_of

LEAST_CENTS: Final = 1
MOST_CENTS: Final = 10**12
_REPEATED_PARTS: Final = 10
_CARD: Final = Rail.CARD.value


class AmountChange(msgspec.Struct, frozen=True, kw_only=True):
    """Another amount, its distance from the transfer's own, and its score."""

    amount_cents: int
    change_cents: int
    score: int
    band: Band


def smallest_change(vector: FeatureVector, card: CompiledCard[FeatureVector], *, degraded: bool) -> AmountChange | None:
    """The nearest amount with another band; of two equally near ones the lower.

    Between two neighbouring edges every signal has one answer for round amounts and one for the others, so that it is
    enough to look at the nearest amount of each kind there.
    """
    own = card.score(vector, degraded=degraded)
    if own.value is None:
        return None
    amount = _amount_of(vector)
    for other in sorted(_candidates(vector, card), key=lambda cents: (abs(cents - amount), cents)):
        score = card.score(with_amount(vector, other), degraded=degraded)
        if score.band is not own.band and score.value is not None:
            return AmountChange(amount_cents=other, change_cents=other - amount, score=score.value, band=score.band)
    return None


def with_amount(vector: FeatureVector, cents: int) -> FeatureVector:
    """The vector that the transfer would have had with another amount, as far as it is known."""
    v, more = vector, cents - _amount_of(vector)
    if not more:
        return v
    changes: dict[str, Any] = {
        "amount_cents": cents,
        "typology_just_below_threshold": lines_of(v.structuring_thresholds).is_just_below(cents),
    }
    changes |= _attempts(v, cents)
    if is_attempt(v):
        return msgspec.structs.replace(v, **changes)  # It counts itself in no other window.
    changes |= {"velocity_24h_sum_cents": v.velocity_24h_sum_cents + more} | _structuring(v, cents)
    changes |= {"program_micro_entries_24h": v.program_micro_entries_24h + _step(v, cents, SeriesKind.MICRO)}
    if v.repeated_amount_count_24h:  # It counts this transfer; 0 means an unknown actor, whose figures are all 0.
        changes |= _of_actor(v, cents)
    return msgspec.structs.replace(v, **changes)


def _amount_of(v: FeatureVector) -> int:
    """The amount, which every vector with a score has."""
    assert v.amount_cents is not None
    return v.amount_cents


def _structuring(v: FeatureVector, cents: int) -> dict[str, int]:
    lines = lines_of(v.structuring_thresholds)
    before, after = lines.zones(v.amount_cents), lines.zones(cents)
    if before == after or v.rail == _CARD:
        return {}
    if before and after:
        return {"structuring_window_count": 1, "structuring_count_24h": 1}
    step = 1 if after else -1
    return {
        "structuring_window_count": v.structuring_window_count + step,
        "structuring_count_24h": v.structuring_count_24h + step,
    }


def _attempts(v: FeatureVector, cents: int) -> dict[str, int]:
    if v.rail != _CARD:
        return {}
    before, after = (attempt_kinds(each, None, None) for each in (v.amount_cents, cents))
    small = {}
    if v.card_small_count_1h is not None:
        small["card_small_count_1h"] = (
            v.card_small_count_1h + (SeriesKind.SMALL in after) - (SeriesKind.SMALL in before)
        )
    return small | {
        "program_card_small_count_1h": v.program_card_small_count_1h
        + (SeriesKind.SMALL_OR_5 in after)
        - (SeriesKind.SMALL_OR_5 in before),
    }


def _of_actor(v: FeatureVector, cents: int) -> dict[str, int]:
    """The counts and sums of its actor that include the transfer or not, by its kind and amount."""
    more = cents - _amount_of(v)
    changes = {
        "round_amount_count_30d": v.round_amount_count_30d + _step(v, cents, SeriesKind.ROUND),
        "entity_micro_entries_24h": v.entity_micro_entries_24h + _step(v, cents, SeriesKind.MICRO),
    }
    if abs(more) > cents // _REPEATED_PARTS:
        changes["repeated_amount_count_24h"] = 1
    if v.layering_least_cents is not None:
        changes["layering_least_cents"] = min(v.layering_least_cents, cents)
    kinds = kinds_of(v.rail, v.direction, v.type, cents)
    if SeriesKind.RECEIVED in kinds:
        changes["entity_in_cents_48h"] = v.entity_in_cents_48h + more
    elif v.rail != _CARD:
        changes["entity_out_cents_48h"] = v.entity_out_cents_48h + more
        if v.entity_left_cents_48h is not None:
            changes["entity_left_cents_48h"] = v.entity_left_cents_48h - more
    if SeriesKind.FAST in kinds:
        changes["entity_fast_out_cents_2bd"] = v.entity_fast_out_cents_2bd + more
    return changes


def _step(v: FeatureVector, cents: int, kind: SeriesKind) -> int:
    """The gain or loss of a kind under the other amount."""
    before, after = (kinds_of(v.rail, v.direction, v.type, each) for each in (v.amount_cents, cents))
    return (kind in after) - (kind in before)


def _candidates(v: FeatureVector, card: CompiledCard[FeatureVector]) -> set[int]:
    """The nearest round and the nearest other amounts of every stretch between two edges."""
    edges = {LEAST_CENTS, MOST_CENTS + 1, *(edge for edge in card.amount_edges(v) if LEAST_CENTS < edge <= MOST_CENTS)}
    amounts = {
        cents
        for first, beyond in pairwise(sorted(edges))
        for cents in _nearest(_amount_of(v), first, beyond - 1)
        if first <= cents < beyond
    }
    return amounts - {v.amount_cents}


def _nearest(amount: int, first: int, last: int) -> tuple[int, ...]:
    """The nearest amount of a stretch with its neighbours, for it may be round, and the round ones around it."""
    near = min(max(amount, first), last)
    below = near - near % ROUND_STEP_CENTS
    return near - 1, near, near + 1, below, below + ROUND_STEP_CENTS
