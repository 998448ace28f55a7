"""Everything the oracle remembers of a program: what the log said, and the time from which each word counts.

A word counts from its event's own time, and never from before the word that it replaces. Who owns an account is told
by the log and counts from the log entry on, for all times: so ``Program.same`` is asked whenever two keys are compared.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

from tests.oracle.reading import Purchase, Return, Said

V = TypeVar("V")

ALWAYS: Final = -(1 << 62)

Key = tuple[str, ...]
Version = tuple[int, ...]


class Timeline(Generic[V]):
    """Words with the time each counts from."""

    def __init__(self, first: V) -> None:
        self.words: list[tuple[int, V]] = [(ALWAYS, first)]

    def say(self, at: int, value: V) -> None:
        if value != self.last:
            self.words.append((at, value))

    def at(self, instant: int) -> tuple[int, V]:
        """The newest word that counts then, and since when."""
        for word in reversed(self.words):
            if word[0] <= instant:
                return word
        raise LookupError(instant)

    @property
    def last(self) -> V:
        return self.words[-1][1]


class Baseline(NamedTuple):
    """The program's, as it was when the transfer was first seen."""

    n: int | None
    median: int | None
    p95: int | None


class Decline(NamedTuple):
    """Whether a card's attempt was declined, and the normalised reason."""

    declined: bool
    reason: str | None


@dataclass
class Known:
    """A transfer as the log told it so far. ``node`` is where its counterparty stands in the graph."""

    said: Said
    own: int
    version: Version
    cents: Timeline[int | None]
    actor: Timeline[Key | None]
    party: Timeline[Key | None]
    node: Timeline[Key | None]
    card: Timeline[Key | None]
    moved: Timeline[bool]
    decline: Timeline[Decline]
    returned: Timeline[Return | None]
    purchase: Timeline[Purchase]
    place: Timeline[str | None]
    country: str | None
    returned_at: int | None
    changed_at: int = ALWAYS
    baseline: Baseline | None = None


@dataclass
class Profile:
    """What the bank said of an entity in one snapshot, or in all up to one; None for what it has not said."""

    event_at: int = ALWAYS
    verification: str | None = None
    pep: str | None = None
    high_risk: bool | None = None
    requires_screening: bool | None = None
    screened_at: int | None = None
    created_at: int | None = None
    review_reasons: tuple[str, ...] | None = None


@dataclass
class Account:
    """One account of a counterparty that has several, with the first transfer to it by own time."""

    routing: str | None
    last4: str | None
    used_at: int | None = None
    first: str | None = None


@dataclass
class Party:
    """``accounts`` is empty until there is a second one; ``told_at`` has when each detail was said last."""

    name: str | None = None
    routing: str | None = None
    last4: str | None = None
    country: str | None = None
    accounts: list[Account] = field(default_factory=list)
    told_at: dict[str, int] = field(default_factory=dict)


class Meeting(NamedTuple):
    """The first transfer in the log that moved between two sides when it was first seen."""

    payer: Key
    payee: Key
    own: int
    transfer_id: str


class FirstScored(NamedTuple):
    """A transfer that moved when it was first seen, with its graded measures by name as they were then."""

    own: int
    is_card: bool
    measured: dict[str, int | None]


_LISTS: Final = {
    "call_for_action": "IR KP MM",
    "comprehensively_sanctioned": "CU IR KP",
    "increased_monitoring": "AO BA BG BO CD CI CM HT IQ KE KW LA LB MC NP PG SS SY VE VG VN YE",
}


class Thresholds(NamedTuple):
    """A version since an instant."""

    since: int
    version: str
    lines: tuple[int, ...]
    lists: dict[str, set[str]]


SEEDED: Final = Thresholds(
    ALWAYS, "thresholds-v1", (300_000, 1_000_000), {name: set(countries.split()) for name, countries in _LISTS.items()}
)


class Caps(NamedTuple):
    """The caps of a program since an instant, strings of digits by kind; None is no cap."""

    since: int
    by_kind: dict[str, str | None]


@dataclass
class CapRequest:
    """A change of a cap that somebody requested."""

    kind: str
    to: str | None
    by: str
    waits: bool = True


@dataclass
class Program:
    """One program's facts; nothing reads another's."""

    events: set[str] = field(default_factory=set)
    declared: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    transfers: dict[str, Known] = field(default_factory=dict)
    accounts: set[str] = field(default_factory=set)
    entities: set[str] = field(default_factory=set)
    owners: dict[str, str] = field(default_factory=dict)
    first_owners: dict[str, str] = field(default_factory=dict)
    account_versions: dict[str, Version] = field(default_factory=dict)
    profiles: dict[str, list[Profile]] = field(default_factory=dict)
    entity_words: dict[str, list[tuple[Version, Profile]]] = field(default_factory=dict)
    parties: dict[Key, Party] = field(default_factory=dict)
    party_versions: dict[str, Version] = field(default_factory=dict)
    named: list[Key] = field(default_factory=list)
    holders: dict[tuple[str, str], Key] = field(default_factory=dict)
    nodes: dict[Key, Key] = field(default_factory=dict)
    meetings: list[Meeting] = field(default_factory=list)
    rare_meetings: list[tuple[int, str]] = field(default_factory=list)
    first_scored: list[FirstScored] = field(default_factory=list)
    activations: set[str] = field(default_factory=set)
    thresholds: list[Thresholds] = field(default_factory=lambda: [SEEDED])
    own_thresholds: list[Thresholds] = field(default_factory=list)
    requests: dict[str, CapRequest] = field(default_factory=dict)
    caps: list[Caps] = field(default_factory=lambda: [Caps(ALWAYS, {})])

    def same(self, key: Key | None) -> Key | None:
        """An account that had no owner, and the first owner it was then said to have, are one."""
        if key is not None and key[0] == "account" and key[1] in self.first_owners:
            return ("entity", self.first_owners[key[1]])
        return key

    def actor_of_account(self, account_id: str) -> Key:
        """Who acts for an account as the log has told it so far."""
        owner = self.owners.get(account_id)
        return ("account", account_id) if owner is None else ("entity", owner)

    def profile_at(self, actor: Key | None, at: int) -> Profile | None:
        """What the bank had said of an entity by then; None when nothing."""
        if actor is None or actor[0] != "entity":
            return None
        return next((each for each in reversed(self.profiles.get(actor[1], [])) if each.event_at <= at), None)

    def declared_at(self, at: int) -> dict[str, Any]:
        """What the program declared; its first words count for the time before them too."""
        if not self.declared:
            return {}
        return next((said for since, said in reversed(self.declared) if since <= at), self.declared[0][1])
