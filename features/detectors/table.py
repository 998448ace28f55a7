"""All detectors in one table, and the detectors that each reason of the scorer feeds.

A program's indicators, its caps and the bands open alerts without a trigger; their detectors stand here. The promise of
the bands: a person looks at every transfer in review or hold.
"""

from collections.abc import Callable, Mapping
from operator import ge, gt, lt
from typing import Final

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.vocabulary import Band, Severity
from clearhold.features.detectors import amount, flow, parties
from clearhold.features.detectors.detector import HARD, HIGH, LOW, MEDIUM, Detector, Grade, IndicatorLine, Trigger
from clearhold.features.scorers.trs_v1 import amount as amount_rules
from clearhold.features.scorers.trs_v1 import flow as flow_rules
from clearhold.features.scorers.trs_v1 import habits, joint, purchases, shares
from clearhold.features.scorers.trs_v1 import identity as identity_rules
from clearhold.features.scorers.trs_v1 import relationship as relationship_rules

PROGRAM_LIMIT_BREACH: Final = "program_limit_breach"
BAND_REVIEW: Final = "band_review"
BAND_HOLD: Final = "band_hold"
DETECTOR_OF_BAND: Final[Mapping[Band, str]] = {Band.REVIEW: BAND_REVIEW, Band.HOLD: BAND_HOLD}
GRADE_OF_BAND: Final[Mapping[Band, Grade]] = {Band.REVIEW: LOW, Band.HOLD: HIGH}

VOLUME_HIGH_PERCENT: Final = 150
RUN_RATE_FROM_DAYS: Final = 7
# Below $10,000 a day (31 CFR 1010.311, the line of currency reports) a multiple of the usual means little; and a
# program that moves money on fewer than 10 of 30 days, less than twice a week, has no usual day to compare with.
VELOCITY_FLOOR_CENTS: Final = 1_000_000
VELOCITY_FLOOR_DAYS: Final = 10
FREEZES: Final = 1
VELOCITY: Final = "program_velocity"
VOLUME: Final = "volume_vs_declared"
OVERDRAFT: Final = "overdraft_or_freeze"
_DEBITS: Final = "ACH debits originated in 60 days"


def _over_line(id_: str, line: IndicatorLine, *, opens_when: str, unexplained: str, next_step: str) -> Detector:
    """A detector of one indicator of a program."""
    return Detector(
        id=id_,
        opens_when=opens_when,
        kris=(line.kri,),
        line=line,
        severities=(line.grade.severity,),
        hard_when="hard" if line.grade.hard else "",
        window="30 d",
        unexplained=unexplained,
        next_step=next_step,
    )


def _rate(counted: str, out_of: str) -> Callable[[float, int, float], str]:
    return lambda value, n, line: (
        f"{round(value * n)} {counted} of {n} {out_of}: {_percent(value)}, over the limit of {_percent(line)}."
    )


def _aging(which: str) -> Callable[[float, int, float], str]:
    return lambda value, n, line: (
        f"The slowest tenth of {n} alerts {which} waited {value:.4g} hours or more, over the limit of {line:.6g} hours."
    )


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.4g} %"


PROGRAM_DETECTORS: Final[tuple[Detector, ...]] = (
    _over_line(
        "unauthorized_return_rate",
        IndicatorLine(KriName.ACH_UNAUTHORIZED_RETURN_RATE, gt, HARD, _rate("unauthorized returns", _DEBITS)),
        opens_when="Unauthorized returns delivered in 60 days are over 0.5 % of the ACH debits originated (Nacha).",
        unexplained="the cause of the rate over the network's limit, and its beginning",
        next_step="ask the program for a plan to come below the line and watch the rate until it is",
    ),
    _over_line(
        "administrative_return_rate",
        IndicatorLine(KriName.ACH_ADMINISTRATIVE_RETURN_RATE, gt, MEDIUM, _rate("administrative returns", _DEBITS)),
        opens_when="Returns R02, R03 and R04 of 60 days are over 3 % of the ACH debits originated (Nacha's inquiry).",
        unexplained="where the program's account numbers come from, and why a large share of them is wrong",
        next_step="ask the program how it verifies accounts before the first debit",
    ),
    _over_line(
        "overall_return_rate",
        IndicatorLine(KriName.ACH_OVERALL_RETURN_RATE, gt, MEDIUM, _rate("returns", f"{_DEBITS} (without RCK)")),
        opens_when="Returns of 60 days, RCK left out, are over 15 % of the ACH debits originated (Nacha's inquiry).",
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
    _over_line(
        "reserve_shortfall",
        IndicatorLine(
            KriName.RESERVE_COVERAGE,
            lt,
            HARD,
            lambda value, n, line: (
                f"The reserve covers {value:.4g} times the exposure of {n} ACH debits, below the minimum of {line:.6g}."
            ),
        ),
        opens_when="The reserve account holds less than the possible returns of the program's ACH debits.",
        unexplained="why the reserve fell behind the exposure, and who bears a loss meanwhile",
        next_step="ask the program to fund its reserve account and consider a lower cap on debits until it has",
    ),
    _over_line(
        "concentration",
        IndicatorLine(
            KriName.COUNTERPARTY_CONCENTRATION,
            ge,
            MEDIUM,
            lambda value, n, line: (
                f"{_percent(value)} of the money paid in 30 days went to one of {n} counterparties; the limit is "
                f"{_percent(line)}."
            ),
        ),
        opens_when="At least 40 % of the outgoing money of 30 days went to one counterparty.",
        unexplained="the purpose of the program's payments to that one counterparty",
        next_step="ask the program for the contract behind it and look at who pays it",
    ),
    _over_line(
        "review_aging",
        IndicatorLine(KriName.REVIEW_AGING_HOURS, gt, MEDIUM, _aging("that wait in the review band")),
        opens_when="The 90th percentile of the ages of alerts that wait in the review band is over their clock.",
        unexplained="why the alerts of the program wait longer than their clock allows",
        next_step="assign the oldest of them, or record why they cannot be decided",
    ),
    _over_line(
        "hold_aging",
        IndicatorLine(KriName.HOLD_AGING_HOURS, gt, MEDIUM, _aging("that are held")),
        opens_when="The 90th percentile of the ages of alerts that are held, or wait in hold, is over their clock.",
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
    _over_line(
        "verification_denial",
        IndicatorLine(KriName.VERIFICATION_DENIAL_RATE, gt, MEDIUM, _rate("denials", "entities decided in 30 days")),
        opens_when="Over 10 % of the entities with a decision in 30 days were denied.",
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
    *(signal.id for signal in (*habits.SIGNALS, *joint.SIGNALS, *purchases.SIGNALS, *shares.SIGNALS)),
)
"""Reasons that add points without an alert; the history reason and the caps open none either."""


OF_SHAPES: Final = frozenset(
    reason.id
    for reason in (
        *(flow_rules.FAN_IN, flow_rules.FAN_OUT, flow_rules.SCATTER_GATHER, flow_rules.GATHER_SCATTER),
        *(flow_rules.RAPID, flow_rules.LAYERING),
    )
)
"""Reasons of shapes that are everyday traffic in some programs, and whose alerts always wait for a person. Once the
usual of the program is known, they open an alert from ``SHAPES_FROM`` points of the score on. Not round trips, of which
the third is hard.
"""
SHAPES_FROM: Final = 25


def _triggers_by_reason() -> Mapping[str, tuple[tuple[Detector, Trigger], ...]]:
    triggers: dict[str, tuple[tuple[Detector, Trigger], ...]] = {}
    for detector in DETECTORS:
        for trigger in detector.triggers:
            triggers[trigger.reason_id] = (*triggers.get(trigger.reason_id, ()), (detector, trigger))
    return triggers


TRIGGERS: Final = _triggers_by_reason()
"""The detectors of a reason, each with its trigger."""
