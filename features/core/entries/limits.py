"""Caps that a program may not cross: the five kinds, and the change of one in an action.

Unit    cents of US dollars; a count for ``entity_velocity_24h``; None is no cap
"""

from enum import StrEnum
from typing import Final

import msgspec


class CapKind(StrEnum):
    ACH_DEBIT_DAILY = "ach_debit_daily"  # ACH debits that the program originates, in a day (UTC)
    ACH_DEBIT_MONTHLY = "ach_debit_monthly"  # the same in a calendar month (UTC)
    PER_TRANSACTION = "per_transaction"  # one outgoing transfer
    ENTITY_DAILY = "entity_daily"  # what one entity sends out, in a day (UTC)
    ENTITY_VELOCITY_24H = "entity_velocity_24h"  # transfers of one entity in 24 hours, in either direction


COUNTED_KINDS: Final = frozenset({CapKind.ENTITY_VELOCITY_24H})
"""The kinds whose cap is a count; the others are in cents."""

MOST_CAP: Final = 2**53
"""No cap is higher: some readers of JSON cannot tell larger integers apart."""


class LimitChange(msgspec.Struct, frozen=True, kw_only=True):
    """One changed cap in the record: caps are strings of digits, because the record holds no integer of 2^53.

    ``from_`` is the cap in force at the request, which the state fills in.
    """

    kind: CapKind
    to: str | None
    note: str | None
    from_: str | None = msgspec.field(name="from", default=None)


class CapVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A cap that came into force, or its removal where ``cap`` is None; ``before`` is the replaced cap."""

    kind: CapKind
    cap: int | None
    before: int | None
    version: str
    requested_by: str
    approved_by: str
    since: int
    note: str | None
    action_id: str


class PendingChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change that waits for its approver."""

    action_id: str
    change: LimitChange
    requested_by: str
    created_at: int


class ObservedCap(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of cap with its use now. ``newest`` is its last change, None for a kind that never had a cap."""

    kind: CapKind
    newest: CapVersion | None
    observed: int | None
    n: int


class ProgramLimits(msgspec.Struct, frozen=True, kw_only=True):
    """All five kinds, the waiting changes, and every approved change, oldest first."""

    limits: tuple[ObservedCap, ...]
    pending: tuple[PendingChange, ...]
    history: tuple[CapVersion, ...]


def digits_of(cap: int | None) -> str | None:
    return None if cap is None else str(cap)


def cap_of(digits: str | None) -> int | None:
    return None if digits is None else int(digits)
