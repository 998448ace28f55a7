"""Entries are committed in pages: the state and the newest rows are the same wherever the pages end."""

import sys
from collections import Counter
from random import Random
from time import process_time
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import msgspec
import pytest

from clearhold.features.alerts.newest_finding import NewestFinding
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.log_entry import EntryKind, LogEntry, no_rows
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.shard.appliers import APPLIERS, Applier
from clearhold.features.shard.shard import ShardState
from tests.oracle.random_streams import stream_of
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of
from tests.support.clock import T0
from tests.support.stories import ShardStory, detector_story

MINUTE: Final = HOUR // 60
SIZES: Final = (2, 7, 1_000)
Rows = list[msgspec.Struct]


def in_pages(entries: list[LogEntry], size: int) -> tuple[Rows, list[bytes]]:
    """The rows of the entries, and the state after them."""
    state, rows = ShardState(0), Rows()
    for number, entry in enumerate(entries, 1):
        state.apply(entry, rows.append, ends_page=number % size == 0 or number == len(entries))
    return rows, list(state.dump())


def newest_of(rows: Rows) -> dict[str, AlertRow]:
    """The version with the highest offset of each alert; of two of one entry the later one."""
    newest: dict[str, AlertRow] = {}
    for row in rows:
        if isinstance(row, AlertRow) and (row.id not in newest or newest[row.id].offset <= row.offset):
            newest[row.id] = row
    return newest


def others_of(rows: Rows) -> Counter[str]:
    return Counter(repr(row) for row in rows if not isinstance(row, AlertRow))


def busy_story(transfers: int) -> ShardStory:
    """An entity that sends the same amount each minute."""
    story = detector_story().introduce("enti_1")
    for place in range(transfers):
        story.wire("enti_1", f"cpty_{place % 3}", 250_00, place * MINUTE)
    return story


def decided_story() -> ShardStory:
    """Alerts that are escalated, closed and appealed by clock and by persons while further transfers join them."""
    story = busy_story(12)
    story.submit(a_decision(story.alert("repeated_amount"), "escalate", 13 * MINUTE))
    story.wire("enti_1", "cpty_1", 250_00, 14 * MINUTE)
    story.tick(15 * MINUTE)
    story.wire("enti_1", "cpty_2", 250_00, 16 * MINUTE)
    story.submit(a_decision(story.alert("repeated_amount"), "close", 17 * MINUTE))
    story.wire("enti_1", "cpty_2", 250_00, 18 * MINUTE)
    for day in (1, 3, 10, 60):
        story.tick(day * DAY)
        story.wire("enti_1", "cpty_2", 250_00, day * DAY + MINUTE)
    return story


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(6))
def test_given_a_stream_when_its_pages_end_elsewhere_then_state_and_newest_rows_are_the_same(
    seed: int, size: int
) -> None:
    entries = stream_of(Random(seed), 60)
    rows, state = in_pages(entries, 1)

    paged, paged_state = in_pages(entries, size)

    assert paged_state == state
    assert newest_of(paged) == newest_of(rows)
    assert others_of(paged) == others_of(rows)


@pytest.mark.parametrize("size", SIZES)
def test_given_decisions_between_findings_when_pages_end_elsewhere_then_state_and_newest_rows_are_the_same(
    size: int,
) -> None:
    story = decided_story()
    assert {row.status for row in story.versions("repeated_amount")} >= {"open", "escalated", "closed"}

    paged, state = in_pages(story.entries, size)

    assert state == list(story.state.dump())
    assert newest_of(paged) == newest_of(story.rows)
    assert others_of(paged) == others_of(story.rows)


def test_given_forty_transfers_of_a_page_when_they_join_an_alert_then_it_is_written_once_with_the_last() -> None:
    story = busy_story(40)
    each = story.versions("repeated_amount")

    paged, _ = in_pages(story.entries, 1_000)

    versions = [row for row in paged if isinstance(row, AlertRow) and row.detector == "repeated_amount"]
    assert len(each) > 30
    assert versions == [each[0], each[-1]]
    assert evidence_of(versions[-1])["hits"] == len(each)


@pytest.mark.parametrize("after", range(3))
def test_given_a_transfer_of_a_page_in_the_hold_band_when_others_follow_it_then_its_alert_says_that_it_was_held(
    after: int,
) -> None:
    story = detector_story(declared_rails=("ach",)).introduce("enti_1")
    for place in range(6):
        story.wire("enti_1", "cpty_1", 10_00, place * DAY)
    for place, verdict in enumerate(("APPROVED", "DENIED"), 6):
        exposed = {"person_details": {"pep_status": "yes"}, "created_at": None, "updated_at": None}
        stated = bank.an_entity(id="enti_1", verification_status=verdict, **exposed)
        story.deliver("identity.updated", stated, at=T0 + place * DAY - 1)
        story.wire("enti_1", "cpty_1", 10_00, place * DAY)
    for place in range(after):  # late ones, of the time before the entity was denied
        story.wire("enti_1", "cpty_1", 10_00, 6 * DAY + (place + 1) * HOUR)
    bands = [evidence_of(row)["band"] for row in story.versions("screening_stale_or_hit")]
    assert bands[-1 - after] == "hold"
    assert "hold" not in bands[len(bands) - after :]

    paged, _ = in_pages(story.entries, 1_000)

    (alert_id,) = {row.id for row in story.versions("screening_stale_or_hit")}
    newest = newest_of(paged)[alert_id]
    assert (newest.status, evidence_of(newest)["autoHold"]) == ("held", True)
    assert newest == newest_of(story.rows)[alert_id]


def calls_of(entry: LogEntry, state: ShardState) -> int:
    """How many functions are called to apply an entry, those of the interpreter included."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        state.apply(entry, no_rows, ends_page=False)
    finally:
        sys.setprofile(None)
    return calls


def calls_at(entities: int) -> int:
    """The calls of one transfer after 400 of a page at a number of entities."""
    story, state = detector_story(), ShardState(0)
    for place in range(401):
        story.wire(f"enti_{place % entities}", f"cpty_{place % entities}", 250_00, place * MINUTE)
    for entry in story.entries[:-1]:
        state.apply(entry, no_rows, ends_page=False)
    return calls_of(story.entries[-1], state)


def test_given_one_busy_entity_when_its_next_transfer_joins_its_alerts_then_it_costs_little_more_than_at_many() -> None:
    assert calls_at(1) < 1.75 * calls_at(401)


def test_given_an_alert_that_fails_when_its_page_ends_then_the_entry_is_quarantined_and_others_are_written() -> None:
    story = busy_story(40)
    write, failed = NewestFinding.__call__, list[str]()

    def write_or_fail(finding: NewestFinding) -> object:
        if not failed or finding.alert.id in failed:
            failed.append(finding.alert.id)
            raise RuntimeError
        return write(finding)

    with patch.object(NewestFinding, "__call__", write_or_fail):
        paged, _ = in_pages(story.entries, 1_000)

    assert len(failed) == 1
    assert [row.offset for row in paged if isinstance(row, QuarantineRow)] == [story.entries[-1].offset]
    newest, expected = newest_of(paged), newest_of(story.rows)
    assert [alert_id for alert_id in expected if newest[alert_id] != expected[alert_id]] == failed


TICK: Final = LogEntry(0, 1, EntryKind.TICK, "", 0, b"")


def a_program_with(joined: int) -> Any:
    """As much of a program as the end of a page needs, with a number of alerts that findings joined."""
    unwritten = dict.fromkeys(range(joined))
    alerts = SimpleNamespace(unwritten=unwritten, write_next=unwritten.popitem)
    return SimpleNamespace(alerts=alerts, read_transfers=SimpleNamespace(end_page=lambda: None))


def page_end_s(programs: int, *, alerts: int, each: int) -> float:
    """The processor time of the end of a tick's page, where each of the first programs has ``each`` alerts to write."""
    state = ShardState(0)
    for number in range(programs):
        state.programs[f"prog_{number}"] = a_program_with(each if number * each < alerts else 0)
    tick = Applier(lambda _: None, lambda *_: None, to_every_program=True)
    with patch.dict(APPLIERS, {EntryKind.TICK.value: tick}):
        state.apply(TICK, no_rows, ends_page=False)
    began, written = process_time(), 0
    while state.write_alert(TICK, no_rows):
        written += 1
    took = process_time() - began
    assert written == alerts
    return took


@pytest.mark.parametrize(("alerts", "each"), [(0, 1), (100, 1), (100, 50)])
def test_given_ten_times_the_programs_when_a_tick_ends_its_page_then_it_takes_about_ten_times_as_long(
    alerts: int, each: int
) -> None:
    few, many = (min(page_end_s(size, alerts=alerts, each=each) for _ in range(3)) for size in (2_000, 20_000))

    assert many < 60 * few, (few, many)
