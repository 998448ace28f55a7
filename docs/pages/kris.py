"""The key risk indicators as a page, ``docs/kris.md``."""

from typing import Final

from clearhold.features.catalogue.kris import KRIS, Kri, KriUnit
from clearhold.features.policy.bodies import KriLine
from clearhold.features.policy.seeds import KRI_V1, KRI_VERSION

_HEAD: Final = f"""# Key risk indicators

A key risk indicator is a figure about a whole program. Each program has eighteen. A snapshot measures all of them: once
in every quarter of an hour in which the service runs, after every 200 transfers, and on request
(`POST /api/kri/snapshot/{{programId}}`). `GET /api/kri/snapshots` reads the snapshots. The figures come from counters
that each event updates, never from a scan of history, and are never smoothed. An indicator for which nothing was
observed has the value null (never 0), the status `unmeasured` and `n` 0.

When history is loaded into a new program, each past UTC day before the program was declared gets one snapshot, with
`cause` `history`. It measures the end of that day with the facts that were delivered until then, and opens no alert.
The service takes it when the first event of a later day arrives, or after one to two minutes without an event. An event
that arrives after the snapshot of its day does not change that snapshot, but counts in the later days. So load files in
the order of time. There are no snapshots of days more than 60 days after the last event before them, because all
windows of such days are empty. A quarter of an hour that passed while the service was down gets no snapshot afterwards.

* A window `w` is the time `(now - w, now]`: its beginning is excluded and its end is included. Transfers count by their
  own time. Returns, overdrafts, freezes and decisions on entities count by the time at which they were delivered.
* A return that is dishonoured (reversed) is not counted. The return codes R61 to R77 and notices of change are not
  returns.
* ACH debits that others originate count in no rate. Credits count in no rate of debits. Entries of
  amount 0 (prenotes) count in no rate.
* Amounts are US cents of transfers that moved money. Declined, failed and canceled transfers moved none. They still
  count among scored transfers, among card authorizations, and in the comparison with the declaration.
* The two indicators of the age of alerts leave out alerts on the program itself, so that an alert on a program does not
  make its own indicator worse.
* The status is `watch` when the value is at the watch line or over it, and `breach` when it is over the breach line,
  not only at it. For `reserve_coverage` both are reached when the value is under the line. A watch line of 0 is reached
  by any value over 0. `threshold` in the answer is the breach line.
* A rate or share is compared with its lines only when `n` is at least `minObservations` of the policy
  ({KRI_V1.min_observations}). Below that, the answer has the value and `n`, but the status is `unmeasured` and the note
  says how many observations are needed. Such an indicator gives no points and opens no alert, so one returned debit is
  not a breach. `counterparty_concentration` is compared at any `n`, because it is a share of money and its `n` counts
  counterparties.
* The status and the Program Risk Score, a score of 0 to 100 that adds points for indicators, follow from the policy
  that is in force at the instant of the snapshot (`kri-vN`, [policies](policies.md)). "[P]" in the table marks lines
  that are proposals, to be tuned on labels. This page is made from the code, and a test keeps the two equal.

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
