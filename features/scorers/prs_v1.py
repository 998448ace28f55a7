"""Program Risk Score, prs-v1: the program's key risk indicators at watch or in breach.

Unit    points 0-100, integers; None below 3 measured indicators
n       the measured indicators; the confidence is their share of all defined ones
Window  each indicator's own
Errors  none
Source  named with each indicator; the indicator's lines define watch and breach
"""

from collections.abc import Iterator, Mapping
from typing import Final

from clearhold.features.catalogue.kris import KRIS, KriName, KriStatus, KriValue
from clearhold.features.core.scorecards import CardSignal, points_when
from clearhold.features.scorers.engine import default_card
from clearhold.features.scorers.signal import Scorer, Signal, SignalGroup

VERSION: Final = "prs-v1"
MEASURED_FLOOR: Final = 3
WATCH_POINTS: Final = 10
BREACH_POINTS: Final = 25
RULE_BREACH_POINTS: Final = 35
HEAVY: Final = frozenset({KriName.ACH_UNAUTHORIZED_RETURN_RATE, KriName.RESERVE_COVERAGE})
DEFINED: Final = tuple(kri.name for kri in KRIS)

ProgramInputs = Mapping[KriName, KriValue]


def _watch(number: int, name: KriName, source: str) -> Signal[ProgramInputs]:
    return Signal(
        f"PRS-WAT-{number:02d}",
        f"{name}_watch",
        f"{name} is at or over its watch line, or under it for a coverage.",
        lambda readings: _stands_at(readings, name, KriStatus.WATCH),
        lambda readings, _: _sentence(readings[name], f"{name} is at watch"),
        source=source,
    )


def _breach(number: int, name: KriName, source: str) -> Signal[ProgramInputs]:
    return Signal(
        f"PRS-BRE-{number:02d}",
        f"{name}_breach",
        f"{name} is over its threshold, or under it for a coverage.",
        lambda readings: _stands_at(readings, name, KriStatus.BREACH),
        lambda readings, _: _sentence(readings[name], f"{name} is in breach"),
        source=source,
        hard=name in HEAVY,
    )


def _stands_at(readings: ProgramInputs, name: KriName, status: KriStatus) -> bool:
    reading = readings.get(name)
    return reading is not None and reading.value is not None and reading.status is status


def _sentence(reading: KriValue, stand: str) -> str:
    threshold = "" if reading.threshold is None else f", threshold {reading.threshold:.6g}"
    return f"{stand}: {reading.value:.6g}{threshold} (n = {reading.n})."


def _signals() -> Iterator[Signal[ProgramInputs]]:
    for number, kri in enumerate(KRIS, start=1):
        yield _watch(number, kri.name, kri.source)
        yield _breach(number, kri.name, kri.source)


def _points() -> Iterator[CardSignal]:
    for number, name in enumerate(DEFINED, start=1):
        yield points_when(f"PRS-WAT-{number:02d}", WATCH_POINTS)
        yield points_when(f"PRS-BRE-{number:02d}", RULE_BREACH_POINTS if name in HEAVY else BREACH_POINTS)


def _observations(readings: ProgramInputs, floor: int, _program_floor: int) -> tuple[int, bool]:
    measured = (reading for reading in map(readings.get, DEFINED) if reading is not None and reading.value is not None)
    n = sum(reading.status is not KriStatus.UNMEASURED for reading in measured)
    return n, n >= floor


SCORER: Final = Scorer[ProgramInputs](
    version=VERSION,
    groups=(SignalGroup(tuple(_signals())),),
    observations=_observations,
    whole=len(DEFINED),
)
DEFAULT: Final = default_card(SCORER, floor=MEASURED_FLOOR, signals=tuple(_points()))
