"""The transfers behind a finding, selected by amount, rail, type and status.

Bounds  the newest ``NAMED`` are named; where a transfer's amount, type or return decides, ``MOST_READ`` are read
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from clearhold.features.catalogue.thresholds import MICRO_BELOW_CENTS, ROUND_FROM_CENTS, ROUND_STEP_CENTS, lines_of
from clearhold.features.core.money import ACH_CLASSES, ACH_DEBIT, CARD_CLASSES, ORIGINATED_CLASS, RAIL_CLASSES
from clearhold.features.detectors.detector import DetectionContext
from clearhold.features.state.program import ProgramState
from clearhold.features.state.read_transfers import MOST_READ
from clearhold.features.state.transfer_table import AT, CENTS, NO_PLACES, RAW_OFFSET, ROW, UNPRICED, Places
from clearhold.features.windows.edges import Edges
from clearhold.features.windows.narrow_table import Numbers
from clearhold.features.windows.series_kinds import DECLINED, FRAUD_REASONS

NAMED: Final = 100
_WITHIN_PARTS: Final = 10

Flags = npt.NDArray[np.bool_]
Keep = Callable[[DetectionContext, Places], Flags]
"""Which of these transfers support a finding."""


class SupportingTransfers(NamedTuple):
    """``places`` are the newest ones, as of the finding, by own time and row; ``total`` counts all."""

    places: Places
    total: int

    @property
    def offsets(self) -> Numbers:
        """The log offsets that delivered their newest snapshots."""
        offsets: Numbers = self.places[RAW_OFFSET]
        return offsets


def supporting(places: Places, total: int) -> SupportingTransfers:
    """The newest of these transfers, of ``total`` or more."""
    return SupportingTransfers(places[:, -NAMED:].copy(), max(places.shape[1], total))


def places_of(program: ProgramState, rows: Iterable[int]) -> Places:
    """The transfers in these rows, by own time and row."""
    return _in_order(program.transfers.places(np.array(sorted({*rows}), np.int64)))


def joined(*parts: Places) -> Places:
    """The transfers of all parts, by own time and row, each once."""
    filled = parts if len(parts) == 1 else [part for part in parts if part.size]
    if len(filled) <= 1:
        return filled[0] if filled else NO_PLACES
    places = _in_order(np.concatenate(filled, axis=1))
    return places[:, np.append(True, places[ROW, 1:] != places[ROW, :-1])]


def kept(places: Places, is_kept: Flags) -> Places:
    return places if np.count_nonzero(is_kept) == len(is_kept) else places.compress(is_kept, axis=1)


def within(program: ProgramState, edges: Iterable[Edges], after: int, upto: int, most: int = MOST_READ) -> Places:
    """The newest transfers of these edges in (after, upto]."""
    return joined(*[program.read_transfers.within(each, after, upto, most) for each in edges])[:, -most:]


def newest_of_program(program: ProgramState, after: int, upto: int, keep: Callable[[Places], Flags]) -> Places:
    """The program's newest transfers in (after, upto], among the newest that it has."""
    count = len(program.transfers)
    places = program.transfers.places(np.arange(max(0, count - MOST_READ), count))
    times = places[AT]
    return _in_order(places[:, np.flatnonzero((times > after) & (times <= upto) & keep(places))[-NAMED:]])


def _in_order(places: Places) -> Places:
    return places[:, np.lexsort((places[ROW], places[AT]))]


def flags(values: Sequence[bool]) -> Flags:
    return np.array(values, np.bool_)


def moved(program: ProgramState, places: Places) -> Flags:
    is_moved: Flags = program.transfers.kind(places, "moved") == 1
    return is_moved


def of_classes(classes: frozenset[int]) -> Keep:
    """The transfers of these rails and directions."""
    is_of = np.array([class_id in classes for class_id in range(len(RAIL_CLASSES))])

    def keep(context: DetectionContext, places: Places) -> Flags:
        is_kept: Flags = is_of[context.program.transfers.kind(places, "class_id")]
        return is_kept

    return keep


of_cards: Final = of_classes(CARD_CLASSES)
_of_ach: Final = of_classes(ACH_CLASSES)
_of_originated: Final = of_classes(frozenset({ORIGINATED_CLASS}))


def but_cards(context: DetectionContext, places: Places) -> Flags:
    return ~of_cards(context, places)


def in_zone(context: DetectionContext, places: Places) -> Flags:
    lines = lines_of(context.vector.structuring_thresholds)
    own = frozenset(lines.zones(context.vector.amount_cents))
    shared: Flags = np.array([False, *(not own.isdisjoint(lines.zones(edge)) for edge in lines.zone_edges)])
    cents: Numbers = places[CENTS]
    return but_cards(context, places) & shared[np.searchsorted(lines.zone_edges, cents, side="right")]


def alike(context: DetectionContext, places: Places) -> Flags:
    cents = context.vector.amount_cents or 0  # a transfer without US cents repeats no amount
    is_alike: Flags = np.abs(places[CENTS] - cents) <= cents // _WITHIN_PARTS
    return is_alike


def in_thousands(context: DetectionContext, places: Places) -> Flags:
    cents: Numbers = places[CENTS]
    is_step: Flags = cents % ROUND_STEP_CENTS == 0
    return but_cards(context, places) & is_step & (cents >= ROUND_FROM_CENTS)


def are_below(places: Places, line_cents: int) -> Flags:
    """True for an amount under the line; False without US cents."""
    cents: Numbers = places[CENTS]
    is_known: Flags = cents != UNPRICED
    return is_known & (cents < line_cents)


def micro(context: DetectionContext, places: Places) -> Flags:
    return _of_ach(context, places) & are_below(places, MICRO_BELOW_CENTS)


def declined(context: DetectionContext, places: Places) -> Flags:
    return _is_worded(context, places, "status", frozenset({DECLINED}))


def fraud_declined(context: DetectionContext, places: Places) -> Flags:
    is_fraud = _is_worded(context, places, "card_reason", FRAUD_REASONS)
    return of_cards(context, places) & declined(context, places) & is_fraud


def _is_worded(context: DetectionContext, places: Places, field: str, words: Collection[str]) -> Flags:
    """Whether a field of a transfer's kind is one of these words; each of its few values is looked up once."""
    numbers, values = np.unique(context.program.transfers.kind(places, field), return_inverse=True)
    is_word: Flags = flags([context.program.strings.text(number) in words for number in numbers.tolist()])[values]
    return is_word


def originated(context: DetectionContext, places: Places) -> Flags:
    is_debit: Flags = context.program.transfers.kind(places, "ach_type") == ACH_DEBIT
    return moved(context.program, places) & is_debit & _of_originated(context, places)
