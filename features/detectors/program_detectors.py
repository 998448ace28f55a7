"""The detectors of a program's figures: the indicator of each, and the question to the person who decides."""

from typing import Final

from clearhold.features.core.entries.kris import KriName
from clearhold.features.core.vocabulary import Severity
from clearhold.features.detectors.detector import Detector, ReviewQuestion
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

DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id=UNAUTHORIZED,
        opens_when="Unauthorized returns delivered in 60 days are over 0.5 % of the ACH debits originated (Nacha).",
        triggers=(),
        features=(),
        kris=(KriName.ACH_UNAUTHORIZED_RETURN_RATE,),
        thresholds={},
        severities=(Severity.HIGH,),
        hard_when="hard",
        window="30 d",
        review=ReviewQuestion(
            unexplained="the cause of the rate over the network's limit, and its beginning",
            next_step="ask the program for a plan to come below the line and watch the rate until it is",
        ),
    ),
    Detector(
        id="administrative_return_rate",
        opens_when="Returns R02, R03 and R04 of 60 days are over 3 % of the ACH debits originated (Nacha's inquiry).",
        triggers=(),
        features=(),
        kris=(KriName.ACH_ADMINISTRATIVE_RETURN_RATE,),
        thresholds={},
        severities=(Severity.MEDIUM,),
        window="30 d",
        review=ReviewQuestion(
            unexplained="where the program's account numbers come from, and why a large share of them is wrong",
            next_step="ask the program how it verifies accounts before the first debit",
        ),
    ),
    Detector(
        id="overall_return_rate",
        opens_when="Returns of 60 days, RCK left out, are over 15 % of the ACH debits originated (Nacha's inquiry).",
        triggers=(),
        features=(),
        kris=(KriName.ACH_OVERALL_RETURN_RATE,),
        thresholds={},
        severities=(Severity.MEDIUM,),
        window="30 d",
        review=ReviewQuestion(
            unexplained="why a large share of the program's debits comes back, and whether few originators cause it",
            next_step="ask the program for its returns by originator and for its corrective steps",
        ),
    ),
    Detector(
        id=VELOCITY,
        opens_when=(
            "The volume of 24 h is at least 3 times the usual day of 30 days and at least $10,000, in a program that "
            "moved money on at least 10 of the 30 days before."
        ),
        triggers=(),
        features=(),
        kris=(KriName.VOLUME_VELOCITY,),
        thresholds={"floorCents": VELOCITY_FLOOR_CENTS, "activeDays": VELOCITY_FLOOR_DAYS},
        severities=(Severity.MEDIUM,),
        window="2 d",
        review=ReviewQuestion(
            unexplained="why the program moves so much more in a day than it usually does",
            next_step="ask the program for the reason and look at the entities that moved most",
        ),
    ),
    Detector(
        id=VOLUME,
        opens_when="The month's volume reaches the declared volume, or after day 7 is on course for 150 % of it.",
        triggers=(),
        features=(),
        kris=(KriName.DECLARED_VOLUME_USE,),
        thresholds={"highPercent": VOLUME_HIGH_PERCENT, "runRateFromDays": RUN_RATE_FROM_DAYS},
        severities=(Severity.MEDIUM, Severity.HIGH),
        window="the month",
        review=ReviewQuestion(
            unexplained="whether the program's business has outgrown its declaration",
            next_step="ask the program for a new declaration and for the customers behind the growth",
        ),
    ),
    Detector(
        id="reserve_shortfall",
        opens_when="The reserve account holds less than the possible returns of the program's ACH debits.",
        triggers=(),
        features=(),
        kris=(KriName.RESERVE_COVERAGE,),
        thresholds={},
        severities=(Severity.HIGH,),
        hard_when="hard",
        window="30 d",
        review=ReviewQuestion(
            unexplained="why the reserve fell behind the exposure, and who bears a loss meanwhile",
            next_step="ask the program to fund its reserve account and consider a lower cap on debits until it has",
        ),
    ),
    Detector(
        id="concentration",
        opens_when="At least 40 % of the outgoing money of 30 days went to one counterparty.",
        triggers=(),
        features=(),
        kris=(KriName.COUNTERPARTY_CONCENTRATION,),
        thresholds={},
        severities=(Severity.MEDIUM,),
        window="30 d",
        review=ReviewQuestion(
            unexplained="the purpose of the program's payments to that one counterparty",
            next_step="ask the program for the contract behind it and look at who pays it",
        ),
    ),
    Detector(
        id="review_aging",
        opens_when="The 90th percentile of the ages of alerts that wait in the review band is over their clock.",
        triggers=(),
        features=(),
        kris=(KriName.REVIEW_AGING_HOURS,),
        thresholds={},
        severities=(Severity.MEDIUM,),
        window="30 d",
        review=ReviewQuestion(
            unexplained="why the alerts of the program wait longer than their clock allows",
            next_step="assign the oldest of them, or record why they cannot be decided",
        ),
    ),
    Detector(
        id="hold_aging",
        opens_when="The 90th percentile of the ages of alerts that are held, or wait in hold, is over their clock.",
        triggers=(),
        features=(),
        kris=(KriName.HOLD_AGING_HOURS,),
        thresholds={},
        severities=(Severity.MEDIUM,),
        window="30 d",
        review=ReviewQuestion(
            unexplained="why money of the program is held for longer than the clock allows",
            next_step="decide the oldest holds, or ask the program for the missing information",
        ),
    ),
    Detector(
        id=OVERDRAFT,
        opens_when="An account was frozen, or at least 3 accounts were overdrafted, in 30 days.",
        triggers=(),
        features=(),
        kris=(KriName.OVERDRAFT_EVENTS, KriName.FREEZE_EVENTS),
        thresholds={"freezes": FREEZES},
        severities=(Severity.MEDIUM,),
        window="30 d",
        review=ReviewQuestion(
            unexplained="the cause of the freezes and overdrafts, and whether the accounts belong together",
            next_step="look at the accounts and their owners and ask the program for its response",
        ),
    ),
    Detector(
        id="verification_denial",
        opens_when="Over 10 % of the entities with a decision in 30 days were denied.",
        triggers=(),
        features=(),
        kris=(KriName.VERIFICATION_DENIAL_RATE,),
        thresholds={},
        severities=(Severity.MEDIUM,),
        window="30 d",
        review=ReviewQuestion(
            unexplained="why a large share of the program's customers fails verification, and their origin",
            next_step="ask the program how these customers were found and look at the denied entities",
        ),
    ),
)
