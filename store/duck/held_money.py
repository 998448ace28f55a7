"""The money that stacks hold: US cents of the transfers of their held alerts, each transfer once.

How     The amounts of transfers that were asked for stay in memory. A read takes in the rows of transfers since the
        last one, by ``rowid``, and looks for the others only when it does not have them. The sum of a stack stays until
        its alerts or an amount change
"""

from collections.abc import Sequence
from threading import Lock
from typing import Final

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import AlertStatus
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.waiting_stacks import Members
from clearhold.store.tables import TEXTS, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_Transfer = tuple[str, str, str]
"""Tenant, program and id."""

_NEWEST_ROW: Final = "SELECT max(rowid) FROM transfers"
_AMOUNTS: Final = f"""
    SELECT tenant_id, program_id, id, "offset", amount_cents FROM transfers
    WHERE rowid > ? AND rowid <= ? AND currency = 'USD' AND id IN {TEXTS}"""
MOST_KEPT: Final = 100_000

_Sum = tuple[Members, int | None]
"""The cents of a stack's alerts."""

_NO_SUM: Final[_Sum] = ((), None)


class HeldMoney(CommittedRows):
    """Thread-safe."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection)
        self._lock = Lock()
        self._read_upto = -1
        self._amounts: dict[_Transfer, tuple[int, int | None]] = {}  # offset and cents, None in no US dollars
        self._sums: dict[str, dict[str, _Sum]] = {}  # by tenant and stack

    def of(self, principal: Principal, stacks: Sequence[tuple[str, Members]]) -> dict[str, int]:
        """By stack; a stack that holds no transfer in US dollars is left out."""
        tenant_id = principal.tenant_id
        with self._lock:
            self._catch_up()
            sums = self._sums.setdefault(principal.tenant_id, {})
            changed = [stack for stack in stacks if sums.get(stack[0], _NO_SUM)[0] is not stack[1]]
            if changed:
                self._sum(tenant_id, sums, changed)
            cents = [(stack_id, sums[stack_id][1]) for stack_id, _ in stacks]
        return {stack_id: each for stack_id, each in cents if each is not None}

    def total(self, principal: Principal, alerts: Members) -> int:
        """The cents of held alerts together, each transfer once."""
        transfers = _held_transfers(principal.tenant_id, alerts)
        with self._lock:
            self._catch_up()
            missing = transfers - self._amounts.keys()
            if missing:
                self._take(-1, self._read_upto, missing)
            return sum(self._amounts[each][1] or 0 for each in transfers)

    def _sum(self, tenant_id: str, sums: dict[str, _Sum], stacks: Sequence[tuple[str, Members]]) -> None:
        """Have the sums of these stacks; all others stay in memory, or none does."""
        transfers = {stack_id: _held_transfers(tenant_id, alerts) for stack_id, alerts in stacks}
        wanted = set[_Transfer]().union(*transfers.values())
        missing = wanted - self._amounts.keys()
        if missing:
            self._take(-1, self._read_upto, missing)
        for stack_id, alerts in stacks:
            cents = [amount for each in transfers[stack_id] if (amount := self._amounts[each][1]) is not None]
            sums[stack_id] = alerts, sum(cents) if cents else None

    def _catch_up(self) -> None:
        """Have the amounts in memory as of the newest row, and not too many."""
        if len(self._amounts) + sum(map(len, self._sums.values())) > MOST_KEPT:
            self._amounts.clear()
            self._sums.clear()
        newest = self._value(_NEWEST_ROW, [])
        upto = -1 if newest is None else newest
        if upto > self._read_upto and self._amounts:
            former = dict(self._amounts)
            self._take(self._read_upto, upto, set(former))
            if any(self._amounts[each][1] != amount for each, (_, amount) in former.items()):
                self._sums.clear()
        self._read_upto = upto

    def _take(self, after: int, upto: int, transfers: set[_Transfer]) -> None:
        ids = sorted({transfer[2] for transfer in transfers})
        rows = self._read(_AMOUNTS, [after, upto, listed(ids)])
        self._amounts |= dict.fromkeys(transfers - self._amounts.keys(), (-1, None))
        for *names, offset, cents in rows:
            transfer = (names[0], names[1], names[2])
            if transfer in transfers and offset >= self._amounts[transfer][0]:
                self._amounts[transfer] = (offset, cents)


def _held_transfers(tenant_id: str, alerts: Members) -> set[_Transfer]:
    return {
        (tenant_id, alert.program_id, alert.transfer_id)
        for alert in alerts
        if alert.status == AlertStatus.HELD and alert.transfer_id is not None
    }
