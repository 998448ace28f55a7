"""The state of one program in memory: everything that scores its transfers.

``ProgramState`` holds the parties, the windows, the open pre-flights, the alerts and the newest state of each transfer.
One thread changes it (``features/shard``); pre-flight reads it between two entries.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Final

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.money import UsdRate, parse_cents, rates_of
from clearhold.features.core.principal import Program
from clearhold.features.policy.autonomy import AutonomyBook
from clearhold.features.policy.card_book import CardBook
from clearhold.features.policy.in_force import PolicyBook
from clearhold.features.state.account_book import AccountBook, CardTable
from clearhold.features.state.action_book import ActionBook, ProgramCaps
from clearhold.features.state.agent_book import AgentBook
from clearhold.features.state.alert_book import AlertBook
from clearhold.features.state.clearings import Clearings
from clearhold.features.state.closing_evidence import ClosingEvidence, RuleMatches
from clearhold.features.state.counted import Counted, counted_of
from clearhold.features.state.counterparty_book import CounterpartyBook
from clearhold.features.state.day_tallies import DayTallies
from clearhold.features.state.kri_facts import KriFacts, KriHistory, KriMemory
from clearhold.features.state.kri_windows import KriWindows
from clearhold.features.state.open_preflights import OpenPreflights
from clearhold.features.state.parties import NO_ACTOR, Actor, KnownCounterparty
from clearhold.features.state.party_details import SnapshotOrder
from clearhold.features.state.program_series import Arrivals, CountedLines, Declared, ProgramSeries
from clearhold.features.state.purchases import CategoryUsual, PurchaseTable
from clearhold.features.state.read_transfers import ReadTransfers
from clearhold.features.state.score_memory import ScoreMemory
from clearhold.features.state.transfer_table import ReturnState, TransferTable, return_of
from clearhold.features.windows.acquaintances import Acquaintances
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.baseline import Baseline
from clearhold.features.windows.edges import NOBODY, Edges, node_of_actor, node_of_counterparty
from clearhold.features.windows.graph import Graph
from clearhold.features.windows.id_index import IdIndex, StringTable, sliced
from clearhold.features.windows.prevalence import Prevalence
from clearhold.features.windows.series import ALWAYS, EventTimes
from clearhold.features.windows.series_kinds import SeriesByKind, dump_series, load_series

AGENTS_SLUG: Final = "agents"
UNDECLARED: Final = Declared(monthly_volume_cents=None, rails="", countries="")
_PARTS: Final = (
    *("program", "baseline", "originated", "unauthorized", "graph", "acquaintances", "series", "cards"),
    *("attempts", "card_table", "purchases", "categories", "events", "transfers", "strings", "kri_windows"),
    *("returned", "rates", "refunds_ahead", "counted", "accounts", "kri_facts", "preflights", "scores"),
    *("clearings", "alerts", "actions", "policies", "scorecards", "autonomy", "closing_evidence", "rule_matches"),
    *("caps", "kri_memory", "kri_history", "counted_lines", "day_tallies", "prevalence", "agents", "actors"),
    *("counterparties", "lookups"),
)
"""The parts of a dump, in the order in which they are loaded."""


class ProgramState:
    def __init__(self, program_id: str) -> None:
        self.id = program_id
        self.tenant_id = self.slug = ""
        self.declarations: list[tuple[int, Declared]] = []
        self.events = IdIndex()
        self.arrivals = Arrivals()
        self.transfers = TransferTable()
        self.read_transfers = ReadTransfers(self.transfers)
        self.strings = StringTable()
        self.kri_windows = KriWindows(self.transfers, self.strings, self.declared_at)
        self.kri_facts = KriFacts()
        self.actors: list[Actor] = []
        self.counterparties = CounterpartyBook()
        self.accounts = AccountBook()
        self.baseline = Baseline()
        self.originated = AmountSeries()  # ACH debits that the program sent
        self.unauthorized = EventTimes()
        self.graph, self.acquaintances, self.prevalence = Graph(), Acquaintances(), Prevalence()
        self.series_by_kind = SeriesByKind()
        self.cards: dict[int, SeriesByKind] = {}  # by ``card_key``
        self.card_table = CardTable()
        self.purchases, self.categories = PurchaseTable(), CategoryUsual()
        self.attempts: dict[int, Edges] = {}  # card transfers by card
        self.returned: dict[int, ReturnState] = {}
        self.rates: dict[int, UsdRate] = {}  # of the transfers that count at a rate
        self.refunds_ahead: dict[int, int] = {}  # creation times of card refunds, where after their arrival
        self.counted: dict[int, tuple[Counted, ...]] = {}
        self.preflights = OpenPreflights()
        self.scores = ScoreMemory()
        self.clearings = Clearings()
        self.alerts = AlertBook()
        self.actions = ActionBook()
        self.policies = PolicyBook(program_id)
        self.scorecards = CardBook()
        self.autonomy = AutonomyBook()
        self.closing_evidence = ClosingEvidence()
        self.rule_matches = RuleMatches()
        self.caps = ProgramCaps()
        self.day_tallies = DayTallies()
        self.kri_memory = KriMemory()
        self.kri_history = KriHistory()
        self.counted_lines = CountedLines(self.policies.thresholds(ALWAYS).lines.cents)
        self.agents = AgentBook()
        self.runs_detectors = True  # False where the log is replayed for the scores alone
        self.to_scorings: Callable[[Any], None] | None = None  # gets each scoring, where no other row is of use
        self.introduced: list[Actor] = []  # entities first named since ``emit_introduced`` last ran
        self.screening_news: list[tuple[Actor, frozenset[str]]] = []  # outcomes since ``open_for_outcomes`` last ran
        self._entities, self._account_actors = dict[str, Actor](), dict[str, Actor]()
        self.merged: dict[int, int] = {}  # see ``ProgramSeries``
        self.series = self._series()

    def declare(self, program: Program, *, at: int) -> None:
        """Store a declaration of the program; the first one counts for all earlier time too."""
        self.tenant_id, self.slug = program.tenant_id, program.slug
        self.kri_facts.reserve_account_id = program.program_reserve_account_id
        volume = program.declared_monthly_volume_cents
        declared = Declared(
            monthly_volume_cents=parse_cents(volume) if volume is not None else None,
            rails=",".join(sorted(program.declared_rails)),
            countries=",".join(sorted(program.declared_countries)),
        )
        since = max(at, self.declarations[-1][0]) if self.declarations else ALWAYS
        if self.kri_history.live_from is None:
            self.kri_history.live_from = at // DAY_US
        before = [(row, self.kri_windows.contribution_of(row)) for row in self.kri_windows.rows_from(since)]
        self.declarations.append((since, declared))
        for row, contribution in before:
            self.kri_windows.replace(contribution, self.transfers.read(row))

    @property
    def holds_agents(self) -> bool:
        """True for the program whose entities are on-chain agents."""
        return self.slug == AGENTS_SLUG

    def declared_at(self, at: int) -> Declared:
        declarations = self.declarations
        if not declarations:
            return UNDECLARED
        if declarations[-1][0] <= at:
            return declarations[-1][1]
        return declarations[bisect_right(declarations, at, key=lambda item: item[0]) - 1][1]

    def entity(self, entity_id: str) -> Actor | None:
        return self._entities.get(entity_id)

    def entity_or_new(self, entity_id: str) -> Actor:
        actor = self._entities.get(entity_id)
        if actor is None:
            actor = self._entities[entity_id] = self._new_actor(entity_id, is_account=False)
            self.introduced.append(actor)
        return actor

    def set_owner(self, account_id: str, entity_id: str, order: SnapshotOrder) -> bool:
        """As ``AccountBook.set_owner``; the owner is an entity from then on (history: ``owner_merge.py``)."""
        is_stored = self.accounts.set_owner(account_id, entity_id, order)
        if is_stored:
            self.entity_or_new(entity_id)
        return is_stored

    def account_actor(self, account_id: str) -> Actor | None:
        """The actor of an account that once had no owner, if there is one."""
        return self._account_actors.get(account_id)

    def mark_merged(self, account: Actor, entity: Actor) -> None:
        """Read the account as the entity from now on; its own history is empty."""
        self.merged[account.index] = entity.index
        self.actors[account.index] = self._account_actors[account.id] = Actor.new(
            account.id, account.index, is_account=True
        )

    def known_actor(self, actor_id: str) -> Actor | None:
        """The actor of an id in a question: a known account's owner, else the account, else the entity; else None."""
        if not self.is_account(actor_id):
            return self._entities.get(actor_id)
        owner = self.accounts.owner_of(actor_id)
        return self._account_actors.get(actor_id) if owner is None else self._entities.get(owner)

    def actor_of(self, entity_id: str | None, account_id: str | None) -> Actor | None:
        """The entity, else the account's known owner, else the account itself; created when new."""
        owner = entity_id or (self.accounts.owner_of(account_id) if account_id else None)
        if owner:
            return self.entity_or_new(owner)
        if account_id is None:
            return None
        actor = self._account_actors.get(account_id)
        if actor is None:
            actor = self._account_actors[account_id] = self._new_actor(account_id, is_account=True)
        return actor

    def node_of(self, counterparty: KnownCounterparty) -> int:
        """Its node in the graph, fixed at its first transfer: the node of the actor with the same id, else its own."""
        if counterparty.same_as == NOBODY:
            party_id = counterparty.id
            actor = self.actor_of(None, party_id) if self.is_account(party_id) else self._entities.get(party_id)
            counterparty.same_as = NO_ACTOR if actor is None else actor.index
        return counterparty.node

    def node_if_landed(self, party_id: str, counterparty: KnownCounterparty | None) -> int:
        """The node that ``node_of`` would return, without fixing it; ``NOBODY`` for a new one."""
        if counterparty is not None and counterparty.same_as != NOBODY:
            return counterparty.node
        actor = self.known_actor(party_id)
        if actor is not None:
            return node_of_actor(actor.index)
        return NOBODY if counterparty is None else node_of_counterparty(counterparty.index)

    def is_account(self, party_id: str) -> bool:
        """True for the id of one of the program's own accounts."""
        return party_id in self.accounts or party_id in self._account_actors

    def _new_actor(self, actor_id: str, *, is_account: bool) -> Actor:
        actor = Actor.new(actor_id, len(self.actors), is_account=is_account)
        self.actors.append(actor)
        return actor

    def _series(self) -> ProgramSeries:
        """The part of the state that measurements read."""
        return ProgramSeries(
            self.baseline.amounts,
            self.originated,
            self.unauthorized,
            self.graph,
            self.acquaintances,
            self.series_by_kind,
            self.cards,
            self.attempts,
            self.purchases,
            self.categories,
            self.strings,
            self.transfers,
            self.counted,
            self.counterparties,
            self.merged,
            self.policies,
            self.prevalence,
        )

    def dump(self) -> Iterator[tuple[str, Any]]:
        """The state in parts small enough to be encoded one by one."""
        own: dict[str, Callable[[], Any]] = {
            "program": lambda: (self.id, self.tenant_id, self.slug, self.declarations, self.arrivals.dump()),
            "series": lambda: dump_series(self.series_by_kind),
            "cards": lambda: [(card, dump_series(by_kind)) for card, by_kind in self.cards.items()],
            "attempts": lambda: sliced((card, edges.dump()) for card, edges in self.attempts.items()),
            "returned": lambda: sliced((row, *state) for row, state in self.returned.items()),
            "rates": lambda: sliced(self.rates.items()),
            "refunds_ahead": lambda: sliced(self.refunds_ahead.items()),
            "counted": lambda: sliced(self.counted.items()),
            "accounts": lambda: (*self.accounts.dump(), list(self.merged.items())),
            "actors": lambda: sliced(actor.dump() for actor in self.actors),
            "counterparties": lambda: sliced(party.dump() for party in self.counterparties.all),
            "lookups": self.counterparties.dump_lookups,
        }
        for part in _PARTS:
            dumped = own[part]() if part in own else getattr(self, part).dump()
            if isinstance(dumped, Iterator):
                yield from ((part, each) for each in dumped)
            else:
                yield part, dumped

    def load_part(self, part: str, dumped: Any) -> None:
        """Load one part of a dump, in the order in which ``dump`` yields them."""
        own: dict[str, Callable[[Any], None]] = {
            "program": self._load_program,
            "series": self.series_by_kind.load,
            "cards": lambda cards: self.cards.update((card, load_series(by_kind)) for card, by_kind in cards),
            "attempts": self._load_attempts,
            "returned": lambda rows: self.returned.update((row, return_of(state)) for row, *state in rows),
            "rates": lambda rates: self.rates.update(rates_of(rates)),
            "refunds_ahead": self.refunds_ahead.update,
            "counted": lambda rows: self.counted.update((row, tuple(map(counted_of, each))) for row, each in rows),
            "accounts": self._load_accounts,
            "actors": self._load_actors,
            "counterparties": self.counterparties.load_parties,
            "lookups": self.counterparties.load_lookups,
        }
        (own[part] if part in own else getattr(self, part).load)(dumped)

    def _load_program(self, dumped: Any) -> None:
        _, self.tenant_id, self.slug, declarations, arrivals = dumped
        self.arrivals.load(arrivals)
        self.declarations = [(at, Declared(*fields)) for at, fields in declarations]

    def _load_attempts(self, dumped: Any) -> None:
        for card, part in dumped:
            self.attempts[card] = edges = Edges()
            edges.load(part)

    def _load_accounts(self, dumped: Any) -> None:
        *accounts, merged = dumped
        self.accounts.load(accounts)
        self.merged.update(merged)

    def _load_actors(self, dumped: Any) -> None:
        for each in dumped:
            actor = Actor.loaded(each, len(self.actors))
            self.actors.append(actor)
            (self._account_actors if actor.is_account else self._entities)[actor.id] = actor
