"""The key risk indicators of a program as of an instant, from its running counters, each compared with its lines.

Window  each indicator's own, half-open, (now - w, now]
Errors  none: an indicator without observations is unmeasured
"""

from functools import lru_cache

import msgspec

from clearhold.features.catalogue.kris import KRIS, Kri
from clearhold.features.core.entries.kris import KriName, KriStatus, KriValue
from clearhold.features.kris.accounts import account_events
from clearhold.features.kris.aging import agings
from clearhold.features.kris.parties import entity_shares
from clearhold.features.kris.reading import Reading
from clearhold.features.kris.reserve import reserve_coverage
from clearhold.features.kris.returns import return_rates
from clearhold.features.kris.transfers import transfer_shares
from clearhold.features.kris.volume import volumes
from clearhold.features.policy.bodies import KriBody, KriLine
from clearhold.features.policy.in_force import clock_in_force, kris_in_force
from clearhold.features.state.program import ProgramState


def measure_kris(program: ProgramState, now: int) -> dict[KriName, KriValue]:
    """Every indicator, in order. It advances the windows of the state to ``now``, so it is part of an entry."""
    policy, clock = kris_in_force(program, now), clock_in_force(program, now)
    upto = program.kri_windows.advance(now)
    program.kri_facts.forget_before(upto)
    rates = return_rates(program, upto)
    readings = {
        **rates,
        **reserve_coverage(program, policy, rates, upto),
        **agings(program, upto),
        **account_events(program),
        **volumes(program, upto),
        **entity_shares(program, upto),
        **transfer_shares(program),
    }
    hours = {KriName.REVIEW_AGING_HOURS: clock.standard_hours, KriName.HOLD_AGING_HOURS: clock.complex_hours}
    lines = _lines_of(policy)
    return {kri.name: _value(kri, readings[kri.name], lines[kri.name], hours.get(kri.name, 1)) for kri in KRIS}


@lru_cache(maxsize=64)
def _lines_of(policy: KriBody) -> dict[KriName, KriLine]:
    return {line.kri: line for line in policy.lines}


def _value(kri: Kri, reading: Reading, line: KriLine, factor: float) -> KriValue:
    watch, breach = line.watch * factor, line.breach * factor
    return KriValue(
        value=None if reading.value is None else float(reading.value),
        n=reading.n,
        unit=kri.unit,
        threshold=float(breach),
        status=status_of(reading.value, watch, breach, is_lower=kri.is_lower),
        note=msgspec.UNSET if reading.note is None else reading.note,
    )


def status_of(value: float | None, watch: float, breach: float, *, is_lower: bool) -> KriStatus:
    """Watch from its line on (of 0: over it), breach over its line; where low is bad, under both (ruling 31)."""
    if value is None:
        return KriStatus.UNMEASURED
    if is_lower:
        is_watched, is_breached = value < watch, value < breach
    else:
        is_watched, is_breached = value >= watch and value > 0, value > breach
    return KriStatus.BREACH if is_breached else KriStatus.WATCH if is_watched else KriStatus.OK
