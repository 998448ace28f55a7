"""The key risk indicators of a program as of an instant, from its running counters."""

from features.core.instants import DAYS_60
from features.core.kris import KriName, KriStatus, KriUnit, KriValue
from features.state.program import ProgramState

_BREACH = 0.005


def measure_kris(program: ProgramState, now: int) -> dict[KriName, KriValue]:
    """Every indicator that is defined, in their order; ``now`` is not before any entry that was applied."""
    n = program.originated.measure_now(now - DAYS_60, now)[0]
    value = program.unauthorized.count(now - DAYS_60, now) / n if n else None
    status = KriStatus.UNMEASURED if value is None else KriStatus.BREACH if value > _BREACH else KriStatus.OK
    rate = KriValue(value=value, n=n, unit=KriUnit.RATIO, threshold=_BREACH, status=status)
    return {KriName.ACH_UNAUTHORIZED_RETURN_RATE: rate}
