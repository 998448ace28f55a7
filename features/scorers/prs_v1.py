"""Program Risk Score, prs-v1: the program's key risk indicators that stand at watch or in breach.

Unit    points 0-100, integers; None below 3 measured indicators
n       the indicators that are measured; the confidence is their share of all that are defined
Window  each indicator's own
Errors  none
Source  named with each indicator; an indicator's own lines decide what is watch and what is breach
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from features.catalogue.kris import KRIS
from features.core.kris import KriName, KriStatus, KriValue
from features.core.reason import Reason, Score
from features.scorers.rule import ReasonKind
from features.scorers.scorecard import CEILING, in_order, limits_of

VERSION: Final = "prs-v1"
MEASURED_FLOOR: Final = 3
WATCH_POINTS: Final = 10
BREACH_POINTS: Final = 25
RULE_BREACH_POINTS: Final = 35
HEAVY: Final = frozenset({KriName.ACH_UNAUTHORIZED_RETURN_RATE, KriName.RESERVE_COVERAGE})


class _Indicator(NamedTuple):
    watch: ReasonKind
    breach: ReasonKind


def _indicator(number: int, name: KriName, source: str) -> _Indicator:
    watch = f"{name} is at or over its watch line, or under it for a coverage."
    breach = f"{name} is over its threshold, or under it for a coverage."
    is_heavy = name in HEAVY
    points = RULE_BREACH_POINTS if is_heavy else BREACH_POINTS
    return _Indicator(
        ReasonKind(f"PRS-WAT-{number:02d}", f"{name}_watch", (WATCH_POINTS,), None, watch, source),
        ReasonKind(f"PRS-BRE-{number:02d}", f"{name}_breach", (points,), None, breach, source, hard=is_heavy),
    )


_INDICATORS: Final = {kri.name: _indicator(number, kri.name, kri.source) for number, kri in enumerate(KRIS, start=1)}
_LIMITS: Final = limits_of("PRS")

DEFINED: Final = tuple(_INDICATORS)
REASONS: Final = (*(kind for indicator in _INDICATORS.values() for kind in indicator), _LIMITS.ceiling)


def score(readings: Mapping[KriName, KriValue]) -> Score:
    """Add up what is at watch and what is in breach."""
    measured = {name: reading for name in DEFINED if (reading := readings.get(name)) and reading.value is not None}
    reasons = [reason for name, reading in measured.items() if (reason := _reason(name, reading)) is not None]
    n = len(measured)
    if n < MEASURED_FLOOR:
        hard = [reason for reason in reasons if reason.hard]
        return Score(version=VERSION, value=None, n=n, confidence=None, reasons=in_order(hard))
    total = sum(reason.weight for reason in reasons)
    limited = _LIMITS.reason(total)
    if limited is not None:
        reasons.append(limited)
    confidence = round(n / len(DEFINED), 2)
    value = min(CEILING, total)
    return Score(version=VERSION, value=value, n=n, confidence=confidence, reasons=in_order(reasons))


def _reason(name: KriName, reading: KriValue) -> Reason | None:
    indicator = _INDICATORS[name]
    if reading.status is KriStatus.WATCH:
        kind, line = indicator.watch, "at watch"
    elif reading.status is KriStatus.BREACH:
        kind, line = indicator.breach, "in breach"
    else:
        return None
    threshold = "" if reading.threshold is None else f" against a threshold of {reading.threshold:.6g}"
    return kind.reason(f"{name} is {line} with {reading.value:.6g}{threshold} (n = {reading.n}).")
