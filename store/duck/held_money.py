"""The money that stacks hold: US cents of the transfers of their held alerts, each transfer once.

How     The amounts of transfers that were asked for stay in memory. A read takes in the rows of transfers since the
        last one, by ``rowid``, and looks for the others only when it does not have them
"""

from collections.abc import Sequence
from threading import Lock
from typing import Final

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import AlertStatus
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.waiting_alert import WaitingAlert
from clearhold.store.tables import TEXTS, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_Transfer = tuple[str, str, str]
"""Tenant, program and id."""

_NEWEST_ROW: Final = "SELECT max(rowid) FROM transfers"
_AMOUNTS: Final = f"""
    SELECT tenant_id, program_id, id, "offset", amount_cents FROM transfers
    WHERE rowid > ? AND rowid <= ? AND currency = 'USD' AND id IN {TEXTS}"""
MOST_KEPT: Final = 100_000


class HeldMoney(CommittedRows):
    """Thread-safe."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection)
        self._lock = Lock()
        self._read_upto = -1
        self._amounts: dict[_Transfer, tuple[int, int | None]] = {}  # offset and cents, None in no US dollars

    def of(self, principal: Principal, stacks: Sequence[tuple[str, Sequence[WaitingAlert]]]) -> dict[str, int]:
        """By stack; a stack that holds no transfer in US dollars is left out."""
        transfers = {stack_id: theirs for stack_id, alerts in stacks if (theirs := _held_transfers(principal, alerts))}
        if not transfers:
            return {}
        wanted = set[_Transfer]().union(*transfers.values())
        with self._lock:
            self._catch_up(wanted)
            amounts = {transfer: self._amounts[transfer][1] for transfer in wanted}
        cents = {
            stack_id: [amount for transfer in theirs if (amount := amounts[transfer]) is not None]
            for stack_id, theirs in transfers.items()
        }
        return {stack_id: sum(each) for stack_id, each in cents.items() if each}

    def _catch_up(self, wanted: set[_Transfer]) -> None:
        """Have the amounts of these transfers as of the newest row."""
        if len(self._amounts) + len(wanted) > MOST_KEPT:
            self._amounts.clear()
        newest = self._value(_NEWEST_ROW, [])
        upto = -1 if newest is None else newest
        if upto > self._read_upto and self._amounts:
            self._take(self._read_upto, upto, set(self._amounts))
        self._read_upto = upto
        missing = wanted - self._amounts.keys()
        if missing:
            self._take(-1, upto, missing)

    def _take(self, after: int, upto: int, transfers: set[_Transfer]) -> None:
        ids = sorted({transfer[2] for transfer in transfers})
        rows = self._read(_AMOUNTS, [after, upto, listed(ids)])
        self._amounts |= dict.fromkeys(transfers - self._amounts.keys(), (-1, None))
        for *names, offset, cents in rows:
            transfer = (names[0], names[1], names[2])
            if transfer in transfers and offset >= self._amounts[transfer][0]:
                self._amounts[transfer] = (offset, cents)


def _held_transfers(principal: Principal, alerts: Sequence[WaitingAlert]) -> set[_Transfer]:
    return {
        (principal.tenant_id, alert.program_id, alert.transfer_id)
        for alert in alerts
        if alert.status == AlertStatus.HELD and alert.transfer_id is not None
    }
