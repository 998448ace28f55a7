"""Histories that are delivered out of order, and the vectors that rescoring must give.

Every event has its own time: a transfer's first event is created with the transfer, a return when it was returned, an
owner before any transfer. So the answer is the oracle's for the same events in the order of their own times.
"""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import msgspec

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.core.log_entry import LogEntry
from tests.oracle.facts import ALWAYS, Program
from tests.oracle.oracle import Expected, Oracle
from tests.oracle.pieces import AbroadTeller, SpelledTeller
from tests.oracle.random_amounts import CENTS, money
from tests.oracle.random_parties import ACCOUNTS, OWNERS, verified
from tests.oracle.random_scenes import SCENES, Plan
from tests.oracle.random_streams import MOVES, PARTIES, STATUSES, Teller, kind_of, way_of
from tests.oracle.reading import instant
from tests.support import bank_events as bank

Data = dict[str, Any]

DECLARED: Final = {"declaredCountries": ["US"], "declaredRails": []}
"""The declaration of a program that was created without one."""


class PunctualTeller(Teller):
    """Delivers everything at its own time, the owners first."""

    def begin(self) -> None:
        for account, owner in zip(ACCOUNTS, OWNERS, strict=True):
            if self.chance.random() < 0.7:
                data = bank.an_account(id=account, owners=[owner])
                self.say("account.unfrozen", data, self.now - DAY_US)

    def happen(self) -> None:
        self._let_time_pass()
        happenings = (self.transfer, self.again, self.scene, self.identity, self.counterparty)
        what = self.chance.choices(happenings, (8, 6, 1, 1, 1))[0]
        (what if self.told else self.transfer)()
        self.now += SECOND_US  # no two things happen at one instant, so that their order is known

    def transfer(self) -> None:
        chance = self.chance
        rail, direction, ach_type = chance.choice(MOVES)
        plan = Plan(0, rail, direction, ach_type, chance.choice(CENTS), chance.choice(ACCOUNTS), chance.choice(PARTIES))
        data = self._built(plan, self.now)
        data["status"] = "REFUNDED" if (rail, direction) == ("card", "incoming") else chance.choice(STATUSES[rail])
        if rail == "intl_wire":
            data |= money(chance, plan.cents)
        if rail == "card":
            data |= self._card(plan.account, data["status"])
        self.deliver(kind_of(rail, direction, data), data | {"updated_at": bank.rfc3339(self.now)}, self.now)

    def scene(self) -> None:
        for plan in self.chance.choice(SCENES)(self.chance, ACCOUNTS, PARTIES)[:20]:
            self.now += max(plan.gap, SECOND_US)
            data = self._built(plan, self.now) | {"status": plan.status, "updated_at": bank.rfc3339(self.now)}
            if plan.rail == "card":
                data |= self._card(plan.account, plan.status)
            self.deliver(kind_of(plan.rail, plan.direction, data), data, self.now)

    def again(self) -> None:
        """A newer snapshot, as of now: a settlement, a correction, a return and its dishonour."""
        kind, before, _ = self.chance.choice(self.told[-60:])
        data = before | self._change(kind, before) | {"updated_at": bank.rfc3339(self.now)}
        self.deliver(kind_of(*way_of(kind), data), data, self.now)

    def identity(self) -> None:
        word, data = verified(self.chance, self.now)
        self.say(f"identity.verification.{word}", data, self.now)


class TardyTeller(PunctualTeller):
    """Owners become known in the middle, and a transfer may have been created long before its first event."""

    def begin(self) -> None:
        self.transfer()
        self.now += SECOND_US

    def happen(self) -> None:
        if self.chance.random() < 0.2:
            self._let_time_pass()
            self.chance.choice((self.late_owner, self.late_transfer))()
            self.now += SECOND_US
        else:
            super().happen()

    def late_owner(self) -> None:
        which = self.chance.randrange(len(ACCOUNTS))
        self.say("account.unfrozen", bank.an_account(id=ACCOUNTS[which], owners=[OWNERS[which]]), self.now)

    def late_transfer(self) -> None:
        came, late = self.now, self.chance.choice((HOUR_US, DAY_US, 5 * DAY_US, 40 * DAY_US))
        plan = Plan(0, "wire", "outgoing", None, 42_000, self.chance.choice(ACCOUNTS), self.chance.choice(PARTIES))
        data = self._built(plan, came - late - self.made) | {"status": "COMPLETED", "updated_at": bank.rfc3339(came)}
        self.deliver("wire.outgoing_transfer.completed", data, came)


class MixedTeller(AbroadTeller, SpelledTeller):
    """Payees and countries in every spelling."""

    def happen(self) -> None:
        self.now += self.chance.choice((HOUR_US, 5 * HOUR_US, DAY_US, 9 * DAY_US)) + self.chance.randrange(1, HOUR_US)
        self.chance.choices((self.transfer, self.abroad, self.identity), (6, 3, 1))[0]()


def mixed_history(seed: int, happenings: int) -> list[LogEntry]:
    teller = MixedTeller(Random(seed), "prg_1")
    for _ in range(happenings):
        teller.happen()
    return sorted(teller.entries, key=own_time)


def tardy_history(seed: int, happenings: int) -> list[LogEntry]:
    return _history(TardyTeller(Random(seed), "prg_1"), happenings)


def history(seed: int, happenings: int) -> list[LogEntry]:
    """Events in the order of their own times."""
    return _history(PunctualTeller(Random(seed), "prg_1"), happenings)


def _history(teller: PunctualTeller, happenings: int) -> list[LogEntry]:
    teller.begin()
    for _ in range(happenings):
        teller.happen()
    return sorted(teller.entries, key=own_time)


def own_time(entry: LogEntry) -> int:
    return instant(json.loads(entry.body)["created_at"])


def is_later_word(entry: LogEntry, seen: set[str]) -> bool:
    """Whether an earlier event was about the same object."""
    event = json.loads(entry.body)
    known = event["data"].get("id") in seen
    seen.add(str(event["data"].get("id")))
    return known


Split = Callable[[Random, Sequence[LogEntry]], list[LogEntry]]


def shuffled(chance: Random, events: Sequence[LogEntry]) -> list[LogEntry]:
    return chance.sample(list(events), len(events))


def two_files(chance: Random, events: Sequence[LogEntry]) -> list[LogEntry]:
    """One rail after all the others, both in order."""
    family = chance.choice(("ach", "wire", "book", "card", "realtime"))
    return sorted(events, key=lambda entry: json.loads(entry.body)["type"].startswith(family))


def owners_last(_chance: Random, events: Sequence[LogEntry]) -> list[LogEntry]:
    return sorted(events, key=lambda entry: json.loads(entry.body)["type"].startswith("account."))


def later_words_last(_chance: Random, events: Sequence[LogEntry]) -> list[LogEntry]:
    """Returns, corrections and settlements come after the first event of every transfer."""
    seen: set[str] = set()
    return sorted(events, key=lambda entry: is_later_word(entry, seen))


def newest_first(_chance: Random, events: Sequence[LogEntry]) -> list[LogEntry]:
    return list(reversed(events))


SPLITS: Final[dict[str, Split]] = {
    "shuffled": shuffled,
    "two files": two_files,
    "owners last": owners_last,
    "later words last": later_words_last,
    "newest first": newest_first,
}


def expected_of(events: Sequence[LogEntry]) -> dict[str, Expected]:
    """The last scoring of each transfer, if every event had arrived at its own time."""
    oracle, last = Oracle(), {}
    oracle.programs["prg_1"] = Program(declared=[(ALWAYS, DECLARED)])
    for entry in events:
        expected = oracle.apply(msgspec.structs.replace(entry, appended_at=own_time(entry)))
        if expected is not None:
            last[expected.transfer_id] = expected
    return last
