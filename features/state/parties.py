"""The parties of a program's transfers: its own actors (entities or accounts), and the counterparties."""

from bisect import bisect_right
from itertools import accumulate
from typing import Any, Final, NamedTuple

from clearhold.features.bank.events import EntitySnapshot
from clearhold.features.core.in_memory import InMemory, shared
from clearhold.features.state.party_details import (
    ACCOUNTS_LIMIT,
    NEVER_STATED,
    UNKNOWN_PROFILE,
    EntityProfile,
    KnownAccount,
    KnownAccounts,
    SnapshotOrder,
    accounts_differ,
    place_of,
    with_account,
)
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.edges import NOBODY, Edges, node_of_actor, node_of_counterparty
from clearhold.features.windows.series import ALWAYS, EventTimes
from clearhold.features.windows.series_kinds import OUTGOING_PARTS, SeriesByKind, SeriesKind, dump_series, load_series

EVER: Final = 1 << 62
NO_ACTOR: Final = -2
UNLISTED: Final = "\x00"  # starts the internal id of a counterparty that the bank named without giving it an id
_KINDS: Final = ("returns", "unauthorized")


class Actor(InMemory):
    """An entity, or an account without a known owner, with its history.

    ``earlier_profiles`` are in time order: a transfer is scored with the profile known at its own time.
    """

    id: str
    index: int
    is_account: bool
    amounts: AmountSeries
    returns: EventTimes | None = None
    unauthorized: EventTimes | None = None
    zones: dict[int, EventTimes] | None = None
    series_by_kind: SeriesByKind | None = None
    probes: Edges | None = None  # returns that probe whether an account exists, by counterparty
    categories: dict[str, AmountSeries] | None = None  # its card payments by merchant category, see ``coded_cents``
    profile: EntityProfile = UNKNOWN_PROFILE  # the newest
    earlier_profiles: tuple[EntityProfile, ...] = ()

    @classmethod
    def new(cls, actor_id: str, index: int, *, is_account: bool) -> "Actor":
        return cls(actor_id, index, is_account, AmountSeries())

    @property
    def ach_debits(self) -> AmountSeries | None:
        """The ACH debits that it sent."""
        return None if self.series_by_kind is None else self.series_by_kind.get(SeriesKind.PULLED)

    def outgoing(self, after: int, upto: int, *, now: bool = False) -> tuple[int, int]:
        """Count and cents of its transfers with direction outgoing in (after, upto], as known at ``upto``, or now."""
        measured = AmountSeries.measure_now if now else AmountSeries.measure
        count, cents = measured(self.amounts, after, upto)
        for kind, sign in OUTGOING_PARTS:
            series = None if self.series_by_kind is None else self.series_by_kind.get(kind)
            if series is not None:
                part_count, part_cents = measured(series, after, upto)
                count, cents = count + sign * part_count, cents + sign * part_cents
        return count, cents

    def profile_at(self, at: int) -> EntityProfile:
        """The newest profile known at an instant."""
        profile = self.profile
        if profile.known_at <= at:
            return profile
        index = bisect_right(self.earlier_profiles, at, key=lambda each: each.known_at)
        return self.earlier_profiles[index - 1] if index else UNKNOWN_PROFILE

    def merge(self, snapshot: EntitySnapshot, *, known_at: int, rank: int = 0) -> EntityProfile | None:
        """The newest profile with every field that the snapshot states; None when a newer snapshot states them all."""
        known, order = self.profile, SnapshotOrder.of(snapshot.updated_at, known_at, rank)
        if order.is_before(known.order):
            return self._merge_older(snapshot, known_at, order)
        if known is not UNKNOWN_PROFILE:
            self.earlier_profiles = (*self.earlier_profiles, known)
        self.profile = known.with_snapshot(snapshot, max(known_at, known.known_at), max(order, known.order))
        return self.profile

    def _merge_older(self, snapshot: EntitySnapshot, known_at: int, order: SnapshotOrder) -> EntityProfile | None:
        """Put the snapshot before the newer ones, which keep all that they state themselves."""
        former, profiles = self.profile, (*self.earlier_profiles, self.profile)
        place = next(index for index, newer in enumerate(profiles) if order.is_before(newer.order))
        before = profiles[place - 1] if place else UNKNOWN_PROFILE
        known_at = min(max(known_at, before.known_at), profiles[place].known_at)
        added = before.with_snapshot(snapshot, known_at, order)
        if added == before:  # it came again
            return None
        *later, self.profile = accumulate((added, *profiles[place:]), lambda old, new: new.after(old))
        self.earlier_profiles = (*profiles[:place], *later)
        return self.profile if self.profile != former else None

    def dump(self) -> tuple[Any, ...]:
        known = () if self.profile is UNKNOWN_PROFILE else (*self.earlier_profiles, self.profile)
        profiles = [(profile.known_at, tuple(profile.order), profile.stated(), profile.own) for profile in known]
        probes = None if self.probes is None else self.probes.dump()
        categories = [(category, series.dump()) for category, series in (self.categories or {}).items()]
        return (self.id, self.is_account, self.amounts.dump(), dump_times(self), profiles, probes, categories)

    @classmethod
    def loaded(cls, dumped: Any, index: int) -> "Actor":
        actor = cls.new(dumped[0], index, is_account=dumped[1])
        actor.amounts.load(dumped[2])
        load_times(actor, dumped[3])
        if dumped[4]:
            *earlier, actor.profile = (
                EntityProfile.of(known_at, SnapshotOrder(*order), stated, own)
                for known_at, order, stated, own in dumped[4]
            )
            actor.earlier_profiles = tuple(earlier)
        if dumped[5] is not None:
            probes_of(actor).load(dumped[5])
        for category, series in dumped[6]:
            payments_of(actor, shared(category)).load(series)
        return actor


class KnownCounterparty(InMemory):
    """A counterparty with the history of the program's transfers with it.

    ``routing`` and ``last4`` are of its account now; ``accounts`` has all of them once there is a second one.
    """

    id: str
    index: int
    times: AmountSeries  # of all transfers with it; the cents are of the outgoing ones alone
    name: str | None = None
    routing: str | None = None
    last4: str | None = None
    country: str | None = None
    accounts: KnownAccounts = ()
    has_new_account: bool = False  # its account details changed since its score was last evaluated
    first_seen_at: int | None = None  # the time of the first transfer with it
    stated_at: int | None = None  # of the first event on it, when no transfer with it came before
    updated_at: int = ALWAYS  # ``order``, as are the next two: without an object in memory
    event_at: int = ALWAYS
    rank: int = 0
    embedded: int = 0  # a checksum of the newest object that a transfer embedded
    same_as: int = NOBODY  # from the first transfer on, the actor whose node it shares; ``NO_ACTOR`` for none
    returns: EventTimes | None = None
    unauthorized: EventTimes | None = None
    zones: dict[int, EventTimes] | None = None
    series_by_kind: SeriesByKind | None = None

    @property
    def node(self) -> int:
        """Its node in the graph; ``NOBODY`` before its first transfer."""
        if self.same_as == NO_ACTOR:
            return node_of_counterparty(self.index)
        return NOBODY if self.same_as == NOBODY else node_of_actor(self.same_as)

    @property
    def order(self) -> SnapshotOrder:
        """Of the newest object that the bank sent of it; ``NEVER_STATED`` before the first."""
        return SnapshotOrder(self.updated_at, self.event_at, self.rank)

    def take_order(self, order: SnapshotOrder) -> None:
        self.updated_at, self.event_at, self.rank = order

    @property
    def unlisted(self) -> bool:
        """True for one that the bank named without giving it an id."""
        return self.id[:1] == UNLISTED

    def differs(self, routing: str | None, last4: str | None) -> bool:
        """Whether these details differ from each of its accounts."""
        if not self.accounts:
            return accounts_differ(self.routing, self.last4, routing, last4)
        return place_of(self.accounts, routing, last4) is None

    def keeps(self, routing: str | None, last4: str | None) -> bool:
        """Whether these details are of one of several accounts that are on file."""
        return bool(self.accounts) and place_of(self.accounts, routing, last4) is not None

    def has_account(self, routing: str | None, last4: str | None) -> bool:
        if (self.routing, self.last4) == (routing, last4):
            return True
        return any((each.routing, each.last4) == (routing, last4) for each in self.accounts)

    def account_after(self, routing: str | None, last4: str | None) -> tuple[str | None, str | None]:
        """Its account once these details are stated: they complete its present account, or name another."""
        if accounts_differ(self.routing, self.last4, routing, last4):
            place = place_of(self.accounts, routing, last4)
            return (routing, last4) if place is None else self.accounts[place].completed_by(routing, last4)[:2]
        return routing or self.routing, last4 or self.last4

    def take_account(self, routing: str | None, last4: str | None) -> None:
        """Store the account that ``account_after`` returned as the one that it has now."""
        is_other = accounts_differ(self.routing, self.last4, routing, last4)
        accounts = self._all_accounts() if is_other else self.accounts
        place = place_of(accounts, routing, last4)
        self.routing, self.last4 = shared(routing), shared(last4)
        if place is not None:
            accounts = with_account(accounts, place, accounts[place]._replace(routing=self.routing, last4=self.last4))
        elif is_other:
            accounts = (*accounts, KnownAccount(self.routing, self.last4))[-ACCOUNTS_LIMIT:]
            self.has_new_account = True
        self.accounts = accounts

    def take_earlier_account(self, routing: str | None, last4: str | None) -> KnownAccount | None:
        """Store an account that was stated before the present one; None when nothing is new about it."""
        if not accounts_differ(self.routing, self.last4, routing, last4):
            return None
        accounts = self._all_accounts()
        place = place_of(accounts, routing, last4)
        if place is None:
            if len(accounts) == ACCOUNTS_LIMIT:
                return None
            account = KnownAccount(shared(routing), shared(last4))
            self.accounts, self.has_new_account = (account, *accounts), True
            return account
        account = accounts[place].completed_by(routing, last4)
        if account == accounts[place]:
            return None
        self.accounts = with_account(accounts, place, account)
        return account

    def _all_accounts(self) -> KnownAccounts:
        return self.accounts or (KnownAccount(self.routing, self.last4, self.times.first(EVER)),)

    def completed_by(self, routing: str | None, last4: str | None) -> tuple[str | None, str | None]:
        """Its account with what an older statement of it adds."""
        if accounts_differ(self.routing, self.last4, routing, last4):
            return None, None
        return self.routing or routing, self.last4 or last4

    def earlier_accounts(self) -> list[KnownAccount]:
        """Its accounts but the one that it has now."""
        return [each for each in self.accounts if each.differs(self.routing, self.last4)]

    def dump(self) -> tuple[Any, ...]:
        details = (self.id, self.name, self.routing, self.last4, self.country, self.accounts)
        order = None if self.order == NEVER_STATED else tuple(self.order)
        seen = (self.first_seen_at, self.stated_at)
        facts = (*details, *seen, order, self.embedded, self.same_as, self.has_new_account)
        return (facts, self.times.dump(), dump_times(self))

    @classmethod
    def loaded(cls, dumped: Any, index: int) -> "KnownCounterparty":
        facts = dumped[0]
        party = cls(facts[0], index, AmountSeries())
        party.name = facts[1]
        party.routing, party.last4, party.country = map(shared, facts[2:5])
        party.accounts = tuple(KnownAccount(*each) for each in facts[5])
        party.first_seen_at, party.stated_at, order, party.embedded, party.same_as, party.has_new_account = facts[6:]
        party.take_order(NEVER_STATED if order is None else SnapshotOrder(*order))
        party.times.load(dumped[1])
        load_times(party, dumped[2])
        return party


class PartyDetails(NamedTuple):
    """The name and the account that a counterparty is known by."""

    name: str | None
    routing: str | None
    last4: str | None


def times_of(party: Actor | KnownCounterparty, kind: str) -> EventTimes:
    """The party's series of that kind, created when first needed."""
    series: EventTimes | None = getattr(party, kind)
    if series is None:
        series = EventTimes()
        setattr(party, kind, series)
    return series


def zone_of(party: Actor | KnownCounterparty, threshold_cents: int) -> EventTimes:
    """The party's transfers just under one threshold."""
    if party.zones is None:
        party.zones = {}
    return party.zones.setdefault(threshold_cents, EventTimes())


def series_of_party(party: Actor | KnownCounterparty) -> SeriesByKind:
    """The party's series by kind, created when first needed."""
    if party.series_by_kind is None:
        party.series_by_kind = SeriesByKind()
    return party.series_by_kind


def probes_of(actor: Actor) -> Edges:
    if actor.probes is None:
        actor.probes = Edges()
    return actor.probes


def payments_of(actor: Actor, category: str) -> AmountSeries:
    """The actor's card payments of one merchant category."""
    if actor.categories is None:
        actor.categories = {}
    return actor.categories.setdefault(category, AmountSeries())


def coded_cents(cents: int | None) -> int:
    """An amount in a series that keeps amounts that are not known apart from zero: one more than it, 0 for None."""
    return 0 if cents is None else cents + 1


def dump_times(party: Actor | KnownCounterparty) -> tuple[Any, ...] | None:
    """None for the many parties without any of these series."""
    if not (party.returns or party.unauthorized or party.zones or party.series_by_kind):
        return None
    kinds = [series.dump() if (series := getattr(party, kind)) else None for kind in _KINDS]
    zones = [(threshold, zone.dump()) for threshold, zone in (party.zones or {}).items()]
    return (kinds, zones, dump_series(party.series_by_kind))


def load_times(party: Actor | KnownCounterparty, dumped: Any) -> None:
    if dumped is None:
        return
    kinds, zones, by_kind = dumped
    for kind, series in zip(_KINDS, kinds, strict=True):
        if series is not None:
            times_of(party, kind).load(series)
    for threshold, zone in zones:
        zone_of(party, threshold).load(zone)
    if by_kind:
        party.series_by_kind = load_series(by_kind)
