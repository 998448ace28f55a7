"""Program Risk Score, prs-v1: the program's key risk indicators at watch or in breach.

Unit    points 0-100, integers; None below 3 measured indicators
n       the measured indicators; the confidence is their share of all defined ones
Window  each indicator's own
Errors  none
Source  named with each indicator; the indicator's lines define watch and breach
"""

from collections.abc import Iterator, Mapping
from typing import Final

from clearhold.features.catalogue.kris import KRIS, Kri, KriName, KriStatus, KriValue
from clearhold.features.scorers.engine import checks, default_card
from clearhold.features.scorers.signal import Scorer, Signal, SignalGroup

VERSION: Final = "prs-v1"
MEASURED_FLOOR: Final = 3
WATCH_POINTS: Final = 10
BREACH_POINTS: Final = 25
RULE_BREACH_POINTS: Final = 35
HEAVY: Final = frozenset({KriName.ACH_UNAUTHORIZED_RETURN_RATE, KriName.RESERVE_COVERAGE})
DEFINED: Final = tuple(kri.name for kri in KRIS)

ProgramInputs = Mapping[KriName, KriValue]


def _signal(number: int, kri: Kri, status: KriStatus) -> Signal[ProgramInputs]:
    """Of the indicator at watch or in breach."""
    name, is_breach = kri.name, status is KriStatus.BREACH
    line, stand = ("over its threshold", "in breach") if is_breach else ("at or over its watch line", "at watch")
    return Signal(
        f"PRS-{'BRE' if is_breach else 'WAT'}-{number:02d}",
        f"{name}_{status}",
        f"{name} is {line}, or under it for a coverage.",
        lambda readings: _stands_at(readings, name, status),
        lambda readings, _: _sentence(readings[name], f"{name} is {stand}"),
        source=kri.source,
        hard=is_breach and name in HEAVY,
    )


def _stands_at(readings: ProgramInputs, name: KriName, status: KriStatus) -> bool:
    reading = readings.get(name)
    return reading is not None and reading.value is not None and reading.status is status


def _sentence(reading: KriValue, stand: str) -> str:
    threshold = "" if reading.threshold is None else f", threshold {reading.threshold:.6g}"
    return f"{stand}: {reading.value:.6g}{threshold} (n = {reading.n})."


def _signals() -> Iterator[tuple[Signal[ProgramInputs], int]]:
    """Each with its points on the default card."""
    for number, kri in enumerate(KRIS, start=1):
        yield _signal(number, kri, KriStatus.WATCH), WATCH_POINTS
        yield _signal(number, kri, KriStatus.BREACH), RULE_BREACH_POINTS if kri.name in HEAVY else BREACH_POINTS


def _observations(readings: ProgramInputs, floor: int, _program_floor: int) -> tuple[int, bool]:
    measured = (reading for reading in map(readings.get, DEFINED) if reading is not None and reading.value is not None)
    n = sum(reading.status is not KriStatus.UNMEASURED for reading in measured)
    return n, n >= floor


_SIGNALS: Final = dict(_signals())
SCORER: Final = Scorer[ProgramInputs](
    version=VERSION,
    groups=(SignalGroup(_SIGNALS),),
    observations=_observations,
    whole=len(DEFINED),
)
DEFAULT: Final = default_card(SCORER, floor=MEASURED_FLOOR, signals=checks(_SIGNALS))
