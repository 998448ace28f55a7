"""The relationship rules of trs-v1: strangers, and accounts that several hands use.

Source  named at each rule; [P] is proposed here, to be tuned on labels
"""

from typing import Final

from features.catalogue.vector import FeatureVector, is_rare_pair
from features.core.reason import Reason
from features.core.vocabulary import Rail
from features.scorers.families import Family
from features.scorers.rule import BUT_CARD, ReasonKind, Rule
from features.scorers.sentences import money

LARGE_FIRST_CENTS: Final = 250_000
NEW_COUNTERPARTIES: Final = 5
SHARING_ENTITIES: Final = 3
RARE_PAIR_POINTS: Final = (30, 15)
RARE_PAIR_PERMILLE: Final = (10, 30)
RARE_PAIR_FLOOR: Final = 100
_PERMILLE: Final = 1_000
_ACCOUNT_RAILS: Final = frozenset({Rail.ACH.value, Rail.WIRE.value, Rail.REALTIME.value})

FIRST_TIME: Final = ReasonKind(
    "TRS-CPY-01",
    "first_time_counterparty",
    (5,),
    Family.RELATIONSHIP,
    "First transfer between the program and this counterparty.",
    "Tazama rule 030; weight [P]",
    rails=BUT_CARD,
)
FIRST_TIME_LARGE: Final = ReasonKind(
    "TRS-CPY-02",
    "first_time_counterparty_large",
    (20,),
    Family.RELATIONSHIP,
    "A first transfer of at least $2,500 and the program's 95th percentile.",
    "Tazama rule 030; amounts [P]",
    rails=BUT_CARD,
)
ACCOUNT_CHANGED: Final = ReasonKind(
    "TRS-CPY-03",
    "counterparty_account_changed",
    (15,),
    Family.RELATIONSHIP,
    "A known name under other account details.",
    "FinCEN FIN-2016-A003 (changed payment instructions); weight [P]",
)
BURST: Final = ReasonKind(
    "TRS-CPY-04",
    "new_counterparty_burst",
    (12,),
    Family.RELATIONSHIP,
    "At least 5 counterparties in 24 h whom the program had never dealt with.",
    "[P]",
    rails=BUT_CARD,
)
SHARED: Final = ReasonKind(
    "TRS-CPY-05",
    "counterparty_shared",
    (20,),
    Family.RELATIONSHIP,
    "At least 3 entities dealt with the same routing number and last four in 30 days.",
    "FFIEC BSA/AML Examination Manual, appendix F (several accounts, one beneficiary); count [P]",
    rails=_ACCOUNT_RAILS,
)


RARE_PAIR: Final = ReasonKind(
    "TRS-CPY-06",
    "rare_new_pair",
    RARE_PAIR_POINTS,
    Family.RELATIONSHIP,
    "First transfer between two sides that met at most 3 others each in 90 days; 30 points where at most 1 % of the "
    "program's transfers are such, 15 up to 3 %, none above.",
    "FFIEC BSA/AML Examination Manual, appendix F (activity unlike the customer's own); figures [P]",
    rails=BUT_CARD,
)


def first_time_counterparty(v: FeatureVector) -> Reason | None:
    """A stranger (Tazama 030); more points when the amount is large for the program ($2,500 and p95: [P])."""
    if v.counterparty_first_time is not True:
        return None
    if v.amount_cents is not None and is_large_first(v):
        return FIRST_TIME_LARGE.reason(
            f"First transfer with this counterparty, and {money(v.amount_cents)} is large for the program."
        )
    return FIRST_TIME.reason("First transfer with this counterparty on the program.")


def is_large_first(v: FeatureVector) -> bool:
    """A first transfer with the counterparty, and as large as few are on the program."""
    if v.counterparty_first_time is not True or v.rail not in BUT_CARD:
        return False
    line = first_time_line_cents(v)
    return line is not None and v.amount_cents is not None and v.amount_cents >= line


def first_time_line_cents(v: FeatureVector) -> int | None:
    """The smallest amount that is large for a first transfer; None when the program has no baseline."""
    return None if v.program_p95_cents is None else max(v.program_p95_cents, LARGE_FIRST_CENTS)


def changed_account_details(v: FeatureVector) -> Reason | None:
    """A known name under another account: how invoice fraud looks (FinCEN FIN-2016-A003)."""
    if not v.counterparty_account_changed:
        return None
    return ACCOUNT_CHANGED.reason("A counterparty of the same name was paid before under other account details.")


def new_counterparty_burst(v: FeatureVector) -> Reason | None:
    """Many strangers in a day; 5 [P]."""
    if v.entity_new_counterparties_24h < NEW_COUNTERPARTIES:
        return None
    return BURST.reason(f"{v.entity_new_counterparties_24h} counterparties of 24 h were new to the program.")


def counterparty_shared(v: FeatureVector) -> Reason | None:
    """One account that several entities deal with, as collectors of mules do (FFIEC appendix F); 3 [P]."""
    count = v.counterparty_shared_entities_30d
    if count < SHARING_ENTITIES:
        return None
    return SHARED.reason(f"{count} entities dealt with the same account details in 30 days.")


def rare_new_pair(v: FeatureVector) -> Reason | None:
    """Two quiet sides meet: worth the more, the rarer it is in the program; 1 % and 3 % of 100 and more [P]."""
    paired = v.program_paired_count_90d  # None in vectors that were kept before it was measured
    n = v.program_transfers_90d if paired is None else paired
    if not v.pair_first_time or n < RARE_PAIR_FLOOR or not is_rare_pair(v):
        return None
    for weight, permille in zip(RARE_PAIR_POINTS, RARE_PAIR_PERMILLE, strict=True):
        if v.program_rare_pairs_90d * _PERMILLE <= permille * n:
            return RARE_PAIR.reason(
                f"First transfer of a payer with {v.payer_new_payees_90d} new payees in 90 days to a payee with "
                f"{v.payee_new_payers_90d} new payers; {v.program_rare_pairs_90d} of the program's {n} are such.",
                weight,
            )
    return None


RULES: Final[tuple[Rule, ...]] = (
    Rule(rare_new_pair, (RARE_PAIR,)),
    Rule(first_time_counterparty, (FIRST_TIME, FIRST_TIME_LARGE)),
    Rule(changed_account_details, (ACCOUNT_CHANGED,)),
    Rule(new_counterparty_burst, (BURST,)),
    Rule(counterparty_shared, (SHARED,)),
)
