"""A transfer measured and scored, with the facts as of its time.

``degradedReasons`` are the facts that an answer needs and lacks. ``missing_at_landing`` halves the
confidence, is stored with the score, and keeps a policy from closing an alert alone. A question also names facts that
leave its answer thin without being missing: unknown parties, nothing reported of them, no baseline, too few transfers
for a rarity. There ``n`` and the confidence are low already or fixed counts take the place of shares, so these
words halve nothing.

A stored vector is scored again and compared with its stored score. Such a vector always has a score, and one of another
feature version is filled up or cut.

Explained is the nearest amount with which a transfer would have been in another band, all other facts unchanged: cents
from 1 to 10^12, or None where no amount in that range changes the band, as below the floor of the score. The figures
that contain the amount change with it: the sums of 24 h, 48 h and 2 banking days, the counts of round amounts, of
micro-entries and of small card attempts, and its distance to a threshold. Six figures are known in part:

* Other transfers that repeat this amount are taken to carry exactly it: they repeat a new amount within 10 % of it.
* Others just under a threshold of that time stay counted while the new amount is under the same one. When this amount
  is under none, they are taken to be under the new amount's; when it is under another, the new amount is the only one
  known there.
* Whether the payment is regular does not change.
* The busiest day, and the balance and new money of 48 h, are known only where the transfer's own amount needed them.
* The shares in the program's transfers do not change: a larger amount is at most as common as this one, a smaller one
  at least, so that the named band is right, and a nearer amount may have it too.
* The graph does not change: chains and round trips are not searched again, and only the smallest amount of a chain
  follows this one downwards.
"""

from itertools import pairwise
from types import NoneType
from typing import Any, Final, get_args

import msgspec

from clearhold.features.catalogue.thresholds import ROUND_STEP_CENTS, lines_of
from clearhold.features.catalogue.vector import FeatureVector, TransferFeaturesRow, is_attempt
from clearhold.features.core.canonical import json_text
from clearhold.features.core.entries.commands import Rescored, Value
from clearhold.features.core.vocabulary import Band, Rail, Reason, Score
from clearhold.features.measurement.measure import measure
from clearhold.features.measurement.shares import day_amount_over_usual, day_cents_over_usual
from clearhold.features.measurement.subject import Subject
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.scorers.trs_v1.scorer import DEFAULT
from clearhold.features.state.party_details import UNKNOWN_PROFILE
from clearhold.features.state.program_series import Declared, ProgramSeries
from clearhold.features.windows.baseline import BaselineValues
from clearhold.features.windows.prevalence import Reached, counted
from clearhold.features.windows.series_kinds import SeriesKind, attempt_kinds, kinds_of

COUNTRY_MISSING: Final = "counterparty_country_missing"
AMOUNT_NOT_IN_USD: Final = "amount_not_in_usd"
CARD_UNKNOWN: Final = "card_unknown"
SCREENING_MISSING: Final = "screening_missing"
STATE_BEHIND: Final = "state_behind"
STATE_LATE: Final = "state_late"
ENTITY_UNKNOWN: Final = "entity_unknown"
ENTITY_UNVERIFIED: Final = "entity_unverified"
BASELINE_THIN: Final = "baseline_thin"
USUAL_UNKNOWN: Final = "program_usual_unknown"
_IAT: Final = "IAT"
_INTL_WIRE: Final = Rail.INTL_WIRE.value
_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])
LEAST_CENTS: Final = 1
MOST_CENTS: Final = 10**12
_REPEATED_PARTS: Final = 10
_CARD: Final = Rail.CARD.value


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


def thin_in_question(
    subject: Subject, vector: FeatureVector, *, is_known: bool, is_usual_known: bool
) -> tuple[str, ...]:
    """The facts whose absence leaves the answer to a question thin.

    ``is_known`` when its entity or account is, ``is_usual_known`` when the program has shares for its kind.
    """
    thin: list[str] = []
    if not is_known:
        thin.append(ENTITY_UNKNOWN)
    elif subject.actor is not None and subject.actor.profile is UNKNOWN_PROFILE:
        thin.append(ENTITY_UNVERIFIED)
    if vector.program_n_90d is None:
        thin.append(BASELINE_THIN)
    if not is_usual_known:
        thin.append(USUAL_UNKNOWN)
    return tuple(thin)


class Assessment(msgspec.Struct, frozen=True, gc=False):
    """A vector with its score. ``degraded`` halves the confidence and changes no points.

    ``degraded_reasons`` name the missing facts; a stored score that is read back has the flag alone. ``layering`` and
    ``round_trip`` are the transfers that the two graph features rest on, as rows, oldest first. ``reached`` is what the
    shares count of the transfer, its signals with points among it.
    """

    vector: FeatureVector
    score: Score
    degraded: bool
    layering: tuple[int, ...] = ()
    round_trip: tuple[int, ...] = ()
    degraded_reasons: tuple[str, ...] = ()
    reached: Reached = ()


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
    vector, layering, round_trip, reached = measure(subject, program, declared, baseline, at)
    missing = missing_at_landing(subject, vector)
    if stale:
        missing = (*missing, STATE_BEHIND)
    degraded = bool(missing)
    score = card.score(vector, degraded=degraded)
    usual = score if card is DEFAULT else DEFAULT.score(vector)  # so that a vector does not depend on a card
    if usual.reasons:
        reached = (*reached, *counted([reason.id for reason in usual.reasons if reason.weight > 0]))
    return Assessment(vector, score, degraded, layering, round_trip, missing, reached)


def rescored(stored: TransferFeaturesRow, card: CompiledCard[FeatureVector]) -> Rescored | None:
    """The score of the stored vector by a card; None when it equals the stored one."""
    score = card.score(stored.vector, degraded=stored.degraded)
    if (
        score.value == stored.score
        and score.n == stored.n
        and score.confidence == stored.confidence
        and score.version == stored.score_version
        and json_text(score.reasons) == stored.reasons
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
        changes |= _day_over_usual(v, cents, v.velocity_24h_sum_cents)
        return msgspec.structs.replace(v, **changes)  # It counts itself in no other window.
    changes |= {"velocity_24h_sum_cents": v.velocity_24h_sum_cents + more} | _structuring(v, cents)
    changes |= _day_over_usual(v, cents, v.velocity_24h_sum_cents + more)
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


def _day_over_usual(v: FeatureVector, cents: int, day_cents: int) -> dict[str, int]:
    median = v.program_median_cents
    if v.day_cents_over_usual is None or median is None:
        return {}
    return {
        "day_cents_over_usual": day_cents_over_usual(day_cents, v.entity_sum_cents_30d, median),
        "day_amount_over_usual": day_amount_over_usual(cents, v.velocity_24h_count, v.entity_count_30d, median),
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
        if v.repeated_amount_permille is not None:
            changes["repeated_amount_permille"] = 1_000
    if v.layering_least_cents is not None:
        changes["layering_least_cents"] = min(v.layering_least_cents, cents)
    kinds = kinds_of(v.rail, v.direction, v.type, cents)
    if SeriesKind.RECEIVED in kinds:
        changes["entity_in_cents_48h"] = v.entity_in_cents_48h + more
    elif v.rail != _CARD:
        changes["entity_out_cents_48h"] = v.entity_out_cents_48h + more
        if v.payer_sent_cents_30d is not None:
            changes["payer_sent_cents_30d"] = v.payer_sent_cents_30d + more
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
