"""All detectors in one table, and the detectors that each reason of the scorer feeds.

A program's indicators, its caps and the bands open alerts without a trigger; their detectors stand here. The promise of
the bands: a person looks at every transfer in review or hold.
"""

from collections.abc import Mapping
from typing import Final

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.vocabulary import Band, Severity
from clearhold.features.detectors import amount, flow, parties
from clearhold.features.detectors.detector import HIGH, LOW, Detector, Grade, Trigger
from clearhold.features.detectors.program import (
    FREEZES,
    OVERDRAFT,
    RUN_RATE_FROM_DAYS,
    UNAUTHORIZED,
    VELOCITY,
    VELOCITY_FLOOR_CENTS,
    VELOCITY_FLOOR_DAYS,
    VOLUME,
    VOLUME_HIGH_PERCENT,
)
from clearhold.features.scorers.trs_v1 import amount as amount_rules
from clearhold.features.scorers.trs_v1 import habits
from clearhold.features.scorers.trs_v1 import identity as identity_rules
from clearhold.features.scorers.trs_v1 import relationship as relationship_rules

PROGRAM_LIMIT_BREACH: Final = "program_limit_breach"
BAND_REVIEW: Final = "band_review"
BAND_HOLD: Final = "band_hold"
DETECTOR_OF_BAND: Final[Mapping[Band, str]] = {Band.REVIEW: BAND_REVIEW, Band.HOLD: BAND_HOLD}
GRADE_OF_BAND: Final[Mapping[Band, Grade]] = {Band.REVIEW: LOW, Band.HOLD: HIGH}

PROGRAM_DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id=UNAUTHORIZED,
        opens_when="Unauthorized returns delivered in 60 days are over 0.5 % of the ACH debits originated (Nacha).",
        kris=(KriName.ACH_UNAUTHORIZED_RETURN_RATE,),
        severities=(Severity.HIGH,),
        hard_when="hard",
        window="30 d",
        unexplained="the cause of the rate over the network's limit, and its beginning",
        next_step="ask the program for a plan to come below the line and watch the rate until it is",
    ),
    Detector(
        id="administrative_return_rate",
        opens_when="Returns R02, R03 and R04 of 60 days are over 3 % of the ACH debits originated (Nacha's inquiry).",
        kris=(KriName.ACH_ADMINISTRATIVE_RETURN_RATE,),
        severities=(Severity.MEDIUM,),
        window="30 d",
        unexplained="where the program's account numbers come from, and why a large share of them is wrong",
        next_step="ask the program how it verifies accounts before the first debit",
    ),
    Detector(
        id="overall_return_rate",
        opens_when="Returns of 60 days, RCK left out, are over 15 % of the ACH debits originated (Nacha's inquiry).",
        kris=(KriName.ACH_OVERALL_RETURN_RATE,),
        severities=(Severity.MEDIUM,),
        window="30 d",
        unexplained="why a large share of the program's debits comes back, and whether few originators cause it",
        next_step="ask the program for its returns by originator and for its corrective steps",
    ),
    Detector(
        id=VELOCITY,
        opens_when=(
            "The volume of 24 h is at least 3 times the usual day of 30 days and at least $10,000, in a program that "
            "moved money on at least 10 of the 30 days before."
        ),
        kris=(KriName.VOLUME_VELOCITY,),
        thresholds={"floorCents": VELOCITY_FLOOR_CENTS, "activeDays": VELOCITY_FLOOR_DAYS},
        severities=(Severity.MEDIUM,),
        window="2 d",
        unexplained="why the program moves so much more in a day than it usually does",
        next_step="ask the program for the reason and look at the entities that moved most",
    ),
    Detector(
        id=VOLUME,
        opens_when="The month's volume reaches the declared volume, or after day 7 is on course for 150 % of it.",
        kris=(KriName.DECLARED_VOLUME_USE,),
        thresholds={"highPercent": VOLUME_HIGH_PERCENT, "runRateFromDays": RUN_RATE_FROM_DAYS},
        severities=(Severity.MEDIUM, Severity.HIGH),
        window="the month",
        unexplained="whether the program's business has outgrown its declaration",
        next_step="ask the program for a new declaration and for the customers behind the growth",
    ),
    Detector(
        id="reserve_shortfall",
        opens_when="The reserve account holds less than the possible returns of the program's ACH debits.",
        kris=(KriName.RESERVE_COVERAGE,),
        severities=(Severity.HIGH,),
        hard_when="hard",
        window="30 d",
        unexplained="why the reserve fell behind the exposure, and who bears a loss meanwhile",
        next_step="ask the program to fund its reserve account and consider a lower cap on debits until it has",
    ),
    Detector(
        id="concentration",
        opens_when="At least 40 % of the outgoing money of 30 days went to one counterparty.",
        kris=(KriName.COUNTERPARTY_CONCENTRATION,),
        severities=(Severity.MEDIUM,),
        window="30 d",
        unexplained="the purpose of the program's payments to that one counterparty",
        next_step="ask the program for the contract behind it and look at who pays it",
    ),
    Detector(
        id="review_aging",
        opens_when="The 90th percentile of the ages of alerts that wait in the review band is over their clock.",
        kris=(KriName.REVIEW_AGING_HOURS,),
        severities=(Severity.MEDIUM,),
        window="30 d",
        unexplained="why the alerts of the program wait longer than their clock allows",
        next_step="assign the oldest of them, or record why they cannot be decided",
    ),
    Detector(
        id="hold_aging",
        opens_when="The 90th percentile of the ages of alerts that are held, or wait in hold, is over their clock.",
        kris=(KriName.HOLD_AGING_HOURS,),
        severities=(Severity.MEDIUM,),
        window="30 d",
        unexplained="why money of the program is held for longer than the clock allows",
        next_step="decide the oldest holds, or ask the program for the missing information",
    ),
    Detector(
        id=OVERDRAFT,
        opens_when="An account was frozen, or at least 3 accounts were overdrafted, in 30 days.",
        kris=(KriName.OVERDRAFT_EVENTS, KriName.FREEZE_EVENTS),
        thresholds={"freezes": FREEZES},
        severities=(Severity.MEDIUM,),
        window="30 d",
        unexplained="the cause of the freezes and overdrafts, and whether the accounts belong together",
        next_step="look at the accounts and their owners and ask the program for its response",
    ),
    Detector(
        id="verification_denial",
        opens_when="Over 10 % of the entities with a decision in 30 days were denied.",
        kris=(KriName.VERIFICATION_DENIAL_RATE,),
        severities=(Severity.MEDIUM,),
        window="30 d",
        unexplained="why a large share of the program's customers fails verification, and their origin",
        next_step="ask the program how these customers were found and look at the denied entities",
    ),
)
DETECTORS: Final[tuple[Detector, ...]] = (
    *amount.DETECTORS,
    *flow.DETECTORS,
    *parties.DETECTORS,
    *PROGRAM_DETECTORS,
    Detector(
        id=PROGRAM_LIMIT_BREACH,
        opens_when=(
            "A transfer exceeds a cap of the program: on ACH debits of the day or the month, on one transfer, on an "
            "entity's outgoing transfers of the day, or on its transfers of 24 h. One alert per kind and period; per "
            "transfer or entity where the cap is on one."
        ),
        features=("velocity_24h_count", "velocity_24h_sum_cents"),
        severities=(Severity.HIGH,),
        hard_when="hard",
        window="the day, the month, the transaction or 24 h",
        unexplained="why the program moved more than it may",
        next_step="ask the program for the reason and decide whether the cap or the program's activity has to change",
    ),
    Detector(
        id=BAND_REVIEW,
        opens_when="A score in the review band, and no other alert on the transfer or its parties names the transfer.",
        subjects=("transfer",),
        severities=(LOW.severity,),
        window="for good",
        unexplained="what the signals of the score mean together; none of them opens an alert alone",
        next_step="look at the signals one by one and at the other transfers of the same parties",
    ),
    Detector(
        id=BAND_HOLD,
        opens_when="A score in the hold band, and no other alert on the transfer or its parties names it in that band.",
        subjects=("transfer",),
        severities=(HIGH.severity,),
        window="for good",
        unexplained="what the signals of the score mean together; none of them opens an alert alone",
        next_step="keep the money where it is and ask the program for the purpose of the transfer",
    ),
)
DETECTOR_OF: Final[Mapping[str, Detector]] = {detector.id: detector for detector in DETECTORS}
SIGNALS_ONLY: Final = (
    amount_rules.JUST_BELOW.id,
    relationship_rules.FIRST_TIME.id,
    relationship_rules.ACCOUNT_CHANGED.id,
    relationship_rules.RARE_PAIR.id,
    identity_rules.DENIED_ATTEMPT.id,
    *(signal.id for signal in habits.SIGNALS),
)
"""Reasons that add points without an alert; the history reason and the caps open none either."""


def _triggers_by_reason() -> Mapping[str, tuple[tuple[Detector, Trigger], ...]]:
    triggers: dict[str, tuple[tuple[Detector, Trigger], ...]] = {}
    for detector in DETECTORS:
        for trigger in detector.triggers:
            triggers[trigger.reason_id] = (*triggers.get(trigger.reason_id, ()), (detector, trigger))
    return triggers


TRIGGERS: Final = _triggers_by_reason()
"""The detectors of a reason, each with its trigger."""
