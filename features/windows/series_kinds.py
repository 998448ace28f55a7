"""The further series that a transfer enters by its kind and amount, beside the series of every transfer.

Each kind is a separate series of an actor, a card or the whole program. Most transfers enter one or two, so a party has
only the series that it needs.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from clearhold.features.catalogue.thresholds import MICRO_BELOW_CENTS, SMALL_CARD_BELOW_CENTS, is_round
from clearhold.features.core.in_memory import InMemory
from clearhold.features.core.money import money_leaves, originates_debit
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.series import EventTimes

FRAUD_REASONS: Final = frozenset({"PIN_OR_CVV", "SUSPECTED_FRAUD"})
DECLINED: Final = "DECLINED"
KindSeries = EventTimes | AmountSeries
_FAST_RAILS: Final = frozenset({Rail.REALTIME, Rail.WIRE, Rail.INTL_WIRE, Rail.CARD})


class SeriesKind(StrEnum):
    RECEIVED = "received"  # where money comes in, cards apart
    CARD = "card"
    PULLED = "pulled"  # ACH debits that the program sent
    FAST = "fast"  # where money leaves, final within the day
    ROUND = "round"
    MICRO = "micro"
    MICRO_DEBIT = "micro_debit"  # of the ACH debits that the program sent
    ATTEMPT = "attempt"
    DECLINE = "decline"
    SMALL = "small"  # a card attempt under $5
    SMALL_OR_5 = "small_or_5"  # a card attempt of at most $5
    FRAUD_DECLINE = "fraud_decline"
    DEBIT_RETURN = "debit_return"  # returns of ACH debits that the program sent
    UNPRICED = "unpriced"  # no amount in US dollars is known: counted in "amounts" with 0 cents
    STOP = "stop"  # returns after which a debit must not be repeated
    OTHER_INCOMING = "other_incoming"  # incoming and not in "received": ACH debits of others, and cards
    FROZEN = "frozen"  # returns of ACH entries that the program sent, from an account that is frozen
    # Of the program alone, for its key risk indicators. Entries of no amount, prenotes, are in none of them.
    UNAUTHORIZED_RETURN = "unauthorized_return"  # of ACH debits that it sent
    ADMINISTRATIVE_RETURN = "administrative_return"  # of the same: closed, missing, misnumbered
    DEBIT_RETURN_BUT_RCK = "debit_return_but_rck"  # of the same, without re-presented checks
    CREDIT_RETURN = "credit_return"  # of ACH credits that it sent
    CAME_BACK = "came_back"  # ACH debits that it sent and that are returned, by their own time


_KINDS: Final = {kind.value: kind for kind in SeriesKind}
AMOUNT_KINDS: Final = frozenset(
    {
        SeriesKind.RECEIVED,
        SeriesKind.CARD,
        SeriesKind.PULLED,
        SeriesKind.FAST,
        SeriesKind.OTHER_INCOMING,
        SeriesKind.CAME_BACK,
    }
)
OUTGOING_PARTS: Final = ((SeriesKind.RECEIVED, -1), (SeriesKind.PULLED, 1), (SeriesKind.OTHER_INCOMING, -1))
"""The change from all transfers of an actor to its outgoing ones: without received ones, but with the debits that
pulled money in.
"""


class SeriesByKind(InMemory):
    """The series of each kind that a party, a card or the program has, in the order in which they began.

    Nearly all have one or two. The first has separate fields, and a tuple of the others takes half as much as a dict.

    >>> by_kind = SeriesByKind()
    >>> by_kind.update({SeriesKind.ROUND: EventTimes(), SeriesKind.FAST: AmountSeries()})
    >>> by_kind.get(SeriesKind.MICRO), [kind.value for kind, _ in by_kind.items()]
    (None, ['round', 'fast'])
    """

    _kind: SeriesKind | None = None  # of the first
    _series: KindSeries | None = None
    _others: tuple[Any, ...] = ()  # kind and series alternate

    def get(self, kind: SeriesKind) -> Any:
        if kind is self._kind:
            return self._series
        others = self._others
        return others[others.index(kind) + 1] if kind in others else None

    def items(self) -> list[tuple[SeriesKind, KindSeries]]:
        if self._kind is None or self._series is None:
            return []
        others = iter(self._others)
        return [(self._kind, self._series), *zip(others, others, strict=True)]

    def update(self, others: Mapping[SeriesKind, KindSeries]) -> None:
        """Replace the series of these kinds."""
        pairs = iter({**dict(self.items()), **others}.items())
        self._kind, self._series = next(pairs, (None, None))
        self._others = tuple(part for pair in pairs for part in pair)

    def dump(self) -> list[tuple[str, tuple[object, ...]]]:
        """Kind and series of each, the kinds by name."""
        return [(kind, series.dump()) for kind, series in self.items()]

    def load(self, dumped: Any) -> None:
        for name, part in dumped:
            kind = _KINDS[name]
            series = _empty(kind)
            series.load(part)
            self.update({kind: series})


def _by_type(rail: Rail, direction: Direction, ach_type: str | None) -> tuple[SeriesKind, ...]:
    kinds: list[SeriesKind] = []
    leaves = money_leaves(rail, direction, ach_type)
    if rail is Rail.CARD:
        kinds.append(SeriesKind.CARD)
    elif not leaves:
        kinds.append(SeriesKind.RECEIVED)
    if rail in _FAST_RAILS and leaves:
        kinds.append(SeriesKind.FAST)
    if originates_debit(rail, direction, ach_type):
        kinds.append(SeriesKind.PULLED)
    if direction is Direction.INCOMING and SeriesKind.RECEIVED not in kinds:
        kinds.append(SeriesKind.OTHER_INCOMING)
    return tuple(kinds)


_BY_TYPE: Final = {
    (rail.value, direction.value, ach_type): _by_type(rail, direction, ach_type)
    for rail in Rail
    for direction in Direction
    for ach_type in (None, AchType.CREDIT.value, AchType.DEBIT.value)
}


def kinds_of(rail: str, direction: str, ach_type: str | None, cents: int | None) -> tuple[SeriesKind, ...]:
    """The series of its actor that a transfer enters when it moves; ``cents`` are US cents, None when unknown.

    A transfer without an amount is no micro-entry; a debit without one counts like debits other than micro-entries.
    """
    kinds = _BY_TYPE[rail, direction, ach_type]
    if cents is None:
        is_debit = rail == Rail.ACH and ach_type == AchType.DEBIT
        kinds = (*kinds, SeriesKind.UNPRICED, SeriesKind.MICRO_DEBIT) if is_debit else (*kinds, SeriesKind.UNPRICED)
    elif cents < MICRO_BELOW_CENTS and rail == Rail.ACH:
        kinds = (
            (*kinds, SeriesKind.MICRO, SeriesKind.MICRO_DEBIT)
            if originates_debit(rail, direction, ach_type)
            else (*kinds, SeriesKind.MICRO)
        )
    elif is_round(cents) and rail != Rail.CARD:
        kinds = (*kinds, SeriesKind.ROUND)
    return kinds


def attempt_kinds(cents: int | None, status: str | None, reason: str | None) -> tuple[SeriesKind, ...]:
    """The series of its card and its program that a card transfer enters, whether it moved money or not."""
    kinds = [SeriesKind.ATTEMPT]
    if status == DECLINED:
        kinds.append(SeriesKind.DECLINE)
        if reason in FRAUD_REASONS:
            kinds.append(SeriesKind.FRAUD_DECLINE)
    if cents is not None and cents <= SMALL_CARD_BELOW_CENTS:
        kinds.append(SeriesKind.SMALL_OR_5)
        if cents < SMALL_CARD_BELOW_CENTS:
            kinds.append(SeriesKind.SMALL)
    return tuple(kinds)


def enter(by_kind: SeriesByKind, kind: SeriesKind, at: int, cents: int, *, known_at: int | None) -> None:
    """Add a transfer to the series of one kind, which is created by the first."""
    series = by_kind.get(kind)
    if series is None:
        series = _empty(kind)
        by_kind.update({kind: series})
    if isinstance(series, AmountSeries):
        series.add_amount(at, cents, known_at=known_at)
    else:
        series.add(at, known_at=known_at)


def leave(by_kind: SeriesByKind, kind: SeriesKind, at: int, cents: int, *, known_at: int) -> None:
    """Remove a transfer from the series of one kind, from ``known_at`` on."""
    series = by_kind.get(kind)
    if isinstance(series, AmountSeries):
        series.remove_amount(at, cents, known_at=known_at)
    else:
        series.remove(at, known_at=known_at)


def count_in(by_kind: SeriesByKind | None, kind: SeriesKind, after: int, upto: int) -> int:
    """The transfers of one kind in (after, upto], as known at ``upto``."""
    series = None if by_kind is None else by_kind.get(kind)
    return series.count(after, upto) if series is not None else 0


def cents_in(by_kind: SeriesByKind | None, kind: SeriesKind, after: int, upto: int) -> int:
    """The sum of the transfers of one kind in (after, upto], as known at ``upto``; 0 when they are only counted."""
    series = None if by_kind is None else by_kind.get(kind)
    return series.measure(after, upto)[1] if isinstance(series, AmountSeries) else 0


def dump_series(by_kind: SeriesByKind | None) -> list[tuple[str, tuple[object, ...]]]:
    return [] if by_kind is None else by_kind.dump()


def load_series(dumped: Any) -> SeriesByKind:
    by_kind = SeriesByKind()
    by_kind.load(dumped)
    return by_kind


def _empty(kind: SeriesKind) -> KindSeries:
    return AmountSeries() if kind in AMOUNT_KINDS else EventTimes()
