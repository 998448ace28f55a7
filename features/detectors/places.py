"""The supporting transfers of a finding: how many are named, and the newest of a program.

Bounds  the newest ``NAMED`` are named; where a transfer's amount, type or return decides, the newest ``READ`` are read
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import TransferBrief

NAMED: Final = 100
READ: Final = 500

Place = tuple[int, int]  # own time and row of a transfer
Places = set[Place]


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
