"""The program-wide series for measurements, which belong to no single party, and the program's declaration."""

from typing import NamedTuple

from clearhold.features.core.in_memory import InMemory
from clearhold.features.core.money import ACH_TYPES, RAIL_CLASSES
from clearhold.features.policy.in_force import PolicyBook
from clearhold.features.state.counterparty_book import CounterpartyBook
from clearhold.features.state.transfer_table import Counted, TransferTable
from clearhold.features.windows.acquaintances import Acquaintances
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.graph import Graph
from clearhold.features.windows.series import EventTimes
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
    transfers: TransferTable
    counted: dict[int, tuple[Counted, ...]]
    counterparties: CounterpartyBook
    merged: dict[int, int]  # index of an account that was an actor: index of the entity that its history joined
    policies: PolicyBook

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

    def received_cents(self, row: int, actor: int, as_of: int) -> int:
        """A transfer's amount when that actor received it, cards apart, as known at an instant; else 0."""
        if self.sides_of(row, as_of)[0] != actor:
            return 0
        record, cents = self.transfers.glance(row), self.cents_of(row, as_of)
        history = self.counted.get(row, ())
        ach_type = next((each.ach_type for each in reversed(history) if each.known_at <= as_of), record.ach_type)
        kinds = kinds_of(*RAIL_CLASSES[record.class_id], ACH_TYPES[ach_type], cents)
        return cents or 0 if SeriesKind.RECEIVED in kinds else 0
