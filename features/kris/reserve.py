"""Reserve coverage: the balance of the reserve account over the cents of ACH debits that may still come back.

Exposure is `debits of 2 banking days x overall rate + debits of 60 days x unauthorized rate`, in cents, each rate at
least the mean of the fleet that the policy states. A debit that came back cannot come back again and is in neither.
"""

from clearhold.features.core.entries.kris import KriName
from clearhold.features.core.instants import DAYS_60, two_banking_days_before
from clearhold.features.core.sentences import money
from clearhold.features.kris.reading import Reading, ratio
from clearhold.features.policy.bodies import KriBody
from clearhold.features.state.kri_windows import ACH_DEBITS
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.series_kinds import SeriesKind


def reserve_coverage(
    program: ProgramState, policy: KriBody, rates: dict[KriName, Reading], now: int
) -> dict[KriName, Reading]:
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
        n = program.kri_windows.count(ACH_DEBITS) - _came_back(program, now - DAYS_60, now)[0]
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
