"""The signals of trs-v1 that compare a transfer with its entity's own habits, within hours and on every rail.

Unit    percent, and counts over the window that each feature names; of an entity with at least 10 earlier transfers
Source  named at each signal; figures [P] were set on labelled transfers, see ``docs/detection.md``

A signal here is ordinary alone: cards are used at night, and a new payee is seldom a thief. The signals count because
they come together when an account is taken over, a mule passes money on, or a refund is invented.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearhold.features.catalogue.vector import FeatureVector, pays
from clearhold.features.core.money import counted, money, tenths
from clearhold.features.core.scorecards import CardSignal, points_from, points_when
from clearhold.features.scorers.signal import BESIDE_ITSELF, CARD_ONLY, Signal, SignalGroup
from clearhold.features.scorers.trs_v1.amount import MOST_PERCENT, repeated_edges

KNOWN_FROM: Final = 10
SELDOM_FROM: Final = 10
BACK_FROM_PERCENT: Final = 80
BACK_TO_PERCENT: Final = 105
_DAYS_30: Final = 30


def _is_known(v: FeatureVector) -> bool:
    """The entity has habits to compare with."""
    return v.entity_prior_transfers >= KNOWN_FROM


def _percent(v: FeatureVector, base: int | None) -> int | None:
    """The amount in percent of another, rounded down."""
    if v.amount_cents is None or not base or not _is_known(v):
        return None
    return min(MOST_PERCENT, 100 * v.amount_cents // base)


def _edges_of(base: int | None, percents: Sequence[int]) -> Iterator[int]:
    if base:
        for percent in percents:
            yield -(-percent * base // 100)


def _seldom_new(v: FeatureVector) -> int | None:
    """Of 100 transfers of the entity in 90 days, the number with known parties on its side of this one."""
    new = v.payer_new_payees_90d if pays(v) else v.payee_new_payers_90d
    if not v.pair_first_time or new is None or v.entity_n_90d < SELDOM_FROM:
        return None
    return max(0, 100 - 100 * new // v.entity_n_90d)


def _is_usual_day(v: FeatureVector) -> bool:
    """An employer moves much on few days: one day of five weeks was as busy as the last 6 hours."""
    busiest, lately = v.entity_busiest_day_count_35d, v.velocity_count_6h
    return busiest is not None and lately is not None and lately <= busiest


def _against_a_day(v: FeatureVector) -> int | None:
    """Transfers of 6 hours in percent of those of a usual day, which has at least one."""
    if v.velocity_count_6h is None or not _is_known(v) or _is_usual_day(v):
        return None
    return 100 * v.velocity_count_6h * _DAYS_30 // max(v.entity_count_30d, _DAYS_30)


def _in_and_out(v: FeatureVector) -> int | None:
    if v.entity_received_count_6h is None or v.entity_paid_count_6h is None or not _is_known(v):
        return None
    return min(v.entity_received_count_6h, v.entity_paid_count_6h)


def _comes_back(v: FeatureVector) -> bool:
    """About the amount of the payment the other way within a day; a difference over a fifth looks like a mule's cut."""
    paid, amount = v.pair_other_way_cents_24h, v.amount_cents
    if not paid or amount is None or not _is_known(v):
        return False
    return BACK_FROM_PERCENT * paid <= 100 * amount <= BACK_TO_PERCENT * paid


def _back_edges(v: FeatureVector, _: Sequence[int]) -> Iterator[int]:
    paid = v.pair_other_way_cents_24h
    if paid:
        yield -(-BACK_FROM_PERCENT * paid // 100)
        yield BACK_TO_PERCENT * paid // 100 + 1


def _came_before(v: FeatureVector) -> int | None:
    """The money received within two hours, in percent of the money leaving now."""
    if not v.amount_cents or v.entity_received_cents_2h is None or not pays(v) or not _is_known(v):
        return None
    return min(MOST_PERCENT, 100 * v.entity_received_cents_2h // v.amount_cents)


def _came_before_edges(v: FeatureVector, percents: Sequence[int]) -> Iterator[int]:
    for percent in percents:
        if percent > 0:
            yield 100 * (v.entity_received_cents_2h or 0) // percent + 1


def _may_be_quick(v: FeatureVector) -> bool:
    """False when nothing came in within hours, and no party is new."""
    return bool(
        v.entity_received_count_6h
        or v.entity_received_cents_2h
        or v.entity_new_parties_6h
        or v.pair_other_way_cents_24h
        or v.quick_hops_2h
    )


OVER_OWN: Final = Signal[FeatureVector](
    "TRS-AMT-07",
    "amount_over_own",
    "The amount beside the 90th percentile of the entity's amounts.",
    lambda v: _percent(v, v.entity_p90_cents_90d),
    lambda v, _: (
        f"{money(v.amount_cents or 0)}; 90 % of this entity's transfers are at most "
        f"{money(v.entity_p90_cents_90d or 0)}."
    ),
    source="FFIEC BSA/AML Examination Manual, appendix F (activity unlike the customer's own); figures [P]",
    unit="percent of the entity's 90th percentile",
    edges=lambda v, percents: _edges_of(v.entity_p90_cents_90d, percents),
)
OVER_PROGRAM: Final = Signal[FeatureVector](
    "TRS-AMT-08",
    "amount_over_program",
    "The amount beside the program's median on the rail.",
    lambda v: _percent(v, v.program_median_cents),
    lambda v, _: f"{money(v.amount_cents or 0)}; the program's median is {money(v.program_median_cents or 0)}.",
    unit="percent of the program's median",
    edges=lambda v, percents: _edges_of(v.program_median_cents, percents),
)
CARD_REPEATED: Final = Signal[FeatureVector](
    "TRS-AMT-09",
    "card_repeated_amount",
    "A card amount within 10 % of others of the entity in 24 h.",
    lambda v: (
        v.repeated_amount_count_24h if _is_known(v) and v.amount_cents is not None and not v.pair_regular else None
    ),
    lambda v, count: f"{counted(count, 'transfer')} in 24 hours within 10 % of {money(v.amount_cents or 0)}.",
    source="Tolerance: a Tazama preset; counts [P]",
    unit="transfers in 24 h",
    least=BESIDE_ITSELF,
    edges=repeated_edges,
    rails=CARD_ONLY,
)
BURST: Final = Signal[FeatureVector](
    "TRS-VEL-03",
    "hour_burst",
    "Several transfers of the entity within an hour.",
    lambda v: v.velocity_count_1h if _is_known(v) and not _is_usual_day(v) else None,
    lambda v, count: (
        f"{counted(count, 'transfer')} by this entity within 1 hour; it had {v.entity_count_30d:,} in 30 days."
    ),
    source="Tazama counts transfers that follow each other within minutes; figures [P]",
    unit="transfers in 1 h",
    least=BESIDE_ITSELF,
)
DAY_IN_HOURS: Final = Signal[FeatureVector](
    "TRS-VEL-04",
    "days_in_six_hours",
    "More transfers of the entity in 6 h than on a usual day.",
    _against_a_day,
    lambda v, _: (
        f"{v.velocity_count_6h} transfers in 6 hours; a usual day has {tenths(v.entity_count_30d, _DAYS_30)} "
        f"(n = {v.entity_count_30d})."
    ),
    source="FFIEC BSA/AML Examination Manual, appendix F (activity unlike the customer's own); figures [P]",
    unit="percent of a usual day's transfers",
)
UNUSUAL_HOUR: Final = Signal[FeatureVector](
    "TRS-VEL-05",
    "unusual_hour",
    "A time of day at which the entity seldom moves money.",
    lambda v: None if v.entity_usual_hour_percent is None else 100 - v.entity_usual_hour_percent,
    lambda v, _: (
        f"Only {v.entity_usual_hour_percent} % of this entity's recent transfers were within 90 minutes of this hour."
    ),
    source="Card networks' guidance on account takeover names activity at odd hours; figures [P]",
    unit="percent of its transfers at other hours",
)
NEW_OVER_OWN: Final = Signal[FeatureVector](
    "TRS-CPY-07",
    "new_pair_over_own",
    "A first payment between two sides, beside the 90th percentile of the entity's amounts.",
    lambda v: _percent(v, v.entity_p90_cents_90d) if v.pair_first_time else None,
    lambda v, _: (
        f"First payment between the two parties: {money(v.amount_cents or 0)}; 90 % of this entity's transfers are at "
        f"most {money(v.entity_p90_cents_90d or 0)}."
    ),
    source="FFIEC BSA/AML Examination Manual, appendix F (activity unlike the customer's own); figures [P]",
    unit="percent of the entity's 90th percentile",
    edges=lambda v, percents: _edges_of(v.entity_p90_cents_90d, percents),
)
NEW_OVER_PROGRAM: Final = Signal[FeatureVector](
    "TRS-CPY-08",
    "new_pair_over_program",
    "A first payment between two sides, beside the program's median on the rail.",
    lambda v: _percent(v, v.program_median_cents) if v.pair_first_time else None,
    lambda v, _: (
        f"First payment between the two parties: {money(v.amount_cents or 0)}; the program's median is "
        f"{money(v.program_median_cents or 0)}."
    ),
    source="Tazama rule 030 (a first payment to a creditor); figures [P]",
    unit="percent of the program's median",
    edges=lambda v, percents: _edges_of(v.program_median_cents, percents),
)
SELDOM_NEW: Final = Signal[FeatureVector](
    "TRS-CPY-10",
    "seldom_new_party",
    "A first payment between two sides, of an entity that seldom deals with a new party that way.",
    _seldom_new,
    lambda v, percent: (
        f"First payment between the two parties; {percent} % of this entity's {v.entity_n_90d} transfers in 90 days "
        "were with parties it already knew."
    ),
    source="FFIEC BSA/AML Examination Manual, appendix F (activity unlike the customer's own); figures [P]",
    unit="percent of its transfers without a new party",
)
NEW_PARTIES: Final = Signal[FeatureVector](
    "TRS-CPY-09",
    "new_parties_in_hours",
    "Several parties within 6 h that are new to the entity.",
    lambda v: v.entity_new_parties_6h if _is_known(v) else None,
    lambda _, count: f"{counted(count, 'counterparty')} of the last 6 hours were new to this entity.",
    source="FinCEN FIN-2020-A003 (money mules: new and unexplained parties); figures [P]",
    unit="parties in 6 h",
    least=BESIDE_ITSELF,
)
IN_AND_OUT: Final = Signal[FeatureVector](
    "TRS-FLO-09",
    "in_and_out_in_hours",
    "Money comes in and leaves again repeatedly within 6 h, cards too.",
    _in_and_out,
    lambda v, _: f"Received {v.entity_received_count_6h} and made {v.entity_paid_count_6h} payments in 6 hours.",
    source="FinCEN FIN-2020-A003 (money mules: received, then sent on at once); figures [P]",
    unit="payments each way in 6 h",
)
PAID_BACK: Final = Signal[FeatureVector](
    "TRS-FLO-10",
    "paid_back_in_a_day",
    "80-105 % of the newest payment the other way between the two, within 24 h.",
    _comes_back,
    lambda v, _: (
        f"{money(v.amount_cents or 0)} goes back to a party that paid {money(v.pair_other_way_cents_24h or 0)} within "
        "24 hours."
    ),
    source="FFIEC BSA/AML Examination Manual, appendix F (funds that return); refund abuse; figures [P]",
    edges=_back_edges,
)
QUICK_HOPS: Final = Signal[FeatureVector](
    "TRS-FLO-11",
    "quick_hops",
    "Payments in a row, each within 2 h of the next and whatever their amounts, end at the payer.",
    lambda v: v.quick_hops_2h if _is_known(v) else None,
    lambda _, hops: f"The payer received money over {counted(hops, 'hop')}, each within 2 hours of the next.",
    source="FFIEC BSA/AML Examination Manual, appendix F (funds that pass through several accounts quickly); "
    "figures [P]",
    unit="hops",
)
CAME_BEFORE: Final = Signal[FeatureVector](
    "TRS-FLO-12",
    "received_just_before",
    "The money received in the 2 h before a payment, beside the payment.",
    _came_before,
    lambda v, _: f"Received {money(v.entity_received_cents_2h or 0)} in the 2 hours before this payment.",
    source="FinCEN FIN-2020-A003 (money mules: received, then sent on at once); figures [P]",
    unit="percent of the amount",
    edges=_came_before_edges,
)

GROUPS: Final[tuple[SignalGroup[FeatureVector], ...]] = (
    SignalGroup(
        (OVER_OWN, OVER_PROGRAM, CARD_REPEATED, BURST, DAY_IN_HOURS, UNUSUAL_HOUR),
        lambda v: _is_known(v) or v.entity_usual_hour_percent is not None,
    ),
    SignalGroup((NEW_OVER_OWN, NEW_OVER_PROGRAM, SELDOM_NEW), lambda v: v.pair_first_time),
    SignalGroup((NEW_PARTIES, IN_AND_OUT, PAID_BACK, QUICK_HOPS, CAME_BEFORE), _may_be_quick),
)
SIGNALS: Final[tuple[Signal[FeatureVector], ...]] = tuple(signal for group in GROUPS for signal in group.signals)
POINTS: Final[tuple[CardSignal, ...]] = (
    points_from(CARD_REPEATED.id, (3, 6), (4, 8), known=0),
    points_from(BURST.id, (2, 4), (3, 10), known=0),
    points_from(DAY_IN_HOURS.id, (300, 8), (400, 14), known=6),
    points_from(UNUSUAL_HOUR.id, (93, 4), known=0),
    points_from(NEW_OVER_OWN.id, (50, 5), known=1),
    points_from(NEW_OVER_PROGRAM.id, (1, 3), (300, 8), (1_000, 16), known=0),
    points_from(SELDOM_NEW.id, (95, 8), (98, 15), known=6),
    points_from(NEW_PARTIES.id, (2, 4), (3, 6), known=3),
    points_from(IN_AND_OUT.id, (1, 5), (2, 20), known=0),
    points_when(PAID_BACK.id, 30, known=13),
    points_from(QUICK_HOPS.id, (1, 12), (2, 30), known=8),
    points_from(CAME_BEFORE.id, (80, 6), known=0),
)
"""Of the default card. The others are for cards that are fitted to a program's own labels."""
