"""The accounts that a counterparty has come with, in order of arrival. Nearly every counterparty has one at most.

Errors  none: details that are not stated differ from nothing
"""

from typing import Final, NamedTuple

from clearhold.features.windows.edges import NOBODY

ACCOUNTS_LIMIT: Final = 16
"""Of one counterparty; the oldest goes."""


class KnownAccount(NamedTuple):
    """One account, with its first transfer: ``row`` is ``NOBODY`` where no transfer, or an unknown one, was first."""

    routing: str | None
    last4: str | None
    used_at: int | None = None
    row: int = NOBODY

    def differs(self, routing: str | None, last4: str | None) -> bool:
        return accounts_differ(self.routing, self.last4, routing, last4)


KnownAccounts = tuple[KnownAccount, ...]


def accounts_differ(routing: str | None, last4: str | None, other_routing: str | None, other_last4: str | None) -> bool:
    """True when both sides carry the same account detail with different values.

    Fewer than four letters and digits are the end of a number, and differ only from other endings.
    """
    if last4 and other_last4 and not (last4.endswith(other_last4) or other_last4.endswith(last4)):
        return True
    return bool(routing and other_routing and routing != other_routing)


def place_of(accounts: KnownAccounts, routing: str | None, last4: str | None) -> int | None:
    """The place of the account with these details; None for a new one."""
    return next((place for place, each in enumerate(accounts) if not each.differs(routing, last4)), None)


def with_use(accounts: KnownAccounts, place: int, *, at: int, row: int) -> KnownAccounts:
    """The account with this transfer as its first."""
    used = accounts[place]._replace(used_at=at, row=row)
    return (*accounts[:place], used, *accounts[place + 1 :])
