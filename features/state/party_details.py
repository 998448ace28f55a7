"""The bank's statements on a party: the order of its snapshots, an entity's profile, a counterparty's accounts.

The newest snapshot of an entity, a counterparty or an account wins in any order of arrival. Words and flags of profiles
have few combinations, so each combination is in memory once, and so is an instant that a profile states twice. Names
are not shared: nearly every entity has a different one. Nearly every counterparty has one account at most.

Unit    instants in microseconds; a rank of ``features/bank/statuses.py``, 0 for a snapshot that states no status
Errors  none: details that are not stated differ from nothing
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.bank.events import EntitySnapshot
from clearhold.features.core.in_memory import shared
from clearhold.features.windows.edges import NOBODY
from clearhold.features.windows.series import ALWAYS

_COMBINATIONS: Final = 4_096  # of words and flags, and of fields, that are remembered for sharing
ACCOUNTS_LIMIT: Final = 16
"""Of one counterparty; the oldest goes."""


class SnapshotOrder(NamedTuple):
    """The object's own time of a snapshot, else its event's; its event's time; and the rank of its state."""

    updated_at: int
    event_at: int
    rank: int

    @classmethod
    def of(cls, updated_at: int | None, event_at: int, rank: int) -> "SnapshotOrder":
        return cls(event_at if updated_at is None else updated_at, event_at, rank)

    def is_before(self, stored: "SnapshotOrder") -> bool:
        """Whether the stored snapshot is newer; of two of one instant the one with the later state is."""
        if self[:2] != stored[:2]:
            return self[:2] < stored[:2]
        return 0 < self.rank < stored.rank


NEVER_STATED: Final = SnapshotOrder(ALWAYS, ALWAYS, 0)


class ProfileWords(msgspec.Struct, frozen=True, gc=False):
    """The words and flags of a profile."""

    type: str | None = None
    verification_status: str | None = None
    is_high_risk: bool | None = None
    pep_status: str | None = None
    requires_screening: bool | None = None
    review_reasons: tuple[str, ...] = ()
    country: str | None = None
    legal_type: str | None = None
    expected_rails: tuple[str, ...] = ()


_STATED: Final = (*ProfileWords.__struct_fields__, "name", "last_screened_at", "created_at")


class EntityProfile(msgspec.Struct, frozen=True, gc=False):
    """The bank's newest statement of each field of an entity, known at an instant; one never stated is None.

    ``updated_at``, ``event_at`` and ``rank`` are the order of the newest snapshot; ``own`` has a bit for each field
    that it states itself, so that an older snapshot that comes later can be put before it.
    """

    known_at: int
    updated_at: int
    event_at: int
    rank: int
    words: ProfileWords = ProfileWords()
    name: str | None = None
    last_screened_at: int | None = None
    created_at: int | None = None
    own: int = 0

    @classmethod
    def of(cls, known_at: int, order: SnapshotOrder, stated: Iterable[Any], own: int) -> "EntityProfile":
        """From the fields of ``stated``, or of its dump."""
        *fields, name, screened_at, created_at = stated
        words = _words(*(tuple(field) if isinstance(field, list) else field for field in fields))
        once: dict[Any, Any] = {}
        instants = (once.setdefault(at, at) for at in (known_at, *order[:2], screened_at, created_at))
        known_at, updated_at, event_at, screened_at, created_at = instants
        return cls(known_at, updated_at, event_at, order.rank, words, name, screened_at, created_at, _once(own))

    def with_snapshot(self, snapshot: EntitySnapshot, known_at: int, order: SnapshotOrder) -> "EntityProfile":
        """The profile after this one: the fields of the snapshot; a field that it leaves out stays."""
        new = stated_by(snapshot)
        own = sum(1 << place for place, value in enumerate(new) if value is not None)
        stated = (old if value is None else value for value, old in zip(new, self.stated(), strict=True))
        return EntityProfile.of(known_at, order, stated, own)

    def after(self, former: "EntityProfile") -> "EntityProfile":
        """The same snapshot's profile after ``former``, whose fields it takes where it states none."""
        both = enumerate(zip(self.stated(), former.stated(), strict=True))
        stated = (new if self.own >> place & 1 else old for place, (new, old) in both)
        return EntityProfile.of(self.known_at, self.order, stated, self.own)

    @property
    def order(self) -> SnapshotOrder:
        return SnapshotOrder(self.updated_at, self.event_at, self.rank)

    def stated(self) -> tuple[Any, ...]:
        """Each field that the bank states."""
        return (*msgspec.structs.astuple(self.words), self.name, self.last_screened_at, self.created_at)


def stated_by(snapshot: EntitySnapshot) -> tuple[Any, ...]:
    """The same fields of a snapshot; None for an unstated field."""
    return tuple(getattr(snapshot, field) for field in _STATED)


@lru_cache(maxsize=_COMBINATIONS)
def _once(own: int) -> int:
    return own


@lru_cache(maxsize=_COMBINATIONS)
def _words(*fields: Any) -> ProfileWords:
    return ProfileWords(*fields)


UNKNOWN_PROFILE: Final = EntityProfile(ALWAYS, *NEVER_STATED)


class KnownAccount(NamedTuple):
    """One account, with its first transfer: ``row`` is ``NOBODY`` where no transfer, or an unknown one, was first."""

    routing: str | None
    last4: str | None
    used_at: int | None = None
    row: int = NOBODY

    def differs(self, routing: str | None, last4: str | None) -> bool:
        return accounts_differ(self.routing, self.last4, routing, last4)

    def completed_by(self, routing: str | None, last4: str | None) -> "KnownAccount":
        """The same account with the details that it lacks."""
        return self._replace(routing=self.routing or shared(routing), last4=self.last4 or shared(last4))


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


def with_account(accounts: KnownAccounts, place: int, account: KnownAccount) -> KnownAccounts:
    return (*accounts[:place], account, *accounts[place + 1 :])


def with_use(accounts: KnownAccounts, place: int, *, at: int, row: int) -> KnownAccounts:
    """The account with this transfer as its first."""
    return with_account(accounts, place, accounts[place]._replace(used_at=at, row=row))
