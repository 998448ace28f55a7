"""Detectors of time: a velocity spike, and an account that moves money after long inactivity.

The scorer's rules for both are in ``features/scorers/trs_v1/timing.py``, with ids TRS-VEL.

Source  the reasons (``docs/reasons.md``); windows and further conditions of a detector are [P]
"""

from typing import Final

from clearhold.features.catalogue.vector import pays
from clearhold.features.core.instants import DAYS_7, HOURS_24
from clearhold.features.core.vocabulary import Severity
from clearhold.features.detectors.detector import (
    HIGH,
    MEDIUM,
    AlertSubject,
    DetectionContext,
    Detector,
    Grade,
    ReviewQuestion,
    Trigger,
)
from clearhold.features.detectors.subjects import actor_subject
from clearhold.features.scorers.trs_v1 import timing as rules

DORMANT_HIGH_DAYS: Final = 365


def grade_dormant(context: DetectionContext, _subject: AlertSubject) -> Grade:
    days = context.vector.typology_dormant_days
    long = days is not None and days >= DORMANT_HIGH_DAYS and pays(context.vector)
    return HIGH if long else MEDIUM


DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id="velocity_spike",
        opens_when=(
            "Far more transfers in a day than usual, and 1.5 times the entity's busiest day of 5 weeks; by count or "
            "by amount."
        ),
        triggers=(Trigger(rules.VELOCITY.id, actor_subject, MEDIUM, HOURS_24),),
        features=(
            "velocity_24h_count",
            "velocity_24h_sum_cents",
            "entity_count_30d",
            "entity_sum_cents_30d",
            "program_median_cents",
            "entity_busiest_day_count_35d",
            "entity_busiest_day_cents_35d",
        ),
        thresholds={
            "countFloor": rules.VELOCITY_COUNT_FLOOR,
            "sumFloorCents": rules.VELOCITY_SUM_FLOOR_CENTS,
            "factor": rules.VELOCITY_FACTOR,
            "busiestDayPercent": rules.BUSIEST_PERCENT,
        },
        review=ReviewQuestion(
            unexplained="why the entity moves so much more in a day than it usually does",
            next_step=(
                "look for an earlier run of the same payees and for a season, a sale or a pay day that explains it"
            ),
        ),
    ),
    Detector(
        id="dormant_reactivation",
        opens_when="A large first transfer after long inactivity; high severity after a year, for outgoing money.",
        triggers=(Trigger(rules.DORMANT.id, actor_subject, MEDIUM, DAYS_7, regrade=grade_dormant),),
        features=("typology_dormant_days", "velocity_24h_sum_cents", "program_p95_cents"),
        thresholds={
            "days": rules.DORMANT_DAYS,
            "highFromDays": DORMANT_HIGH_DAYS,
            "sumFloorCents": rules.DORMANT_SUM_CENTS,
        },
        severities=(Severity.HIGH,),
        review=ReviewQuestion(
            unexplained="who uses the account again after the long silence, and why with this amount",
            next_step=(
                "confirm with the program that the owner is unchanged, and look at new credentials and contact details"
            ),
        ),
    ),
)
