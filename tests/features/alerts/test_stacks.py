"""Alerts that wait are stacked by the party that they accuse, and no stack is of unrelated people."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.alerts.stacks import MANY, VERY_MANY, stack_keys
from clearhold.features.core.entries.commands import AppealEntry, SplitEntry
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import WAITING
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from clearhold.features.state.stack_book import JOINED_WITHIN_US
from tests.support.alert_rows import a_decision, evidence_of, results_of
from tests.support.bank_stories import wire
from tests.support.clock import T0
from tests.support.programs import NOON, auto_closed_alert, denied_entity
from tests.support.random_streams import streams
from tests.support.stories import PROGRAM, ShardStory, detector_story

PAYDAYS: Final = (0, 15 * DAY, 30 * DAY)
LARGE: Final = 60_000_00


def newest(story: ShardStory) -> dict[str, AlertRow]:
    return {row.id: row for row in story.all(AlertRow)}


def stacks_of(story: ShardStory) -> dict[str, list[AlertRow]]:
    """The waiting alerts by stack."""
    stacks: dict[str, list[AlertRow]] = defaultdict(list)
    for row in newest(story).values():
        if row.status in WAITING:
            assert row.stack_id is not None
            stacks[row.stack_id].append(row)
    return stacks


def keys_of(story: ShardStory, at: int) -> set[tuple[str | None, str | None]]:
    """What the stacks of alerts share that opened since ``at``."""
    return {(row.stack_kind, row.stack_key) for row in newest(story).values() if row.opened_at >= T0 + at}


def payroll(employees: int, *, employer: str = "enti_boss") -> ShardStory:
    """Paydays of one employer over a month, all salaries alike, and a program long enough known to be scored."""
    story = detector_story().introduce(employer)
    for payday in PAYDAYS:
        for number in range(employees):
            story.wire(employer, f"cpty_{number}", 1_500_00 + number, payday + number * HOUR // 60)
    return story


def large_wires(story: ShardStory, parties: Sequence[str], at: int) -> None:
    """A wire to each that is far above all others, so that an alert opens on the transfer itself."""
    for number, party in enumerate(parties):
        story.wire("enti_boss", party, LARGE, at + number * HOUR)


def alerts_on_transfers(story: ShardStory, at: int) -> list[AlertRow]:
    return [row for row in newest(story).values() if row.subject_type == "transfer" and row.opened_at >= T0 + at]


def test_given_one_person_who_splits_an_amount_then_all_that_waits_is_one_stack() -> None:
    story = detector_story().introduce("enti_1")
    for place in range(6):
        story.wire("enti_1", f"cpty_{place}", 950_000, place * HOUR)

    (stack,) = stacks_of(story).values()

    assert {row.detector for row in stack} >= {"structuring_pattern", "new_counterparty_burst"}
    assert {(row.stack_kind, row.stack_key) for row in stack} == {("entity", "enti_1")}


def test_given_two_people_who_pay_one_counterparty_then_they_are_two_stacks() -> None:
    story = detector_story().introduce("enti_1", "enti_2", verification_status="DENIED")
    for entity in ("enti_1", "enti_2"):
        story.wire(entity, "cpty_1", 950_000, HOUR)

    assert {rows[0].stack_key for rows in stacks_of(story).values()} == {"enti_1", "enti_2"}


def test_given_a_payroll_when_two_salaries_are_odd_then_the_employees_are_not_one_stack() -> None:
    story, at = payroll(MANY + 2), 62 * DAY

    large_wires(story, ["cpty_3", "cpty_7"], at)

    on_transfers = alerts_on_transfers(story, at)
    assert {row.stack_key for row in on_transfers} == {"cpty_3", "cpty_7"}
    assert {row.stack_kind for row in on_transfers} == {"counterparty"}
    for rows in stacks_of(story).values():
        parties = {row.stack_key for row in rows}
        assert len(parties) == 1


def test_given_an_employer_of_few_when_two_salaries_are_odd_then_they_are_one_stack() -> None:
    story, at = payroll(MANY - 1), 62 * DAY

    large_wires(story, ["cpty_3", "cpty_7"], at)

    assert alerts_on_transfers(story, at)
    assert keys_of(story, at) == {("entity", "enti_boss")}


def test_given_a_payroll_whose_account_is_taken_over_then_the_new_payees_are_one_stack() -> None:
    story, at = payroll(MANY + 2), 62 * DAY

    large_wires(story, ["cpty_new1", "cpty_new2", "cpty_new3"], at)

    assert len(alerts_on_transfers(story, at)) >= 3
    assert keys_of(story, at) == {("entity", "enti_boss")}


def test_given_a_payroll_of_a_hundred_then_new_employees_are_not_one_stack() -> None:
    story, at = payroll(VERY_MANY), 62 * DAY

    large_wires(story, ["cpty_new1", "cpty_new2"], at)

    assert {row.stack_key for row in alerts_on_transfers(story, at)} == {"cpty_new1", "cpty_new2"}


def test_given_many_on_both_sides_then_an_alert_on_a_transfer_stands_by_it() -> None:
    story, at = payroll(MANY + 2), 62 * DAY
    for number in range(MANY):
        story.wire(f"enti_{number}", "cpty_3", 20_00, 30 * DAY + number * HOUR)

    large_wires(story, ["cpty_3"], at)

    on_transfers = alerts_on_transfers(story, at)
    assert on_transfers
    assert {(row.stack_kind, row.stack_key) for row in on_transfers} == {("transfer", on_transfers[0].subject_id)}


def test_given_two_weeks_between_transfers_then_the_next_alert_is_a_story_of_its_own() -> None:
    story = detector_story().introduce("enti_1")
    for day in (0, 10, 20, 40):
        for place in range(4):
            story.wire("enti_1", f"cpty_{day}_{place}", 950_000, day * DAY + place * HOUR)

    first, second = stacks_of(story).values()

    assert {row.stack_key for row in (*first, *second)} == {"enti_1"}
    assert max(row.opened_at for row in first) < T0 + 21 * DAY < min(row.opened_at for row in second)


def test_given_all_alerts_of_a_stack_are_decided_then_the_next_one_begins_another() -> None:
    story = detector_story().introduce("enti_1")
    for place in range(3):
        story.wire("enti_1", f"cpty_{place}", 950_000, place * HOUR)
    (stack_id,) = stacks_of(story)
    for row in stacks_of(story)[stack_id]:
        story.submit(a_decision(row, "close", DAY))

    for place in range(3):
        story.wire("enti_1", f"cpty_later{place}", 950_000, 2 * DAY + place * HOUR)

    assert stack_id not in stacks_of(story)
    closed = [row for row in newest(story).values() if row.status == "closed"]
    assert {row.stack_id for row in closed} == {stack_id}


def test_given_an_account_whose_owner_is_stated_later_then_the_owner_joins_its_stack() -> None:
    story = detector_story()
    for place in range(3):
        wire(story, "bacc_1", "outgoing", 950_000, place * HOUR, counterparty_id=f"cpty_{place}")
    ((stack_id, before),) = stacks_of(story).items()
    assert {(row.stack_kind, row.stack_key) for row in before} == {("account", "bacc_1")}

    story.introduce("enti_1", verification_status="DENIED")
    wire(story, "bacc_1", "outgoing", 950_000, DAY, counterparty_id="cpty_9", entity_id="enti_1")

    denied = story.alert("kyc_denied_moving")
    assert (denied.subject_id, denied.stack_id) == ("enti_1", stack_id)


def test_given_an_alert_that_the_policy_closed_then_it_has_a_stack_once_it_waits() -> None:
    story, alert = auto_closed_alert()
    assert alert.stack_id is None

    story.submit(a_decision(alert, "hold", NOON + 7 * HOUR))

    held = story.alert("repeated_amount")
    assert (held.status, held.stack_kind, held.stack_key) == ("held", "entity", "enti_1")


def test_given_an_appeal_then_it_stands_alone() -> None:
    story = denied_entity()
    alert = story.alert("kyc_denied_moving")
    story.submit(a_decision(alert, "close", 2 * HOUR))

    story.submit(AppealEntry(id="apl_1", alert_id=alert.id, reason="Look again.", operator="bob", at=T0 + 3 * HOUR))

    (appeal,) = (rows for rows in stacks_of(story).values())
    assert [(row.stack_kind, row.stack_key) for row in appeal] == [("appeal", alert.id)]


def structuring() -> tuple[ShardStory, str, list[AlertRow]]:
    story = detector_story().introduce("enti_1")
    for place in range(6):
        story.wire("enti_1", f"cpty_{place}", 950_000, place * HOUR)
    ((stack_id, rows),) = stacks_of(story).items()
    return story, stack_id, rows


def a_split(stack_id: str, rows: Sequence[AlertRow], **over: Any) -> SplitEntry:
    usual: dict[str, Any] = {
        "id": "spl_1",
        "stack_id": stack_id,
        "alert_ids": tuple(row.id for row in rows),
        "operator": "ann",
    }
    return SplitEntry(**{**usual, "at": T0 + DAY} | over)


def test_given_alerts_that_a_person_takes_out_then_they_are_a_stack_that_nothing_joins() -> None:
    story, stack_id, rows = structuring()

    rows_of_split = story.submit(a_split(stack_id, rows[:2]))
    story.wire("enti_1", "cpty_new", LARGE, 2 * DAY)

    assert results_of(rows_of_split) == ["made"]
    taken = {row.id: row for row in stacks_of(story)[next(each for each in stacks_of(story) if each != stack_id)]}
    assert taken.keys() == {row.id for row in rows[:2]}
    assert {(row.stack_kind, row.stack_key) for row in taken.values()} == {("split", stack_id)}
    assert len(stacks_of(story)[stack_id]) > len(rows) - 2


def test_given_a_split_that_cannot_be_made_then_nothing_changes() -> None:
    story, stack_id, rows = structuring()
    story.submit(a_decision(rows[0], "close", DAY))
    refused: dict[str, SplitEntry] = {
        "not_in_stack": a_split(stack_id, rows[:2], id="spl_2"),
        "whole_stack": a_split(stack_id, rows[1:], id="spl_3"),
    }
    for result, entry in refused.items():
        assert results_of(story.submit(entry)) == [result]
    other = a_split("no stack", rows[1:2], id="spl_4")
    assert results_of(story.submit(other)) == ["not_in_stack"]
    assert [*stacks_of(story)] == [stack_id]


def test_given_a_split_entry_that_comes_again_then_it_changes_nothing() -> None:
    story, stack_id, rows = structuring()
    story.submit(a_split(stack_id, rows[:1]))

    assert story.submit(a_split(stack_id, rows[:1])) == []


class NaiveStacks:
    """Every stack there ever was, each with its key, the times of its alerts, and the alerts that wait in it."""

    def __init__(self) -> None:
        self.stacks: list[tuple[tuple[str, str], list[int], set[str]]] = []
        self.place_of: dict[str, int] = {}

    def put(self, alert: AlertRow, keys: Callable[[], Sequence[tuple[str, str]]], at: int) -> None:
        if alert.status not in WAITING:
            for _, _, waiting in self.stacks:
                waiting.discard(alert.id)
        elif alert.id not in self.place_of:
            place = self._place(keys(), at)
            self.stacks[place][1].append(at)
            self.stacks[place][2].add(alert.id)
            self.place_of[alert.id] = place

    def _place(self, keys: Sequence[tuple[str, str]], at: int) -> int:
        for wanted in keys:
            for place in range(len(self.stacks) - 1, -1, -1):
                key, times, waiting = self.stacks[place]
                if key == wanted and waiting and min(times) - JOINED_WITHIN_US <= at <= max(times) + JOINED_WITHIN_US:
                    return place
        self.stacks.append((keys[0], [], set()))
        return len(self.stacks) - 1


def time_of(alert: AlertRow) -> int:
    """The time of the finding that opened it: in its dedupe key, or that of the transfer that it is on."""
    stamp = re.search(r":(\d{4}-\d\d-\d\dT[\d:.]+Z)(:\d+)?$", alert.dedupe_key)
    if stamp is None:
        evidence = msgspec.json.decode(alert.evidence)
        at = parse_instant(evidence["firstAt"])
    else:
        at = parse_instant(stamp[1])
    assert at is not None
    return at


@settings(max_examples=60, deadline=None)
@given(entries=streams(most=40, least=4), choices=st.lists(st.integers(0, 1_000), max_size=30))
def test_given_any_stream_and_decisions_then_stacks_are_those_of_a_naive_search(
    entries: list[LogEntry], choices: list[int]
) -> None:
    story, naive = detector_story(), NaiveStacks()
    open_ids: list[str] = []
    for number, entry in enumerate(entries):
        story.apply(msgspec.structs.replace(entry, offset=(len(story.entries) + 1) << 20))
        _compare(story, naive, open_ids)
        choice = choices[number % len(choices)] if choices else 0
        if choice % 3 == 1 and open_ids:
            alert = newest(story)[open_ids[choice % len(open_ids)]]
            word = ("close", "hold", "escalate")[choice // 3 % 3]
            story.submit(a_decision(alert, word, entry.appended_at - T0, id=f"dsp_{number}"))
            _compare(story, naive, open_ids)
    by_stack: dict[str, set[int]] = defaultdict(set)
    for alert_id, place in naive.place_of.items():
        by_stack[str(newest(story)[alert_id].stack_id)].add(place)
    assert all(len(places) == 1 for places in by_stack.values())
    assert len(by_stack) == len(set(naive.place_of.values()))


def _compare(story: ShardStory, naive: NaiveStacks, open_ids: list[str]) -> None:
    """Put the alerts of the last entry into the naive stacks in the order of their opening."""
    program = story.state.program(PROGRAM)
    for row in story.last(AlertRow):
        if row.subject_type == "program":
            continue
        naive.put(row, partial(_keys_of, program, row), time_of(row))
        open_ids.append(row.id)


def _keys_of(program: ProgramState, row: AlertRow) -> Sequence[tuple[str, str]]:
    """As the evidence has them, where it names the party; an alert at a delivery names no transfer."""
    evidence = evidence_of(row)
    if row.subject_type == "entity":
        by_account = evidence["entityId"] == row.subject_id and evidence["accountId"] is not None
        return [("entity", row.subject_id), *([("account", evidence["accountId"])] if by_account else [])]
    if row.subject_type == "counterparty":
        return [("counterparty", row.subject_id)]
    alert = program.alerts.get(row.id)
    transfer = None if row.transfer_id is None else StoredTransfer.find(program, row.transfer_id)
    assert alert is not None
    return stack_keys(program, alert, time_of(row), transfer)


def test_given_thousands_of_waiting_alerts_of_one_party_then_the_next_one_costs_the_same() -> None:
    """Counted in the stacks that are looked at: one, however many alerts wait."""
    story = detector_story().introduce("enti_1")
    for place in range(6):
        story.wire("enti_1", f"cpty_{place}", 950_000, place * HOUR)
    book = story.state.program(PROGRAM).alerts.stacks
    (row, *_) = newest(story).values()
    alert = story.state.program(PROGRAM).alerts.get(row.id)
    assert alert is not None
    for number in range(5_000):
        each = msgspec.structs.replace(alert, id=f"alr_{number}", stack_id=None)
        book.place(each, [(alert.stack_kind, alert.stack_key)], T0)  # type: ignore[list-item]
        book.note(each)

    assert len(book._by_key) == 1
    assert [len(stacks) for stacks in book._by_key.values()] == [1]
    assert book.waiting_in(row.stack_id or "") == 5_000 + len(newest(story))


def test_given_a_state_that_is_loaded_then_alerts_join_the_stacks_they_would_have_joined() -> None:
    story, stack_id, rows = structuring()
    story.submit(a_split(stack_id, rows[:1]))
    story.state = ShardState.loaded(iter(list(story.state.dump())))

    story.wire("enti_1", "cpty_new", LARGE, 2 * DAY)

    assert len(stacks_of(story)[stack_id]) > len(rows) - 1
    assert len(stacks_of(story)) == 2
