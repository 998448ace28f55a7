"""The signals of trs-v1 that look at two facts of a transfer at once, each common alone and both together rare, and at
measures beside the program's usual that need no past of the entity; for cards fitted to labels.

Unit    percent of the program's median on the rail, rounded down and at most ``MOST_PERCENT``; transfers
Window  24 hours for the day, 30 days for new payers
Null    without the amount or the median, and where the other fact is not there or was not measured
Source  named at each signal; figures [P]

None of these has points on the default card.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.money import counted, money
from clearhold.features.scorers.signal import BUT_CARD, Signal, SignalGroup
from clearhold.features.scorers.trs_v1.amount import MOST_PERCENT
from clearhold.features.scorers.trs_v1.habits import KNOWN_FROM

_UNIT: Final = "percent of the program's median"
_BAHNSEN: Final = "A. C. Bahnsen et al., Expert Systems with Applications 51 (2016); figures [P]"
_MULES: Final = "FinCEN FIN-2020-A003 (money mules: received, then sent on at once); figures [P]"
_NEW: Final = "FFIEC BSA/AML Examination Manual, appendix F (new accounts with large amounts); figures [P]"


def _over_median(v: FeatureVector, cents: int | None) -> int | None:
    median = v.program_median_cents
    return None if cents is None or not median else min(MOST_PERCENT, 100 * cents // median)


def _over_median_if(holds: Callable[[FeatureVector], object]) -> Callable[[FeatureVector], int | None]:
    """The amount beside the median, where the other fact holds."""
    return lambda v: _over_median(v, v.amount_cents) if holds(v) else None


def _edges(v: FeatureVector, percents: Sequence[int]) -> Iterator[int]:
    for percent in percents:
        yield -(-percent * (v.program_median_cents or 0) // 100)


def _day_edges(v: FeatureVector, percents: Sequence[int]) -> Iterator[int]:
    if v.amount_cents is not None:
        others = v.velocity_24h_sum_cents - v.amount_cents
        yield from (edge - others for edge in _edges(v, percents))


def _is_large(v: FeatureVector) -> str:
    return f"{money(v.amount_cents or 0)}, where the program's median is {money(v.program_median_cents or 0)}"


def _may_fire(v: FeatureVector) -> bool:
    return bool(v.program_median_cents or v.pair_first_time)


DAY_OVER_PROGRAM: Final = Signal[FeatureVector](
    "TRS-VEL-12",
    "day_over_program",
    "The entity's cents of 24 h beside the program's median.",
    lambda v: None if v.amount_cents is None else _over_median(v, v.velocity_24h_sum_cents),
    lambda v, _: (
        f"{money(v.velocity_24h_sum_cents)} in 24 hours, where one transfer of the program has usually "
        f"{money(v.program_median_cents or 0)}."
    ),
    source=_BAHNSEN,
    unit=_UNIT,
    edges=_day_edges,
)
NEWCOMER: Final = Signal[FeatureVector](
    "TRS-AMT-12",
    "amount_of_newcomer",
    f"Of an entity with fewer than {KNOWN_FROM} earlier transfers: the amount beside the program's median.",
    _over_median_if(lambda v: v.entity_prior_transfers < KNOWN_FROM),
    lambda v, _: f"{_is_large(v)}; the entity has {counted(v.entity_prior_transfers, 'earlier transfer')}.",
    source=_NEW,
    unit=_UNIT,
    edges=_edges,
)
FIRST_BY_NEWLY_PAID: Final = Signal[FeatureVector](
    "TRS-CPY-14",
    "first_by_newly_paid",
    "A first payment by a payer that others first paid in 30 days: the amount beside the program's median.",
    _over_median_if(lambda v: v.pair_first_time and v.payer_new_payers_30d),
    lambda v, _: (
        f"First payment between the two parties: {_is_large(v)}; the payer met "
        f"{counted(v.payer_new_payers_30d or 0, 'new payer')} in 30 days."
    ),
    source=_MULES,
    unit=_UNIT,
    edges=_edges,
    rails=BUT_CARD,
)
FIRST_OF_NEWCOMER: Final = Signal[FeatureVector](
    "TRS-CPY-15",
    "first_of_newcomer",
    "A first payment between two sides: the entity's earlier transfers.",
    lambda v: v.entity_prior_transfers if v.pair_first_time else None,
    lambda _, count: f"First payment between the two parties, after {counted(count, 'transfer')} of this entity.",
    source=_NEW,
    unit="earlier transfers of the entity",
    least=0,
    rises=False,
)

SIGNALS: Final = (DAY_OVER_PROGRAM, NEWCOMER, FIRST_BY_NEWLY_PAID, FIRST_OF_NEWCOMER)
GROUPS: Final = (SignalGroup(SIGNALS, _may_fire),)
