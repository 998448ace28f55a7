"""The counts of the key risk indicators over a program's transfers, in the 30 and the 60 days that end now; while
history is loaded, also in the 30 and 60 days that end with the day that the history has reached.

The rows of all transfers are sorted by their own time, and each window has a position in them: earlier rows have left
the window. A transfer counts by its record: when the record changes, its old contribution is subtracted and the new one
added. Measuring advances the windows, and each transfer leaves each window once.

Window  half-open, (now - w, now]; now never goes back, and is never before a transfer's own time
Unit    amounts in US cents, exact below 2^64; 4 bytes a transfer, 8 a counterparty
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import msgspec
import numpy as np

from clearhold.features.core.instants import DAYS_30, DAYS_60
from clearhold.features.core.money import (
    ACH_CREDIT,
    ACH_DEBIT,
    ACH_TYPES,
    CARD_CLASSES,
    ORIGINATED_CLASS,
    RAIL_CLASSES,
    money_leaves,
)
from clearhold.features.core.vocabulary import HOLD_FROM, Direction
from clearhold.features.state.program_series import Declared
from clearhold.features.state.transfer_table import UNSCORED, TransferBrief, TransferRecord, TransferTable
from clearhold.features.windows.id_index import StringTable
from clearhold.features.windows.series import ALWAYS
from clearhold.features.windows.series_kinds import DECLINED, FRAUD_REASONS

RCK: Final = "RCK"  # a returned check, presented again as a debit

# Indexes of the counts; the first three are over 60 days, the others over 30.
ACH_DEBITS: Final = 0  # sent by the program; entries of no amount, prenotes, are in none of these three
RCK_DEBITS: Final = 1
ACH_CREDITS: Final = 2
AUTHORIZATIONS: Final = 3
DECLINES: Final = 4
FRAUD_DECLINES: Final = 5
COMPARABLE: Final = 6  # with a rail or a country that the program's declaration covers
OUTSIDE: Final = 7  # of these, with an undeclared one
SCORED: Final = 8
IN_HOLD: Final = 9
_COUNTS: Final = 10
_WRAP: Final = 2**64 - 1
_WINDOWS: Final = (DAYS_60, DAYS_30)
_OF_60D, _OF_30D = 0, 1

_LEAVES: Final = tuple(
    tuple(money_leaves(rail, direction, ach_type) for ach_type in ACH_TYPES) for rail, direction in RAIL_CLASSES
)
_AUTHORIZED_CLASSES: Final = frozenset(
    number for number in CARD_CLASSES if RAIL_CLASSES[number][1] == Direction.OUTGOING.value
)  # a refund is no authorization


_SENT: Final = tuple(  # by ACH type, and whether it is an RCK entry
    ((ACH_DEBITS,), (ACH_DEBITS, RCK_DEBITS))
    if number == ACH_DEBIT
    else (((ACH_CREDITS,),) * 2 if number == ACH_CREDIT else ((), ()))
    for number in range(len(ACH_TYPES))
)
_AUTHORIZED: Final = ((AUTHORIZATIONS,), (AUTHORIZATIONS, DECLINES), (AUTHORIZATIONS, DECLINES, FRAUD_DECLINES))
_SCORED: Final = ((SCORED,), (SCORED, IN_HOLD))


_COUNTED_BY: Final = attrgetter(
    "cents", "counterparty", "country", "sec_code", "class_id", "ach_type", "score", "moved"
)
"""The fields that count a transfer, beside its fixed own time; authorizations count by status and reason as well."""


class KriContribution(msgspec.Struct, frozen=True, gc=False):
    """The part for key risk indicators; ``leaving_cents`` went to the counterparty, -1 for none."""

    of_60d: tuple[int, ...]
    of_30d: tuple[int, ...]
    leaving_cents: int
    counterparty: int


class WindowCounts:
    """The counts over the windows of 60 and of 30 days that end at one instant."""

    __slots__ = ("_cents_of", "_counts", "_tails", "leaving_cents", "paid_parties", "upto")

    def __init__(self) -> None:
        self._tails = [0, 0]  # of 60 days and of 30: the first row inside
        self.upto = ALWAYS  # the end of the windows
        self._counts = [0] * _COUNTS
        self.leaving_cents = 0
        self.paid_parties = 0
        self._cents_of = array("Q")  # by index of the counterparty

    def count(self, kind: int) -> int:
        return self._counts[kind]

    def most_paid_cents(self) -> int:
        """The cents that went to the counterparty that was paid most."""
        return self._cents_of[self.most_paid_party()] if self._cents_of else 0

    def most_paid_party(self) -> int:
        """The index of that counterparty, if there are cents."""
        return int(np.frombuffer(self._cents_of, np.uint64).argmax())

    def add(self, contribution: KriContribution, at: int) -> None:
        """Count a transfer that landed."""
        if at <= self.upto - DAYS_30:  # it lands behind that window, and may land behind the other
            self._tails[_OF_30D] += 1
            self._tails[_OF_60D] += at <= self.upto - DAYS_60
        self.change(contribution, 1, at)

    def change(self, contribution: KriContribution, sign: int, at: int) -> None:
        """Change the windows around an instant."""
        if at > self.upto - DAYS_30:
            self._change_60d(contribution, sign)
            self._change_30d(contribution, sign)
        elif at > self.upto - DAYS_60:
            self._change_60d(contribution, sign)

    def advance(self, windows: "KriWindows", upto: int) -> None:
        """Move the end of the windows to a later instant."""
        self.upto = upto
        rows, last, glance = windows.rows, len(windows.rows), windows.transfers.glance
        for window, change in enumerate((self._change_60d, self._change_30d)):
            oldest, place = upto - _WINDOWS[window], self._tails[window]
            while place < last and (brief := glance(rows[place])).at <= oldest:
                change(windows.contribution(brief), -1)
                place += 1
            self._tails[window] = place

    def _change_60d(self, contribution: KriContribution, sign: int) -> None:
        for kind in contribution.of_60d:
            self._counts[kind] += sign

    def _change_30d(self, contribution: KriContribution, sign: int) -> None:
        for kind in contribution.of_30d:
            self._counts[kind] += sign
        cents = sign * contribution.leaving_cents
        if cents:
            self.leaving_cents += cents
            if contribution.counterparty >= 0:
                self._change_party(contribution.counterparty, cents)

    def _change_party(self, counterparty: int, cents: int) -> None:
        missing = counterparty + 1 - len(self._cents_of)
        if missing > 0:
            self._cents_of.extend([0] * missing)
        before = self._cents_of[counterparty]
        after = self._cents_of[counterparty] = (before + cents) & _WRAP
        self.paid_parties += (after > 0) - (before > 0)

    def dump(self) -> tuple[Any, ...]:
        numbers = (self._tails, self.upto, self._counts, self.leaving_cents, self.paid_parties)
        return (self._cents_of.tobytes(), *numbers)

    @classmethod
    def loaded(cls, dumped: Any) -> "WindowCounts":
        counts = cls()
        cents_of, counts._tails, counts.upto, counts._counts, counts.leaving_cents, counts.paid_parties = dumped
        counts._cents_of.frombytes(cents_of)
        return counts


class KriWindows:
    """The windows of one program; ``declared_at`` gives its declaration at an instant.

    ``now`` end now; ``past`` end with the history's newest day, None unless history is being loaded.
    """

    def __init__(self, transfers: TransferTable, strings: StringTable, declared_at: Callable[[int], Declared]) -> None:
        self.transfers, self._strings, self._declared_at = transfers, strings, declared_at
        self.rows = array("I")  # by the transfers' own time
        self._newest_at = ALWAYS
        self._compared_with: Declared | None = None  # the declaration that these were compared with
        self._compared: dict[tuple[int, int], tuple[int, ...]] = {}
        self.now = WindowCounts()
        self.past: WindowCounts | None = None

    def add(self, row: int, record: TransferRecord) -> None:
        """Count a transfer that landed."""
        at = record.at
        if at >= self._newest_at:
            self.rows.append(row)
            self._newest_at = at
        else:
            self.rows.insert(bisect_right(self.rows, at, key=self.transfers.at), row)
        contribution = self.contribution(record)
        self.now.add(contribution, at)
        if self.past is not None:
            self.past.add(contribution, at)

    def change(self, before: TransferRecord | TransferBrief, after: TransferRecord) -> None:
        """Count a transfer by its changed record; nearly always that changes nothing."""
        if before.class_id in _AUTHORIZED_CLASSES or _COUNTED_BY(before) != _COUNTED_BY(after):
            self.replace(self.contribution(before), after)

    def replace(self, before: KriContribution, record: TransferRecord) -> None:
        """Count a transfer by its changed record; ``before`` was its contribution."""
        after = self.contribution(record)
        if after == before:
            return
        for counts in (self.now, self.past):
            if counts is not None:
                counts.change(before, -1, record.at)
                counts.change(after, 1, record.at)

    def advance(self, now: int) -> int:
        """Advance the windows that end now, and return their end."""
        upto = max(now, self.now.upto, self._newest_at)
        self.now.advance(self, upto)
        return upto

    def rows_from(self, at: int) -> "array[int]":
        """The rows of transfers whose own time is at or after an instant."""
        if at > self._newest_at:
            return array("I")
        return self.rows[bisect_right(self.rows, at - 1, key=self.transfers.at) if at > ALWAYS else 0 :]

    def contribution_of(self, row: int) -> KriContribution:
        return self.contribution(self.transfers.glance(row))

    def contribution(self, record: TransferRecord | TransferBrief) -> KriContribution:
        """The contribution of a transfer with this record."""
        class_id, ach_type, moved, cents = record.class_id, record.ach_type, record.moved, record.cents
        of_60d: tuple[int, ...] = ()
        of_30d = self._against_declared(class_id, record.country, record.at)
        if class_id == ORIGINATED_CLASS:
            if moved and cents:
                of_60d = _SENT[ach_type][self._strings.texts[record.sec_code] == RCK]
        elif class_id in _AUTHORIZED_CLASSES:
            texts = self._strings.texts
            is_fraud = texts[record.card_reason] in FRAUD_REASONS
            of_30d += _AUTHORIZED[(texts[record.status] == DECLINED) * (1 + is_fraud)]
        if record.score != UNSCORED:
            of_30d += _SCORED[record.score >= HOLD_FROM]
        if moved and cents > 0 and _LEAVES[class_id][ach_type]:
            return KriContribution(of_60d, of_30d, cents, record.counterparty)
        return KriContribution(of_60d, of_30d, 0, -1)

    def _against_declared(self, class_id: int, country: int, at: int) -> tuple[int, ...]:
        """The comparison of rail and country with the declaration of that time, computed once for each pair."""
        declared = self._declared_at(at)
        if declared is not self._compared_with:
            self._compared_with, self._compared = declared, {}
        counts = self._compared.get((class_id, country))
        if counts is None:
            counts = _against(RAIL_CLASSES[class_id][0], self._strings.text(country), declared)
            self._compared[class_id, country] = counts
        return counts

    def dump(self) -> tuple[Any, ...]:
        past = None if self.past is None else self.past.dump()
        return (self.rows.tobytes(), self._newest_at, self.now.dump(), past)

    def load(self, dumped: Any) -> None:
        rows, self._newest_at, now, past = dumped
        self.rows.frombytes(rows)
        self.now = WindowCounts.loaded(now)
        self.past = None if past is None else WindowCounts.loaded(past)


def _against(rail: str, country: str | None, declared: Declared) -> tuple[int, ...]:
    """The comparison of a rail and a country with a declaration; without declared rails and countries it is empty.

    An undelivered country is not compared, and neither are undeclared kinds.
    """
    known = [(rail, declared.rails)] if declared.rails else []
    if declared.countries and country is not None:
        known.append((country, declared.countries))
    if not known:
        return ()
    is_outside = any(word not in words.split(",") for word, words in known)
    return (COMPARABLE, OUTSIDE) if is_outside else (COMPARABLE,)
