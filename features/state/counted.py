"""The contributions of a transfer to the windows over time, of transfers that changed after they were first seen."""

from typing import Any, NamedTuple

from clearhold.features.state.transfer_table import ReturnState, return_of
from clearhold.features.windows.series_kinds import SeriesKind


class Counted(NamedTuple):
    """The contribution of a transfer to the windows from ``known_at`` on; stored for transfers that changed later."""

    known_at: int
    cents: int | None
    actor: int
    counterparty: int
    ach_type: int
    moved: bool
    card: int  # the card that the attempt is counted for
    country: int  # as of a record, of a card transfer; 0 of others
    purchase: int
    attempts: tuple[SeriesKind, ...]
    returned: ReturnState | None


def counted_of(dumped: Any) -> Counted:
    *fields, attempts, state = dumped
    kinds = tuple(SeriesKind(kind) for kind in attempts)
    return Counted._make((*fields, kinds, None if state is None else return_of(state)))
