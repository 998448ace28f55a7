"""The amount signals of trs-v1: amounts chosen to avoid reports, and amounts far from the usual.

Unit    cents; counts over the window that each feature names
Source  named at each signal; [P] is proposed here, to be tuned on labels
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearhold.features.catalogue.thresholds import (
    MICRO_BELOW_CENTS,
    ROUND_FROM_CENTS,
    ROUND_STEP_CENTS,
    is_round,
    lines_of,
)
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.money import counted, money
from clearhold.features.core.scorecards import points_from, points_when
from clearhold.features.scorers.engine import CREDIBILITY_K
from clearhold.features.scorers.signal import ACH_ONLY, BESIDE_ITSELF, BUT_CARD, BUT_CHECK_AND_CARD, Signal
from clearhold.features.scorers.trs_v1.relationship import is_large_first

STRUCTURING_24H_COUNT: Final = 3
STRUCTURING_7D_COUNT: Final = 4
SPIKE_FACTOR: Final = 3
FAR_SPIKE_FACTOR: Final = 10
REPEATED_COUNT: Final = 5
ROUND_COUNT: Final = 3
MICRO_COUNT: Final = 10
MOST_PERCENT: Final = 1_000_000
_REPEATED_PARTS: Final = 10


def _structures(v: FeatureVector) -> bool:
    """Several amounts just under a reporting line, this transfer among them. 3 in 24 h, 4 in 7 d: [P].

    Wages and rents that are paid to the same payee regularly were not split to stay under the line [P].
    """
    if v.pair_regular:
        return False
    if v.structuring_count_24h < STRUCTURING_24H_COUNT and v.structuring_window_count < STRUCTURING_7D_COUNT:
        return False
    return bool(lines_of(v.structuring_thresholds).zones(v.amount_cents))


def is_spike(v: FeatureVector) -> bool:
    """Over three times [P] the usual amount and over the program's 95th percentile [P]."""
    percent = _spike_percent(v)
    return percent is not None and percent > SPIKE_FACTOR * 100


def _spike_percent(v: FeatureVector) -> int | None:
    """An amount over the program's 95th percentile, in percent of the usual one, rounded up.

    For an entity without a usual amount the signal would only say that the amount is large for the program, which a
    large first transfer with a counterparty already says: one fact has one reason.
    """
    amount, p95 = v.amount_cents, v.program_p95_cents
    if p95 is None or amount is None or amount <= p95 or v.program_median_cents is None:
        return None
    if v.entity_median_cents_90d is None and is_large_first(v):
        return None
    numerator, denominator = _usual(v)
    return min(MOST_PERCENT, -(-100 * amount * denominator // numerator)) if numerator else MOST_PERCENT


def _spike_sentence(v: FeatureVector, _: int) -> str:
    numerator, denominator = _usual(v)
    return (
        f"{money(v.amount_cents or 0)}; the usual amount is {money(numerator // denominator)} (n = {v.entity_n_90d}) "
        f"and the program's 95th percentile is {money(v.program_p95_cents or 0)} (n = {v.program_n_90d})."
    )


def _spike_edges(v: FeatureVector, percents: Sequence[int]) -> Iterator[int]:
    if v.program_p95_cents is None or v.program_median_cents is None:
        return
    numerator, denominator = _usual(v)
    yield v.program_p95_cents + 1
    for percent in percents:
        yield (percent - 1) * numerator // (100 * denominator) + 1


def _usual(v: FeatureVector) -> tuple[int, int]:
    """The medians of entity and program as a fraction of cents, blended by credibility n / (n + 20) (Buehlmann)."""
    program = v.program_median_cents or 0
    own = v.entity_median_cents_90d
    if own is None:
        return program, 1
    return v.entity_n_90d * own + CREDIBILITY_K * program, v.entity_n_90d + CREDIBILITY_K


def _repeated_count(v: FeatureVector) -> int | None:
    """The same amount repeatedly; 5 in 24 h within 10 %: a vendor preset."""
    return None if v.amount_cents is None or v.pair_regular else v.repeated_amount_count_24h


def repeated_edges(v: FeatureVector, _: Sequence[int]) -> Iterator[int]:
    """The amounts that this one is within 10 % of."""
    amount = v.amount_cents or 0
    yield -(-amount * _REPEATED_PARTS // (_REPEATED_PARTS + 1))
    yield amount * _REPEATED_PARTS // (_REPEATED_PARTS - 1) + 1


def _round_count(v: FeatureVector) -> int | None:
    """Large round amounts; 3 in 30 days, $5,000 and $1,000: [P]."""
    return v.round_amount_count_30d if v.amount_cents is not None and is_round(v.amount_cents) else None


def _micro_count(v: FeatureVector) -> int | None:
    """Many micro-entries without a debit after them; $1: Nacha's definition, 10 in 24 h: [P]."""
    if v.amount_cents is None or v.amount_cents >= MICRO_BELOW_CENTS or v.entity_forward_debits_24h:
        return None
    return max(v.entity_micro_entries_24h, v.program_micro_entries_24h)


STRUCTURING: Final = Signal[FeatureVector](
    "TRS-AMT-01",
    "structuring_pattern",
    "At least 3 transfers in 24 h, or 4 in 7 days, lie between 80 % and 100 % of one reporting threshold; this one is "
    "not paid to this payee regularly.",
    _structures,
    lambda v, _: (
        f"{counted(v.structuring_count_24h, 'transfer')} in 24 hours and {v.structuring_window_count} in 7 days "
        "at 80 % to 100 % of the same reporting threshold."
    ),
    source="31 USC 5324 and 31 CFR 1010.314 bar structuring; counts and zone [P]",
    edges=lambda v, _: lines_of(v.structuring_thresholds).zone_edges,
    rails=BUT_CARD,
)
JUST_BELOW: Final = Signal[FeatureVector](
    "TRS-AMT-02",
    "just_below_threshold",
    "The amount is 90 % to 100 % of a reporting threshold.",
    lambda v: v.amount_cents is not None and bool(v.typology_just_below_threshold),
    lambda v, _: f"{money(v.amount_cents or 0)} is 90 % to 100 % of a reporting threshold.",
    source="FFIEC BSA/AML Examination Manual, appendix F; zone [P]",
    edges=lambda v, _: lines_of(v.structuring_thresholds).just_below_edges,
    rails=BUT_CARD,
)
SPIKE: Final = Signal[FeatureVector](
    "TRS-AMT-03",
    "amount_spike",
    "Over 3 times the usual amount and over the program's 95th percentile.",
    _spike_percent,
    _spike_sentence,
    source="[P]; Tazama rules 018, 020 and 048 use factors of 1.5 to 3",
    unit="percent of the usual amount",
    edges=_spike_edges,
)
REPEATED: Final = Signal[FeatureVector](
    "TRS-AMT-04",
    "repeated_amount",
    "At least 5 transfers in 24 h whose amounts are within 10 % of this one, which is not paid regularly.",
    _repeated_count,
    lambda v, count: f"{counted(count, 'transfer')} in 24 hours within 10 % of {money(v.amount_cents or 0)}.",
    source="Count and tolerance: a Tazama preset; weight [P]",
    unit="transfers in 24 h",
    least=BESIDE_ITSELF,
    edges=repeated_edges,
    rails=BUT_CHECK_AND_CARD,
)
ROUND: Final = Signal[FeatureVector](
    "TRS-AMT-05",
    "round_amount",
    "A multiple of $1,000 from $5,000 on, the third or later in 30 days.",
    _round_count,
    lambda _, count: (
        f"{counted(count, 'round amount')} in 30 days: multiples of {money(ROUND_STEP_CENTS)}, "
        f"{money(ROUND_FROM_CENTS)} or more."
    ),
    source="FFIEC BSA/AML Examination Manual, appendix F (large round-dollar transfers); figures [P]",
    unit="transfers in 30 days",
    least=BESIDE_ITSELF,
    edges=lambda _v, _: (ROUND_FROM_CENTS,),
    rails=BUT_CHECK_AND_CARD,
)
MICRO: Final = Signal[FeatureVector](
    "TRS-AMT-06",
    "micro_entry_abuse",
    "An entry under $1, the tenth or later in 24 h of the entity or the program, and no debit of the entity beside it.",
    _micro_count,
    lambda v, _: (
        f"{counted(v.entity_micro_entries_24h, 'ACH entry')} under {money(MICRO_BELOW_CENTS)} by this "
        f"entity in 24 hours, {v.program_micro_entries_24h:,} on the program, and no debit that they could verify."
    ),
    source="Nacha Operating Rules, Micro-Entries (originators watch their volume); counts [P]",
    unit="entries in 24 h",
    least=BESIDE_ITSELF,
    edges=lambda _v, _: (MICRO_BELOW_CENTS,),
    rails=ACH_ONLY,
)

SIGNALS: Final = (STRUCTURING, JUST_BELOW, SPIKE, REPEATED, ROUND, MICRO)
POINTS: Final = (
    points_when(STRUCTURING.id, 10),
    points_when(JUST_BELOW.id, 4),
    points_from(SPIKE.id, (SPIKE_FACTOR * 100 + 1, 10), (FAR_SPIKE_FACTOR * 100, 18), known=0),
    points_from(REPEATED.id, (REPEATED_COUNT, 6), known=0),
    points_from(ROUND.id, (ROUND_COUNT, 6)),
    points_from(MICRO.id, (MICRO_COUNT, 12)),
)
"""Of the default card. Structuring keeps points without support by labels, since 31 USC 5324 bars it and no labelled
data set has it; where many amounts lie just under a line by chance, more points would hide bad transfers (decision
0053).
"""
