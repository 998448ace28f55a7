"""A program's counts by UTC day, as integers that each change of a transfer, an alert or an event adds to.

A transfer adds ``contribution_of`` to its day. When it changes, or is labelled, or enters an alert, its former
contribution is subtracted and its new one added, so that the sums are always exact.

Cost    the same an event whatever came before; a day is one array, and a transfer one byte
"""

from array import array
from collections.abc import Iterable
from itertools import chain
from operator import add
from typing import Any, Final

import msgspec

from clearhold.features.bank.statuses import UNAUTHORIZED_RETURN_CODES
from clearhold.features.core.instants import DAY_US, SECOND_US
from clearhold.features.core.log_entry import EventResult
from clearhold.features.core.measured import FINAL_AFTER_DAYS, TALLIED, DayTotals, day_totals
from clearhold.features.core.money import ACH_DEBIT, ORIGINATED_CLASS
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM, LabelValue
from clearhold.features.state.transfer_table import UNSCORED, ReturnState, TransferRecord

OTHER_FAMILY: Final = "other"
MOST_FAMILIES: Final = 32  # whose events are counted by name; those of any further one count as ``OTHER_FAMILY``

_TRANSFERS: Final = TALLIED.index("transfers")
_CENTS: Final = TALLIED.index("cents")
_RETURNED: Final = TALLIED.index("returned")
_UNAUTHORIZED: Final = TALLIED.index("unauthorized")
_BANDS: Final = TALLIED.index("clear")  # and the three after it, as in the next two
_BAD: Final = TALLIED.index("clear_bad")
_OK: Final = TALLIED.index("clear_ok")
_UNALERTED: Final = TALLIED.index("unalerted")
_UNALERTED_CENTS: Final = TALLIED.index("unalerted_cents")
_ALERTS: Final = TALLIED.index("alerts")
_AUTO_CLOSED: Final = TALLIED.index("auto_closed")
_REVIEWS: Final = TALLIED.index("reviews")
_OVERTURNS: Final = TALLIED.index("overturns")
_WIDTH: Final = len(TALLIED)  # behind it come the events: one figure a result, family by family
_RESULTS: Final = tuple(EventResult)
_NUMBER_OF: Final = {result: number for number, result in enumerate(_RESULTS)}

_CLEAR, _UNSCORED_BAND, _BAND_COUNT = 0, 3, 4
# The byte of a transfer: its band at landing, its label, and whether it is in an alert.
_FIRST_BAND, _LABEL, _ALERTED = 0b11, 0b1100, 0b10000
_LABELS: Final = {LabelValue.BAD: 0b0100, LabelValue.OK: 0b1000}
_LABELLED_BAD: Final = _LABELS[LabelValue.BAD]
_LONGEST_WAIT: Final = 2**32 - 1


class DayContribution(msgspec.Struct, frozen=True, gc=False):
    """The part for the transfer's day."""

    day: int
    cents: int  # 0 for an attempt, and where the amount in US dollars is not known
    returned: bool
    unauthorized: bool
    band: int
    flags: int


def contribution_of(record: TransferRecord, returned: ReturnState | None, flags: int) -> DayContribution:
    """The contribution of a stored transfer, with its return and its byte."""
    stands = record.moved and returned is not None and returned.counts
    return DayContribution(
        day=record.at // DAY_US,
        cents=record.cents if record.moved and record.cents > 0 else 0,
        returned=stands,
        unauthorized=stands
        and returned is not None
        and returned.code in UNAUTHORIZED_RETURN_CODES
        and record.ach_type == ACH_DEBIT
        and record.class_id == ORIGINATED_CLASS,
        band=_band(record.score),
        flags=flags,
    )


class DayTallies:
    """The days of one program."""

    __slots__ = ("_days", "_families", "_flags", "_waits", "stored_upto")

    def __init__(self) -> None:
        self.stored_upto: int | None = None  # the first day that is not stored yet; None before the first tick
        self._days: dict[int, array[int]] = {}
        self._waits: dict[int, array[int]] = {}  # by day: the seconds that each alert waited for its first decision
        self._families: dict[str, int] = {}  # in the order in which they were first seen
        self._flags = bytearray()  # by row of a transfer

    def add_transfer(self, record: TransferRecord, returned: ReturnState | None) -> None:
        """Count a transfer after its first scoring."""
        flags = _band(record.score)
        self._flags.append(flags)
        self._count(contribution_of(record, returned, flags), 1)

    def contribution(self, row: int, record: TransferRecord, returned: ReturnState | None) -> DayContribution:
        """The contribution of the transfer of that row with this record and this return."""
        return contribution_of(record, returned, self._flags[row])

    def replace(self, before: DayContribution, after: DayContribution) -> None:
        """Count a transfer after a change."""
        if before != after:
            self._count(before, -1)
            self._count(after, 1)

    def set_label(self, row: int, label: LabelValue, record: TransferRecord, returned: ReturnState | None) -> None:
        """Store the newest label of a transfer."""
        self._set_flags(row, (self._flags[row] & ~_LABEL) | _LABELS[label], record, returned)

    def set_alerted(self, row: int, record: TransferRecord, returned: ReturnState | None) -> None:
        """Remember that an alert was opened or written with the transfer."""
        self._set_flags(row, self._flags[row] | _ALERTED, record, returned)

    def count_alert(self, opened_at: int, *, closed: bool) -> None:
        """Count an opened alert, and whether the policy closed it at once."""
        day = self._day(opened_at // DAY_US)
        day[_ALERTS] += 1
        day[_AUTO_CLOSED] += closed

    def count_review(self, at: int, *, overturned: bool) -> None:
        """Count a decision of a person on an alert with a draft."""
        day = self._day(at // DAY_US)
        day[_REVIEWS] += 1
        day[_OVERTURNS] += overturned

    def count_first_decision(self, at: int, opened_at: int) -> None:
        """Count how long an alert waited for a person."""
        seconds = min(max(0, at - opened_at) // SECOND_US, _LONGEST_WAIT)
        self._waits.setdefault(at // DAY_US, array("I")).append(seconds)

    def count_event(self, at: int, family: str, result: EventResult) -> None:
        """Count one delivery of a bank event."""
        number = self._families.get(family)
        if number is None:
            if len(self._families) >= MOST_FAMILIES:
                family = OTHER_FAMILY
            number = self._families.setdefault(family, len(self._families))
        day, place = self._day(at // DAY_US), _WIDTH + number * len(_RESULTS) + _NUMBER_OF[result]
        if place >= len(day):
            day.extend([0] * (_WIDTH + (number + 1) * len(_RESULTS) - len(day)))
        day[place] += 1

    def totals(self, first_day: int, upto_day: int, *, is_scored: bool) -> DayTotals:
        """The sums over [first day, upto day); ``is_scored`` says that the program has a score."""
        days = self._within(first_day, upto_day)
        sums = [0] * (_WIDTH + len(self._families) * len(_RESULTS))
        provisional = 0
        for day in days:
            tallied = self._days.get(day)
            if tallied is None:
                continue
            sums[: len(tallied)] = map(add, sums, tallied)
            if day >= upto_day - FINAL_AFTER_DAYS:
                provisional += sum(tallied[_OK : _OK + _BAND_COUNT])
        waits = chain.from_iterable(self._waits.get(day, ()) for day in days)
        figures = dict(zip(TALLIED, sums[:_WIDTH], strict=True))
        figures |= {"provisional_ok": provisional, "programs": 1, "scored_programs": int(is_scored)}
        return day_totals(figures, waits, self._events_of(sums))

    def _within(self, first_day: int, upto_day: int) -> Iterable[int]:
        """The days to sum: only days with counts, and only days of the period."""
        if upto_day - first_day <= len(self._days):
            return range(first_day, upto_day)
        return tuple(day for day in {*self._days, *self._waits} if first_day <= day < upto_day)

    def _events_of(self, sums: list[int]) -> dict[str, dict[str, int]]:
        events: dict[str, dict[str, int]] = {}
        for family, number in self._families.items():
            first = _WIDTH + number * len(_RESULTS)
            counts = zip(_RESULTS, sums[first : first + len(_RESULTS)], strict=True)
            by_result = {result.value: count for result, count in counts if count}
            if by_result:
                events[family] = by_result
        return events

    def _set_flags(self, row: int, flags: int, record: TransferRecord, returned: ReturnState | None) -> None:
        former = self._flags[row]
        if flags == former:
            return
        self._flags[row] = flags
        self.replace(contribution_of(record, returned, former), contribution_of(record, returned, flags))

    def _day(self, day: int) -> "array[int]":
        figures = self._days.get(day)
        if figures is None:
            figures = self._days[day] = array("q", bytes(_WIDTH * 8))
        return figures

    def _count(self, transfer: DayContribution, sign: int) -> None:
        """Add a contribution to its day, or take it off."""
        day, flags = self._day(transfer.day), transfer.flags
        day[_TRANSFERS] += sign
        day[_CENTS] += sign * transfer.cents
        day[_BANDS + transfer.band] += sign
        if transfer.returned:
            day[_RETURNED] += sign
            day[_UNAUTHORIZED] += sign * transfer.unauthorized
        label = flags & _LABEL
        if label:
            day[(_BAD if label == _LABELLED_BAD else _OK) + (flags & _FIRST_BAND)] += sign
        if transfer.band == _CLEAR and not flags & _ALERTED:
            day[_UNALERTED] += sign
            day[_UNALERTED_CENTS] += sign * transfer.cents

    def dump(self) -> tuple[Any, ...]:
        return (
            [(day, figures.tobytes()) for day, figures in self._days.items()],
            [(day, waits.tobytes()) for day, waits in self._waits.items()],
            list(self._families),
            bytes(self._flags),
            self.stored_upto,
        )

    def load(self, dumped: Any) -> None:
        days, waits, families, flags, self.stored_upto = dumped
        self._days.update((day, array("q", figures)) for day, figures in days)
        self._waits.update((day, array("I", seconds)) for day, seconds in waits)
        self._families.update((family, number) for number, family in enumerate(families))
        self._flags += flags


def _band(score: int) -> int:
    if score == UNSCORED:
        return _UNSCORED_BAND
    return (score >= REVIEW_FROM) + (score >= HOLD_FROM)
