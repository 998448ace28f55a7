"""What is measured, and over what: one transfer, landed or proposed, and the series of its program."""

from typing import Final

import msgspec

from features.core.instants import DAY_US
from features.core.vocabulary import Rail
from features.state.parties import Actor, Counterparty, CounterpartyBook
from features.state.transfer_table import Counted, TransferTable
from features.windows.acquaintances import Acquaintances
from features.windows.edges import NOBODY, Graph
from features.windows.series import AmountSeries, EventTimes
from features.windows.series_kinds import Lane, Lanes

DAYS_7: Final = 7 * DAY_US
DAYS_30: Final = 30 * DAY_US
DAYS_60: Final = 60 * DAY_US
DAYS_90: Final = 90 * DAY_US


class Declared(msgspec.Struct, frozen=True, gc=False):
    """What the program declared, in the form the vector carries it."""

    monthly_volume_cents: int | None
    rails: str
    countries: str


class Own(msgspec.Struct, frozen=True, gc=False):
    """What a transfer that is measured again has already put into the windows, and must not count."""

    actor: Actor | None = None
    counterparty: Counterparty | None = None
    cents: int = 0
    moved: bool = False
    ach_debit: bool = False
    originated: bool = False
    returned_at: int | None = None
    unauthorized: bool = False
    stop: bool = False
    lanes: tuple[Lane, ...] = ()
    card: int = NOBODY
    attempts: tuple[Lane, ...] = ()
    row: int = NOBODY


NOT_YET: Final = Own()


class Subject(msgspec.Struct, frozen=True, gc=False):
    """The transfer to be measured. ``counterparty`` is None for a stranger and when none was named."""

    rail: str
    direction: str
    type: str | None
    cents: int
    status: str | None
    country: str | None
    card_reason: str | None
    sec_code: str | None
    actor: Actor | None
    counterparty: Counterparty | None
    counterparty_named: bool
    account_changed: bool
    source: int  # nodes of the graph; NOBODY when the side is not known or not met yet
    target: int
    card: int  # whose attempts a card transfer is one of
    account: tuple[str | None, str | None] | None  # routing number and last four of the counterparty
    own: Own = NOT_YET

    @property
    def degraded(self) -> bool:
        """A missing country matters only where money crosses borders: international wires and IAT entries."""
        return self.country is None and (self.rail == Rail.INTL_WIRE or self.sec_code == "IAT")


class ProgramSeries(msgspec.Struct, gc=False):
    """The program-wide series that the vector reads, beside the baseline."""

    amounts: AmountSeries
    originated: EventTimes
    unauthorized: EventTimes
    graph: Graph
    met: Acquaintances
    lanes: Lanes
    cards: dict[int, Lanes]
    transfers: TransferTable
    counted: dict[int, list[Counted]]
    counterparties: CounterpartyBook

    def cents_of(self, row: int, as_of: int) -> int:
        """A transfer's amount as known at an instant."""
        history = self.counted.get(row)
        if history is None:
            return self.transfers.cents(row)
        return next(held.cents for held in reversed(history) if held.known_at <= as_of)

    def sides_of(self, row: int, as_of: int) -> tuple[int, int]:
        """A transfer's actor and counterparty as known at an instant."""
        history = self.counted.get(row)
        if history is None:
            return self.transfers.sides(row)
        held = next(held for held in reversed(history) if held.known_at <= as_of)
        return held.actor, held.counterparty
