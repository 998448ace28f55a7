"""The oracle's view of all other transfers, as each was known at an instant."""

from typing import Final, NamedTuple

from tests.support.oracle_facts import Decline, Key, Known, Program
from tests.support.oracle_reading import Reading

UNAUTHORIZED: Final = frozenset({"R05", "R07", "R10", "R11", "R29", "R51"})
NEWEST: Final = 64


class Other(NamedTuple):
    """Another transfer, as it was known at an instant; ``node`` is where its counterparty stands in the graph."""

    reading: Reading
    own: int
    amount: int
    actor: Key | None
    party: Key | None
    node: Key | None
    moved: bool
    decline: Decline
    returned_at: int
    code: str | None

    @property
    def is_debit(self) -> bool:
        """An ACH debit that the program's side originated."""
        return (self.reading.rail, self.reading.direction, self.reading.type) == ("ach", "outgoing", "DEBIT")

    @property
    def unauthorized(self) -> bool:
        return self.is_debit and self.code in UNAUTHORIZED


def attempts_before(program: Program, subject: Known, at: int) -> list[Other]:
    """Those other than the subject up to an instant, moved or not, in the order in which they were first heard of."""
    found = []
    for known in program.transfers.values():
        if known is subject or known.own > at:
            continue
        returned_at, returned = known.returned.at(at)
        found.append(
            Other(
                known.reading,
                known.own,
                known.amount.at(at)[1],
                known.actor.at(at)[1],
                known.party.at(at)[1],
                known.node.at(at)[1],
                known.moved.at(at)[1],
                known.decline.at(at)[1],
                returned_at,
                returned.code if returned is not None and not returned.undone else None,
            )
        )
    return found


def newest_of(others: list[Other], after: int) -> list[Other]:
    """The newest 64 of a window by time and order of arrival, newest first."""
    within = [other for other in others if other.own > after]
    return sorted(within, key=lambda other: other.own)[::-1][:NEWEST]
