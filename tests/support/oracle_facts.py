"""The facts of the naive oracle: transfers and parties as the log reports them, and when each value begins to count."""

from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

from features.core.instants import parse_instant
from tests.support.oracle_reading import Reading, Return, normal_name

V = TypeVar("V")

ALWAYS: Final = -(1 << 62)
FAILED: Final = frozenset({"REJECTED", "MANUAL_REVIEW_REJECTED", "FAILED", "BLOCKED", "DECLINED"})
CANCELED: Final = frozenset({"CANCELED", "CANCELLED", "STOPPED", "VOIDED", "EXPIRED"})
NOT_MOVED: Final = FAILED | CANCELED

Key = tuple[str, ...]


class Timeline(Generic[V]):
    """Values with the time from which each counts; a newer snapshot's never counts from before the one it replaces."""

    def __init__(self, first: V) -> None:
        self.words: list[tuple[int, V]] = [(ALWAYS, first)]

    def record(self, at: int, value: V) -> None:
        if value != self.words[-1][1]:
            self.words.append((at, value))

    def at(self, instant: int) -> tuple[int, V]:
        return next(word for word in reversed(self.words) if word[0] <= instant)

    @property
    def last(self) -> V:
        return self.words[-1][1]


class Baseline(NamedTuple):
    n: int | None
    median: int | None
    p95: int | None


class Decline(NamedTuple):
    """Whether a card's attempt was declined, and the normalised reason."""

    declined: bool
    reason: str | None


@dataclass
class Known:
    """A transfer as the log has reported it so far."""

    reading: Reading
    own: int
    key: tuple[int, int]
    amount: Timeline[int]
    actor: Timeline[Key | None]
    party: Timeline[Key | None]
    node: Timeline[Key | None]
    moved: Timeline[bool]
    decline: Timeline[Decline]
    returned: Timeline[Return | None]
    country: str | None
    changed_at: int = ALWAYS
    baseline: Baseline | None = None


@dataclass
class Profile:
    """A version of an entity that was the newest when it came."""

    event_at: int
    verification: str | None
    pep: str | None
    high_risk: bool | None
    requires_screening: bool | None
    screened_at: int | None
    created_at: int | None
    review_reasons: tuple[str, ...] | None


NOTHING_SAID: Final = Profile(ALWAYS, None, None, None, None, None, None, None)


@dataclass
class Party:
    name: str | None = None
    routing: str | None = None
    last4: str | None = None
    country: str | None = None


class Meeting(NamedTuple):
    """A transfer that made its two sides known to each other."""

    source: Key | None
    target: Key | None
    own: int
    transfer_id: str


@dataclass
class Program:
    meetings: list[Meeting] = field(default_factory=list)
    rare_meetings: list[Meeting] = field(default_factory=list)
    transfers: dict[str, Known] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)
    owners: dict[str, str] = field(default_factory=dict)
    accounts: set[str] = field(default_factory=set)
    entities: set[str] = field(default_factory=set)
    account_keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    profiles: dict[str, list[Profile]] = field(default_factory=dict)
    entity_keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    nodes: dict[Key, Key] = field(default_factory=dict)
    parties: dict[Key, Party] = field(default_factory=dict)
    party_keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    named: list[Key] = field(default_factory=list)
    holders: dict[tuple[str, str], Key] = field(default_factory=dict)
    declared: list[tuple[int, dict[str, Any]]] = field(default_factory=list)


def instant(text: str) -> int:
    at = parse_instant(text)
    assert at is not None
    return at


def _version(data: dict[str, Any], event_at: int) -> tuple[int, int]:
    updated = data.get("updated_at")
    return (instant(updated) if updated is not None else event_at, event_at)


def learn_entity(program: Program, data: dict[str, Any], event_at: int) -> None:
    key = _version(data, event_at)
    if key < program.entity_keys.get(data["id"], (ALWAYS, ALWAYS)):
        return
    program.entity_keys[data["id"]] = key
    program.entities.add(data["id"])
    profiles = program.profiles.setdefault(data["id"], [])
    before = profiles[-1] if profiles else NOTHING_SAID
    screened, created, reasons = data["last_screened_at"], data["created_at"], data["review_reasons"]
    profiles.append(
        Profile(
            event_at,
            data["verification_status"],
            data["person_details"]["pep_status"],
            data["is_high_risk"],
            data["requires_screening"],
            before.screened_at if screened is None else instant(screened),
            before.created_at if created is None else instant(created),
            before.review_reasons if reasons is None else tuple(reasons),
        )
    )


def learn_account(program: Program, data: dict[str, Any], event_at: int) -> None:
    key = _version(data, event_at)
    if key < program.account_keys.get(data["id"], (ALWAYS, ALWAYS)):
        return
    program.account_keys[data["id"]] = key
    program.owners[data["id"]] = data["owners"][0]
    program.accounts.add(data["id"])
    program.entities.add(data["owners"][0])


def learn_counterparty(program: Program, data: dict[str, Any], event_at: int) -> None:
    key = _version(data, event_at)
    if key < program.party_keys.get(data["id"], (ALWAYS, ALWAYS)):
        return
    program.party_keys[data["id"]] = key
    country = data["address"]["country_code"] if data["address"] else None
    last4 = data["account_number"][-4:] if data["account_number"] else None
    _note_party(program, ("id", data["id"]), data["name"], data["routing_number"], last4, country)


def decline_of(reading: Reading) -> Decline:
    """The reason of an approval counts for nothing."""
    declined = reading.rail == "card" and reading.status == "DECLINED"
    return Decline(declined, reading.card_reason if declined else None)


def _note_party(
    program: Program, key: Key, name: str | None, routing: str | None, last4: str | None, country: str | None
) -> None:
    """Add a snapshot's values; names are kept in the order in which they were taken, accounts by first holder."""
    party = program.parties.setdefault(key, Party())
    if name is not None and (party.name is None or normal_name(party.name) != normal_name(name)):
        program.named = [other for other in program.named if other != key] + [key]
    party.name = name or party.name
    party.routing = routing or party.routing
    party.last4 = last4 or party.last4
    party.country = country or party.country
    if party.routing and party.last4:
        program.holders.setdefault((party.routing, party.last4), key)


def _on_file(program: Program, reading: Reading) -> Key | None:
    """Whom a name without an id means: the holder of the account, else the first of that name that may be it."""
    holder = program.holders.get((reading.routing or "", reading.last4 or ""))
    if holder is not None and (program.parties[holder].routing, program.parties[holder].last4) == (
        reading.routing,
        reading.last4,
    ):
        return holder
    for key in program.named:
        party = program.parties[key]
        pairs = ((party.routing, reading.routing), (party.last4, reading.last4))
        if normal_name(party.name or "") == normal_name(reading.name or "") and not any(
            None not in pair and pair[0] != pair[1] for pair in pairs
        ):
            return key
    return None


def _party_of(program: Program, reading: Reading) -> Key | None:
    """The other side of the snapshot, after its details are noted."""
    if reading.counterparty_id is not None:
        key: Key = ("id", reading.counterparty_id)
    elif reading.name is not None:
        found = _on_file(program, reading)
        if found is not None and found[0] == "id":
            return found
        key = found or ("name", normal_name(reading.name), reading.routing or "", reading.last4 or "")
    else:
        return None
    _note_party(program, key, reading.name, reading.routing, reading.last4, reading.country)
    return key


def _actor_of(program: Program, reading: Reading) -> Key | None:
    if reading.entity_id is not None:
        return ("entity", reading.entity_id)
    if reading.account_id is None:
        return None
    owner = program.owners.get(reading.account_id)
    return ("entity", owner) if owner is not None else ("account", reading.account_id)


def _note_owners(program: Program, reading: Reading) -> None:
    """The account and the entity that a transfer is of belong to the program."""
    if reading.account_id is not None:
        program.accounts.add(reading.account_id)
    if reading.entity_id is not None:
        program.entities.add(reading.entity_id)


def _node_of(program: Program, party: Key | None) -> Key | None:
    """Where the counterparty stands in the graph, as it was settled when a transfer first named it."""
    return None if party is None else program.nodes.setdefault(party, _first_node(program, party))


def _first_node(program: Program, party: Key) -> Key:
    """A counterparty may be an actor of the program itself."""
    if party[0] != "id":
        return party
    if party[1] in program.accounts:
        owner = program.owners.get(party[1])
        return ("entity", owner) if owner is not None else ("account", party[1])
    return ("entity", party[1]) if party[1] in program.entities else party


def land(program: Program, reading: Reading, event_at: int, appended_at: int) -> Known | None:
    """Take one event of a transfer over; the transfer, when it must be scored for it."""
    known = program.transfers.get(reading.id)
    if known is None:
        known = program.transfers[reading.id] = _first_sight(program, reading, event_at, appended_at)
        return known
    key = (reading.updated_at if reading.updated_at is not None else event_at, event_at)
    if key >= known.key:
        known.key = key
        return known if _revise(program, known, reading, event_at) else None
    if reading.returned is None or known.returned.last is not None:
        return None
    known.changed_at = max(event_at, known.changed_at)
    known.returned.record(max(known.own, known.changed_at), reading.returned)
    return known


def _first_sight(program: Program, reading: Reading, event_at: int, appended_at: int) -> Known:
    own = min(reading.created_at if reading.created_at is not None else event_at, appended_at)
    _note_owners(program, reading)
    actor, party = _actor_of(program, reading), _party_of(program, reading)
    known = Known(
        reading,
        own,
        (reading.updated_at if reading.updated_at is not None else event_at, event_at),
        Timeline(reading.amount),
        Timeline(actor),
        Timeline(party),
        Timeline(_node_of(program, party)),
        Timeline(reading.status not in NOT_MOVED),
        Timeline(decline_of(reading)),
        Timeline(None),
        reading.country or (program.parties[party].country if party is not None else None),
    )
    if reading.returned is not None:
        known.returned.record(max(own, event_at), reading.returned)
    return known


def _revise(program: Program, known: Known, reading: Reading, event_at: int) -> bool:
    """Take over a newer snapshot; True when it changed what a transfer is scored again for."""
    reading = reading._replace(card_reason=reading.card_reason or known.reading.card_reason)
    _note_owners(program, reading)
    actor, party, country = known.actor.last, known.party.last, reading.country or known.country
    if reading.entity_id is not None or actor is None:
        actor = _actor_of(program, reading)
    is_kept = reading.counterparty_id is None and party is not None and party[0] == "id"
    named = None if is_kept else _party_of(program, reading)
    if named is not None and named != party:
        party, country = named, reading.country or program.parties[named].country
    returned = reading.returned if reading.returned is not None else known.returned.last
    after = (reading.amount, actor, party, country, returned)
    changed = after != (known.amount.last, known.actor.last, known.party.last, known.country, known.returned.last)
    status = (reading.status not in NOT_MOVED, decline_of(reading))
    if changed or status != (known.moved.last, known.decline.last):
        known.changed_at = max(event_at, known.changed_at)
    at = known.changed_at
    known.reading, known.country = reading, country
    known.amount.record(at, reading.amount)
    known.actor.record(at, actor)
    if party != known.party.last:
        known.node.record(at, _node_of(program, party))
    known.party.record(at, party)
    known.moved.record(at, status[0])
    known.decline.record(at, status[1])
    known.returned.record(max(known.own, at), returned)
    return changed
