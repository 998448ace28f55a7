"""The transfers that belong to a finding, by amount, rail, type and status, and the newest ones of a program.

Bounds  the newest ``NAMED`` transfers are named; where a transfer's amount, type or return decides, the newest
        ``READ`` are read
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from clearhold.features.catalogue.thresholds import MICRO_BELOW_CENTS, is_round, lines_of
from clearhold.features.core.money import ACH_CLASSES, ACH_DEBIT, CARD_CLASSES, ORIGINATED_CLASS
from clearhold.features.detectors.detector import DetectionContext
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import TransferBrief, priced
from clearhold.features.windows.series_kinds import DECLINED, FRAUD_REASONS

NAMED: Final = 100
READ: Final = 500
_WITHIN_PARTS: Final = 10

Place = tuple[int, int]  # own time and row of a transfer
Places = set[Place]
Keep = Callable[[TransferBrief], bool]


class SupportingTransfers(NamedTuple):
    """``rows`` are the newest ones, oldest first; ``total`` counts all."""

    rows: tuple[int, ...]
    total: int


def newest_of_program(
    program: ProgramState, after: int, upto: int, keep: Callable[[ProgramState, TransferBrief], bool]
) -> Places:
    """The program's newest transfers in (after, upto], among the newest that it has."""
    places = Places()
    for row in range(len(program.transfers) - 1, max(-1, len(program.transfers) - 1 - READ), -1):
        record = program.transfers.glance(row)
        if after < record.at <= upto and keep(program, record):
            places.add((record.at, row))
            if len(places) == NAMED:
                break
    return places


def in_zone(context: DetectionContext) -> Keep:
    lines = lines_of(context.vector.structuring_thresholds)
    zones = frozenset(lines.zones(context.vector.amount_cents))
    return lambda record: record.class_id not in CARD_CLASSES and not zones.isdisjoint(lines.zones(record.cents))


def alike(context: DetectionContext) -> Keep:
    cents = context.vector.amount_cents or 0  # a transfer without US cents repeats no amount
    slack = cents // _WITHIN_PARTS
    return lambda record: cents - slack <= record.cents <= cents + slack


def in_thousands(_context: DetectionContext) -> Keep:
    return lambda record: record.class_id not in CARD_CLASSES and is_round(record.cents)


def is_below(record: TransferBrief, line_cents: int) -> bool:
    """True for an amount under the line; False without US cents."""
    cents = priced(record.cents)
    return cents is not None and cents < line_cents


def micro(_context: DetectionContext) -> Keep:
    return lambda record: record.class_id in ACH_CLASSES and is_below(record, MICRO_BELOW_CENTS)


def but_cards(_context: DetectionContext) -> Keep:
    return lambda record: record.class_id not in CARD_CLASSES


def fraud_declined(program: ProgramState, record: TransferBrief) -> bool:
    text = program.strings.text
    return (
        record.class_id in CARD_CLASSES
        and text(record.status) == DECLINED
        and text(record.card_reason) in FRAUD_REASONS
    )


def originated(_program: ProgramState, record: TransferBrief) -> bool:
    return record.moved and record.class_id == ORIGINATED_CLASS and record.ach_type == ACH_DEBIT
