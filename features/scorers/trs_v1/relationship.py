"""The relationship signals of trs-v1: new counterparties, and accounts that several entities use.

Source  named at each signal; [P] is proposed here, to be tuned on labels
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearhold.features.catalogue.vector import FeatureVector, is_rare_pair
from clearhold.features.core.money import counted, money
from clearhold.features.core.scorecards import points_from, points_when
from clearhold.features.core.vocabulary import Rail
from clearhold.features.scorers.signal import BESIDE_ITSELF, BUT_CARD, Signal, SignalGroup

LARGE_FIRST_CENTS: Final = 250_000
NEW_COUNTERPARTIES: Final = 5
SHARING_ENTITIES: Final = 3
RARE_PAIR_FLOOR: Final = 100
_PERMILLE: Final = 1_000
_ACCOUNT_RAILS: Final = frozenset({Rail.ACH.value, Rail.WIRE.value, Rail.REALTIME.value})


def is_large_first(v: FeatureVector) -> bool:
    """A first transfer with the counterparty, of an amount that is large for the program ($2,500 and p95: [P])."""
    if v.counterparty_first_time is not True or v.rail not in BUT_CARD:
        return False
    line = _first_time_line_cents(v)
    return line is not None and v.amount_cents is not None and v.amount_cents >= line


def _first_time_line_cents(v: FeatureVector) -> int | None:
    """The smallest amount that is large for a first transfer; None when the program has no baseline."""
    return None if v.program_p95_cents is None else max(v.program_p95_cents, LARGE_FIRST_CENTS)


def _first_time_edges(v: FeatureVector, _: Sequence[int]) -> Iterator[int]:
    line = _first_time_line_cents(v)
    if line is not None:
        yield line


def _rare_pair_permille(v: FeatureVector) -> int | None:
    """How rare a meeting of two quiet sides is in the program, rounded up; of 100 transfers and more [P]."""
    n = _paired_count(v)
    if not v.pair_first_time or n < RARE_PAIR_FLOOR or not is_rare_pair(v):
        return None
    return -(-v.program_rare_pairs_90d * _PERMILLE // n)


def _paired_count(v: FeatureVector) -> int:
    paired = v.program_paired_count_90d  # None in vectors stored before it was measured
    return v.program_transfers_90d if paired is None else paired


def _rare_pair_sentence(v: FeatureVector, _: int) -> str:
    return (
        f"First transfer between a payer with {counted(v.payer_new_payees_90d or 0, 'new payee')} and a payee with "
        f"{counted(v.payee_new_payers_90d or 0, 'new payer')} in 90 days; {v.program_rare_pairs_90d:,} of the "
        f"program's {counted(_paired_count(v), 'transfer')} are between two such parties."
    )


FIRST_TIME: Final = Signal[FeatureVector](
    "TRS-CPY-01",
    "first_time_counterparty",
    "First transfer between the program and this counterparty.",
    lambda v: v.counterparty_first_time is True and not is_large_first(v),
    lambda _v, _: "First transfer with this counterparty on the program.",
    source="Tazama rule 030; weight [P]",
    rails=BUT_CARD,
)
FIRST_TIME_LARGE: Final = Signal[FeatureVector](
    "TRS-CPY-02",
    "first_time_counterparty_large",
    "A first transfer of at least $2,500 and the program's 95th percentile.",
    is_large_first,
    lambda v, _: f"First transfer with this counterparty, and {money(v.amount_cents or 0)} is large for the program.",
    source="Tazama rule 030; amounts [P]",
    edges=_first_time_edges,
    rails=BUT_CARD,
)
ACCOUNT_CHANGED: Final = Signal[FeatureVector](
    "TRS-CPY-03",
    "counterparty_account_changed",
    "A known counterparty, by id or name, with other account details.",
    lambda v: v.counterparty_account_changed,
    lambda _v, _: "This counterparty's account details differ from those it was paid under before.",
    source="FinCEN FIN-2016-A003 (changed payment instructions); weight [P]",
)
BURST: Final = Signal[FeatureVector](
    "TRS-CPY-04",
    "new_counterparty_burst",
    "At least 5 counterparties in 24 h that are new to the program.",
    lambda v: v.entity_new_counterparties_24h,
    lambda _, count: f"{counted(count, 'counterparty')} of the last 24 hours were new to the program.",
    unit="counterparties in 24 h",
    least=BESIDE_ITSELF,
    rails=BUT_CARD,
)
SHARED: Final = Signal[FeatureVector](
    "TRS-CPY-05",
    "counterparty_shared",
    "At least 3 entities dealt with the same routing number and last four in 30 days.",
    lambda v: v.counterparty_shared_entities_30d,
    lambda _, count: f"{counted(count, 'entity')} dealt with the same account details in 30 days.",
    source="FFIEC BSA/AML Examination Manual, appendix F (several accounts, one beneficiary); count [P]",
    unit="entities in 30 days",
    least=BESIDE_ITSELF,
    rails=_ACCOUNT_RAILS,
)
RARE_PAIR: Final = Signal[FeatureVector](
    "TRS-CPY-06",
    "rare_new_pair",
    "First transfer between two sides that met at most 3 others each in 90 days; 30 points where at most 1 % of the "
    "program's transfers are such, 15 up to 3 %, none above.",
    _rare_pair_permille,
    _rare_pair_sentence,
    source="FFIEC BSA/AML Examination Manual, appendix F (activity unlike the customer's own); figures [P]",
    unit="such pairs in 1,000 of the program's transfers",
    least=0,
    rises=False,
    rails=BUT_CARD,
)

GROUPS: Final[tuple[SignalGroup[FeatureVector], ...]] = (
    SignalGroup((RARE_PAIR, FIRST_TIME, FIRST_TIME_LARGE), lambda v: v.pair_first_time or v.counterparty_first_time),
    SignalGroup((ACCOUNT_CHANGED, BURST, SHARED)),
)
POINTS: Final = (
    points_from(RARE_PAIR.id, (0, 30), (11, 15), below=31, known=8),
    points_when(FIRST_TIME.id, 5),
    points_when(FIRST_TIME_LARGE.id, 20, known=10),
    points_when(ACCOUNT_CHANGED.id, 20),
    points_from(BURST.id, (NEW_COUNTERPARTIES, 12), known=0),
    points_from(SHARED.id, (SHARING_ENTITIES, 20)),
)
"""Of the default card."""
