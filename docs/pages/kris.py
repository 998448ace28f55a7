"""The key risk indicators as a page, ``docs/kris.md``."""

from typing import Final

from clearhold.features.catalogue.kris import KRIS, Kri
from clearhold.features.core.entries.kris import KriUnit
from clearhold.features.policy.bodies import KriLine
from clearhold.features.policy.seeds import KRI_V1, KRI_VERSION

_HEAD: Final = f"""# Key risk indicators

Eighteen figures of each program, measured every 15 minutes, after every 200 transfers, and on request
(`POST /api/kri/snapshot/{{programId}}`). Each is read from running counters and never from a scan of history. A value
is raw, never smoothed; without anything observed it is null, `unmeasured`, with `n` 0, and never 0.

* Windows are half open, `(now - w, now]`. Transfers count by their own time; returns, overdrafts, freezes and decisions
  on entities by when they were delivered. A return that is dishonoured is undone; R61-R77 and notices of change are no
  returns. Debits that others originate count in no rate, neither do credits in a rate of debits, and neither do entries
  of amount 0 (prenotes).
* Amounts are US cents of transfers that moved money. Declined, failed and canceled ones move none; they still count
  among scored transfers, among card authorizations, and against the declaration.
* `watch` is at its line or over it, `breach` strictly over it; for a coverage strictly under both. `threshold` is the
  line of the breach. A watch line of 0 means any value over 0.
* A rate or share needs observations: while `n` is below `minObservations` of the policy ({KRI_V1.min_observations}),
  value and `n` are shown, the status is `unmeasured`, the note says how many are needed, and it gives no points and
  opens no alert. One returned debit is not a breach. `counterparty_concentration` is a share of money, and its `n`
  counts counterparties, so it is compared at any `n`.
* Status and Program Risk Score follow from the policy in force at the instant (`kri-vN`, [policies](policies.md)). Made
  from `features/kris`; a test keeps the two equal.

## {KRI_VERSION}

| # | indicator | numerator | denominator | `n` counts | unit, window | watch | breach | source of the lines |
|---|---|---|---|---|---|---|---|---|
"""


def markdown() -> str:
    """The page."""
    rows = (_row(number, kri, line) for number, (kri, line) in enumerate(zip(KRIS, KRI_V1.lines, strict=True), start=1))
    return _HEAD + "".join(rows)


def _row(number: int, kri: Kri, line: KriLine) -> str:
    return (
        f"| {number} | `{kri.name}` | {kri.numerator} | {kri.denominator} | {kri.n} | {kri.unit}, {kri.window} "
        f"| {_line(kri, line.watch)} | {_line(kri, line.breach)} | {kri.source} |\n"
    )


def _line(kri: Kri, line: float) -> str:
    if kri.unit is KriUnit.HOURS:
        return f"{line:g} x clock"
    if kri.is_lower:
        return f"under {line:g}"
    return f"{line:g}" if line else "over 0"
