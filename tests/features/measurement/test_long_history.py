"""The state against the naive oracle over four months, which usual months, chains and shares in the program need."""

import json
from random import Random
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.catalogue.thresholds import COUNTED_SIGNALS
from clearhold.features.catalogue.vector import FeatureVector, TransferFeaturesRow, values_by_name
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.few_transfers import let_few_suffice
from tests.support.landing_questions import compared
from tests.support.oracle_agreement import disagreements, rows_of

ACCOUNTS: Final = 12
TRANSFERS: Final = 260
FEW: Final = 20
Stated = tuple[str, bank.Data, int]


def months(chance: Random) -> list[LogEntry]:
    """Transfers between accounts that mostly deal with few others; some come late, and some are stated again."""
    stated: list[tuple[int, Stated]] = []
    at = T0
    for number in range(TRANSFERS):
        at += chance.choice((60_000_000, 60_000_000, 60_000_000, HOUR_US, DAY_US // 2, 3 * DAY_US))
        kind, data = transfer(chance, number)
        times = {"created_at": bank.rfc3339(at), "updated_at": bank.rfc3339(at)}
        told_at = at + chance.choice((0, 0, 0, 0, 3 * HOUR_US, 2 * DAY_US))
        stated.append((told_at, (kind, data | times, at)))
        if chance.random() < 0.1:
            later = told_at + chance.choice((HOUR_US, 20 * DAY_US))
            change = {"amount": chance.randrange(1, 90_000), "updated_at": bank.rfc3339(later)}
            stated.append((later, (kind, data | times | change, later)))
    stated.sort(key=lambda each: each[0])
    return [
        bank.a_bank_entry(kind, data, offset=offset, created_at=created_at, appended_at=told_at)
        for offset, (told_at, (kind, data, created_at)) in enumerate(stated, 1)
    ]


def transfer(chance: Random, number: int) -> tuple[str, bank.Data]:
    sender, receiver = (f"bacc_{min(chance.randrange(ACCOUNTS), chance.randrange(ACCOUNTS))}" for _ in range(2))
    sides = {"sender_bank_account_id": sender, "receiver_bank_account_id": receiver}
    cents = chance.choice((10_000, 10_000, 10_000, 25_000, chance.randrange(1, 400_000)))
    kind = chance.choices(("book", "wire", "card"), (8, 2, 1))[0]
    if kind == "book":
        return "book.transfer.completed", bank.a_book_transfer(id=f"book_{number}", amount=cents, **sides)
    if kind == "wire":
        party, is_incoming = f"cpty_{chance.randrange(4)}", chance.random() < 0.5
        data = bank.a_wire(id=f"wire_{number}", amount=cents, is_incoming=is_incoming, bank_account_id=sender)
        direction = "incoming" if is_incoming else "outgoing"
        return f"wire.{direction}_transfer.completed", data | {"counterparty_id": party}
    data = bank.a_card_authorization(id=f"ctxn_{number}", amount=cents, entity_id=None, bank_account_id=sender)
    return "card.authorization.approved", data


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    let_few_suffice(monkeypatch, FEW)


@pytest.mark.parametrize("seed", range(4))
def test_given_months_of_transfers_when_they_are_applied_then_every_vector_is_the_oracles(seed: int) -> None:
    found = disagreements(months(Random(seed)))

    assert not found, found


def test_given_months_of_transfers_when_the_state_is_reloaded_on_the_way_then_every_vector_is_the_same() -> None:
    entries, state = months(Random(6)), ShardState(0)
    half = len(entries) // 2

    rows = rows_of(state, entries[:half])
    rows += rows_of(ShardState.loaded(iter([*state.dump()])), entries[half:])

    assert vectors(rows) == vectors(rows_of(ShardState(0), entries))


def vectors(rows: list[msgspec.Struct]) -> list[FeatureVector]:
    return [row.vector for row in rows if isinstance(row, TransferFeaturesRow)]


def test_given_months_of_transfers_when_each_is_asked_about_and_lands_then_the_answers_are_the_same() -> None:
    state, chance = ShardState(0), Random(5)

    answers = [each for entry in months(Random(5)) if (each := compared(state, entry, chance)) is not None]

    assert len(answers) > TRANSFERS - 20
    assert not [each for each in answers if each.differences]


def test_given_months_of_transfers_when_they_are_applied_then_every_measure_of_a_long_history_is_told() -> None:
    told: dict[str, set[Any]] = {}
    for seed in range(4):
        for vector in vectors(rows_of(ShardState(0), months(Random(seed)))):
            for name, value in values_by_name(vector).items():
                told.setdefault(name, set()).add(value)

    long = [name for name in told if name.startswith(("payer.", "payee.", "first.", "day.")) or "Permille" in name]
    assert len(long) >= 40
    assert not {name for name in long if not told[name] - {None, 0, 1_000}}


def test_given_months_of_transfers_when_they_are_scored_then_common_signals_are_those_of_the_days_before() -> None:
    told = set[str | None]()
    for seed in range(2):
        first = dict[str, TransferFeaturesRow]()
        for row in rows_of(ShardState(0), months(Random(seed))):
            if isinstance(row, TransferFeaturesRow):
                alike = [
                    other for other in first.values() if (other.vector.rail == "card") == (row.vector.rail == "card")
                ]
                assert row.vector.common_signals == common_in(alike, row.taken_at // DAY_US), row.transfer_id
                told.add(row.vector.common_signals)
                if row.vector.moved:
                    first.setdefault(row.transfer_id, row)

    assert len(told) > 4


def common_in(scored: list[TransferFeaturesRow], day: int) -> str | None:
    """The signals by which more than 30 of 1,000 had points when first scored: in 90 days before, or in 7."""
    windows = [[row for row in scored if day - days <= row.taken_at // DAY_US < day] for days in (90, 7)]
    if len(windows[0]) < FEW:
        return None
    ids = [
        [{each["id"] for each in json.loads(row.reasons) if each["weight"] > 0} for row in window] for window in windows
    ]
    return " ".join(
        signal
        for signal in COUNTED_SIGNALS
        if any(len(each) >= FEW and 1_000 * sum(signal in one for one in each) > 30 * len(each) for each in ids)
    )
