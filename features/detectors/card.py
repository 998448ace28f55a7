"""Detectors of card attempts: card testing, and a rise of fraud declines.

Source  the reasons (``docs/reasons.md``); windows are [P]
"""

from typing import Final

from clearhold.features.core.instants import HOURS_24
from clearhold.features.detectors.detector import HARD, HIGH, MEDIUM, Detector, ReviewQuestion, Trigger
from clearhold.features.detectors.subjects import account_subject, program_subject
from clearhold.features.scorers.trs_v1 import card as rules

DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id="card_testing",
        opens_when="Repeated attempts on one card; hard with attempts on many cards at one program.",
        triggers=(
            Trigger(rules.TESTING.id, account_subject, HIGH, HOURS_24),
            Trigger(rules.TESTING_PROGRAM.id, program_subject, HARD, HOURS_24),
        ),
        features=(
            "card_declines_1h",
            "card_small_count_1h",
            "program_card_attempts_1h",
            "program_card_declines_1h",
            "program_card_small_count_1h",
        ),
        thresholds={
            "declines1h": rules.CARD_DECLINES,
            "small1h": rules.CARD_SMALL_COUNT,
            "programAttempts1h": rules.PROGRAM_ATTEMPTS,
            "programDeclinedPercent": rules.PROGRAM_DECLINED_PERCENT,
        },
        review=ReviewQuestion(
            unexplained="whether cards are being tested here",
            next_step=(
                "look at the declined attempts and their reasons, and pause the card or the merchant until it is known"
            ),
        ),
    ),
    Detector(
        id="card_decline_mix",
        opens_when="More of a program's card attempts are declined for fraud than usual.",
        triggers=(Trigger(rules.DECLINE_MIX.id, program_subject, MEDIUM, HOURS_24),),
        features=(
            "program_card_attempts_24h",
            "program_card_fraud_declines_24h",
            "program_card_attempts_30d",
            "program_card_fraud_declines_30d",
        ),
        thresholds={
            "attempts24h": rules.MIX_ATTEMPTS,
            "percent": rules.MIX_PERCENT,
            "factor": rules.MIX_FACTOR,
        },
        review=ReviewQuestion(
            unexplained="why fraud declines are more frequent than before",
            next_step="look at merchants, entry modes and times of the declined attempts",
        ),
    ),
)
