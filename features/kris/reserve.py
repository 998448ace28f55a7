"""What the program's reserve account holds, over the cents of its ACH debits that may still come back.

Exposure is `debits of 2 banking days x overall rate + debits of 60 days x unauthorized rate`, in cents, each rate at
least the mean of the fleet that the policy states.
"""

from features.core.instants import DAYS_60, two_banking_days_before
from features.core.kris import KriName
from features.kris.reading import Reading, ratio
from features.policy.bodies import KriBody
from features.state.program import ProgramState


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
        _, recent_cents = program.originated.measure_now(two_banking_days_before(now) - 1, now)
        n, all_cents = program.originated.measure_now(now - DAYS_60, now)
        exposure = round(recent_cents * overall + all_cents * unauthorized, 6)  # at its line it is not under it
        form = (
            f"{cents} cents of reserve over {recent_cents} x {overall:.6g} (ACH debits of 2 banking days) "
            f"+ {all_cents} x {unauthorized:.6g} (of 60 days)."
        )
        reading = ratio(cents, exposure, n, form)
    return {KriName.RESERVE_COVERAGE: reading}
