"""Returned transfers: the known return of a transfer, and how it enters and leaves the windows.

A return counts from its delivery; a dishonoured one stops counting at the dishonour.
Source  Nacha Operating Rules: R05, R07, R10, R11, R29 and R51 are unauthorized
"""

from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.bank.statuses import (
    ADMINISTRATIVE_RETURN_CODES,
    FROZEN_RETURN_CODE,
    PROBING_RETURN_CODES,
    RETURN_UNDONE_STATUSES,
    STOP_RETURN_CODES,
    UNAUTHORIZED_RETURN_CODES,
)
from clearhold.features.core.in_memory import shared
from clearhold.features.landing.contribution import ReturnedTransfer
from clearhold.features.landing.movement import ENTER, change_kind, change_times
from clearhold.features.state.parties import Actor, KnownCounterparty, probes_of, series_of_party, times_of
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import ReturnState
from clearhold.features.windows.edges import node_of_actor, node_of_counterparty
from clearhold.features.windows.series import EventTimes
from clearhold.features.windows.series_kinds import SeriesKind


def first_return(snapshot: TransferSnapshot, *, own_at: int, event_at: int) -> ReturnState | None:
    """The return that a first or an older snapshot states, if any; ``own_at`` is the transfer's own time."""
    if snapshot.return_code is None and snapshot.returned_at is None:
        return None
    return ReturnState(
        code=shared(snapshot.return_code),
        returned_at=snapshot.returned_at,
        at=max(own_at, event_at),
        undone=snapshot.return_undone,
    )


def merged_return(
    stored: ReturnState | None, snapshot: TransferSnapshot, *, own_at: int, event_at: int
) -> ReturnState | None:
    """The return after a newer snapshot; a stored return stays if the snapshot does not mention it."""
    if stored is None:
        return first_return(snapshot, own_at=own_at, event_at=event_at)
    code = shared(snapshot.return_code) or stored.code
    is_later_step = snapshot.status in RETURN_UNDONE_STATUSES or snapshot.status == "RETURN_CONTESTED"
    restated = snapshot.return_code is not None or is_later_step
    undone = snapshot.return_undone if restated else stored.undone
    same = code == stored.code and undone == stored.undone
    return ReturnState(
        code=code,
        # A dishonour or a contest is a step of the same return; the object may have a later time then.
        returned_at=(stored.returned_at if is_later_step else None) or snapshot.returned_at or stored.returned_at,
        at=stored.at if same else max(own_at, event_at),
        undone=undone,
    )


def change_return(
    program: ProgramState, transfer: ReturnedTransfer, state: ReturnState, sign: int, *, known_at: int | None
) -> None:
    """Enter a return into the windows, or take it out from ``known_at`` on."""
    if not (transfer.moved and state.counts):
        return
    if program.clearings.is_cleared(transfer.row_index):
        note_cleared_return(program, transfer, counts=sign == ENTER)
    for series in _series_of(program, transfer, state):
        change_times(series, state.at, sign, known_at)
    _change_program(program, transfer, state, sign, known_at=known_at)
    actor, counterparty = transfer.actor, transfer.counterparty
    if actor is not None and transfer.originated:
        change_kind(series_of_party(actor), SeriesKind.DEBIT_RETURN, state.at, 0, sign, known_at)
    if counterparty is None or not transfer.outgoing_ach:
        return
    if state.code in STOP_RETURN_CODES and transfer.originated:
        change_kind(series_of_party(counterparty), SeriesKind.STOP, state.at, 0, sign, known_at)
    if state.code == FROZEN_RETURN_CODE:
        change_kind(series_of_party(counterparty), SeriesKind.FROZEN, state.at, 0, sign, known_at)
    if state.code in PROBING_RETURN_CODES and actor is not None:
        _change_probe(actor, counterparty, transfer.row_index, state.at, sign, known_at)


def note_cleared_return(program: ProgramState, transfer: ReturnedTransfer, *, counts: bool) -> None:
    """A return of a transfer that a person has cleared gives its parties no points."""
    actor, counterparty = transfer.actor, transfer.counterparty
    nodes = [] if actor is None else [node_of_actor(actor.index)]
    if counterparty is not None:
        nodes.append(node_of_counterparty(counterparty.index))
    program.clearings.set_return(transfer.row_index, nodes, counts=counts)


def _change_program(
    program: ProgramState, transfer: ReturnedTransfer, state: ReturnState, sign: int, *, known_at: int | None
) -> None:
    """The program's series of returns, for its key risk indicators."""
    if transfer.cents == 0 or not (transfer.originated or transfer.sends_credit):
        return
    by_kind = program.series_by_kind
    if transfer.sends_credit:
        change_kind(by_kind, SeriesKind.CREDIT_RETURN, state.at, 0, sign, known_at)
        return
    change_kind(by_kind, SeriesKind.CAME_BACK, transfer.at, transfer.cents or 0, sign, known_at)
    if state.code in UNAUTHORIZED_RETURN_CODES:
        change_kind(by_kind, SeriesKind.UNAUTHORIZED_RETURN, state.at, 0, sign, known_at)
    if state.code in ADMINISTRATIVE_RETURN_CODES:
        change_kind(by_kind, SeriesKind.ADMINISTRATIVE_RETURN, state.at, 0, sign, known_at)
    if not transfer.is_rck:
        change_kind(by_kind, SeriesKind.DEBIT_RETURN_BUT_RCK, state.at, 0, sign, known_at)


def _change_probe(
    actor: Actor, counterparty: KnownCounterparty, row_index: int, at: int, sign: int, known_at: int | None
) -> None:
    if sign == ENTER:
        probes_of(actor).add_edge(at, row_index, counterparty.index, known_at=known_at)
        return
    assert known_at is not None
    probes_of(actor).remove_edge(at, row_index, known_at=known_at)


def _series_of(program: ProgramState, transfer: ReturnedTransfer, state: ReturnState) -> list[EventTimes]:
    unauthorized = transfer.originated and state.code in UNAUTHORIZED_RETURN_CODES
    series: list[EventTimes] = []
    if transfer.actor is not None:
        series.append(times_of(transfer.actor, "returns"))
        if unauthorized:
            series.append(times_of(transfer.actor, "unauthorized"))
    if transfer.counterparty is not None:
        series.append(times_of(transfer.counterparty, "returns"))
        if unauthorized:
            series.append(times_of(transfer.counterparty, "unauthorized"))
    if unauthorized:
        series.append(program.unauthorized)
    return series
