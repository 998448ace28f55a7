"""How long alerts have waited: the 90th percentile of their ages, by nearest rank."""

from collections.abc import Iterable
from typing import Final

from features.core.instants import HOUR_US
from features.core.kris import KriName
from features.core.vocabulary import AlertStatus, Band
from features.kris.reading import UNMEASURED, Reading
from features.state.alert_state import AlertState
from features.state.program import ProgramState

_PERCENT: Final = 90
_NOTE: Final = "90th percentile by nearest rank."


def agings(program: ProgramState, now: int) -> dict[KriName, Reading]:
    waiting = program.alerts.waiting
    return {
        KriName.REVIEW_AGING_HOURS: _p90_hours((each for each in waiting if each.band is Band.REVIEW), now),
        KriName.HOLD_AGING_HOURS: _p90_hours(
            (each for each in waiting if each.status is AlertStatus.HELD or each.band is Band.HOLD), now
        ),
    }


def _p90_hours(alerts: Iterable[AlertState], now: int) -> Reading:
    opened = sorted((alert.opened_at for alert in alerts), reverse=True)
    if not opened:
        return UNMEASURED
    rank = -(-len(opened) * _PERCENT // 100)
    return Reading(max(0, now - opened[rank - 1]) / HOUR_US, len(opened), _NOTE)
