"""A program's memory of on-chain agents beside their entities: the index's newest statement on each, the holders of
wallets over time, payers that are agents' wallets, screenings of wallets, and exact amounts of settlements.

Unit    instants in microseconds; ``units`` are millionths of a US dollar
Bounds  an agent costs some hundred bytes, a screened wallet 15, a settlement 8
"""

from array import array
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from msgspec.structs import astuple

from clearhold.features.core.in_memory import InMemory
from clearhold.features.windows.id_index import IdIndex, in_slices, key_of

ALWAYS_HELD: Final = -(2**63)
STILL_HELD: Final = 2**63 - 1
SCREENINGS: Final = (None, "clear", "hit", "review", "not_covered")
VERIFICATIONS: Final = (None, "UNVERIFIED", "PENDING", "MANUAL_REVIEW", "VERIFIED", "DENIED")
HIT: Final = "hit"
_SCREENING_BITS: Final = 3
_VERIFICATION_BITS: Final = 3
_MASK: Final = 7


class Holding(NamedTuple):
    """An agent had a wallet from ``since`` on, until before ``until``."""

    since: int
    until: int
    actor: int


class Screened(NamedTuple):
    """The newest profile of a wallet; the day is counted since the epoch, 0 for none or one before it."""

    screening: str | None
    verification: str | None
    day: int


class AgentFacts(InMemory):
    """The index's newest statement on one agent. ``body_digest`` detects a repeated item."""

    body_digest: int = -1
    order: int = ALWAYS_HELD
    wallet_known_at: int = ALWAYS_HELD
    wallet: str | None = None
    owner: str | None = None
    active: bool | None = None
    registered_at: int | None = None
    owner_changed_at: int | None = None
    feedback_count: int | None = None
    paid_feedback_count: int | None = None
    revoked_feedback_count: int | None = None
    starred_count: int | None = None
    starred_mean: int | None = None
    validation_count: int | None = None
    validation_mean: int | None = None
    screening: str | None = None
    screened_at: int | None = None
    settlements: int = 0
    units: int = 0


class AgentBook:
    """Agents by the index of their actor, wallets by key."""

    def __init__(self) -> None:
        self.facts: dict[int, AgentFacts] = {}
        self.linked: dict[int, int] = {}  # counterparties that are an agent's wallet
        self.listed: set[int] = set()  # counterparties whose wallet is on a sanctions list
        self.pending: dict[int, int] = {}  # settlements that are not final, by row, with their instant
        self.import_id: str | None = None
        self.new_transfers = self.new_counterparties = self.new_agent_counterparties = 0
        self.skipped: dict[str, int] = {}
        self._holdings: dict[str, tuple[Holding, ...]] = {}
        self._own_parties: dict[int, list[int]] = {}
        self._screened = IdIndex()
        self._units = array("q")  # by the transfer's row

    @property
    def oldest_pending_at(self) -> int | None:
        return min(self.pending.values(), default=None)

    def note_status(self, row: int, settled_at: int, *, is_pending: bool) -> None:
        """Remember a settlement until it is final."""
        if is_pending:
            self.pending[row] = settled_at
        else:
            self.pending.pop(row, None)

    def begin_import(self, import_id: str) -> None:
        """Begin the counts of new objects again."""
        self.import_id = import_id
        self.new_transfers = self.new_counterparties = self.new_agent_counterparties = 0
        self.skipped = {}

    def count_skipped(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def holders_at(self, wallet: str, at: int) -> list[int]:
        """The agents that held the wallet at an instant."""
        return [each.actor for each in self._holdings.get(wallet, ()) if each.since <= at < each.until]

    def holders(self, wallet: str) -> list[int]:
        """The agents that hold the wallet."""
        return [each.actor for each in self._holdings.get(wallet, ()) if each.until == STILL_HELD]

    def assign(self, actor: int, wallet: str | None, *, since: int, released_at: int) -> None:
        """Give an agent its wallet, and end its previous one at ``released_at``."""
        facts = self.facts[actor]
        former = facts.wallet
        if former is not None:
            self._holdings[former] = tuple(
                each._replace(until=released_at) if each.actor == actor and each.until == STILL_HELD else each
                for each in self._holdings[former]
            )
        facts.wallet = wallet
        if wallet is not None:
            self._holdings[wallet] = (*self._holdings.get(wallet, ()), Holding(since, STILL_HELD, actor))

    def link(self, counterparty: int, actor: int) -> bool:
        """Remember that a payer is an agent's wallet; True when it had no agent before."""
        former = self.linked.get(counterparty)
        if former == actor:
            return False
        if former is not None:
            self._own_parties[former].remove(counterparty)
        self.linked[counterparty] = actor
        self._own_parties.setdefault(actor, []).append(counterparty)
        return former is None

    def own_parties(self, actor: int) -> list[int]:
        return self._own_parties.get(actor, [])

    def is_hit(self, actor: int) -> bool:
        facts = self.facts.get(actor)
        return facts is not None and facts.screening == HIT

    def screened(self, wallet: str) -> Screened | None:
        """The newest profile of a wallet; None without one."""
        code = self._screened.get(key_of(wallet))
        if code is None:
            return None
        verification = VERIFICATIONS[code >> _SCREENING_BITS & _MASK]
        return Screened(SCREENINGS[code & _MASK], verification, code >> (_SCREENING_BITS + _VERIFICATION_BITS))

    def screen(self, wallet: str, screened: Screened) -> bool:
        """Store a profile's statement; False when it is already stored."""
        code = SCREENINGS.index(screened.screening) | VERIFICATIONS.index(screened.verification) << _SCREENING_BITS
        code |= screened.day << (_SCREENING_BITS + _VERIFICATION_BITS)
        key = key_of(wallet)
        if self._screened.get(key) == code:
            return False
        self._screened.put(key, code)
        return True

    def add_settlement(self, actor: int, row: int, units: int) -> None:
        """Count a settlement that is stored as the transfer of that row."""
        if len(self._units) <= row:
            self._units.extend([0] * (row + 1 - len(self._units)))
        self._units[row] = units
        self.count_settlement(actor, units, 1)

    def count_settlement(self, actor: int, units: int, sign: int) -> None:
        """Count a settlement, or with -1 subtract it."""
        facts = self.facts[actor]
        facts.settlements += sign
        facts.units += sign * units

    def units_of(self, row: int) -> int:
        """The exact amount of a settlement."""
        return self._units[row] if row < len(self._units) else 0

    def dump(self) -> Iterator[tuple[str, Any]]:
        counted = (self.new_transfers, self.new_counterparties, self.new_agent_counterparties, self.skipped)
        yield "import", (self.import_id, *counted, sorted(self.listed))
        yield from in_slices("pending", self.pending.items())
        yield from in_slices("facts", ((actor, *astuple(facts)) for actor, facts in self.facts.items()))
        yield from in_slices("holdings", self._holdings.items())
        yield from in_slices("linked", self.linked.items())
        yield "screened", self._screened.dump()
        yield "units", self._units.tobytes()

    def load(self, dumped: Any) -> None:
        """Restore one part of a dump."""
        part, value = dumped
        if part == "import":
            self.import_id, self.new_transfers, self.new_counterparties = value[:3]
            self.new_agent_counterparties, self.skipped = value[3:5]
            self.listed = set(value[5])
        elif part == "facts":
            self.facts.update((actor, AgentFacts(*fields)) for actor, *fields in value)
        elif part == "pending":
            self.pending.update((row, at) for row, at in value)
        elif part == "holdings":
            self._holdings.update((wallet, tuple(Holding(*each) for each in holdings)) for wallet, holdings in value)
        elif part == "linked":
            for counterparty, actor in value:
                self.link(counterparty, actor)
        elif part == "screened":
            self._screened.load(value)
        else:
            self._units.frombytes(value)
