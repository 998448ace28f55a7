"""The signals of trs-v1 that are as strong as they are rare: how many of 1,000 of the program's transfers do as much.

Unit    transfers of 1,000 of the program, cards and others apart, that reach what this one reaches; 0 is the rarest
Window  completed days of the last 90; the window of what a transfer reaches is in each meaning
Null    where the share or what it compares is not measured, and over ``MOST_PERMILLE``, where it is common
Source  of the compared measure: named at each signal; the share is the empirical tail of anomaly detection; points [P]

First payments are those between two sides that have not met.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.money import counted, money, tenths
from clearhold.features.core.scorecards import CardSignal, points_from
from clearhold.features.scorers.signal import BUT_CARD, Signal, SignalGroup
from clearhold.features.scorers.trs_v1.amount import repeated_edges

MOST_PERMILLE: Final = 60
UNIT: Final = "of 1,000 of the program's transfers do as much"
_DAYS_30: Final = 30
_QUARTER: Final = 4
_BAHNSEN: Final = "A. C. Bahnsen et al., Expert Systems with Applications 51 (2016)"
_HANDBOOK: Final = "Y.-A. Le Borgne et al., Fraud Detection Handbook, 2022, chapter 3"
_FFIEC_OWN: Final = "FFIEC BSA/AML Examination Manual, appendix F (activity unlike the customer's own)"
_FFIEC_LAYERS: Final = "FFIEC BSA/AML Examination Manual, appendix F (funds that pass through several accounts)"
_MULES: Final = "FinCEN FIN-2020-A003 (money mules: received, then sent on at once)"
_FUNNELS: Final = "FinCEN FIN-2014-A005 (funnel accounts); IBM AMLSim (gather-scatter)"
_FIRST: Final = "First payment between the two parties"


def _rare(
    signal_id: str,
    name: str,
    column: str,
    meaning: str,
    compared: Callable[[FeatureVector], str],
    source: str,
    **more: Any,
) -> Signal[FeatureVector]:
    """The signal of a share; ``compared`` says what the transfer reaches, and the usual."""
    share_of: Callable[[FeatureVector], int | None] = attrgetter(f"{column}_permille")

    def measure(v: FeatureVector) -> int | None:
        share = share_of(v)
        return None if share is None or share > MOST_PERMILLE else share

    def sentence(v: FeatureVector, share: int) -> str:
        return f"{compared(v)}; {share} of 1,000 of the program's transfers do as much."

    return Signal(signal_id, name, meaning, measure, sentence, source=source, unit=UNIT, least=0, rises=False, **more)


def _day(v: FeatureVector) -> str:
    usual = max(v.entity_sum_cents_30d // _DAYS_30, (v.program_median_cents or 0) // _QUARTER)
    return f"{money(v.velocity_24h_sum_cents)} in 24 hours, where {money(usual)} a day is usual"


def _count(v: FeatureVector) -> str:
    return f"a usual day has {tenths(v.entity_count_30d, _DAYS_30)} (n = {v.entity_count_30d})"


def _median(v: FeatureVector) -> str:
    return f"{money(v.amount_cents or 0)}, and the program's median is {money(v.program_median_cents or 0)}"


def _over_usual(side: str, count: int | None, percent: int | None) -> str:
    return f"{side} met {counted(count or 0, 'new payer')} in 30 days, {percent or 0:,} % of one more than usual"


DAY_OVER_USUAL: Final = _rare(
    "TRS-VEL-06",
    "day_over_usual",
    "day_cents_over_usual",
    "The entity's cents of 24 h over those of a usual day.",
    _day,
    _BAHNSEN,
)
FIRST_IN_BUSY_DAY: Final = _rare(
    "TRS-VEL-07",
    "first_in_busy_day",
    "first_day_cents",
    "A first payment, and the entity's cents of 24 h over those of a usual day.",
    lambda v: f"{_FIRST}: {_day(v)}",
    _BAHNSEN,
)
AMOUNT_IN_BUSY_DAY: Final = _rare(
    "TRS-VEL-08",
    "amount_in_busy_day",
    "day_amount_over_usual",
    "From 2 transfers of the entity in 24 h: the amount over the program's median and the count over a usual day's, "
    "as the geometric mean of the two ratios.",
    lambda v: f"{_median(v)}; {v.velocity_24h_count} transfers in 24 hours, and {_count(v)}",
    _HANDBOOK,
)
COUNT_OVER_USUAL: Final = _rare(
    "TRS-VEL-09",
    "count_over_usual",
    "day_count_over_usual",
    "From 3 transfers of the entity in 24 h: their number over that of a usual day and one.",
    lambda v: f"{v.velocity_24h_count} transfers in 24 hours, and {_count(v)}",
    _HANDBOOK,
)
BUSY_HOUR: Final = _rare(
    "TRS-VEL-10",
    "busy_hour",
    "velocity_1h",
    "From 2 transfers of the entity in 1 h: their number.",
    lambda v: f"{v.velocity_count_1h} transfers within 1 hour, and {_count(v)}",
    "Tazama counts transfers that follow each other within minutes",
)
BUSY_HOURS: Final = _rare(
    "TRS-VEL-11",
    "busy_six_hours",
    "velocity_6h",
    "The entity's transfers of 6 h over those of a usual day.",
    lambda v: f"{v.velocity_count_6h} transfers in 6 hours, and {_count(v)}",
    _FFIEC_OWN,
)
REPEATED: Final = _rare(
    "TRS-AMT-10",
    "amount_repeated_in_a_day",
    "repeated_amount",
    "From 3 transfers of the entity in 24 h within 10 % of one amount: their number.",
    lambda v: f"{v.repeated_amount_count_24h} transfers in 24 hours within 10 % of {money(v.amount_cents or 0)}",
    "Tolerance: a Tazama preset",
    edges=repeated_edges,
)
ODD_HOUR: Final = _rare(
    "TRS-AMT-11",
    "odd_hour_over_own",
    "odd_hour_amount",
    "At an hour of at most 10 % of the entity's transfers: the amount over its 90th percentile.",
    lambda v: (
        f"{money(v.amount_cents or 0)} at an hour that has {v.entity_usual_hour_percent} % of this entity's recent "
        f"transfers, of which 90 % are at most {money(v.entity_p90_cents_90d or 0)}"
    ),
    "A. C. Bahnsen et al., ICMLA 2015 (amounts at unusual times)",
)
FIRST_AMOUNT: Final = _rare(
    "TRS-CPY-11",
    "first_amount",
    "first_amount",
    "The amount of a first payment.",
    lambda v: f"{_FIRST}: {_median(v)}",
    "Tazama rule 030 (a first payment to a creditor)",
)
QUIET_PAIR: Final = _rare(
    "TRS-CPY-12",
    "quiet_pair",
    "quiet_pair",
    "A first payment between two sides with at most 3 new payees and new payers in 30 days.",
    lambda v: (
        f"{_FIRST}: the payer met {counted(v.payer_new_payees_30d or 0, 'new payee')} in 30 days and the payee "
        f"{counted(v.payee_new_payers_30d or 0, 'new payer')}"
    ),
    _FFIEC_OWN,
    rails=BUT_CARD,
)
QUIET_AMOUNT: Final = _rare(
    "TRS-CPY-13",
    "quiet_pair_amount",
    "quiet_amount",
    "A first payment between two such sides: the amount over the program's median.",
    lambda v: f"{_FIRST}, neither with over 3 new ones in 30 days: {_median(v)}",
    _FFIEC_OWN,
    rails=BUT_CARD,
)
PAYEE_NEW_PAYERS: Final = _rare(
    "TRS-FLO-13",
    "payee_new_payers",
    "first_payee_new_payers",
    "A first payment to a payee with at least 2 new payers in 7 days: their number.",
    lambda v: f"{_FIRST}: the payee met {counted(v.payee_new_payers_7d or 0, 'new payer')} in 7 days",
    _FUNNELS,
)
PAYEE_OVER_USUAL: Final = _rare(
    "TRS-FLO-14",
    "payee_new_payers_over_usual",
    "first_payee_over_usual",
    "A first payment to a payee with at least 2 new payers in 30 days: their number over that of a usual month and "
    "one.",
    lambda v: f"{_FIRST}: {_over_usual('the payee', v.payee_new_payers_30d, v.payee_new_payers_over_usual_percent)}",
    _FUNNELS,
)
FIRST_AFTER_FIRST: Final = _rare(
    "TRS-FLO-15",
    "first_after_first",
    "first_payer_new_payers",
    "A first payment by a payer that was itself first paid by others in 30 days: their number.",
    lambda v: f"{_FIRST}: the payer met {counted(v.payer_new_payers_30d or 0, 'new payer')} in 30 days",
    _FUNNELS,
)
PAYER_OVER_USUAL: Final = _rare(
    "TRS-FLO-16",
    "payer_new_payers_over_usual",
    "first_payer_over_usual",
    "A first payment by a payer with at least 2 new payers in 30 days: their number over that of a usual month and "
    "one.",
    lambda v: f"{_FIRST}: {_over_usual('the payer', v.payer_new_payers_30d, v.payer_new_payers_over_usual_percent)}",
    _FUNNELS,
)
MIDDLES: Final = _rare(
    "TRS-FLO-17",
    "first_of_middles",
    "first_middles",
    "A first payment to a payee of whose payers, this one too, one party paid at least 2 in 30 days: their number.",
    lambda v: f"{_FIRST}: one party paid {counted(v.first_middles_30d or 0, 'payer')} of the payee in 30 days",
    "IBM AMLSim (scatter-gather)",
    rails=BUT_CARD,
)
HOPS: Final = _rare(
    "TRS-FLO-18",
    "hops_in_hours",
    "quick_hops",
    "Payments in a row, each within 2 h of the next and whatever their amounts, that end at the payer.",
    lambda v: f"The payer received money over {counted(v.quick_hops_2h or 0, 'hop')}, each within 2 hours of the next",
    _FFIEC_LAYERS,
)
LAST_RECEIPT: Final = _rare(
    "TRS-FLO-19",
    "like_last_receipt",
    "last_receipt",
    "The amount beside that of the last payment to the payer in 72 h: how close they are.",
    lambda v: (
        f"{money(v.amount_cents or 0)}, and the payer received {money(v.payer_last_receipt_cents or 0)} "
        f"{counted(v.payer_last_receipt_hours or 0, 'hour')} before"
    ),
    _MULES,
    rails=BUT_CARD,
)
DRAINED: Final = _rare(
    "TRS-FLO-22",
    "received_and_drained",
    "first_drained",
    "A first payment out of the program beside all that the entity received in 48 h: how close they are.",
    lambda v: (
        f"{_FIRST}: {money(v.amount_cents or 0)}, and {money(v.entity_in_cents_48h)} came in within 48 hours before"
    ),
    _MULES,
    rails=BUT_CARD,
)
SENT: Final = _rare(
    "TRS-FLO-20",
    "received_and_sent",
    "first_sent",
    "A first payment: the entity's cents sent in 30 days over those received.",
    lambda v: (
        f"{_FIRST}: {money(v.payer_sent_cents_30d or 0)} sent in 30 days of {money(v.payer_received_cents_30d or 0)} "
        "received"
    ),
    _MULES,
    rails=BUT_CARD,
)
CHAIN: Final = _rare(
    "TRS-FLO-21",
    "chain_of_first_payments",
    "first_chain",
    "First payments in a row, each within 14 days, that end at the payer of this one.",
    lambda v: f"{_FIRST}, after {counted(v.first_chain_hops_14d or 0, 'first payment')} in a row before it",
    _FFIEC_LAYERS,
    rails=BUT_CARD,
)

_OF_ANY: Final = (
    *(DAY_OVER_USUAL, AMOUNT_IN_BUSY_DAY, COUNT_OVER_USUAL, BUSY_HOUR, BUSY_HOURS),
    *(REPEATED, ODD_HOUR, HOPS, LAST_RECEIPT),
)
_OF_FIRST: Final = (
    *(FIRST_IN_BUSY_DAY, FIRST_AMOUNT, QUIET_PAIR, QUIET_AMOUNT, PAYEE_NEW_PAYERS, PAYEE_OVER_USUAL),
    *(FIRST_AFTER_FIRST, PAYER_OVER_USUAL, MIDDLES, DRAINED, SENT, CHAIN),
)
SIGNALS: Final = (*_OF_ANY, *_OF_FIRST)


def _may_fire(v: FeatureVector) -> bool:
    return v.rarest_permille is not None and v.rarest_permille <= MOST_PERMILLE


GROUPS: Final = (
    SignalGroup(_OF_ANY, _may_fire),
    SignalGroup(_OF_FIRST, lambda v: v.pair_first_time and _may_fire(v)),
)


def _rarest(signal: Signal[FeatureVector], *points: int) -> CardSignal:
    """Points up to 3, 10, 30 and 60 of 1,000, in this order."""
    steps = zip((0, 4, 11, 31), points, strict=True)
    own = [step for step, former in zip(steps, (None, *points), strict=False) if step[1] != former]
    below = next((at for at, each in own if each == 0), MOST_PERMILLE + 1)
    return points_from(signal.id, *((at, each) for at, each in own if each), below=below)


POINTS: Final = (
    _rarest(DAY_OVER_USUAL, 4, 4, 4, 3),
    _rarest(FIRST_IN_BUSY_DAY, 7, 7, 7, 7),
    _rarest(AMOUNT_IN_BUSY_DAY, 7, 7, 7, 6),
    _rarest(COUNT_OVER_USUAL, 7, 5, 4, 4),
    _rarest(BUSY_HOUR, 8, 8, 8, 4),
    _rarest(BUSY_HOURS, 10, 10, 8, 6),
    _rarest(REPEATED, 14, 14, 7, 7),
    _rarest(ODD_HOUR, 8, 8, 8, 4),
    _rarest(FIRST_AMOUNT, 8, 8, 8, 8),
    _rarest(QUIET_PAIR, 20, 20, 20, 15),
    _rarest(PAYEE_NEW_PAYERS, 4, 4, 4, 4),
    _rarest(PAYEE_OVER_USUAL, 9, 9, 9, 9),
    _rarest(FIRST_AFTER_FIRST, 5, 5, 5, 5),
    _rarest(PAYER_OVER_USUAL, 7, 7, 7, 7),
    _rarest(MIDDLES, 15, 10, 0, 0),
    _rarest(LAST_RECEIPT, 22, 2, 2, 2),
    _rarest(SENT, 17, 10, 7, 4),
    _rarest(CHAIN, 4, 4, 4, 4),
)
"""Of the default card: fitted together with those of the other signals to the first 60 % of six labelled worlds, never
less for a rarer transfer. What more than 60 of 1,000 do has none.
"""
