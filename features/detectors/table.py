"""All detectors in one table, and which of them a reason of the scorer feeds.

``NOT_YET_FED`` are those that need a program's indicators or its caps; they join ``DETECTORS`` with their inputs.
"""

from collections.abc import Mapping
from typing import Final

from features.detectors.detector import Detector, Trigger
from features.detectors.on_money import ON_MONEY
from features.detectors.on_parties import ON_PARTIES
from features.detectors.on_programs import ON_PROGRAMS
from features.scorers.trs_v1 import amount as trs_v1_amount
from features.scorers.trs_v1 import relationship as trs_v1_relationship

FED: Final = (*ON_MONEY, *ON_PARTIES)
DETECTORS: Final[tuple[Detector, ...]] = (*FED, *ON_PROGRAMS)
NOT_YET_FED: Final = (
    "aging",
    "concentration",
    "overdraft_or_freeze",
    "program_limit_breach",
    "reserve_shortfall",
    "verification_denial",
)
SIGNALS_ONLY: Final = (
    trs_v1_amount.JUST_BELOW.id,
    trs_v1_relationship.FIRST_TIME.id,
    trs_v1_relationship.ACCOUNT_CHANGED.id,
    trs_v1_relationship.RARE_PAIR.id,
)
"""Reasons that add points and open no alert; the history reason and the caps do not either."""


def _fed() -> Mapping[str, tuple[tuple[Detector, Trigger], ...]]:
    found: dict[str, tuple[tuple[Detector, Trigger], ...]] = {}
    for detector in FED:
        for line in detector.triggers:
            found[line.reason_id] = (*found.get(line.reason_id, ()), (detector, line))
    return found


TRIGGERS: Final = _fed()
"""Which detectors a reason feeds, and how."""
