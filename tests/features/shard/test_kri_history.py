"""Indicator snapshots: one per quarter of an hour while the service runs, one per past day while history is loaded."""

from collections import Counter
from random import Random
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.instants import MINUTE_US as MINUTE
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.stories import PROGRAM, ShardStory

Event = tuple[int, str, bank.Data]
QUARTER: Final = 15 * MINUTE
MIDNIGHT: Final = T0 // DAY * DAY
LIVE: Final = MIDNIGHT + 80 * DAY + 10 * HOUR
"""When the program was declared, and its history loaded."""
OF_ALERTS: Final = ("review_aging_hours", "hold_aging_hours")


def declared(at: int) -> ShardStory:
    program = a_program(id=PROGRAM, declared_monthly_volume_cents="900000")
    return ShardStory().append(EntryKind.PROGRAM, msgspec.json.encode(program), at=at)


def snapshots(story: ShardStory, cause: str) -> list[KriSnapshotRow]:
    return [row for row in story.all(KriSnapshotRow) if row.cause == cause]


def kris_of(row: KriSnapshotRow) -> dict[str, Any]:
    kris: dict[str, Any] = msgspec.json.decode(row.kris)
    return {name: value for name, value in kris.items() if name not in OF_ALERTS}


@pytest.mark.parametrize("seed", range(3))
def test_given_ticks_that_jitter_then_each_quarter_of_an_hour_has_exactly_one_snapshot(seed: int) -> None:
    story, random = declared(MIDNIGHT), Random(seed)
    for minute in range(1, 12 * 60):
        at = MIDNIGHT + minute * MINUTE + random.randint(-2_000, 15_000)
        story.append(EntryKind.TICK, b"", at=at)

    taken = Counter((row.as_of_at - MIDNIGHT) // QUARTER for row in snapshots(story, "scheduled"))
    assert taken == dict.fromkeys(range(48), 1)


@pytest.mark.parametrize("ahead_us", [90 * MINUTE, 400 * 24 * 60 * MINUTE])
def test_given_a_tick_of_a_clock_that_was_ahead_when_it_is_right_again_then_quarters_have_their_snapshots(
    ahead_us: int,
) -> None:
    story = declared(MIDNIGHT)
    for minute in range(1, 61):
        story.append(EntryKind.TICK, b"", at=MIDNIGHT + minute * MINUTE + (ahead_us if minute == 20 else 0))

    taken = Counter((row.as_of_at - MIDNIGHT) // QUARTER for row in snapshots(story, "scheduled"))
    assert sum(taken.values()) <= 5
    assert [taken[quarter] for quarter in range(4)] == [1, 1, 1, 1]


def test_given_a_service_that_was_down_then_its_quarters_are_missing_and_the_one_of_its_start_is_not() -> None:
    story = declared(MIDNIGHT)
    for minute in (*range(1, 31), *range(59, 91)):
        story.append(EntryKind.TICK, b"", at=MIDNIGHT + minute * MINUTE)

    assert [(row.as_of_at - MIDNIGHT) // QUARTER for row in snapshots(story, "scheduled")] == [0, 1, 3, 4, 5]


def a_life(days: int, seed: int = 1) -> list[Event]:
    """Some debits a day with returns, wires, cards, accounts that freeze and entities that are denied."""
    random, events = Random(seed), []
    for number in range(days * 8):
        at = MIDNIGHT + number * DAY // 8 + random.randint(0, HOUR)
        times = {"created_at": bank.rfc3339(at), "updated_at": bank.rfc3339(at)}
        party = {"bank_account_id": f"bacc_{number % 7}", "counterparty_id": f"cpty_{random.randint(0, 9)}"}
        kind = number % 4
        if kind == 0:
            amount = random.randint(100, 900_00)
            wire = bank.a_wire(id=f"wire_{number}", amount=amount, **times, **party)
            events.append((at, "wire.outgoing_transfer.completed", wire))
        elif kind == 1:
            account = bank.an_account(id=f"bacc_{number % 9}", updated_at=times["updated_at"])
            events.append((at, "account.frozen" if random.random() < 0.3 else "account.unfrozen", account))
            status = random.choice(("DENIED", "VERIFIED"))
            person = bank.an_entity(id=f"enti_{number % 40}", verification_status=status, **times)
            events.append((at, "identity.updated", person))
        else:
            debit = bank.an_ach_transfer(id=f"acht_{number}", type="DEBIT", status="SETTLED", **times, **party)
            events.append((at, "ach.outgoing_transfer.settled", debit))
            if random.random() < 0.2:
                back = at + random.randint(1, 5) * DAY
                details = [bank.a_return(random.choice(("R01", "R10", "R03")), back)]
                change = {"status": "RETURNED", "return_details": details, "updated_at": bank.rfc3339(back)}
                events.append((back, "ach.outgoing_transfer.returned", debit | change))
    return sorted((event for event in events if event[0] < MIDNIGHT + days * DAY), key=lambda event: event[0])


def lived(events: list[Event], days: int) -> list[dict[str, Any]]:
    """The indicators at the end of each day, by snapshots on request while the events happened."""
    story, measured = declared(MIDNIGHT - DAY), []
    for day in range(days):
        for at, kind, data in events:
            if (at - MIDNIGHT) // DAY == day:
                story.deliver(kind, data, at=at)
        story.snapshot(MIDNIGHT + (day + 1) * DAY - 1 - T0)
        measured.append(kris_of(story.one(KriSnapshotRow)))
    return measured


def loaded(events: list[Event], *, tick_every: int = 0) -> ShardStory:
    """The same events loaded as history, one a second, with ticks between them if asked."""
    story = declared(LIVE)
    for number, (at, kind, data) in enumerate(events):
        story.deliver(kind, data, at=at, appended_at=LIVE + number)
        if tick_every and number % tick_every == 0:
            story.append(EntryKind.TICK, b"", at=LIVE + number)
    return story


@pytest.mark.parametrize("tick_every", [0, 1, 40])
def test_given_history_then_each_past_day_has_the_figures_that_a_snapshot_of_its_time_would_have(
    tick_every: int,
) -> None:
    events = a_life(75)
    story = loaded(events, tick_every=tick_every)
    story.deliver("account.unfrozen", bank.an_account(id="bacc_1"), at=LIVE + HOUR)

    rows = snapshots(story, "history")
    days = [(row.as_of_at + 1 - MIDNIGHT) / DAY for row in rows]
    assert days == list(range(1, 81)), "each day up to the one that is not over, those without events among them"
    assert [kris_of(row) for row in rows[:75]] == lived(events, 75)
    assert len({row.id for row in rows}) == len(rows)
    assert story.program.kri_windows.past is None


def test_given_a_restart_in_the_middle_of_the_history_then_the_same_snapshots_follow() -> None:
    events = a_life(40)
    story = declared(LIVE)
    for number, (at, kind, data) in enumerate(events):
        if number % 50 == 0:
            story.state = ShardState.loaded(iter(list(story.state.dump())))
        story.deliver(kind, data, at=at, appended_at=LIVE + number)

    assert snapshots(story, "history") == snapshots(loaded(events), "history")


def test_given_late_events_of_a_day_with_a_snapshot_then_it_stays_and_the_next_days_count_them() -> None:
    events = a_life(30)
    late = next(event for event in events if event[1].startswith("wire") and event[0] > MIDNIGHT + 10 * DAY)
    in_time = [event for event in events if event is not late]
    place = next(index for index, event in enumerate(in_time) if event[0] > MIDNIGHT + 20 * DAY)
    story = loaded([*in_time[:place], late, *in_time[place:]])

    figures = [kris_of(row) for row in snapshots(story, "history")]
    without, whole = lived(in_time, 29), lived(events, 29)
    day = (late[0] - MIDNIGHT) // DAY
    assert (figures[:19], figures[20:]) == (without[:19], whole[20:])
    assert without[day] != whole[day]


def test_given_history_that_pauses_then_its_last_day_is_closed_by_the_second_tick_and_goes_on_after_it() -> None:
    events = a_life(10)
    story = loaded(events)
    assert len(snapshots(story, "history")) == 9
    for minute in range(1, 5):
        story.append(EntryKind.TICK, b"", at=LIVE + minute * MINUTE)
    assert len(snapshots(story, "history")) == 10
    at = MIDNIGHT + 12 * DAY
    story.deliver("account.unfrozen", bank.an_account(id="bacc_1"), at=at, appended_at=LIVE + HOUR)

    ends = [(row.as_of_at + 1 - MIDNIGHT) // DAY for row in snapshots(story, "history")]
    assert ends == list(range(1, 13))


def test_given_a_program_that_begins_live_then_late_events_and_midnights_lead_to_no_snapshot_of_history() -> None:
    story = declared(LIVE)
    story.wire("enti_1", "cpty_1", 100_00, LIVE - T0 + HOUR)
    story.deliver("wire.outgoing_transfer.completed", bank.a_wire(id="old"), at=MIDNIGHT, appended_at=LIVE + 2 * HOUR)
    story.wire("enti_1", "cpty_1", 100_00, LIVE - T0 + 3 * DAY)

    assert snapshots(story, "history") == []


def test_given_a_gap_of_years_then_the_days_whose_windows_are_empty_are_left_out() -> None:
    story = declared(LIVE)
    for at in (LIVE - 4_000 * DAY, LIVE - 10 * DAY, LIVE + HOUR):
        story.deliver("account.unfrozen", bank.an_account(id="bacc_1"), at=at, appended_at=LIVE + HOUR)

    assert len(snapshots(story, "history")) == 60 + 10


def test_given_breaches_of_the_past_then_the_history_opens_no_alert_on_the_program() -> None:
    story = declared(LIVE)
    for number, (at, kind, data) in enumerate(a_life(60)):
        story.deliver(kind, data, at=at, appended_at=LIVE + number)

    statuses = {value["status"] for row in snapshots(story, "history") for value in kris_of(row).values()}
    assert "breach" in statuses
    program_alerts = [row for row in story.all(AlertRow) if row.subject_type == "program"]
    assert {row.offset for row in program_alerts} <= {row.offset for row in snapshots(story, "transfers")}
