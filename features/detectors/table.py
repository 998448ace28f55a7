"""All detectors in one table, a family a file, and the detectors that each reason of the scorer feeds."""

from collections.abc import Mapping
from typing import Final

from clearhold.features.detectors import (
    amount,
    band,
    caps,
    card,
    flow,
    geography,
    identity,
    program_detectors,
    relationship,
    returns,
    timing,
)
from clearhold.features.detectors.detector import Detector, Trigger
from clearhold.features.scorers.trs_v1 import amount as amount_rules
from clearhold.features.scorers.trs_v1 import habits
from clearhold.features.scorers.trs_v1 import identity as identity_rules
from clearhold.features.scorers.trs_v1 import relationship as relationship_rules

DETECTORS: Final[tuple[Detector, ...]] = (
    *amount.DETECTORS,
    *timing.DETECTORS,
    *flow.DETECTORS,
    *relationship.DETECTORS,
    *returns.DETECTORS,
    *identity.DETECTORS,
    *geography.DETECTORS,
    *card.DETECTORS,
    *program_detectors.DETECTORS,
    *caps.DETECTORS,
    *band.DETECTORS,
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
