"""The timing signals of trs-v1, ``velocity_spike`` and ``dormant_reactivation``, with ids TRS-VEL (velocity); and its
card signals: card testing, which counts attempts, declined ones too.

Source  named at each signal; [P] is proposed here, to be tuned on labels
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearhold.features.catalogue.thresholds import SMALL_CARD_BELOW_CENTS
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.money import counted, money, tenths
from clearhold.features.core.scorecards import points_from, points_when
from clearhold.features.scorers.engine import CREDIBILITY_K
from clearhold.features.scorers.signal import CARD_ONLY, Signal
from clearhold.features.scorers.trs_v1.amount import is_spike
from clearhold.features.scorers.trs_v1.relationship import is_large_first

VELOCITY_COUNT_FLOOR: Final = 5
VELOCITY_SUM_FLOOR_CENTS: Final = 250_000
VELOCITY_FACTOR: Final = 3
BUSIEST_PERCENT: Final = 150
VELOCITY_HISTORY_FLOOR: Final = 10
USUAL_COUNT_A_DAY: Final = 1
DORMANT_DAYS: Final = 90
DORMANT_SUM_CENTS: Final = 500_000
_DAYS_30: Final = 30


def _is_fast(v: FeatureVector) -> bool:
    """Far more transfers, or cents, in 24 h than usual, and than on the busiest day of the five weeks before.

    Floors of 5 and $2,500 and the factors 3 and 1.5: [P]. From 10 transfers in 30 days on, the usual is the entity's
    own mean; below, that mean is blended by credibility n / (n + 20) (Buehlmann) with one transfer of the program's
    median a day [P]; without such a median there is no comparison. Three times the mean of all days is ordinary for an
    entity that moves money on few days, or that pays wages. For an entity without a mean, the only transfer of a day is
    no velocity: if its amount is a spike, or large for a first transfer, that is its reason.
    """
    if v.velocity_24h_count < VELOCITY_COUNT_FLOOR and v.velocity_24h_sum_cents < VELOCITY_SUM_FLOOR_CENTS:
        return False
    if _usual_count(v) is None:
        return False
    if _is_often(v):
        return True
    line = _line_cents(v)
    return line is not None and v.velocity_24h_sum_cents >= line and not _is_one_large(v)


def _velocity_sentence(v: FeatureVector, _: int) -> str:
    usual_count, cents = _usual_count(v), _usual_cents(v)
    assert usual_count is not None
    count, days = usual_count
    usual = tenths(count, days) if cents is None else f"{tenths(count, days)}, worth {money(cents // days)}"
    return (
        f"{counted(v.velocity_24h_count, 'transfer')} worth {money(v.velocity_24h_sum_cents)} in 24 hours; a usual day "
        f"has {usual} (n = {v.entity_count_30d}). In 5 weeks the busiest day had {v.entity_busiest_day_count_35d}, the "
        f"largest {money(v.entity_busiest_day_cents_35d or 0)}."
    )


def _velocity_edges(v: FeatureVector, _: Sequence[int]) -> Iterator[int]:
    line = _line_cents(v)
    if line is not None and v.amount_cents is not None:
        yield line - (v.velocity_24h_sum_cents - v.amount_cents)


def _is_one_large(v: FeatureVector) -> bool:
    """The only transfer of the day, of an entity that is compared with the program: its amount has a reason already."""
    if v.velocity_24h_count > 1 or v.entity_count_30d >= VELOCITY_HISTORY_FLOOR:
        return False
    return is_large_first(v) or is_spike(v)


def _line_cents(v: FeatureVector) -> int | None:
    """The smallest sum of 24 h that is a spike; None when the usual or the busiest day is unknown."""
    cents, usual_count, busiest = _usual_cents(v), _usual_count(v), v.entity_busiest_day_cents_35d
    if cents is None or usual_count is None or busiest is None:
        return None
    usual = -(-VELOCITY_FACTOR * cents // usual_count[1])
    return max(VELOCITY_SUM_FLOOR_CENTS, usual, -(-BUSIEST_PERCENT * busiest // 100))


def _is_often(v: FeatureVector) -> bool:
    count, busiest, usual_count = v.velocity_24h_count, v.entity_busiest_day_count_35d, _usual_count(v)
    if usual_count is None or busiest is None:
        return False
    if count < VELOCITY_COUNT_FLOOR or count * 100 < BUSIEST_PERCENT * busiest:
        return False
    usual, days = usual_count
    return count * days >= VELOCITY_FACTOR * usual


def _usual_count(v: FeatureVector) -> tuple[int, int] | None:
    """Transfers a day as a fraction whose denominator ``_usual_cents`` shares; None without history and median."""
    n = v.entity_count_30d
    if n >= VELOCITY_HISTORY_FLOOR:
        return n, _DAYS_30
    if v.program_median_cents is None:
        return None
    return n * n + CREDIBILITY_K * _DAYS_30 * USUAL_COUNT_A_DAY, (n + CREDIBILITY_K) * _DAYS_30


def _usual_cents(v: FeatureVector) -> int | None:
    """The numerator of the usual cents a day; None without a history and without a program median."""
    n = v.entity_count_30d
    if n >= VELOCITY_HISTORY_FLOOR:
        return v.entity_sum_cents_30d
    if v.program_median_cents is None:
        return None
    return n * v.entity_sum_cents_30d + CREDIBILITY_K * _DAYS_30 * v.program_median_cents


def _dormant_days(v: FeatureVector) -> int | None:
    """An inactive account that moves a large amount; 90 days: a vendor default, p95 and $5,000: [P]."""
    days, p95 = v.typology_dormant_days, v.program_p95_cents
    if days is None:
        return None
    large = p95 is not None and v.amount_cents is not None and v.amount_cents >= p95
    return days if large or v.velocity_24h_sum_cents >= DORMANT_SUM_CENTS else None


def _dormant_edges(v: FeatureVector, _: Sequence[int]) -> Iterator[int]:
    if v.program_p95_cents is not None:
        yield v.program_p95_cents
    if v.amount_cents is not None:
        yield DORMANT_SUM_CENTS - (v.velocity_24h_sum_cents - v.amount_cents)


VELOCITY: Final = Signal[FeatureVector](
    "TRS-VEL-01",
    "velocity_spike",
    "In 24 h at least 5 transfers, or $2,500, 3 times the usual a day and 1.5 times the busiest day of 5 weeks.",
    _is_fast,
    _velocity_sentence,
    source="[P]; Tazama counts 3 in 24 h",
    edges=_velocity_edges,
)
DORMANT: Final = Signal[FeatureVector](
    "TRS-VEL-02",
    "dormant_reactivation",
    "First transfer after 90 days, and large for the program or with $5,000 in 24 h.",
    _dormant_days,
    lambda v, days: f"First transfer after {days} days; {money(v.velocity_24h_sum_cents)} moved in 24 hours.",
    source="FATF, Virtual Assets Red Flag Indicators, 2020 (previously inactive account); 90 days: Tazama; cents [P]",
    unit="days of silence",
    edges=_dormant_edges,
)

SIGNALS: Final = (VELOCITY, DORMANT)
POINTS: Final = (points_when(VELOCITY.id, 12, known=0), points_from(DORMANT.id, (DORMANT_DAYS, 15)))
"""Of the default card."""


CARD_DECLINES: Final = 3
CARD_SMALL_COUNT: Final = 5
PROGRAM_ATTEMPTS: Final = 50
PROGRAM_DECLINED_PERCENT: Final = 40
MIX_ATTEMPTS: Final = 100
MIX_PERCENT: Final = 10
MIX_FACTOR: Final = 2


def _tests_a_card(v: FeatureVector) -> bool:
    """One card tried repeatedly: 3 declines or 5 attempts under $5 in 1 h [P]."""
    return (v.card_declines_1h or 0) >= CARD_DECLINES or (v.card_small_count_1h or 0) >= CARD_SMALL_COUNT


def _tests_many_cards(v: FeatureVector) -> bool:
    """Many cards tried at one program: 50 attempts, 40 % declined, median at most $5, in 1 h [P]."""
    n, declines, small = v.program_card_attempts_1h, v.program_card_declines_1h, v.program_card_small_count_1h
    return n >= PROGRAM_ATTEMPTS and declines * 100 >= PROGRAM_DECLINED_PERCENT * n and small * 2 >= n


def _is_declined_for_fraud(v: FeatureVector) -> bool:
    """More fraud declines than usual for the program: 10 % of 100 attempts in 24 h, twice the share of 30 d [P]."""
    n, fraud = v.program_card_attempts_24h, v.program_card_fraud_declines_24h
    n_30d, fraud_30d = v.program_card_attempts_30d, v.program_card_fraud_declines_30d
    return n >= MIX_ATTEMPTS and fraud * 100 >= MIX_PERCENT * n and fraud * n_30d >= MIX_FACTOR * fraud_30d * n


TESTING: Final = Signal[FeatureVector](
    "TRS-CRD-01",
    "card_testing",
    "At least 3 declines, or 5 attempts under $5, on one card (without its id: on one account) in 1 h.",
    _tests_a_card,
    lambda v, _: (
        f"{counted(v.card_declines_1h or 0, 'decline')} and {counted(v.card_small_count_1h or 0, 'attempt')} under "
        f"{money(SMALL_CARD_BELOW_CENTS)} within 1 hour."
    ),
    source="[P]; card networks charge for attempts after repeated declines",
    of_attempts=True,
    edges=lambda _v, _: (SMALL_CARD_BELOW_CENTS, SMALL_CARD_BELOW_CENTS + 1),
    rails=CARD_ONLY,
)
TESTING_PROGRAM: Final = Signal[FeatureVector](
    "TRS-CRD-02",
    "card_testing_program",
    "Of at least 50 attempts of the program in 1 h, 40 % were declined and half were of at most $5.",
    _tests_many_cards,
    lambda v, _: (
        f"{v.program_card_declines_1h} of the program's {v.program_card_attempts_1h} card attempts within 1 hour were "
        f"declined; {v.program_card_small_count_1h} were of at most {money(SMALL_CARD_BELOW_CENTS)}."
    ),
    source="[P]; published attacks show 40-90 % declines against a usual 5 %",
    of_attempts=True,
    edges=lambda _v, _: (SMALL_CARD_BELOW_CENTS, SMALL_CARD_BELOW_CENTS + 1),
    hard=True,
    rails=CARD_ONLY,
)
DECLINE_MIX: Final = Signal[FeatureVector](
    "TRS-CRD-03",
    "card_decline_mix",
    "Of at least 100 attempts of the program in 24 h, 10 % were fraud declines, twice the share of 30 days.",
    _is_declined_for_fraud,
    lambda v, _: (
        f"{v.program_card_fraud_declines_24h} of the program's {v.program_card_attempts_24h} card attempts in 24 hours "
        f"were declined for fraud; in 30 days {v.program_card_fraud_declines_30d} of {v.program_card_attempts_30d}."
    ),
    of_attempts=True,
    rails=CARD_ONLY,
)

CARD_SIGNALS: Final = (TESTING, TESTING_PROGRAM, DECLINE_MIX)
CARD_POINTS: Final = (points_when(TESTING.id, 30), points_when(TESTING_PROGRAM.id, 45), points_when(DECLINE_MIX.id, 12))
"""Of the default card."""
