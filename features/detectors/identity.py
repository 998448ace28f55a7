"""Detectors of an entity's identity: denied or unfinished verification, and screening.

Source  the reasons (``docs/reasons.md``); windows and further conditions of a detector are [P]
"""

from typing import Final

from clearhold.features.core.instants import DAYS_7, DAYS_30
from clearhold.features.detectors.detector import (
    HARD,
    MEDIUM,
    AlertSubject,
    DetectionContext,
    Detector,
    Grade,
    ReviewQuestion,
    Trigger,
)
from clearhold.features.detectors.subjects import actor_subject
from clearhold.features.scorers.trs_v1 import identity as rules

SCREENING: Final = "screening_stale_or_hit"
UNVERIFIED_7D_CENTS: Final = 100_000


def grade_unverified(context: DetectionContext, _subject: AlertSubject) -> Grade | None:
    return MEDIUM if seven_day_cents(context) >= UNVERIFIED_7D_CENTS else None


def seven_day_cents(context: DetectionContext) -> int:
    """The sum that the actor moved in 7 days, with this transfer if it moved money."""
    return 0 if context.actor is None else context.actor.amounts.measure(context.at - DAYS_7, context.at)[1]


DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id="kyc_denied_moving",
        opens_when="A denied entity moves money, or the bank denies an entity that moved some in the 90 days before.",
        triggers=(Trigger(rules.DENIED.id, actor_subject, HARD, DAYS_7),),
        features=("entity_verification_status",),
        thresholds={},
        review=ReviewQuestion(
            unexplained="how an entity that was denied can still move money",
            next_step="ask the program to stop the entity and to explain which control let the transfer through",
        ),
    ),
    Detector(
        id="kyc_unverified_moving",
        opens_when="An entity whose verification is not finished moves at least $1,000 in 7 days.",
        triggers=(Trigger(rules.UNVERIFIED.id, actor_subject, MEDIUM, DAYS_7, regrade=grade_unverified),),
        features=("entity_verification_status", "velocity_24h_sum_cents"),
        thresholds={"sum7dCents": UNVERIFIED_7D_CENTS},
        figures=lambda context: {"entity.sum7dCents": seven_day_cents(context)},
        review=ReviewQuestion(
            unexplained="why verification is not finished while this much already moves",
            next_step="ask the program for the missing documents and for the date by which it will be done",
        ),
    ),
    Detector(
        id=SCREENING,
        opens_when=(
            "A politically exposed, high-risk, unscreened or long unscreened entity, or one that the bank's review "
            "calls a fraud risk, with its next transfer; if it moved money in the 90 days before, with the bank's "
            "statement. A wallet on a sanctions list: of an agent, or of a counterparty that pays one."
        ),
        hard_when="for a listed wallet",
        severities=(HARD.severity,),
        triggers=(
            Trigger(rules.PEP.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(rules.PEP_POTENTIAL.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(rules.HIGH_RISK.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(rules.NEVER_SCREENED.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(rules.SCREENING_STALE.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(rules.FRAUD_RISK.id, actor_subject, MEDIUM, DAYS_30),
        ),
        features=(
            "entity_pep_status",
            "entity_is_high_risk",
            "entity_requires_screening",
            "entity_screening_age_days",
            "entity_rescreen_days",
            "entity_fraud_risk",
        ),
        thresholds={},
        review=ReviewQuestion(
            unexplained="whether the entity's screening is complete, recent and cleared",
            next_step="screen the entity again and record who cleared the matches",
        ),
    ),
)
