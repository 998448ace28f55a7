"""Returned transfers: what is remembered, and how a return enters and leaves the windows.

A return counts from the moment it was delivered; a dishonoured one stops counting from the dishonour on.
Source  Nacha Operating Rules: R05, R07, R10, R11, R29 and R51 are unauthorized
"""

import msgspec

from features.bank.event_families import (
    PROBING_RETURN_CODES,
    RETURN_UNDONE_STATUSES,
    STOP_RETURN_CODES,
    UNAUTHORIZED_RETURN_CODES,
)
from features.bank.events import TransferSnapshot
from features.state.parties import Actor, Counterparty, probes_of, series_of_party, times_of
from features.state.program import ProgramState
from features.state.transfer_table import ReturnState
from features.windows.series import EventTimes
from features.windows.series_kinds import SeriesKind, enter, leave


class ReturnedTransfer(msgspec.Struct, frozen=True, gc=False):
    """The transfer whose return it is, as far as the windows care."""

    actor: Actor | None
    counterparty: Counterparty | None
    moved: bool  # a transfer that failed or was canceled counts for nothing, and neither does its return
    ach_debit: bool
    originated: bool
    row: int


def first_return(said: TransferSnapshot, *, own_at: int, event_at: int) -> ReturnState | None:
    """The return that a first or an older snapshot tells of, if any."""
    if said.return_code is None and said.returned_at is None:
        return None
    return ReturnState(said.return_code, said.returned_at, max(own_at, event_at), said.return_undone)


def merged_return(
    held: ReturnState | None, said: TransferSnapshot, *, own_at: int, event_at: int
) -> ReturnState | None:
    """What is known after a newer snapshot; a return it does not mention stays."""
    if held is None:
        return first_return(said, own_at=own_at, event_at=event_at)
    code = said.return_code or held.code
    argued = said.return_code is not None or said.status in RETURN_UNDONE_STATUSES or said.status == "RETURN_CONTESTED"
    undone = said.return_undone if argued else held.undone
    same = code == held.code and undone == held.undone
    delivered_at = held.at if same else max(own_at, event_at)
    return ReturnState(code, said.returned_at or held.returned_at, delivered_at, undone)


def settle_return(
    program: ProgramState, returner: ReturnedTransfer, state: ReturnState, *, known_at: int | None
) -> None:
    """Put a return into the windows."""
    for series in _series_of(program, returner, state):
        series.add(state.at, known_at=known_at)
    actor, counterparty = returner.actor, returner.counterparty
    if _counts(returner, state) and counterparty is not None:
        if state.code in STOP_RETURN_CODES:
            enter(series_of_party(counterparty), SeriesKind.STOP, state.at, 0, known_at=known_at)
        if state.code in PROBING_RETURN_CODES and actor is not None:
            probes_of(actor).add_edge(state.at, returner.row, counterparty.index, known_at=known_at)


def lift_return(program: ProgramState, returner: ReturnedTransfer, state: ReturnState, *, known_at: int) -> None:
    """Take a return out of the windows, from ``known_at`` on."""
    for series in _series_of(program, returner, state):
        series.remove(state.at, known_at=known_at)
    actor, counterparty = returner.actor, returner.counterparty
    if _counts(returner, state) and counterparty is not None:
        if state.code in STOP_RETURN_CODES:
            leave(series_of_party(counterparty), SeriesKind.STOP, state.at, 0, known_at=known_at)
        if state.code in PROBING_RETURN_CODES and actor is not None:
            probes_of(actor).remove_edge(state.at, returner.row, known_at=known_at)


def _counts(returner: ReturnedTransfer, state: ReturnState) -> bool:
    return returner.moved and state.counts


def _series_of(program: ProgramState, returner: ReturnedTransfer, state: ReturnState) -> list[EventTimes]:
    if not _counts(returner, state):
        return []
    unauthorized = state.code in UNAUTHORIZED_RETURN_CODES
    found: list[EventTimes] = []
    if returner.actor is not None:
        found.append(times_of(returner.actor, "returns"))
        if unauthorized and returner.ach_debit:
            found.append(times_of(returner.actor, "unauthorized"))
    if returner.counterparty is not None:
        found.append(times_of(returner.counterparty, "returns"))
        if unauthorized:
            found.append(times_of(returner.counterparty, "unauthorized"))
    if unauthorized and returner.originated:
        found.append(program.unauthorized)
    return found
