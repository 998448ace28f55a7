"""The transfers behind a finding, selected by amount, rail, type and status.

Bounds  the newest ``NAMED`` are named; where a transfer's amount, type or return decides, the newest ``READ`` are read
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from clearhold.features.catalogue.thresholds import MICRO_BELOW_CENTS, ROUND_FROM_CENTS, ROUND_STEP_CENTS, lines_of
from clearhold.features.core.money import ACH_CLASSES, ACH_DEBIT, CARD_CLASSES, ORIGINATED_CLASS
from clearhold.features.detectors.detector import DetectionContext
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import AT, CENTS, UNPRICED
from clearhold.features.windows.edges import Edges
from clearhold.features.windows.narrow_table import Numbers
from clearhold.features.windows.series_kinds import DECLINED, FRAUD_REASONS

NAMED: Final = 100
READ: Final = 500
_WITHIN_PARTS: Final = 10

Flags = npt.NDArray[np.bool_]
Keep = Callable[[DetectionContext, Numbers], Flags]
"""Which of the program's transfers, by row, support a finding."""
Place = tuple[int, int]  # own time and row of a transfer
Places = Numbers
"""The own times of transfers, and below them their rows, in this order: each transfer once."""
NO_PLACES: Final[Places] = np.zeros((2, 0), np.int64)


class SupportingTransfers(NamedTuple):
    """``rows`` are the newest ones, oldest first; ``total`` counts all."""

    rows: Numbers
    total: int


def supporting(places: Places, total: int) -> SupportingTransfers:
    """The newest of these transfers, of ``total`` or more."""
    return SupportingTransfers(places[1, -NAMED:], max(places.shape[1], total))


def places_of(pairs: Iterable[Place]) -> Places:
    return np.array(sorted(set(pairs)), np.int64).reshape(-1, 2).T


def joined(*parts: Places) -> Places:
    filled = [part for part in parts if part.size]
    if len(filled) <= 1:
        return filled[0] if filled else NO_PLACES
    places = np.concatenate(filled, axis=1)
    places = places[:, np.lexsort(places[::-1])]
    return places[:, np.append(True, np.diff(places).any(axis=0))]


def within(edges: Iterable[Edges], after: int, upto: int, most: int = READ) -> Places:
    """The newest transfers of these edges in (after, upto]."""
    return joined(*(np.array(each.newest_places(after, upto, most), np.int64) for each in edges))[:, -most:]


def newest_of_program(program: ProgramState, after: int, upto: int, keep: Callable[[Numbers], Flags]) -> Places:
    """The program's newest transfers in (after, upto], among the newest that it has."""
    count = len(program.transfers)
    rows = np.arange(max(0, count - READ), count)
    times = program.transfers.column(rows, AT)
    newest = np.flatnonzero((times > after) & (times <= upto) & keep(rows))[-NAMED:]
    return places_of(zip(times[newest].tolist(), rows[newest].tolist(), strict=True))


def flags(values: Iterable[bool]) -> Flags:
    return np.fromiter(values, np.bool_)


def moved(program: ProgramState, rows: Numbers) -> Flags:
    is_moved: Flags = program.transfers.kind(rows, "moved") == 1
    return is_moved


def of_classes(classes: frozenset[int]) -> Keep:
    """The transfers of these rails and directions."""
    return lambda context, rows: np.isin(context.program.transfers.kind(rows, "class_id"), tuple(classes))


of_cards: Final = of_classes(CARD_CLASSES)
_of_ach: Final = of_classes(ACH_CLASSES)
_of_originated: Final = of_classes(frozenset({ORIGINATED_CLASS}))


def but_cards(context: DetectionContext, rows: Numbers) -> Flags:
    return ~of_cards(context, rows)


def in_zone(context: DetectionContext, rows: Numbers) -> Flags:
    lines = lines_of(context.vector.structuring_thresholds)
    own = frozenset(lines.zones(context.vector.amount_cents))
    shared: Flags = np.array([False, *(not own.isdisjoint(lines.zones(edge)) for edge in lines.zone_edges)])
    cents = context.program.transfers.column(rows, CENTS)
    return but_cards(context, rows) & shared[np.searchsorted(lines.zone_edges, cents, side="right")]


def alike(context: DetectionContext, rows: Numbers) -> Flags:
    cents = context.vector.amount_cents or 0  # a transfer without US cents repeats no amount
    return np.abs(context.program.transfers.column(rows, CENTS) - cents) <= cents // _WITHIN_PARTS


def in_thousands(context: DetectionContext, rows: Numbers) -> Flags:
    cents = context.program.transfers.column(rows, CENTS)
    is_step: Flags = cents % ROUND_STEP_CENTS == 0
    return but_cards(context, rows) & is_step & (cents >= ROUND_FROM_CENTS)


def are_below(context: DetectionContext, rows: Numbers, line_cents: int) -> Flags:
    """True for an amount under the line; False without US cents."""
    cents = context.program.transfers.column(rows, CENTS)
    is_known: Flags = cents != UNPRICED
    return is_known & (cents < line_cents)


def micro(context: DetectionContext, rows: Numbers) -> Flags:
    return _of_ach(context, rows) & are_below(context, rows, MICRO_BELOW_CENTS)


def declined(context: DetectionContext, rows: Numbers) -> Flags:
    text = context.program.strings.text
    return flags(text(status) == DECLINED for status in context.program.transfers.kind(rows, "status").tolist())


def fraud_declined(context: DetectionContext, rows: Numbers) -> Flags:
    text, reasons = context.program.strings.text, context.program.transfers.kind(rows, "card_reason").tolist()
    is_fraud = flags(text(reason) in FRAUD_REASONS for reason in reasons)
    return of_cards(context, rows) & declined(context, rows) & is_fraud


def originated(context: DetectionContext, rows: Numbers) -> Flags:
    is_debit: Flags = context.program.transfers.kind(rows, "ach_type") == ACH_DEBIT
    return moved(context.program, rows) & is_debit & _of_originated(context, rows)
