"""A score explained: its points by family and the rest that caps leave, hard reasons, and how the band would have been
lower, in words. For a stored transfer also whether the score follows from its inputs, and the nearest amount.

Unit    points; cents
Null    no sets and no amount for an unscored subject; an input that was not measured is named
"""

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Final

import msgspec

from clearhold.features.catalogue.vector import FEATURE_VERSION, FEATURES, FeatureVector, TransferFeaturesRow
from clearhold.features.core.money import money
from clearhold.features.core.vocabulary import Band, Reason, about, band_of
from clearhold.features.measurement.assessment import AmountChange, rescored, smallest_change
from clearhold.features.scorers.breakdown import Breakdown, FamilyPoints
from clearhold.features.scorers.counterfactual import SmallestSet, smallest_sets
from clearhold.features.scorers.engine import CEILING, CompiledCard
from clearhold.features.scorers.negated import FIXED, negated

TO_A_PERSON: Final = "A hard reason sends it to a person, whatever the points are."
NO_AMOUNT: Final = "No other amount would have changed the band."
UNSCORED: Final = "Unscored: there is too little history, whatever the amount."


class FamilyExplained(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``counts`` is the rest of ``points`` after common signals, facts, the cap and overlaps."""

    family: Annotated[str | None, about("What its signals have in common, as in amount; null: no family.")]
    points: Annotated[int, about("The points of its signals together.")]
    cap: Annotated[int | None, about("The most that the card lets the family count; null: no cap.")]
    counts: Annotated[int, about("The points that count; over all families they add up to the total.")]
    reasons: Annotated[tuple[Reason, ...], about("Its signals, the most points first.")]
    taken: Annotated[tuple[Reason, ...], about("The deductions by its caps, as reasons of the score.")]


class ReasonNegated(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: Annotated[str, about("The id of the reason.")]
    signal: Annotated[str, about("Code of the signal, as in velocity_spike.")]
    negated: Annotated[str, about("The clause that follows an if: how it would have been without this reason.")]
    can_be_otherwise: Annotated[
        bool, about("False where the reason is who or where a party is: a country, a denial, a list.")
    ]


class LowerBand(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A smallest set: without all of its reasons the band is lower, and without any part of them it is not."""

    reasons: Annotated[tuple[ReasonNegated, ...], about("The reasons that would all have to be absent.")]
    score: Annotated[int, about("The score without them.")]
    band: Annotated[Band, about("The band without them.")]
    sentence: Annotated[str, about("The set in words.")]


class NearestAmount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    amount_cents: Annotated[str, about("The nearest amount with another band.")]
    change_cents: Annotated[str, about("Its distance from the transfer's amount; negative: less.")]
    score: Annotated[int, about("The score with that amount.")]
    band: Annotated[Band, about("The band with that amount.")]
    sentence: Annotated[str, about("The amount in words.")]


class ScoreExplained(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``total`` is the sum over families; the score is that within 0 and 100."""

    score: int | None
    band: Band
    families: Annotated[tuple[FamilyExplained, ...], about("By family, the most points that count first.")]
    taken: Annotated[tuple[Reason, ...], about("The deductions over all families, and by the limits 0 and 100.")]
    total: Annotated[int | None, about("The points before the limits 0 and 100; null when unscored.")]
    hard_reasons: Annotated[tuple[Reason, ...], about("The reasons that send it to a person.")]
    goes_to_person: Annotated[str | None, about("Said when a reason is hard: a person decides, whatever the points.")]
    would_be_lower: Annotated[
        tuple[LowerBand, ...],
        about(
            "The smallest sets of reasons without which the band would be lower, at most 4: the fewest reasons first, "
            "then fewer that cannot be otherwise, then fewer points left. Empty in the lowest band."
        ),
    ]
    is_exact: Annotated[
        bool,
        about("False where the card lets common signals count in part: sets may be missing, and listed ones hold."),
    ]

    @property
    def adds_up(self) -> bool:
        """Whether the reasons add up to the score under the card."""
        return self.total is None or self.score == min(CEILING, max(0, self.total))


class ScoreOnce(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One scoring, stored or made now."""

    score: int | None
    band: Band
    n: Annotated[int, about("How many observations the score rests on.")]
    confidence: float | None
    version: str


class StoredExplained(ScoreExplained, frozen=True, kw_only=True, rename="camel"):
    """A stored score beside the one that its inputs give now, which is the one explained."""

    feature_version: Annotated[str, about("Version of the features.")]
    stored: Annotated[ScoreOnce, about("The stored score.")]
    recomputed: Annotated[ScoreOnce, about("The score that the stored inputs give now.")]
    is_same: Annotated[bool, about("Whether both are equal, with all their reasons.")]
    difference: Annotated[str | None, about("How they differ, in words; null when they do not.")]
    degraded: Annotated[bool, about("Whether an input was missing, which halves the confidence.")]
    unmeasured: Annotated[tuple[str, ...], about("The inputs that were not measured, by name.")]
    nearest_amount: Annotated[
        NearestAmount | None,
        about("The nearest amount with another band, all else equal; null: no amount has another band."),
    ]


def explained_reasons(card: CompiledCard[Any], value: int | None, reasons: Sequence[Reason]) -> ScoreExplained:
    """A recorded score of which no inputs are stored."""
    return ScoreExplained(**_fields(card, value, reasons, None))


def explained_transfer(stored: TransferFeaturesRow, card: CompiledCard[FeatureVector]) -> StoredExplained:
    """A stored transfer scored again with the card that scored it."""
    score = card.score(stored.vector, degraded=stored.degraded)
    is_same = stored.feature_version == FEATURE_VERSION and rescored(stored, card) is None
    common = (stored.vector.common_signals or "").split()
    return StoredExplained(
        **_fields(card, score.value, score.reasons, common),
        feature_version=stored.feature_version,
        stored=ScoreOnce(
            score=stored.score,
            band=Band(stored.band),
            n=stored.n,
            confidence=stored.confidence,
            version=stored.score_version,
        ),
        recomputed=ScoreOnce(
            score=score.value, band=score.band, n=score.n, confidence=score.confidence, version=score.version
        ),
        is_same=is_same,
        difference=None if is_same else difference_of(stored),
        degraded=stored.degraded,
        unmeasured=tuple(each.name for each in FEATURES if getattr(stored.vector, each.column) is None),
        nearest_amount=_nearest(smallest_change(stored.vector, card, degraded=stored.degraded)),
    )


_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])


def difference_of(stored: TransferFeaturesRow) -> str:
    if stored.feature_version != FEATURE_VERSION:
        return f"The inputs are {stored.feature_version}, this is {FEATURE_VERSION}. Rescore the program."
    was = ", ".join(f"{reason.id} {reason.weight:+d}" for reason in _REASONS.decode(stored.reasons)) or "no reasons"
    return f"The stored score is not what these inputs give now. It was stored with {was}."


def amount_sentence(change: AmountChange) -> str:
    more = "more" if change.change_cents > 0 else "less"
    return (
        f"With {money(abs(change.change_cents))} {more}, at {money(change.amount_cents)}, "
        f"it would have been {change.band} with {change.score} points."
    )


def _nearest(change: AmountChange | None) -> NearestAmount | None:
    if change is None:
        return None
    return NearestAmount(
        amount_cents=str(change.amount_cents),
        change_cents=str(change.change_cents),
        score=change.score,
        band=change.band,
        sentence=amount_sentence(change),
    )


def _fields(
    card: CompiledCard[Any], value: int | None, reasons: Sequence[Reason], common: Collection[str] | None
) -> dict[str, Any]:
    breakdown = Breakdown(card, value, reasons, common)
    families, sets = breakdown.families(), smallest_sets(breakdown)
    of_families = {reason.id for family in families for reason in (*family.reasons, *family.taken)}
    hard = tuple(reason for reason in reasons if reason.hard)
    return {
        "score": value,
        "band": band_of(value),
        "families": tuple(map(_family, families)) if value is not None else (),
        "taken": tuple(reason for reason in reasons if reason.id not in of_families and not reason.hard),
        "total": None if value is None else breakdown.total(),
        "hard_reasons": hard,
        "goes_to_person": TO_A_PERSON if hard else None,
        "would_be_lower": tuple(map(_lower, sets.sets)),
        "is_exact": sets.is_exact,
    }


def _family(row: FamilyPoints) -> FamilyExplained:
    return FamilyExplained(
        family=None if row.family is None else row.family.value,
        points=row.points,
        cap=row.cap,
        counts=row.counts,
        reasons=row.reasons,
        taken=row.taken,
    )


def _lower(smallest: SmallestSet) -> LowerBand:
    negations = tuple(
        ReasonNegated(
            id=reason.id,
            signal=reason.signal,
            negated=negated(reason.id, reason.signal),
            can_be_otherwise=reason.id not in FIXED,
        )
        for reason in smallest.reasons
    )
    band = band_of(smallest.value)
    clauses = ", and if ".join(each.negated for each in negations)
    points = "1 point" if smallest.value == 1 else f"{smallest.value} points"
    return LowerBand(
        reasons=negations, score=smallest.value, band=band, sentence=f"If {clauses}: {band} with {points}."
    )
