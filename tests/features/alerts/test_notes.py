"""Notes on alerts, and assignments, from the log: rows and links, without any effect on scores, statuses or stacks."""

from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.canonical import ALERT_NOTE
from clearhold.features.core.entries.commands import AssignEntry, NoteEntry
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.features.core.principal import OperatorIdentity
from clearhold.features.core.rows.alerts import AlertAssignmentRow, AlertNoteRow, AlertRow, EntryResultRow
from clearhold.features.shard.shard import ShardState
from tests.support.alert_rows import a_decision, results_of
from tests.support.clock import T0
from tests.support.stories import PROGRAM, ShardStory, detector_story

SHA: Final = "ab" * 32


def structuring() -> tuple[ShardStory, list[AlertRow]]:
    story = detector_story().introduce("enti_1")
    for place in range(6):
        story.wire("enti_1", f"cpty_{place}", 950_000, place * HOUR)
    newest = {row.id: row for row in story.all(AlertRow)}
    return story, sorted(newest.values(), key=lambda row: row.id)


def a_note(alert_id: str, **over: Any) -> NoteEntry:
    usual: dict[str, Any] = {"id": "note_1", "alert_sha256": SHA, "note": "I called.", "operator": "ann"}
    return NoteEntry(**{**usual, "alert_id": alert_id, "at": T0 + DAY} | over)


def an_assignment(*alert_ids: str, **over: Any) -> AssignEntry:
    usual: dict[str, Any] = {"id": "asg_1", "assignee": "Ann  LEE", "operator": "bob"}
    return AssignEntry(**{**usual, "alert_ids": alert_ids, "at": T0 + DAY} | over)


def test_given_a_note_then_it_is_a_row_and_a_link_and_the_alert_stays() -> None:
    story, (alert, *_) = structuring()

    rows = story.submit(a_note(alert.id, principal_id="op_1", identity=OperatorIdentity.PERSON))

    note, fact, result = rows
    assert isinstance(note, AlertNoteRow)
    assert isinstance(fact, ChainFactRow)
    assert isinstance(result, EntryResultRow)
    assert (note.id, note.alert_id, note.note, note.written_by, note.identity, note.created_at) == (
        *("note_1", alert.id, "I called.", "ann", "person"),
        T0 + DAY,
    )
    assert (fact.chain, fact.id, result.kind, result.result) == ("actions", "note_1", "note", "made")
    body = msgspec.json.decode(fact.body)
    assert body == {
        "id": "note_1",
        "tenantId": alert.tenant_id,
        "programId": PROGRAM,
        "alertId": alert.id,
        "kind": ALERT_NOTE,
        "note": "I called.",
        "actor": "ann",
        "principalId": "op_1",
        "identity": "person",
        "createdAt": format_instant(T0 + DAY),
        "alertSha256": SHA,
    }


def test_given_an_alert_that_was_closed_and_rests_then_a_note_is_still_made() -> None:
    story, (alert, *_) = structuring()
    story.submit(a_decision(alert, "close", DAY))
    story.wire("enti_1", "cpty_0", 100, 50 * DAY)
    story.tick(51 * DAY)
    assert story.state.program(PROGRAM).alerts.is_resting(alert.id)

    rows = story.submit(a_note(alert.id, at=T0 + 60 * DAY))

    assert results_of(rows) == ["made"]
    assert story.state.program(PROGRAM).alerts.is_resting(alert.id)


def test_given_alerts_to_assign_then_each_that_is_known_has_a_row_with_the_key_of_the_name() -> None:
    story, (one, other, *_) = structuring()

    rows = story.submit(an_assignment(one.id, other.id, one.id, "no such alert"))

    assigned = [row for row in rows if isinstance(row, AlertAssignmentRow)]
    assert [(row.alert_id, row.assignee, row.assignee_key, row.assigned_by) for row in assigned] == [
        (one.id, "Ann  LEE", "ann lee", "bob"),
        (other.id, "Ann  LEE", "ann lee", "bob"),
    ]
    assert len({row.id for row in assigned}) == 2
    assert results_of(rows) == ["made"]
    assert not [row for row in rows if isinstance(row, ChainFactRow | AlertRow)]


def test_given_no_assignee_then_the_alert_is_assigned_to_nobody() -> None:
    story, (alert, *_) = structuring()

    (row, _) = story.submit(an_assignment(alert.id, assignee=None))

    assert isinstance(row, AlertAssignmentRow)
    assert (row.assignee, row.assignee_key) == (None, "")


@pytest.mark.parametrize("entry", [a_note("no such alert"), an_assignment("no such alert")])
def test_given_an_unknown_alert_then_nothing_but_the_result_is_written(entry: NoteEntry | AssignEntry) -> None:
    story, _ = structuring()

    rows = story.submit(entry)

    assert len(rows) == 1
    assert results_of(rows) == ["unknown"]


def test_given_an_entry_that_comes_again_then_it_changes_nothing() -> None:
    story, (alert, *_) = structuring()
    story.submit(a_note(alert.id))
    story.submit(an_assignment(alert.id))

    assert story.submit(a_note(alert.id, note="Another text.")) == []
    assert story.submit(an_assignment(alert.id, assignee=None)) == []


def test_given_a_clock_of_the_caller_that_is_ahead_then_the_time_is_that_of_the_log() -> None:
    story, (alert, *_) = structuring()
    story.append("note", msgspec.json.encode(a_note(alert.id, at=T0 + 9 * DAY)), at=T0 + DAY)  # type: ignore[arg-type]

    assert [row.created_at for row in story.last_rows if isinstance(row, AlertNoteRow)] == [T0 + DAY]


_TEXTS: Final = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
_STEPS: Final = st.lists(st.tuples(st.booleans(), st.integers(0, 3), _TEXTS), max_size=12)


@settings(max_examples=30, deadline=None)
@given(steps=_STEPS, cut=st.integers(0, 12))
def test_given_any_notes_and_assignments_when_replayed_or_resumed_then_the_rows_are_the_same_bytes(
    steps: list[tuple[bool, int, str]], cut: int
) -> None:
    story, alerts = structuring()
    before, alert_rows = len(story.entries), story.all(AlertRow)
    for number, (is_note, place, text) in enumerate(steps):
        alert_id, at = alerts[place % len(alerts)].id, T0 + DAY + number
        if is_note:
            story.submit(a_note(alert_id, id=f"id_{number % 9}", note=text, at=at))
        else:
            story.submit(an_assignment(alert_id, id=f"id_{number % 9}", assignee=text if place else None, at=at))

    assert story.all(AlertRow) == alert_rows
    replayed, rows = ShardState(0), list[msgspec.Struct]()
    for place, entry in enumerate(story.entries):
        if place == before + cut:
            replayed = ShardState.loaded(iter([*replayed.dump()]))
        replayed.apply(entry, rows.append)
    assert rows == story.rows
    assert [*replayed.dump()] == [*ShardState.loaded(iter([*story.state.dump()])).dump()]
