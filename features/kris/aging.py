"""How long alerts have waited: the 90th percentile of their ages, by nearest rank."""

from array import array
from typing import Final

from clearhold.features.core.entries.kris import KriName
from clearhold.features.core.instants import HOUR_US
from clearhold.features.kris.reading import UNMEASURED, Reading
from clearhold.features.state.program import ProgramState
from clearhold.features.state.waiting_alerts import p90_of

_NOTE: Final = "90th percentile by nearest rank."


def agings(program: ProgramState, now: int) -> dict[KriName, Reading]:
    waiting = program.alerts.waiting
    return {
        KriName.REVIEW_AGING_HOURS: _p90_hours(waiting.review, now),
        KriName.HOLD_AGING_HOURS: _p90_hours(waiting.hold, now),
    }


def _p90_hours(opened: "array[int]", now: int) -> Reading:
    opened_at = p90_of(opened)
    return UNMEASURED if opened_at is None else Reading(max(0, now - opened_at) / HOUR_US, len(opened), _NOTE)
