"""The card rules of trs-v1: trying out card numbers.

Unit    attempts, declined ones too
Source  named at each rule; [P] is proposed here, to be tuned on labels
"""

from typing import Final

from features.catalogue.vector import FeatureVector
from features.core.reason import Reason
from features.scorers.families import Family
from features.scorers.rule import CARD_ONLY, ReasonKind, Rule

CARD_DECLINES: Final = 3
CARD_SMALL_COUNT: Final = 5
PROGRAM_ATTEMPTS: Final = 50
PROGRAM_DECLINED_PERCENT: Final = 40
MIX_ATTEMPTS: Final = 100
MIX_PERCENT: Final = 10
MIX_FACTOR: Final = 2

TESTING: Final = ReasonKind(
    "TRS-CRD-01",
    "card_testing",
    (30,),
    Family.CARD,
    "At least 3 declines, or 5 attempts under $5, on one card (without its id: on one account) in 1 h.",
    "[P]; card networks charge for attempts after repeated declines",
    rails=CARD_ONLY,
)
TESTING_PROGRAM: Final = ReasonKind(
    "TRS-CRD-02",
    "card_testing_program",
    (45,),
    Family.CARD,
    "Of at least 50 attempts of the program in 1 h, 40 % were declined and half were of at most $5.",
    "[P]; published attacks show 40-90 % declines against a usual 5 %",
    hard=True,
    rails=CARD_ONLY,
)
DECLINE_MIX: Final = ReasonKind(
    "TRS-CRD-03",
    "card_decline_mix",
    (12,),
    Family.CARD,
    "Of at least 100 attempts of the program in 24 h, 10 % were fraud declines, twice the share of 30 days.",
    "[P]",
    rails=CARD_ONLY,
)


def card_testing(v: FeatureVector) -> Reason | None:
    """One card tried again and again: 3 declines or 5 attempts under $5 in 1 h [P]."""
    declines, small = v.card_declines_1h or 0, v.card_small_count_1h or 0
    if declines < CARD_DECLINES and small < CARD_SMALL_COUNT:
        return None
    return TESTING.reason(f"{declines} declines and {small} attempts under 5.00 in 1 h.")


def card_testing_program(v: FeatureVector) -> Reason | None:
    """Many cards tried at one program: 50 attempts, 40 % declined, median at most $5, in 1 h [P]."""
    n, declines, small = v.program_card_attempts_1h, v.program_card_declines_1h, v.program_card_small_count_1h
    if n < PROGRAM_ATTEMPTS or declines * 100 < PROGRAM_DECLINED_PERCENT * n or small * 2 < n:
        return None
    return TESTING_PROGRAM.reason(
        f"{declines} of the program's {n} card attempts in 1 h were declined, and {small} were of at most 5.00."
    )


def card_decline_mix(v: FeatureVector) -> Reason | None:
    """More fraud declines than the program is used to: 10 % of 100 attempts in 24 h, twice the share of 30 d [P]."""
    n, fraud = v.program_card_attempts_24h, v.program_card_fraud_declines_24h
    n_30d, fraud_30d = v.program_card_attempts_30d, v.program_card_fraud_declines_30d
    if n < MIX_ATTEMPTS or fraud * 100 < MIX_PERCENT * n or fraud * n_30d < MIX_FACTOR * fraud_30d * n:
        return None
    return DECLINE_MIX.reason(
        f"{fraud} of the program's {n} card attempts in 24 h were declined for fraud, "
        f"and {fraud_30d} of {n_30d} in 30 days."
    )


RULES: Final[tuple[Rule, ...]] = (
    Rule(card_testing, (TESTING,), of_attempts=True),
    Rule(card_testing_program, (TESTING_PROGRAM,), of_attempts=True),
    Rule(card_decline_mix, (DECLINE_MIX,), of_attempts=True),
)
