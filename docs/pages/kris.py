"""The key risk indicators as a page, ``docs/kris.md``."""

from typing import Final

from clearhold.features.catalogue.kris import KRIS, Kri, KriUnit
from clearhold.features.policy.bodies import KriLine
from clearhold.features.policy.seeds import KRI_V1, KRI_VERSION

_HEAD: Final = f"""# Key risk indicators

Eighteen figures of each program, measured once in every quarter of an hour in which the service runs, after every 200
transfers, and on request (`POST /api/kri/snapshot/{{programId}}`); `GET /api/kri/snapshots` reads them. Each is read
from running counters and never from a scan of history. A value is raw, never smoothed; without anything observed it is
null, `unmeasured`, with `n` 0, and never 0.

History that is loaded into a new program has a past: each UTC day before the program's declaration gets one snapshot
(`cause` is `history`) as of its end, with the facts delivered until then. It is taken before the first event of a later
day, or by the second tick without an event in between, and opens no alert. Events of such a day that arrive later count
in the days that follow and change nothing in it, so load files in the order of time. Days without anything in their
windows, more than 60 after the last event, have none. A quarter of an hour that passed while the service was down is
not made up for.

* Windows are half open, `(now - w, now]`. Transfers count by their own time; returns, overdrafts, freezes and decisions
  on entities by when they were delivered. A return that is dishonoured is undone; R61-R77 and notices of change are no
  returns. Debits that others originate count in no rate, neither do credits in a rate of debits, and neither do entries
  of amount 0 (prenotes).
* Amounts are US cents of transfers that moved money. Declined, failed and canceled ones move none; they still count
  among scored transfers, among card authorizations, and against the declaration.
* Alerts on the program itself wait in no band: they do not make its own aging worse.
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
