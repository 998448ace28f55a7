"""The key risk indicators of a program as of an instant, from its running counters, each compared with its lines.

Window  each indicator's own, half-open, (now - w, now]
Errors  none: an indicator without observations is unmeasured
Source  Nacha Operating Rules for the return rates: credits count in no rate of debits, dishonoured returns in none, and
        R61-R77 and NOCs are no returns; RCK entries are left out of the overall rate, and entries of no amount
        (prenotes) of all of them
"""

from array import array
from bisect import bisect_right
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from clearhold.features.catalogue.kris import KRIS, Kri, KriName, KriStatus, KriValue
from clearhold.features.core.instants import (
    DAY_US,
    DAYS_7,
    DAYS_30,
    DAYS_60,
    HOUR_US,
    month_of_day,
    two_banking_days_before,
)
from clearhold.features.core.money import money
from clearhold.features.policy.bodies import KriBody, KriLine
from clearhold.features.policy.in_force import clock_in_force, kris_in_force, ladder_in_force
from clearhold.features.state.alert_state import p90_of
from clearhold.features.state.kri_windows import (
    ACH_CREDITS,
    ACH_DEBITS,
    AUTHORIZATIONS,
    COMPARABLE,
    DECLINES,
    FRAUD_DECLINES,
    IN_HOLD,
    OUTSIDE,
    RCK_DEBITS,
    SCORED,
    WindowCounts,
)
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.series import EventTimes
from clearhold.features.windows.series_kinds import SeriesKind


class Reading(NamedTuple):
    """``value`` is None and ``n`` 0 when nothing was measured."""

    value: float | None
    n: int
    note: str | None = None


UNMEASURED: Final = Reading(None, 0)


def ratio(numerator: float, denominator: float, n: int, note: str | None = None) -> Reading:
    """A raw ratio; not measured without a denominator."""
    return Reading(numerator / denominator, n, note) if n and denominator else Reading(None, 0, note)


def measure_kris(program: ProgramState, now: int) -> dict[KriName, KriValue]:
    """Every indicator, in order. It advances the windows of the state to ``now``, so it is part of an entry."""
    windows = program.kri_windows
    upto = windows.advance(now)
    program.kri_facts.forget_before(upto if windows.past is None else min(upto, windows.past.upto))
    return _measure(program, windows.now, now, upto)


def measure_past_kris(program: ProgramState, past: WindowCounts, at: int) -> dict[KriName, KriValue]:
    """Every indicator as of the end of a day that the history has just passed."""
    past.advance(program.kri_windows, at)
    return _measure(program, past, at, at)


def _measure(program: ProgramState, windows: WindowCounts, now: int, upto: int) -> dict[KriName, KriValue]:
    policy, clock = kris_in_force(program, now), clock_in_force(program, now)
    rates = return_rates(program, windows, upto)
    readings = {
        **rates,
        **reserve_coverage(program, policy, windows, rates, upto),
        **agings(program, upto),
        **account_events(program, upto),
        **volumes(program, windows, upto),
        **entity_shares(program, upto),
        **transfer_shares(windows),
    }
    hours = {KriName.REVIEW_AGING_HOURS: clock.standard_hours, KriName.HOLD_AGING_HOURS: clock.complex_hours}
    lines = _lines_of(policy)
    least = policy.min_observations
    return {
        kri.name: _value(kri, readings[kri.name], lines[kri.name], hours.get(kri.name, 1), least if kri.is_rate else 0)
        for kri in KRIS
    }


@lru_cache(maxsize=64)
def _lines_of(policy: KriBody) -> dict[KriName, KriLine]:
    return {line.kri: line for line in policy.lines}


def _value(kri: Kri, reading: Reading, line: KriLine, factor: float, least: int) -> KriValue:
    watch, breach = line.watch * factor, line.breach * factor
    status, note = status_of(reading.value, watch, breach, is_lower=kri.is_lower), reading.note
    if reading.value is not None and reading.n < least:
        status, note = KriStatus.UNMEASURED, f"Not measured: {reading.n} of {least} needed."
    return KriValue(
        value=None if reading.value is None else float(reading.value),
        n=reading.n,
        unit=kri.unit,
        threshold=float(breach),
        status=status,
        note=msgspec.UNSET if note is None else note,
    )


def status_of(value: float | None, watch: float, breach: float, *, is_lower: bool) -> KriStatus:
    """Watch from its line on (of 0: over it), breach over its line; where low is bad, under both."""
    if value is None:
        return KriStatus.UNMEASURED
    if is_lower:
        is_watched, is_breached = value < watch, value < breach
    else:
        is_watched, is_breached = value >= watch and value > 0, value > breach
    return KriStatus.BREACH if is_breached else KriStatus.WATCH if is_watched else KriStatus.OK


FEW_DEBITS: Final = 200
_FEW: Final = f"Under {FEW_DEBITS} debits, one return can cross the line."


def return_rates(program: ProgramState, windows: WindowCounts, now: int) -> dict[KriName, Reading]:
    """ACH returns delivered in 60 days over entries originated in them, not a matched cohort."""
    count, after = windows.count, now - DAYS_60
    debits, but_rck, credits_sent = count(ACH_DEBITS), count(ACH_DEBITS) - count(RCK_DEBITS), count(ACH_CREDITS)
    few = _FEW if 0 < debits < FEW_DEBITS else None

    def returned(kind: SeriesKind) -> int:
        series = program.series_by_kind.get(kind)
        returns: int = 0 if series is None else series.count_now(after, now)
        return returns

    return {
        KriName.ACH_UNAUTHORIZED_RETURN_RATE: ratio(returned(SeriesKind.UNAUTHORIZED_RETURN), debits, debits, few),
        KriName.ACH_ADMINISTRATIVE_RETURN_RATE: ratio(returned(SeriesKind.ADMINISTRATIVE_RETURN), debits, debits),
        KriName.ACH_OVERALL_RETURN_RATE: ratio(returned(SeriesKind.DEBIT_RETURN_BUT_RCK), but_rck, but_rck),
        KriName.ACH_CREDIT_RETURN_RATE: ratio(returned(SeriesKind.CREDIT_RETURN), credits_sent, credits_sent),
    }


def reserve_coverage(
    program: ProgramState, policy: KriBody, windows: WindowCounts, rates: dict[KriName, Reading], now: int
) -> dict[KriName, Reading]:
    """The balance of the reserve account over the cents of ACH debits that may still come back.

    Exposure is `debits of 2 banking days x overall rate + debits of 60 days x unauthorized rate`, in cents, each rate
    at least the mean of the fleet that the policy states. A debit that came back cannot come back again and is in
    neither.
    """
    cents = program.kri_facts.reserve_cents()
    if program.kri_facts.reserve_account_id is None:
        reading = Reading(None, 0, "The program names no reserve account.")
    elif cents is None:
        reading = Reading(None, 0, "The bank has stated no balance of the reserve account.")
    else:
        overall = max(rates[KriName.ACH_OVERALL_RETURN_RATE].value or 0, policy.fleet_overall_return_rate)
        unauthorized = max(
            rates[KriName.ACH_UNAUTHORIZED_RETURN_RATE].value or 0, policy.fleet_unauthorized_return_rate
        )
        recent_cents = _open_cents(program, two_banking_days_before(now) - 1, now)
        all_cents = _open_cents(program, now - DAYS_60, now)
        n = windows.count(ACH_DEBITS) - _came_back(program, now - DAYS_60, now)[0]
        # To fifteen digits: a coverage at its line must not be under it by the last bit of a product.
        exposure = float(f"{recent_cents * overall + all_cents * unauthorized:.15g}")
        form = (
            f"{money(cents)} of reserve over {money(recent_cents)} x {overall:.6g} (ACH debits of 2 banking days) + "
            f"{money(all_cents)} x {unauthorized:.6g} (of 60 days)."
        )
        reading = ratio(cents, exposure, n, form)
    return {KriName.RESERVE_COVERAGE: reading}


def _open_cents(program: ProgramState, after: int, now: int) -> int:
    """The debits that may still come back."""
    return program.originated.measure_now(after, now)[1] - _came_back(program, after, now)[1]


def _came_back(program: ProgramState, after: int, now: int) -> tuple[int, int]:
    series: AmountSeries | None = program.series_by_kind.get(SeriesKind.CAME_BACK)
    return (0, 0) if series is None else series.measure_now(after, now)


def volumes(program: ProgramState, windows: WindowCounts, now: int) -> dict[KriName, Reading]:
    return {
        KriName.VOLUME_VELOCITY: _velocity(program, now),
        KriName.DECLARED_VOLUME_USE: _declared_use(program, now),
        KriName.COUNTERPARTY_CONCENTRATION: ratio(
            windows.most_paid_cents(), windows.leaving_cents, windows.paid_parties
        ),
    }


def _velocity(program: ProgramState, now: int) -> Reading:
    """The usual day is ``program.dailyAvgCents30d``, not rounded to cents."""
    times = program.baseline.amounts.instants()
    if not times or (age := now - times[0]) < DAYS_7:
        return UNMEASURED
    span = min(DAYS_30, age)
    _, of_day = _priced(program, now - DAY_US, now)
    _, of_30_days = _priced(program, now - DAYS_30, now)
    return ratio(of_day * span, of_30_days * DAY_US, _days_with_data(program, now))


def _days_with_data(program: ProgramState, now: int) -> int:
    """The UTC days of the 30 on which money moved."""
    oldest = now - DAYS_30
    midnights = range(oldest // DAY_US * DAY_US, now + 1, DAY_US)
    days = ((max(start - 1, oldest), min(start + DAY_US - 1, now)) for start in midnights)
    return sum(_priced(program, after, upto)[0] > 0 for after, upto in days)


def _declared_use(program: ProgramState, now: int) -> Reading:
    declared = program.declared_at(now).monthly_volume_cents
    start, _ = month_of_day(now // DAY_US)
    count, cents = _priced(program, start - 1, now)
    return ratio(cents, declared or 0, count)


def _priced(program: ProgramState, after: int, upto: int) -> tuple[int, int]:
    """The number of transfers in (after, upto] whose US cents are known, and their sum."""
    count, cents = program.baseline.amounts.measure_now(after, upto)
    unpriced: EventTimes | None = program.series_by_kind.get(SeriesKind.UNPRICED)
    return (count if unpriced is None else count - unpriced.count_now(after, upto)), cents


def entity_shares(program: ProgramState, now: int) -> dict[KriName, Reading]:
    facts = program.kri_facts
    denied, decided = facts.denied_and_decided(now)
    days = ladder_in_force(program, now).rescreen_days
    stale, screened = facts.stale_and_screened(program.scores.actors, days, now)
    return {
        KriName.VERIFICATION_DENIAL_RATE: ratio(denied, decided, decided),
        KriName.STALE_SCREENING_SHARE: ratio(stale, screened, screened),
    }


def transfer_shares(windows: WindowCounts) -> dict[KriName, Reading]:
    count = windows.count

    def share(part: int, whole: int) -> Reading:
        return ratio(count(part), count(whole), count(whole))

    return {
        KriName.CARD_DECLINE_RATE: share(DECLINES, AUTHORIZATIONS),
        KriName.CARD_FRAUD_DECLINE_SHARE: share(FRAUD_DECLINES, AUTHORIZATIONS),
        KriName.OUTSIDE_DECLARED_SHARE: share(OUTSIDE, COMPARABLE),
        KriName.HOLD_SHARE: share(IN_HOLD, SCORED),
    }


def account_events(program: ProgramState, now: int) -> dict[KriName, Reading]:
    facts, n = program.kri_facts, program.accounts.count
    return {
        KriName.OVERDRAFT_EVENTS: Reading(facts.overdrafted(now), n) if n else UNMEASURED,
        KriName.FREEZE_EVENTS: Reading(facts.freezes(now), n) if n else UNMEASURED,
    }


_NOTE: Final = "90th percentile by nearest rank."


def agings(program: ProgramState, now: int) -> dict[KriName, Reading]:
    waiting = program.alerts.waiting
    return {
        KriName.REVIEW_AGING_HOURS: _p90_hours(waiting.review, now),
        KriName.HOLD_AGING_HOURS: _p90_hours(waiting.hold, now),
    }


def _p90_hours(opened: "array[int]", now: int) -> Reading:
    known = opened if not opened or opened[-1] <= now else opened[: bisect_right(opened, now)]
    opened_at = p90_of(known)
    return UNMEASURED if opened_at is None else Reading((now - opened_at) / HOUR_US, len(known), _NOTE)
