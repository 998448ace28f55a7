"""The parties of a program's transfers: its own actors (entities or accounts), and the counterparties."""

from bisect import bisect_right
from typing import Any, Final, NamedTuple

from clearhold.features.bank.events import EntitySnapshot
from clearhold.features.core.in_memory import InMemory, shared
from clearhold.features.core.plain_text import name_key
from clearhold.features.state.entity_profile import UNKNOWN_PROFILE, EntityProfile, stated_by
from clearhold.features.state.party_lookup import PartyLookup
from clearhold.features.state.snapshot_order import NEVER_STATED, SnapshotOrder
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.edges import NOBODY, Edges
from clearhold.features.windows.series import EventTimes
from clearhold.features.windows.series_kinds import OUTGOING_PARTS, SeriesByKind, SeriesKind, dump_series, load_series

UNLISTED: Final = "\x00"  # starts the internal id of a counterparty that the bank named without giving it an id


class Actor(InMemory):
    """An entity, or an account without a known owner (ruling 37), with its history.

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
        """The profile with every field that the snapshot states; None when a newer snapshot was merged before."""
        known, order = self.profile, SnapshotOrder.of(snapshot.updated_at, known_at, rank)
        if order.is_before(known.order):
            return None
        both = zip(stated_by(snapshot), known.stated(), strict=True)
        stated = (old if new is None else new for new, old in both)
        if known is not UNKNOWN_PROFILE:
            self.earlier_profiles = (*self.earlier_profiles, known)
        self.profile = EntityProfile.of(max(known_at, known.known_at), max(order, known.order), stated)
        return self.profile

    def dump(self) -> tuple[Any, ...]:
        known = () if self.profile is UNKNOWN_PROFILE else (*self.earlier_profiles, self.profile)
        profiles = [(profile.known_at, tuple(profile.order), profile.stated()) for profile in known]
        probes = None if self.probes is None else self.probes.dump()
        return (self.id, self.is_account, self.amounts.dump(), dump_times(self), profiles, probes)

    @classmethod
    def loaded(cls, dumped: Any, index: int) -> "Actor":
        actor = cls.new(dumped[0], index, is_account=dumped[1])
        actor.amounts.load(dumped[2])
        load_times(actor, dumped[3])
        if dumped[4]:
            *earlier, actor.profile = (
                EntityProfile.of(known_at, SnapshotOrder(*order), stated) for known_at, order, stated in dumped[4]
            )
            actor.earlier_profiles = tuple(earlier)
        if dumped[5] is not None:
            probes_of(actor).load(dumped[5])
        return actor


class KnownCounterparty(InMemory):
    """A counterparty with the history of the program's transfers with it."""

    id: str
    index: int
    times: AmountSeries  # of all transfers with it; the cents are of the outgoing ones alone
    name: str | None = None
    routing: str | None = None
    last4: str | None = None
    country: str | None = None
    has_new_account: bool = False  # its account details changed since its score was last evaluated
    first_seen_at: int | None = None
    order: SnapshotOrder = NEVER_STATED  # of the newest object that the bank sent of it
    node: int = NOBODY  # in the graph, from the first transfer on
    returns: EventTimes | None = None
    unauthorized: EventTimes | None = None
    zones: dict[int, EventTimes] | None = None
    series_by_kind: SeriesByKind | None = None

    @property
    def unlisted(self) -> bool:
        """True for one that the bank named without giving it an id."""
        return self.id.startswith(UNLISTED)

    def dump(self) -> tuple[Any, ...]:
        details = (self.id, self.name, self.routing, self.last4, self.country)
        order = None if self.order is NEVER_STATED else tuple(self.order)
        facts = (*details, self.first_seen_at, order, self.node, self.has_new_account)
        return (facts, self.times.dump(), dump_times(self))

    @classmethod
    def loaded(cls, dumped: Any, index: int) -> "KnownCounterparty":
        facts = dumped[0]
        party = cls(facts[0], index, AmountSeries())
        party.name = facts[1]
        party.routing, party.last4, party.country = map(shared, facts[2:5])
        party.first_seen_at, order, party.node, party.has_new_account = facts[5:]
        party.order = NEVER_STATED if order is None else SnapshotOrder(*order)
        party.times.load(dumped[1])
        load_times(party, dumped[2])
        return party


class PartyDetails(NamedTuple):
    """The name and the account that a counterparty is known by."""

    name: str | None
    routing: str | None
    last4: str | None


class CounterpartyBook:
    """Counterparties of one program, found by id, by routing number and last four, or by name.

    At most ``NAME_LIMIT`` counterparties are read for one name or one account.
    """

    NAME_LIMIT: Final = 64

    def __init__(self) -> None:
        self.all: list[KnownCounterparty] = []
        self._by_id: dict[str, KnownCounterparty] = {}
        self._by_account = PartyLookup()
        self._by_name = PartyLookup()

    def get(self, counterparty_id: str) -> KnownCounterparty | None:
        return self._by_id.get(counterparty_id)

    def get_or_add(self, counterparty_id: str) -> KnownCounterparty:
        party = self._by_id.get(counterparty_id)
        if party is None:
            party = KnownCounterparty(counterparty_id, len(self.all), AmountSeries())
            self.all.append(party)
            self._by_id[counterparty_id] = party
        return party

    def unlisted(self, name: str, routing: str | None, last4: str | None) -> KnownCounterparty:
        """The counterparty known by this name and account only."""
        return self.get_or_add(_unlisted_id(name, routing, last4))

    def known(self, name: str, routing: str | None, last4: str | None) -> KnownCounterparty | None:
        """The counterparty that a transfer with these details would land with; None for a new one."""
        return self.match(name, routing, last4) or self._by_id.get(_unlisted_id(name, routing, last4))

    def merge(
        self, party: KnownCounterparty, *, name: str | None, routing: str | None, last4: str | None, country: str | None
    ) -> bool:
        """Store the details that are given; True when any changed. Lookups keep the first holder of an account."""
        merged = (name or party.name, routing or party.routing, last4 or party.last4, country or party.country)
        if merged == (party.name, party.routing, party.last4, party.country):
            return False
        former_name = party.name
        party.has_new_account |= accounts_differ(party.routing, party.last4, routing, last4)
        party.name, party.routing, party.last4, party.country = merged[0], *map(shared, merged[1:])
        self._index(party, former_name=former_name)
        return True

    def match(self, name: str, routing: str | None, last4: str | None) -> KnownCounterparty | None:
        """By routing number and last four; else by name, unless both carry account details that differ (ruling 10).

        A namesake without details, such as a card's merchant, does not match a counterparty with another account.
        """
        holders = self._of_account(routing, last4) if routing and last4 else ()
        if holders and (holders[0].routing, holders[0].last4) == (routing, last4):
            return holders[0]
        namesakes = self._of_name(name)
        alike = [each for each in namesakes if not accounts_differ(each.routing, each.last4, routing, last4)]
        if not alike or (len(alike) < len(namesakes) and not (alike[0].routing or alike[0].last4)):
            return None
        return alike[0]

    def sharing(
        self, routing: str | None, last4: str | None, also: KnownCounterparty | None = None
    ) -> list[KnownCounterparty]:
        """The counterparties that carry this account now, and the one about to."""
        if not routing or not last4:
            return []
        parties = self._of_account(routing, last4)
        sharing = [party for party in parties if (party.routing, party.last4) == (routing, last4)]
        is_new = also is not None and (also.routing, also.last4) != (routing, last4)
        if also is not None and is_new and (also in parties or len(parties) < self.NAME_LIMIT):
            sharing.append(also)
        return sharing

    def has_other_account(
        self,
        name: str | None,
        routing: str | None,
        last4: str | None,
        *,
        at: int,
        counted: KnownCounterparty | None = None,
    ) -> bool:
        """True when a counterparty of that name has transfers until ``at`` under other account details."""
        if name is None:
            return False
        return any(
            accounts_differ(party.routing, party.last4, routing, last4)
            and party.times.count_upto(at) > (1 if party is counted else 0)
            for party in self._of_name(name)
        )

    def _of_account(self, routing: str, last4: str) -> list[KnownCounterparty]:
        return [self.all[index] for index in self._by_account.get(_account(routing, last4))]

    def _of_name(self, name: str) -> list[KnownCounterparty]:
        return [self.all[index] for index in self._by_name.get(name_key(name))]

    def _index(self, party: KnownCounterparty, *, former_name: str | None) -> None:
        if party.routing and party.last4:
            account = _account(party.routing, party.last4)
            sharing = self._by_account.get(account)
            if party.index not in sharing and len(sharing) < self.NAME_LIMIT:
                self._by_account.put(account, [*sharing, party.index])
        if party.name and (former_name is None or name_key(former_name) != name_key(party.name)):
            if former_name is not None:
                others = [index for index in self._by_name.get(name_key(former_name)) if index != party.index]
                self._by_name.put(name_key(former_name), others)
            namesakes = self._by_name.get(name_key(party.name))
            if len(namesakes) < self.NAME_LIMIT:
                self._by_name.put(name_key(party.name), [*namesakes, party.index])

    def dump_lookups(self) -> tuple[Any, ...]:
        """The lookups by account and name; dumped, because they depend on the order in which details arrived."""
        return (self._by_account.dump(), self._by_name.dump())

    def load_parties(self, dumped: Any) -> None:
        for each in dumped:
            party = KnownCounterparty.loaded(each, len(self.all))
            self.all.append(party)
            self._by_id[party.id] = party

    def load_lookups(self, dumped: Any) -> None:
        self._by_account.load(dumped[0])
        self._by_name.load(dumped[1])


def _unlisted_id(name: str, routing: str | None, last4: str | None) -> str:
    return "\x00".join((UNLISTED, name_key(name), routing or "", last4 or ""))


def _account(routing: str, last4: str) -> str:
    return f"{routing}\x00{last4}"


def accounts_differ(routing: str | None, last4: str | None, other_routing: str | None, other_last4: str | None) -> bool:
    """True when both sides carry the same account detail with different values (ruling 10).

    Fewer than four letters and digits are the end of a number, and differ only from other endings.
    """
    if last4 and other_last4 and not (last4.endswith(other_last4) or other_last4.endswith(last4)):
        return True
    return bool(routing and other_routing and routing != other_routing)


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


_KINDS: Final = ("returns", "unauthorized")


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
