"""Facts delivered in any order and then rescored give the scores of the same facts in order."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.core.entries.commands import OwnerEntry, Rescored
from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.vocabulary import LabelValue
from tests.features.parties.test_clearings import ENTITY, decide_all, hot_wire, label
from tests.oracle.random_streams import stream_of
from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.recomputed import Streamed, in_own_order, renumbered, shuffled
from tests.support.scan_items import AgentStory, a_settlement, an_agent
from tests.support.stories import ShardStory

LOADED_AT: Final = T0 + 400 * DAY_US
COMPLETED: Final = "wire.outgoing_transfer.completed"
RECEIVED: Final = "wire.incoming_transfer.completed"
Event = tuple[str, bank.Data, int]


def loaded(events: Sequence[Event]) -> list[LogEntry]:
    """History as a bank loads it: after the fact, in the order of its files."""
    return [
        bank.a_bank_entry(
            kind, data, offset=number, created_at=at, appended_at=LOADED_AT, event_id=f"{data.get('id')}/{kind}/{at}"
        )
        for number, (kind, data, at) in enumerate(events, 1)
    ]


def in_order(events: Iterable[Event]) -> Streamed:
    stream = Streamed(loaded(sorted(events, key=lambda event: event[2])))
    assert not stream.needs_replay
    return stream


def wires(count: int = 200, *, seed: int = 3, **over: Any) -> list[Event]:
    """Wires of five entities and thirteen counterparties, one every two hours."""
    chance = Random(seed)
    return [a_wire(f"wire_{number}", T0 + 2 * number * HOUR_US, chance, **over) for number in range(count)]


def a_wire(wire_id: str, at: int, chance: Random, **over: Any) -> Event:
    sides = {"entity_id": f"enti_{chance.randrange(5)}", "counterparty_id": f"cpty_{chance.randrange(13)}"}
    stamps = {"created_at": bank.rfc3339(at), "updated_at": bank.rfc3339(at)}
    data = bank.a_wire(id=wire_id, amount=chance.randrange(1_000, 400_000), **{**sides, **stamps, **over})
    return (COMPLETED if chance.random() < 0.7 else RECEIVED, data, at)


def scores(found: dict[str, Rescored]) -> dict[str, int | None]:
    return {key: each.score.value for key, each in found.items()}


@pytest.mark.parametrize("late", [(60, 120, 150), (0,), tuple(range(0, 200, 2)), tuple(range(150))])
def test_given_a_part_of_history_that_is_loaded_last_when_rescored_then_all_is_as_loaded_in_order(
    late: tuple[int, ...],
) -> None:
    events = wires()
    apart = Streamed(
        loaded([*(each for place, each in enumerate(events) if place not in late), *map(events.__getitem__, late)])
    )
    ordered = in_order(events)

    assert apart.needs_replay
    assert apart.newest != ordered.newest
    assert apart.recomputed() == ordered.newest


def test_given_a_file_by_rail_and_a_file_backwards_when_rescored_then_all_is_as_loaded_in_order() -> None:
    events = wires(120)
    debits: list[Event] = []
    for day in range(10):
        at = T0 + day * DAY_US + HOUR_US
        data = bank.an_ach_transfer(
            id=f"acht_{day}", amount=20_000 + day, type="DEBIT", entity_id="enti_1", counterparty_id=f"cpty_{day % 3}"
        )
        stamps = {"created_at": bank.rfc3339(at), "updated_at": bank.rfc3339(at)}
        debits.append(("ach.outgoing_transfer.settled", data | stamps, at))
    ordered = in_order([*events, *debits])

    for order in ([*debits, *events], [*events, *debits], [*events, *debits][::-1]):
        assert Streamed(loaded(order)).recomputed() == ordered.newest


@pytest.mark.parametrize("seed", range(30))
def test_given_a_random_stream_in_any_order_when_rescored_then_all_is_as_in_order(seed: int) -> None:
    ordered = Streamed(in_own_order(shuffled(stream_of(Random(seed), 30), Random(0))))
    expected = ordered.recomputed() if ordered.needs_replay else ordered.newest

    for order in (1, 2):
        assert Streamed(shuffled(ordered.entries, Random(order))).recomputed() == expected


@pytest.mark.parametrize("seed", range(100, 160))
def test_given_facts_that_came_in_order_when_recomputed_in_full_then_every_byte_is_the_stored_one(seed: int) -> None:
    stream = Streamed(in_own_order(stream_of(Random(seed), 25)))

    if not stream.needs_replay:
        assert stream.changes() == {}


def test_given_the_streams_in_order_then_many_of_them_need_no_replay() -> None:
    """Otherwise the test above compares nothing."""
    needing = [Streamed(in_own_order(stream_of(Random(seed), 25))).needs_replay for seed in range(100, 130)]

    assert 5 < needing.count(False) < 30


def test_given_an_event_that_is_delivered_twice_then_no_vector_needs_a_replay() -> None:
    entries = loaded(wires(20))
    again = [msgspec.structs.replace(entries[3], appended_at=LOADED_AT + DAY_US)]

    stream = Streamed(renumbered([*entries, *again]))

    assert not stream.needs_replay
    assert stream.changes() == {}


OWNED: Final[dict[str, Any]] = {"entity_id": None, "bank_account_id": "bacc_1"}


@pytest.mark.parametrize("stated_by", ["operator", "bank"])
def test_given_an_owner_who_is_stated_after_the_transfers_when_rescored_then_they_are_the_owners_from_the_beginning(
    stated_by: str,
) -> None:
    """The transfers of the entity's other account count together with those of this one."""
    events = [*wires(60, seed=4, **OWNED), *wires(40, seed=5, entity_id="enti_1", bank_account_id="bacc_2")]
    events = [(kind, data | {"id": f"wire_{place}"}, at) for place, (kind, data, at) in enumerate(events)]
    account = bank.an_account(id="bacc_1", owners=["enti_1"])
    known = in_order([("account.updated", account, T0 - DAY_US), *events])
    if stated_by == "bank":
        told = Streamed(
            loaded([*sorted(events, key=lambda each: each[2]), ("account.updated", account, T0 + 300 * DAY_US)])
        )
    else:
        told = Streamed(loaded(sorted(events, key=lambda each: each[2])))
        owner = OwnerEntry(id="own_1", account_id="bacc_1", entity_id="enti_1", operator="sam", at=LOADED_AT)
        told.append(EntryKind.OWNER, owner)

    assert told.needs_replay
    assert told.newest != known.newest
    assert told.recomputed() == known.newest


def test_given_an_owner_who_is_stated_before_the_transfers_then_no_vector_needs_a_replay() -> None:
    owner = OwnerEntry(id="own_1", account_id="bacc_1", entity_id="enti_1", operator="sam", at=LOADED_AT)
    stated = LogEntry(0, 1, EntryKind.OWNER, "prg_1", LOADED_AT, msgspec.json.encode(owner))

    stream = Streamed(renumbered([stated, *loaded(wires(30, **OWNED))]))

    assert not stream.needs_replay
    assert stream.changes() == {}


def debits_with(*later: Event) -> list[Event]:
    """Debits of one entity, and what happens to some of them."""
    events: list[Event] = []
    for day in range(30):
        at = T0 + day * DAY_US
        events.append(("ach.outgoing_transfer.settled", a_debit(day, at, at), at))
    return [*events, *later]


def a_debit(day: int, at: int, updated_at: int, **over: Any) -> bank.Data:
    stamps = {"created_at": bank.rfc3339(at), "updated_at": bank.rfc3339(updated_at)}
    sides = {"entity_id": "enti_1", "counterparty_id": f"cpty_{day % 4}"}
    return bank.an_ach_transfer(**{"id": f"acht_{day}", "amount": 20_000, "type": "DEBIT", **sides, **stamps, **over})


def changed_debit(day: int, after: int, **over: Any) -> tuple[bank.Data, int]:
    at = T0 + day * DAY_US
    return a_debit(day, at, at + after, **over), at + after


def a_later(kind: str, day: int, after: int, **over: Any) -> Event:
    data, at = changed_debit(day, after, **over)
    return kind, data, at


RETURNED: Final = "ach.outgoing_transfer.returned"
LATER: Final[dict[str, tuple[Event, ...]]] = {
    "a return": (
        a_later(RETURNED, 3, 2 * DAY_US, status="RETURNED", return_details=[bank.a_return("R10", T0 + 5 * DAY_US)]),
    ),
    "two returns": tuple(
        a_later(
            RETURNED, day, DAY_US, status="RETURNED", return_details=[bank.a_return("R01", T0 + (day + 1) * DAY_US)]
        )
        for day in (4, 9)
    ),
    "a dishonoured return": (
        a_later(RETURNED, 6, DAY_US, status="RETURNED", return_details=[bank.a_return("R10", T0 + 7 * DAY_US)]),
        a_later(
            "ach.outgoing_transfer.return_dishonored",
            6,
            4 * DAY_US,
            status="RETURN_DISHONORED",
            return_details=[bank.a_return("R10", T0 + 7 * DAY_US), bank.a_return("R61", T0 + 10 * DAY_US)],
        ),
    ),
    "another amount": (a_later("ach.outgoing_transfer.settled", 8, HOUR_US, amount=950_000),),
    "another counterparty": (a_later("ach.outgoing_transfer.settled", 8, HOUR_US, counterparty_id="cpty_77"),),
    "a cancelation": (a_later("ach.outgoing_transfer.canceled", 10, SECOND_US, status="CANCELED"),),
    "a denied identity": (("identity.verification.denied", {"id": "enti_1"}, T0 + 12 * DAY_US),),
}


@pytest.mark.parametrize("told_last", list(LATER))
def test_given_a_fact_that_is_delivered_last_when_rescored_then_all_is_as_in_order(told_last: str) -> None:
    ordered, last = in_order(debits_with(*LATER[told_last])), Streamed(loaded(debits_with(*LATER[told_last])))

    assert last.needs_replay
    assert last.newest != ordered.newest
    assert last.recomputed() == ordered.newest


def test_given_a_rescoring_then_it_changes_scores_alone_and_the_windows_of_later_transfers_are_the_same() -> None:
    events = wires(120)
    late = Streamed(loaded([*events[1:], events[0]]))
    scores_apart = {"program", "transfers", "scores", "day_tallies", "alerts"}

    before = [part for part in late.program.dump() if part[0] not in scores_apart]
    before = msgspec.msgpack.decode(msgspec.msgpack.encode(before))
    late.rescore()
    after = [part for part in late.program.dump() if part[0] not in scores_apart]

    assert late.newest == in_order(events).newest
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(after)) == before


def test_given_a_rescored_transfer_when_it_is_returned_then_its_score_is_the_one_of_history_in_order() -> None:
    """Its baseline, too, is the recomputed one."""
    events = debits_with()
    late, ordered = Streamed(loaded([*events[5:], *events[:5]])), in_order(events)
    late.rescore()
    again = a_later(
        RETURNED, 9, 40 * DAY_US, status="RETURNED", return_details=[bank.a_return("R10", T0 + 49 * DAY_US)]
    )

    for stream in (late, ordered):
        stream.deliver(msgspec.structs.replace(loaded([again])[0], offset=len(stream.entries) + 1))

    assert ordered.newest["acht_9"].vector != in_order(events).newest["acht_9"].vector
    assert late.newest["acht_9"] == ordered.newest["acht_9"]


def test_given_a_repeated_rescoring_then_it_changes_nothing() -> None:
    events = wires(80)
    late = Streamed(loaded([*events[1:], events[0]]))

    late.rescore()

    assert late.changes() == {}


def test_given_settlements_of_agents_in_any_order_when_rescored_then_all_is_as_in_order() -> None:
    items = [a_settlement(number, T0 + number * HOUR_US, payer=f"0x{number % 3 + 7:040x}") for number in range(40)]
    ordered, apart = AgentStory(), AgentStory()
    ordered.agents(an_agent()).settle(*items, at=LOADED_AT)
    apart.agents(an_agent()).settle(*items[20:], *items[:20], at=LOADED_AT)

    expected, late = Streamed(ordered.entries), Streamed(apart.entries)

    assert (expected.needs_replay, late.needs_replay) == (False, True)
    assert late.newest != expected.newest
    assert late.recomputed() == expected.newest


def of_released(*, is_released: bool) -> Streamed:
    """An entity with a duty to be screened, a transfer in the hold band, a decision on it, and a later transfer."""
    story = ShardStory(a_program())
    story.introduce(ENTITY, requires_screening=True, last_screened_at=bank.rfc3339(T0 - 50 * DAY_US))
    for day in range(40, 4, -1):
        story.wire(ENTITY, "cpty_usual", 10_000 + day, -day * DAY_US)
    wire = hot_wire(story, 1, 0)
    if is_released:
        decide_all(story, wire, "release", HOUR_US)
    story.wire(ENTITY, "cpty_usual", 10_000, DAY_US)
    return Streamed(story.entries, runs_detectors=True)


def test_given_a_release_that_ends_an_entitys_points_when_recomputed_in_full_then_it_counts_as_it_did() -> None:
    """How often the entity must be screened depends on its band, and that on the release."""
    held, released = of_released(is_released=False), of_released(is_released=True)
    days = [[*each.rows.values()][-1].vector.entity_rescreen_days for each in (held, released)]

    assert days == [30, 365]
    assert [each.changes() for each in (held, released)] == [{}, {}]


def of_labelled(code: str | None) -> Streamed:
    """The same with a debit that a person labels ok, before the bank returns it."""
    story = ShardStory(a_program())
    story.introduce(ENTITY, requires_screening=True, last_screened_at=bank.rfc3339(T0 - 50 * DAY_US))
    for day in range(40, 4, -1):
        story.wire(ENTITY, "cpty_usual", 10_000 + day, -day * DAY_US)
    debit = story.debit(ENTITY, "cpty_new", 9_985_000, 0)
    label(story, debit["id"], LabelValue.OK, HOUR_US)
    if code is not None:
        story.return_debit(debit, code, 2 * HOUR_US)
    story.wire(ENTITY, "cpty_usual", 10_000, DAY_US)
    return Streamed(story.entries, runs_detectors=True)


@pytest.mark.parametrize(("code", "days"), [("R10", 30), ("R07", 30), ("R01", 365), (None, 365)])
def test_given_a_label_ok_that_a_return_contradicts_when_recomputed_in_full_then_the_points_count_as_they_did(
    code: str | None, days: int
) -> None:
    stream = of_labelled(code)

    assert [*stream.rows.values()][-1].vector.entity_rescreen_days == days
    assert stream.changes() == {}
