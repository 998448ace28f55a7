"""Owners of the simulated bank's accounts, told by its own events: else every account is an actor by itself."""

import msgspec

from clearhold.demo.bank import SimulatedBank, everyone_in
from clearhold.features.core.instants import format_instant
from clearhold.features.sandbox import objects


def owners_told(bank: SimulatedBank, program: str, *, at: int) -> list[bytes]:
    """One ``account.unfrozen`` event, with the account as the bank shows it, for everybody in the program."""
    return [
        msgspec.json.encode(
            {
                "id": f"evnt_owner_{number}",
                "created_at": format_instant(at),
                "type": "account.unfrozen",
                "data": objects.account(party, at=at),
            }
        )
        for number, party in enumerate(everyone_in(bank.cast[program]))
    ]
