"""The facts of a whole program, which belong to no single party: its series, its declaration, thresholds, arrivals.

Thresholds  A new reporting threshold is counted from seven days before, the longest window that is counted under it; a
            threshold no longer in force is counted on, because a transfer of its time may still be measured or
            corrected. So the thresholds that count a transfer depend on its amount and its own time alone, and it
            leaves the same windows that it entered.
Arrivals    A vector is a function of the facts applied before it. While every fact arrives at or after the newest own
            time, the order of arrival is the order of own time, and a replay in that order is the stream itself, entry
            by entry; its stored vectors need no recomputing. ``features/shard/backfill.py`` gives a replay the same own
            times. Of one own time, a replay applies the earlier state of an object first, so one that arrives after the
            later state is late.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from clearhold.features.bank.purchases import Purchase
from clearhold.features.catalogue.thresholds import Lines
from clearhold.features.core.in_memory import InMemory
from clearhold.features.core.instants import DAYS_7
from clearhold.features.core.money import ACH_TYPES, RAIL_CLASSES
from clearhold.features.policy.in_force import PolicyBook
from clearhold.features.state.counted import Counted
from clearhold.features.state.counterparty_book import CounterpartyBook
from clearhold.features.state.purchases import CategoryUsual, PurchaseTable
from clearhold.features.state.transfer_table import TransferTable
from clearhold.features.windows.acquaintances import Acquaintances
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.edges import Edges
from clearhold.features.windows.graph import Graph
from clearhold.features.windows.id_index import StringTable
from clearhold.features.windows.prevalence import Prevalence
from clearhold.features.windows.series import ALWAYS, EventTimes
from clearhold.features.windows.series_kinds import SeriesByKind, SeriesKind, kinds_of


class Declared(NamedTuple):
    """The program's declared figures, in the form of the vector."""

    monthly_volume_cents: int | None
    rails: str
    countries: str


class ProgramSeries(InMemory):
    """The program-wide series for the vector, beside the baseline."""

    amounts: AmountSeries
    originated: AmountSeries
    unauthorized: EventTimes
    graph: Graph
    acquaintances: Acquaintances
    series_by_kind: SeriesByKind
    cards: dict[int, SeriesByKind]
    attempts: dict[int, Edges]
    purchases: PurchaseTable
    categories: CategoryUsual
    strings: StringTable
    transfers: TransferTable
    counted: dict[int, tuple[Counted, ...]]
    counterparties: CounterpartyBook
    merged: dict[int, int]  # index of an account that was an actor: index of the entity that its history joined
    policies: PolicyBook
    prevalence: Prevalence

    def cents_of(self, row: int, as_of: int) -> int | None:
        """A transfer's US cents as known at an instant, None when not known then."""
        history = self.counted.get(row)
        if history is None:
            return self.transfers.cents(row)
        return next(counted.cents for counted in reversed(history) if counted.known_at <= as_of)

    def sides_of(self, row: int, as_of: int) -> tuple[int, int]:
        """A transfer's actor and counterparty as known at an instant."""
        history = self.counted.get(row)
        if history is None:
            actor, counterparty = self.transfers.sides(row)
        else:
            counted = next(each for each in reversed(history) if each.known_at <= as_of)
            actor, counterparty = counted.actor, counted.counterparty
        return self.merged.get(actor, actor), counterparty

    def purchase_of(self, row: int, as_of: int) -> tuple[Purchase, str | None, int]:
        """The purchase, the country and the counterparty of a card transfer as known at an instant."""
        history = self.counted.get(row)
        if history is None:
            brief = self.transfers.glance(row)
            number, country, counterparty = self.transfers.purchase(row), brief.country, brief.counterparty
        else:
            counted = next(each for each in reversed(history) if each.known_at <= as_of)
            number, country, counterparty = counted.purchase, counted.country, counted.counterparty
        return self.purchases.all[number], self.strings.text(country), counterparty

    def received_cents(self, row: int, actor: int, as_of: int) -> int:
        """A transfer's amount when that actor received it, cards apart, as known at an instant; else 0."""
        if self.sides_of(row, as_of)[0] != actor:
            return 0
        record, cents = self.transfers.glance(row), self.cents_of(row, as_of)
        history = self.counted.get(row, ())
        ach_type = next((each.ach_type for each in reversed(history) if each.known_at <= as_of), record.ach_type)
        kinds = kinds_of(*RAIL_CLASSES[record.class_id], ACH_TYPES[ach_type], cents)
        return cents or 0 if SeriesKind.RECEIVED in kinds else 0


class CountedLines:
    def __init__(self, seeded: Iterable[int]) -> None:
        self._after: dict[int, int] = dict.fromkeys(seeded, ALWAYS)
        self._lines = Lines(self._after)
        self._latest = ALWAYS

    def zones(self, cents: int, at: int) -> tuple[int, ...]:
        """The thresholds that count a transfer of that amount and time."""
        zones = self._lines.zones(cents)
        if at > self._latest:
            return zones
        return tuple(line for line in zones if at > self._after[line])

    def add(self, cents: Iterable[int], *, since: int) -> tuple[int, ...]:
        """Count under further thresholds in force since an instant; returns the new ones."""
        new = tuple(line for line in cents if line not in self._after)
        after = since if since == ALWAYS else since - DAYS_7
        self._after.update(dict.fromkeys(new, after))
        self._lines = Lines(self._after)
        self._latest = max(self._after.values())
        return new

    def after(self, line: int) -> int:
        """The instant after which a threshold counts transfers."""
        return self._after[line]

    def dump(self) -> Any:
        return list(self._after.items())

    def load(self, dumped: Any) -> None:
        self._after = dict(dumped)
        self._lines = Lines(self._after)
        self._latest = max(self._after.values(), default=ALWAYS)


class Arrivals:
    """``newest_at`` is the newest own time so far, ``newest_offset`` the offset of the newest entry, backfills apart.

    ``is_late`` is set by a fact with an older own time than one before it, and by an older snapshot of one own time.
    ``scores_changed`` is set when scores change by a card or a backfill, on which the band of an entity may depend, and
    by it how often it must be screened.
    """

    __slots__ = ("is_late", "newest_at", "newest_offset", "scores_changed")

    def __init__(self) -> None:
        self.newest_at = ALWAYS
        self.newest_offset = 0
        self.is_late = False
        self.scores_changed = False

    def note(self, own_at: int) -> bool:
        """A fact with this own time arrived; True when it is the own time of the newest one before it."""
        is_tied = own_at == self.newest_at
        if own_at < self.newest_at:
            self.is_late = True
        else:
            self.newest_at = own_at
        return is_tied

    def dump(self) -> tuple[Any, ...]:
        return (self.newest_at, self.newest_offset, self.is_late, self.scores_changed)

    def load(self, dumped: Any) -> None:
        self.newest_at, self.newest_offset, self.is_late, self.scores_changed = dumped
