"""The US cents that a transfer counts with: as the bank states them, else at the rate of the policy in force.

A rate stays with its transfer until the amount or the currency changes, or the bank states US dollars: an activation
changes nothing that was counted. A replay applies a snapshot that was delivered later before one that was delivered
earlier; then the rate is again the one at the earlier delivery, which the transfer has.
"""

from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.core.money import USD, UsdRate, cents_at, usd_cents_of
from clearhold.features.policy.in_force import usd_rate
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import UNPRICED, TransferRecord


def priced_at(
    program: ProgramState, amount: int, currency: str | None, stated_usd_cents: int | None, *, at: int, decided_at: int
) -> tuple[int | None, UsdRate | None]:
    """The US cents of a transfer of ``at``, with the rate where they rest on one; None where they are not known."""
    cents = usd_cents_of(amount, currency, stated_usd_cents)
    if cents is not None:
        return cents, None
    rate = usd_rate(program, currency, at, decided_at=decided_at)
    return (None, None) if rate is None else (cents_at(amount, rate), rate)


def reprice(
    program: ProgramState,
    row: int,
    stored: TransferRecord,
    merged: TransferRecord,
    snapshot: TransferSnapshot,
    *,
    decided_at: int,
) -> TransferRecord:
    """The merged record of a newer snapshot with its US cents, if they rest on a rate."""
    rate = program.rates.get(row)
    if rate is None and merged.cents != UNPRICED:
        return merged
    currency = program.strings.text(merged.currency) or USD
    if snapshot.stated_usd_cents is not None or currency == USD:
        program.rates.pop(row, None)
        return merged
    is_same = (merged.amount, merged.currency) == (stored.amount, stored.currency)
    if rate is not None and is_same and not program.policies.is_only_later(rate.version, decided_at):
        return merged._replace(cents=stored.cents)
    cents, rate = priced_at(program, merged.amount, currency, None, at=merged.at, decided_at=decided_at)
    if rate is None:
        program.rates.pop(row, None)
    else:
        program.rates[row] = rate
    return merged._replace(cents=UNPRICED if cents is None else cents)
