"""A transfer's contribution to the windows of its program, its actor, its counterparty and the graph.

A contribution enters the windows when the transfer lands, and is replaced when a newer snapshot changes it. Entering
and leaving are one function with a sign, so that leaving removes exactly what entered.

A return enters and leaves the windows separately. It counts from its delivery; a dishonoured one stops counting at the
dishonour.

Source  Nacha Operating Rules: R05, R07, R10, R11, R29 and R51 are unauthorized
"""

from typing import Final

import msgspec

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
from clearhold.features.core.money import OUTGOING_CLASSES
from clearhold.features.state.parties import Actor, KnownCounterparty, probes_of, series_of_party, times_of, zone_of
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import ReturnState
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.edges import NOBODY, Edges, node_of_actor, node_of_counterparty
from clearhold.features.windows.series import EventTimes
from clearhold.features.windows.series_kinds import SeriesByKind, SeriesKind, enter, leave

ENTER: Final = 1
LEAVE: Final = -1
_KINDS_OF_PROGRAM: Final = (SeriesKind.MICRO, SeriesKind.UNPRICED)


class Movement(msgspec.Struct, frozen=True, gc=False):
    """The contribution of a transfer that moved money; equal movements leave the windows unchanged."""

    row_index: int
    actor: Actor | None
    counterparty: KnownCounterparty | None
    source: int
    target: int
    cents: int | None  # US cents; without them it counts but adds to no sum
    at: int
    class_id: int
    originated: bool  # an ACH debit that the program sent
    card: bool
    kinds: tuple[SeriesKind, ...]


class CardAttempt(msgspec.Struct, frozen=True, gc=False):
    """A card transfer, whether it moved money or not; ``card`` is the key that it is counted under (``card_key``)."""

    card: int
    actor: int  # the observed holder of the card, -1 if unknown
    at: int
    kinds: tuple[SeriesKind, ...]
    row_index: int


class ReturnedTransfer(msgspec.Struct, frozen=True, gc=False):
    """The transfer that a return belongs to, with the fields that the windows of returns need."""

    actor: Actor | None
    counterparty: KnownCounterparty | None
    moved: bool  # a failed or canceled transfer does not count, and neither does its return
    outgoing_ach: bool
    originated: bool  # a debit: returns of other entries accuse no party here
    sends_credit: bool
    is_rck: bool  # a returned check, presented again
    cents: int | None
    at: int
    row_index: int


def replace_movement(
    program: ProgramState, before: Movement | None, after: Movement | None, *, known_at: int | None
) -> None:
    """Replace one contribution by another; ``known_at`` is None when the transfer is seen for the first time."""
    if before is not None:
        _change_windows(program, before, after, LEAVE, known_at)
    if after is not None:
        _change_windows(program, after, before, ENTER, known_at)


def replace_attempt(
    program: ProgramState, before: CardAttempt | None, after: CardAttempt | None, *, known_at: int | None
) -> None:
    """The same for the contribution of a card transfer to its card and its program."""
    if before is not None:
        _change_attempts(program, before, LEAVE, known_at)
    if after is not None:
        _change_attempts(program, after, ENTER, known_at)


def count_under(program: ProgramState, movement: Movement, thresholds: frozenset[int]) -> None:
    """Count a movement that is already in the windows under thresholds that are new to them."""
    for threshold in thresholds.intersection(_zones_of(program, movement)):
        for party in (movement.actor, movement.counterparty):
            if party is not None:
                change_times(zone_of(party, threshold), movement.at, ENTER, None)


def change_times(series: EventTimes, at: int, sign: int, known_at: int | None) -> None:
    """Enter an instant into a series, or take it out from ``known_at`` on."""
    if sign == ENTER:
        series.add(at, known_at=known_at)
        return
    assert known_at is not None
    series.remove(at, known_at=known_at)


def change_amount(series: AmountSeries, at: int, cents: int, sign: int, known_at: int | None) -> None:
    """The same with an amount."""
    if sign == ENTER:
        series.add_amount(at, cents, known_at=known_at)
        return
    assert known_at is not None
    series.remove_amount(at, cents, known_at=known_at)


def change_kind(by_kind: SeriesByKind, kind: SeriesKind, at: int, cents: int, sign: int, known_at: int | None) -> None:
    """Enter an amount into the series of one kind, or take it out from ``known_at`` on."""
    if sign == ENTER:
        enter(by_kind, kind, at, cents, known_at=known_at)
        return
    assert known_at is not None
    leave(by_kind, kind, at, cents, known_at=known_at)


def change_edge(edges: Edges, at: int, row_index: int, other: int, sign: int, known_at: int | None) -> None:
    """Enter an edge, or take it out from ``known_at`` on."""
    if sign == ENTER:
        edges.add_edge(at, row_index, other, known_at=known_at)
        return
    assert known_at is not None
    edges.remove_edge(at, row_index, known_at=known_at)


def _change_attempts(program: ProgramState, attempt: CardAttempt, sign: int, known_at: int | None) -> None:
    for kind in attempt.kinds:
        change_kind(program.series_by_kind, kind, attempt.at, 0, sign, known_at)
    if attempt.card == NOBODY:
        return
    attempts = program.attempts.get(attempt.card)
    if attempts is None:
        attempts = program.attempts[attempt.card] = Edges()
    change_edge(attempts, attempt.at, attempt.row_index, NOBODY, sign, known_at)
    of_card = program.cards.get(attempt.card)
    if of_card is None:
        of_card = program.cards[attempt.card] = SeriesByKind()
    (program.card_table.enter if sign == ENTER else program.card_table.leave)(attempt.actor, attempt.card)
    for kind in attempt.kinds:
        change_kind(of_card, kind, attempt.at, 0, sign, known_at)


def _change_windows(
    program: ProgramState, this: Movement, other: Movement | None, sign: int, known_at: int | None
) -> None:
    """Enter or take out the part of ``this`` that ``other``, its successor or predecessor, lacks."""
    at, cents = this.at, this.cents or 0
    if other is None or other.cents != this.cents:
        _change_baseline(program, this, sign, known_at)
    if this.originated and (other is None or not other.originated or other.cents != this.cents):
        change_amount(program.originated, at, cents, sign, known_at)
    if other is None or _edge(other) != _edge(this):
        _change_graph(program, this, sign, known_at)
    for kind in _KINDS_OF_PROGRAM:
        if kind in this.kinds and (other is None or kind not in other.kinds):
            change_kind(program.series_by_kind, kind, at, cents, sign, known_at)
    actor, counterparty, zones = this.actor, this.counterparty, _zones_of(program, this)
    if actor is not None and (other is None or other.actor is not actor or _counts_otherwise(this, other)):
        change_amount(actor.amounts, at, cents, sign, known_at)
        for kind in this.kinds:
            change_kind(series_of_party(actor), kind, at, cents, sign, known_at)
        _change_zones(actor, zones, at, sign, known_at)
    if counterparty is not None and (
        other is None or other.counterparty is not counterparty or _counts_otherwise(this, other)
    ):
        change_amount(counterparty.times, at, cents if this.class_id in OUTGOING_CLASSES else 0, sign, known_at)
        _change_zones(counterparty, zones, at, sign, known_at)


def _change_baseline(program: ProgramState, movement: Movement, sign: int, known_at: int | None) -> None:
    if sign == ENTER:
        program.baseline.add(movement.at, movement.cents, movement.class_id, known_at=known_at)
        return
    assert known_at is not None
    program.baseline.remove(movement.at, movement.cents, movement.class_id, known_at=known_at)


def _change_graph(program: ProgramState, movement: Movement, sign: int, known_at: int | None) -> None:
    source, target, at, row_index = movement.source, movement.target, movement.at, movement.row_index
    if sign == ENTER:
        program.graph.add(source, target, at, row_index, known_at=known_at)
        return
    assert known_at is not None
    program.graph.remove(source, target, at, row_index, known_at=known_at)


def _change_zones(
    party: Actor | KnownCounterparty, zones: tuple[int, ...], at: int, sign: int, known_at: int | None
) -> None:
    for threshold in zones:
        change_times(zone_of(party, threshold), at, sign, known_at)


def _zones_of(program: ProgramState, movement: Movement) -> tuple[int, ...]:
    """The reporting thresholds that the amount stays just below; card transfers are not structured."""
    if movement.card or movement.cents is None:
        return ()
    return program.counted_lines.zones(movement.cents, movement.at)


def _edge(movement: Movement) -> tuple[int, int, int | None]:
    """A changed amount is a changed edge: an earlier instant must still see the old one."""
    return (movement.source, movement.target, movement.cents)


def _counts_otherwise(this: Movement, other: Movement) -> bool:
    """True when a party's windows change: another amount or type."""
    return other.cents != this.cents or other.kinds != this.kinds


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
        change_edge(probes_of(actor), state.at, transfer.row_index, counterparty.index, sign, known_at)


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


def _series_of(program: ProgramState, transfer: ReturnedTransfer, state: ReturnState) -> list[EventTimes]:
    unauthorized = transfer.originated and state.code in UNAUTHORIZED_RETURN_CODES
    series: list[EventTimes] = []
    for party in (transfer.actor, transfer.counterparty):
        if party is not None:
            series.append(times_of(party, "returns"))
            if unauthorized:
                series.append(times_of(party, "unauthorized"))
    if unauthorized:
        series.append(program.unauthorized)
    return series
