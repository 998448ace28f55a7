"""The card signals of trs-v1: card testing.

Unit    attempts, declined ones too
Source  named at each signal; [P] is proposed here, to be tuned on labels
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearhold.features.catalogue.thresholds import SMALL_CARD_BELOW_CENTS
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.money import counted, money
from clearhold.features.core.scorecards import points_when
from clearhold.features.scorers.signal import CARD_ONLY, Signal

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


def _small_edges(_v: FeatureVector, _: Sequence[int]) -> Iterator[int]:
    yield from (SMALL_CARD_BELOW_CENTS, SMALL_CARD_BELOW_CENTS + 1)


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
    edges=_small_edges,
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
    edges=_small_edges,
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

SIGNALS: Final = (TESTING, TESTING_PROGRAM, DECLINE_MIX)
POINTS: Final = (points_when(TESTING.id, 30), points_when(TESTING_PROGRAM.id, 45), points_when(DECLINE_MIX.id, 12))
"""Of the default card."""
