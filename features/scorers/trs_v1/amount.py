"""The amount rules of trs-v1: amounts shaped to stay unseen, and amounts far from the usual.

Unit    cents; counts over the window that each feature names
Source  named at each rule; [P] is proposed here, to be tuned on labels
"""

from typing import Final

from features.catalogue.thresholds import MICRO_BELOW_CENTS, is_round, lines_of
from features.catalogue.vector import FeatureVector
from features.core.reason import Reason
from features.scorers.families import Family
from features.scorers.rule import ACH_ONLY, BUT_CARD, BUT_CHECK_AND_CARD, ReasonKind, Rule
from features.scorers.scorecard import CREDIBILITY_K
from features.scorers.sentences import money
from features.scorers.trs_v1.relationship import is_large_first

STRUCTURING_24H_COUNT: Final = 3
STRUCTURING_7D_COUNT: Final = 4
SPIKE_FACTOR: Final = 3
REPEATED_COUNT: Final = 5
ROUND_COUNT: Final = 3
MICRO_COUNT: Final = 10

STRUCTURING: Final = ReasonKind(
    "TRS-AMT-01",
    "structuring_pattern",
    (30,),
    Family.AMOUNT,
    "At least 3 transfers in 24 h, or 4 in 7 days, lie between 80 % and 100 % of one reporting threshold; this one is "
    "not paid to this payee regularly.",
    "31 USC 5324 and 31 CFR 1010.314 bar structuring; counts and zone [P]",
    rails=BUT_CARD,
)
JUST_BELOW: Final = ReasonKind(
    "TRS-AMT-02",
    "just_below_threshold",
    (8,),
    Family.AMOUNT,
    "The amount lies between 90 % and 100 % of a reporting threshold.",
    "FFIEC BSA/AML Examination Manual, appendix F; zone [P]",
    rails=BUT_CARD,
)
SPIKE: Final = ReasonKind(
    "TRS-AMT-03",
    "amount_spike",
    (15,),
    Family.AMOUNT,
    "Over 3 times the usual amount and over the program's 95th percentile.",
    "[P]; Tazama rules 018, 020 and 048 use factors of 1.5 to 3",
)
REPEATED: Final = ReasonKind(
    "TRS-AMT-04",
    "repeated_amount",
    (6,),
    Family.AMOUNT,
    "At least 5 transfers in 24 h whose amounts are within 10 % of this one, which is not paid regularly.",
    "Count and tolerance: a Tazama preset; weight [P]",
    rails=BUT_CHECK_AND_CARD,
)
ROUND: Final = ReasonKind(
    "TRS-AMT-05",
    "round_amount",
    (6,),
    Family.AMOUNT,
    "A multiple of $1,000 from $5,000 on, the third or later in 30 days.",
    "FFIEC BSA/AML Examination Manual, appendix F (large round-dollar transfers); figures [P]",
    rails=BUT_CHECK_AND_CARD,
)
MICRO: Final = ReasonKind(
    "TRS-AMT-06",
    "micro_entry_abuse",
    (12,),
    Family.AMOUNT,
    "An entry under $1, the tenth or later in 24 h of the entity or the program, and no debit of the entity beside it.",
    "Nacha Operating Rules, Micro-Entries (originators watch their volume); counts [P]",
    rails=ACH_ONLY,
)


def structuring_pattern(v: FeatureVector) -> Reason | None:
    """Several amounts just under a reporting line; the transfer must be one of them. 3 in 24 h, 4 in 7 d: [P].

    Wages and rents that the same payee is paid again, once at a time, were not split to stay under the line [P].
    """
    if v.pair_regular:
        return None
    if v.structuring_count_24h < STRUCTURING_24H_COUNT and v.structuring_window_count < STRUCTURING_7D_COUNT:
        return None
    if not lines_of(v.structuring_thresholds).zones(v.amount_cents):
        return None
    return STRUCTURING.reason(
        f"{v.structuring_count_24h} transfers in 24 h and {v.structuring_window_count} in 7 days "
        "lie between 80 % and 100 % of one reporting threshold."
    )


def just_below_threshold(v: FeatureVector) -> Reason | None:
    """One amount just under a line; 90 % [P]."""
    if v.amount_cents is None or not v.typology_just_below_threshold:
        return None
    return JUST_BELOW.reason(f"{money(v.amount_cents)} lies between 90 % and 100 % of a reporting threshold.")


def amount_spike(v: FeatureVector) -> Reason | None:
    """Over three times [P] the usual amount and over the program's 95th percentile [P].

    Of an entity without a usual amount of its own it says no more than that the amount is large for the program, which
    a large first transfer with a counterparty says already: one fact has one reason.
    """
    p95 = v.program_p95_cents
    if p95 is None or v.amount_cents is None or v.amount_cents <= p95:
        return None
    line = spike_line_cents(v)
    if line is None or v.amount_cents <= line or (v.entity_median_cents_90d is None and is_large_first(v)):
        return None
    numerator, denominator = _usual(v)
    return SPIKE.reason(
        f"{money(v.amount_cents)} against a usual {money(numerator // denominator)} (n = {v.entity_n_90d}) "
        f"and a 95th percentile of {money(p95)} on the program (n = {v.program_n_90d})."
    )


def spike_line_cents(v: FeatureVector) -> int | None:
    """The largest amount that is no spike; None when the program has no baseline."""
    if v.program_median_cents is None or v.program_p95_cents is None:
        return None
    numerator, denominator = _usual(v)
    return max(v.program_p95_cents, SPIKE_FACTOR * numerator // denominator)


def _usual(v: FeatureVector) -> tuple[int, int]:
    """The medians of entity and program as a fraction of cents, blended by credibility n / (n + 20) (Buehlmann)."""
    program = v.program_median_cents or 0
    own = v.entity_median_cents_90d
    if own is None:
        return program, 1
    return v.entity_n_90d * own + CREDIBILITY_K * program, v.entity_n_90d + CREDIBILITY_K


def repeated_amount(v: FeatureVector) -> Reason | None:
    """The same amount again and again; 5 in 24 h within 10 %: a vendor preset."""
    if v.amount_cents is None or v.repeated_amount_count_24h < REPEATED_COUNT or v.pair_regular:
        return None
    return REPEATED.reason(f"{v.repeated_amount_count_24h} transfers in 24 h within 10 % of {money(v.amount_cents)}.")


def round_amount(v: FeatureVector) -> Reason | None:
    """Large round amounts; 3 in 30 days, $5,000 and $1,000: [P]."""
    if v.amount_cents is None or v.round_amount_count_30d < ROUND_COUNT or not is_round(v.amount_cents):
        return None
    return ROUND.reason(f"{v.round_amount_count_30d} transfers in 30 days of a multiple of 1,000.00 from 5,000.00 on.")


def micro_entry_abuse(v: FeatureVector) -> Reason | None:
    """Many micro-entries that no debit follows; $1: Nacha's definition, 10 in 24 h: [P]."""
    if v.amount_cents is None or v.amount_cents >= MICRO_BELOW_CENTS or v.entity_forward_debits_24h:
        return None
    if v.entity_micro_entries_24h < MICRO_COUNT and v.program_micro_entries_24h < MICRO_COUNT:
        return None
    return MICRO.reason(
        f"{v.entity_micro_entries_24h} ACH entries under 1.00 of the entity in 24 h "
        f"and {v.program_micro_entries_24h} of the program, without a debit beside them."
    )


RULES: Final[tuple[Rule, ...]] = (
    Rule(structuring_pattern, (STRUCTURING,)),
    Rule(just_below_threshold, (JUST_BELOW,)),
    Rule(amount_spike, (SPIKE,)),
    Rule(repeated_amount, (REPEATED,)),
    Rule(round_amount, (ROUND,)),
    Rule(micro_entry_abuse, (MICRO,)),
)
