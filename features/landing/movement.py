"""A transfer's contribution to the windows of its program, its actor, its counterparty and the graph.

A contribution enters the windows when the transfer lands, and is replaced when a newer snapshot changes it. Entering
and leaving are one function with a sign, so that leaving removes exactly what entered.
"""

from typing import Final

from clearhold.features.core.money import OUTGOING_CLASSES
from clearhold.features.landing.contribution import CardAttempt, Movement
from clearhold.features.state.parties import Actor, KnownCounterparty, series_of_party, zone_of
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.edges import NOBODY, Edges
from clearhold.features.windows.series import EventTimes
from clearhold.features.windows.series_kinds import SeriesByKind, SeriesKind, enter, leave

ENTER: Final = 1
LEAVE: Final = -1
_KINDS_OF_PROGRAM: Final = (SeriesKind.MICRO, SeriesKind.UNPRICED)


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
    if movement.card or movement.cents is None:
        return
    for threshold in thresholds.intersection(program.counted_lines.zones(movement.cents, movement.at)):
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


def _change_attempts(program: ProgramState, attempt: CardAttempt, sign: int, known_at: int | None) -> None:
    for kind in attempt.kinds:
        change_kind(program.series_by_kind, kind, attempt.at, 0, sign, known_at)
    if attempt.card == NOBODY:
        return
    attempts = program.attempts.get(attempt.card)
    if attempts is None:
        attempts = program.attempts[attempt.card] = Edges()
    if sign == ENTER:
        attempts.add_edge(attempt.at, attempt.row_index, NOBODY, known_at=known_at)
    elif known_at is not None:
        attempts.remove_edge(attempt.at, attempt.row_index, known_at=known_at)
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
    actor, counterparty = this.actor, this.counterparty
    if actor is not None and _party_differs(this, other, actor, other.actor if other else None):
        change_amount(actor.amounts, at, cents, sign, known_at)
        for kind in this.kinds:
            change_kind(series_of_party(actor), kind, at, cents, sign, known_at)
        _change_zones(program, actor, this, sign, known_at)
    if counterparty is not None and _party_differs(this, other, counterparty, other.counterparty if other else None):
        change_amount(counterparty.times, at, cents if this.class_id in OUTGOING_CLASSES else 0, sign, known_at)
        _change_zones(program, counterparty, this, sign, known_at)


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
    program: ProgramState, party: Actor | KnownCounterparty, movement: Movement, sign: int, known_at: int | None
) -> None:
    """Count the amount under the reporting thresholds that it stays just below; card transfers are not structured."""
    if movement.card or movement.cents is None:
        return
    for threshold in program.counted_lines.zones(movement.cents, movement.at):
        change_times(zone_of(party, threshold), movement.at, sign, known_at)


def _edge(movement: Movement) -> tuple[int, int, int | None]:
    """A changed amount is a changed edge: an earlier instant must still see the old one."""
    return (movement.source, movement.target, movement.cents)


def _party_differs(this: Movement, other: Movement | None, party: object, other_party: object) -> bool:
    """True when the party's windows change: another party, or the same one with another amount or type."""
    return other is None or other_party is not party or other.cents != this.cents or other.kinds != this.kinds
