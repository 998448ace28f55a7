"""The bank's API beside the service: the cast's accounts and entities, and new counterparties.

The service asks it for the objects that transfers name; the demo only reads the service's answers.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final

from clearhold.client.client import ClearholdClient
from clearhold.demo.bank import denied_at, everyone_in
from clearhold.demo.bank_api import BankApi
from clearhold.demo.parties import Other, Program
from clearhold.demo.reporter import Delivery
from clearhold.demo.stage import Access
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.sandbox import objects

LEARNT_WITHIN_S: Final = 90.0
LOOK_EVERY_S: Final = 0.2


def open_books(api: BankApi, cast: dict[str, Program], *, now: int, days: int) -> None:
    """Every account and entity, in the bank's present state."""
    first = now - days * DAY_US
    for program in cast.values():
        for party in everyone_in(program):
            denied = party is program.crew.get("denied")
            updated_at = denied_at(first, days=days) if denied else first + HOUR_US
            status = "DENIED" if denied else "VERIFIED"
            entity = objects.entity(party, status=status, created_at=first, updated_at=updated_at, is_high_risk=denied)
            api.put_entity(entity)
            api.put_account(objects.account(party, at=first))


def introduce(api: BankApi, newcomers: Iterable[tuple[Other, int]]) -> None:
    for other, at in newcomers:
        api.put_counterparty(objects.counterparty(other, at=at))


class Owners:
    """The accounts of the history with an owner in the service: their newest transfers show an entity."""

    def __init__(self, deliveries: list[Delivery]) -> None:
        self._newest: dict[tuple[str, str], str] = {}
        for delivery in deliveries:
            if delivery.move is not None and delivery.transfer_id is not None:
                self._newest[(delivery.program, delivery.move.party.account_id)] = delivery.transfer_id
        self.accounts = len(self._newest)

    def await_learnt(
        self, client: ClearholdClient, programs: dict[str, Access], *, on_progress: Callable[[int], None]
    ) -> int:
        """Wait, for a limited time, until every account has its owner; returns the number that has."""
        deadline = time.monotonic() + LEARNT_WITHIN_S
        while self._newest:
            for (program, account_id), transfer_id in list(self._newest.items()):
                transfer = client.transfer(transfer_id, program_id=programs[program].program_id)
                if transfer["entityId"] is None:
                    break
                del self._newest[(program, account_id)]
            on_progress(self.accounts - len(self._newest))
            if time.monotonic() > deadline:
                break
            time.sleep(LOOK_EVERY_S)
        return self.accounts - len(self._newest)
