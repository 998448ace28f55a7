"""One alert a detector, subject and window: what joins it, what upgrades it, what opens another, what is forgotten."""

from collections.abc import Sequence
from random import Random
from typing import Final
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.entries.commands import AppealEntry
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.alerts import AlertRow, DispositionRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.shard.shard import ShardState
from clearhold.features.state import alert_book
from clearhold.features.state.alert_book import AlertBook
from tests.oracle.random_streams import stream_of
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of, grade_of
from tests.support.clock import T0
from tests.support.programs import warmed_program
from tests.support.random_streams import streams
from tests.support.stories import PROGRAM, ShardStory, detector_story

NOON: Final = 80 * DAY


def book_of(story: ShardStory) -> AlertBook:
    return story.state.program(PROGRAM).alerts


def exposed() -> ShardStory:
    """Six quiet transfers, then the bank says that the entity is a politically exposed person."""
    story = detector_story(declared_rails=("ach",)).introduce("enti_1")
    for place in range(6):
        story.wire("enti_1", "cpty_1", 10_00, place * DAY)
    return story.introduce("enti_1", person_details={"pep_status": "yes"}, updated_at=None)


def there_and_back(story: ShardStory, day: int) -> None:
    """A round trip of the first entity; the third in 30 days is hard."""
    story.wire("enti_1", "enti_2", 1_000_00, day * DAY)
    story.wire("enti_2", "enti_1", 950_00, day * DAY + HOUR)


def round_trips_of(story: ShardStory, subject: str) -> list[AlertRow]:
    return [alert for alert in story.alerts("round_trip") if alert.subject_id == subject]


def test_given_hits_inside_the_window_then_they_join_one_alert_that_is_written_with_each() -> None:
    story = detector_story()

    for place in range(24):
        story.wire("enti_1", f"cpty_{place}", 10_00, place * HOUR // 4)

    versions = story.versions("fan_out")
    assert len({version.id for version in versions}) == 1
    assert [evidence_of(version)["hits"] for version in versions] == list(range(1, 21))
    assert {version.alert_sha256 for version in versions} == {versions[0].alert_sha256}
    assert evidence_of(versions[-1])["transferIds"] == [f"trf_{place}" for place in range(4, 24)]
    assert evidence_of(versions[-1])["totalCents"] == "20000"


def test_given_a_hit_after_the_window_then_it_opens_the_next_alert_and_the_first_stays() -> None:
    story = detector_story().introduce("enti_1", verification_status="DENIED")

    for hours in (1, 7 * 24, 7 * 24 + 1, 7 * 24 + 2):
        story.wire("enti_1", "cpty_1", 10_00, hours * HOUR)

    first, second = story.alerts("kyc_denied_moving")
    assert (evidence_of(first)["hits"], evidence_of(second)["hits"]) == (2, 2)
    assert (evidence_of(first)["earlierAlerts"], evidence_of(second)["earlierAlerts"]) == (0, 1)
    assert first.dedupe_key == "kyc_denied_moving:entity:enti_1:2026-03-02T16:00:00.000Z"


def test_given_a_hit_that_arrives_late_then_it_joins_the_alert_that_covers_its_own_time() -> None:
    story = detector_story().introduce("enti_1", verification_status="DENIED")
    story.wire("enti_1", "cpty_1", 10_00, 10 * DAY)

    late = bank.a_wire(id="late", entity_id="enti_1", created_at=bank.rfc3339(T0 + 9 * DAY), updated_at=None)
    story.deliver("wire.outgoing_transfer.completed", late, at=T0 + 11 * DAY)

    alert = story.alert("kyc_denied_moving")
    assert evidence_of(alert)["hits"] == 2
    assert evidence_of(alert)["firstAt"] == "2026-03-11T15:00:00.000Z"


def test_given_two_programs_then_the_same_hit_has_two_ids() -> None:
    ids = []
    for program_id in ("prg_1", "prg_2"):
        state, rows = ShardState(0), list[msgspec.Struct]()
        data = bank.a_wire(amount=2_500_00, beneficiary_address={"country_code": "IR"})
        entry = bank.a_bank_entry("wire.outgoing_transfer.completed", data, program_id=program_id)
        state.apply(entry, rows.append)
        ids += [row.id for row in rows if isinstance(row, AlertRow) and row.detector == "high_risk_geography"]

    assert len(ids) == 2
    assert len(set(ids)) == 2


def test_given_a_waiting_alert_when_a_graver_hit_comes_then_it_is_upgraded_at_once() -> None:
    story = detector_story().introduce("enti_1", "enti_2")
    for day in range(2):
        there_and_back(story, day)
    before = round_trips_of(story, "enti_1")[0]

    there_and_back(story, 2)

    after = round_trips_of(story, "enti_1")[0]
    assert (before.id, grade_of(before)) == (after.id, ("high", False))
    assert (grade_of(after), evidence_of(after)["hits"]) == (("high", True), 3)
    assert after.alert_sha256 == before.alert_sha256


def test_given_an_open_alert_when_a_hit_lies_in_the_hold_band_then_it_is_held() -> None:
    story = exposed()
    story.wire("enti_1", "cpty_1", 10_00, 6 * DAY + HOUR)
    before = story.alert("screening_stale_or_hit")

    story.introduce("enti_1", person_details={"pep_status": "yes"}, verification_status="DENIED", updated_at=None)
    story.wire("enti_1", "cpty_1", 10_00, 6 * DAY + 2 * HOUR)

    after = story.alert("screening_stale_or_hit")
    assert (before.status, after.status) == ("open", "held")
    assert (evidence_of(before)["autoHold"], evidence_of(after)["autoHold"]) == (False, True)
    assert (after.band_at_alert, evidence_of(after)["band"]) == ("unscored", "hold")  # opened by the bank's statement


def test_given_an_automatic_close_when_a_hit_may_not_be_closed_then_it_opens_an_alert_of_its_own() -> None:
    story = warmed_program()
    for place in range(6):
        story.wire("enti_1", "cpty_1", 250_00, NOON + place * HOUR)
    (closed,) = story.alerts("repeated_amount")

    story.introduce("enti_1", verification_status="DENIED", updated_at=None)
    story.wire("enti_1", "cpty_1", 250_00, NOON + 7 * HOUR)
    story.wire("enti_1", "cpty_1", 250_00, NOON + 8 * HOUR)

    first, second = story.alerts("repeated_amount")
    assert (closed.status, closed.route, closed.sla_tier) == ("auto_closed", "automated", "auto")
    assert first.id == closed.id
    assert (second.status, evidence_of(second)["hits"]) == ("held", 2)
    assert evidence_of(second)["routeReason"] == "hard_signal"


def test_given_a_close_by_a_person_then_like_hits_change_nothing_and_a_graver_one_opens_another() -> None:
    story = detector_story().introduce("enti_1", "enti_2")
    there_and_back(story, 0)
    (alert,) = round_trips_of(story, "enti_1")
    story.submit(a_decision(alert, "close", 2 * HOUR))

    there_and_back(story, 1)
    (still,) = round_trips_of(story, "enti_1")
    there_and_back(story, 2)

    closed, opened = round_trips_of(story, "enti_1")
    assert evidence_of(still)["hits"] == 1
    assert (closed.id, closed.status) == (alert.id, "closed")
    assert opened.hard_signal


def test_given_a_transfer_that_is_scored_again_then_its_alert_is_the_only_one() -> None:
    story = detector_story()
    data = bank.a_wire(amount=2_500_00, created_at=bank.rfc3339(T0), beneficiary_address={"country_code": "IR"})
    story.deliver("wire.outgoing_transfer.completed", data)

    for day in (1, 2):
        again = data | {"amount": 2_500_00 + day, "updated_at": bank.rfc3339(T0 + day * DAY)}
        story.deliver("wire.outgoing_transfer.completed", again, at=T0 + day * DAY)

    assert len(story.alerts("high_risk_geography")) == 1


def test_given_structuring_that_was_decided_on_when_it_goes_on_then_it_is_hard() -> None:
    story = detector_story()
    for place in range(3):
        story.wire("enti_1", f"cpty_{place}", 290_000, place * HOUR)
    (first,) = story.alerts("structuring_pattern")
    story.submit(a_decision(first, "close", 4 * HOUR))

    story.wire("enti_1", "cpty_9", 290_000, 5 * HOUR)

    _, second = story.alerts("structuring_pattern")
    assert (grade_of(first), grade_of(second)) == (("high", False), ("high", True))


def test_given_decided_alerts_whose_window_is_over_when_a_tick_comes_then_they_rest_and_still_answer() -> None:
    story = warmed_program()
    for place in range(6):
        story.wire("enti_1", "cpty_1", 250_00, NOON + place * HOUR)
    (alert,) = story.alerts("repeated_amount")
    kept = len(book_of(story)._unpacked)
    story.wire("enti_1", "cpty_1", 10_00, NOON + 3 * DAY)

    story.tick(NOON + 3 * DAY)

    assert len(book_of(story)._unpacked) < kept
    assert book_of(story).is_resting(alert.id)
    story.submit(a_decision(alert, "hold", NOON + 4 * DAY))
    (after_hold,) = story.alerts("repeated_amount")
    assert (after_hold.status, after_hold.summary, after_hold.draft) == ("held", alert.summary, alert.draft)
    assert not book_of(story).is_resting(alert.id)


def test_given_waiting_alerts_when_time_passes_then_they_are_kept_whole() -> None:
    story = detector_story().introduce("enti_1", verification_status="DENIED")
    story.wire("enti_1", "cpty_1", 10_00, HOUR)
    story.wire("enti_2", "cpty_1", 10_00, 100 * DAY)

    story.tick(100 * DAY)

    assert not book_of(story).is_resting(story.alert("kyc_denied_moving").id)


def _spoken_of(entries: Sequence[LogEntry], choices: Sequence[int]) -> list[LogEntry]:
    """The entries with ticks and decisions among them, on alerts that a first run of the same entries opened."""
    rows: list[msgspec.Struct] = []
    state = ShardState(0)
    for entry in entries:
        state.apply(entry, rows.append)
    alerts = [row for row in rows if isinstance(row, AlertRow)]
    spoken: list[LogEntry] = []
    for place, entry in enumerate(entries):
        spoken.append(msgspec.structs.replace(entry, offset=(2 * place + 1) << 20))
        choice = choices[place % len(choices)] if choices else 0
        offset, at = (2 * place + 2) << 20, entry.appended_at
        if choice % 4 == 1:
            spoken.append(LogEntry(0, offset, EntryKind.TICK, "", at, b""))
        elif choice % 4 == 2 and alerts:
            alert = alerts[choice % len(alerts)]
            word = ("close", "hold", "escalate", "release", "no_action")[choice // 4 % 5]
            body = msgspec.json.encode(a_decision(alert, word, at - T0, id=f"dsp_{place}"))
            spoken.append(LogEntry(0, offset, EntryKind.DECISION, alert.program_id, at, body))
    return spoken


@settings(max_examples=60, deadline=None)
@given(
    entries=streams(most=30, least=4), choices=st.lists(st.integers(0, 10_000), max_size=20), cut=st.integers(0, 100)
)
def test_given_any_stream_when_the_state_is_dumped_and_loaded_then_what_follows_is_the_same(
    entries: list[LogEntry], choices: list[int], cut: int
) -> None:
    spoken = _spoken_of(entries, choices)
    straight, resumed = list[msgspec.Struct](), list[msgspec.Struct]()
    state, half = ShardState(0), ShardState(0)
    place = cut * len(spoken) // 100

    for entry in spoken:
        state.apply(entry, straight.append)
    for entry in spoken[:place]:
        half.apply(entry, resumed.append)
    with patch("clearhold.features.windows.id_index.AT_ONCE", 2):
        half = ShardState.loaded(iter(list(half.dump())))
    for entry in spoken[place:]:
        half.apply(entry, resumed.append)

    assert straight == resumed
    assert not [row for row in straight if isinstance(row, QuarantineRow)]
    assert list(ShardState.loaded(iter(list(state.dump()))).dump()) == list(half.dump())


@settings(max_examples=40, deadline=None)
@given(entries=streams(most=40, least=4))
def test_given_any_stream_then_windows_of_one_subject_hold_one_alert_each_and_evidence_stays_bounded(
    entries: list[LogEntry],
) -> None:
    rows: list[msgspec.Struct] = []
    state = ShardState(0)
    for entry in entries:
        state.apply(entry, rows.append)
    alerts = [row for row in rows if isinstance(row, AlertRow)]
    bodies = {row.id for row in alerts}

    assert len({row.dedupe_key for row in alerts}) == len(bodies)
    for row in alerts:
        evidence = msgspec.json.decode(row.evidence)
        if "transferIds" in evidence:
            assert len(evidence["transferIds"]) <= 20
            assert evidence["hits"] >= len(evidence["transferIds"])
        else:  # what a snapshot of indicators finds is of no transfer
            assert (row.subject_type, row.transfer_id, row.route) == ("program", None, "reviewed")
        assert row.status != "auto_closed" or row.route == "automated"
        assert not row.hard_signal or row.route == "reviewed"
    assert {row.alert_id for row in rows if isinstance(row, DispositionRow)} <= bodies


@pytest.mark.parametrize("cents", [10**17, 7 * 10**15])
def test_given_amounts_as_large_as_they_come_then_their_sum_still_fits(cents: int) -> None:
    story = detector_story().introduce("enti_1", verification_status="DENIED")

    for place in range(128):
        story.wire("enti_1", "cpty_1", cents, place * HOUR)

    parts = list(story.state.dump())
    assert not story.all(QuarantineRow)
    assert list(ShardState.loaded(iter(parts)).dump()) == parts


@pytest.mark.parametrize("seed", range(4))
def test_given_texts_that_are_packed_at_once_when_findings_follow_then_the_rows_and_the_state_are_the_same(
    seed: int,
) -> None:
    entries = stream_of(Random(seed), 40)

    with patch.object(alert_book, "LOOSE_TEXTS", 0):
        packed_at_once = rows_and_state_of(entries)

    assert any(isinstance(row, AlertRow) for row in packed_at_once[0])
    assert rows_and_state_of(entries) == packed_at_once


def rows_and_state_of(entries: list[LogEntry]) -> tuple[list[msgspec.Struct], list[bytes]]:
    state, rows = ShardState(0), list[msgspec.Struct]()
    for entry in entries:
        state.apply(entry, rows.append)
    return rows, list(state.dump())


@pytest.mark.parametrize("wires", [24, 25, 60])
def test_given_an_alert_on_more_transfers_than_it_names_when_it_is_closed_or_appealed_then_that_is_on_all(
    wires: int,
) -> None:
    story = detector_story()
    for place in range(wires):
        story.wire("enti_1", f"cpty_{place}", 10_00, place * HOUR // 4)
    (alert,) = story.alerts("fan_out")
    book, clearings = book_of(story), story.program.clearings
    stored = book.get(alert.id)
    assert stored is not None
    in_alert = list(range(4, wires))
    assert list(stored.older()) == in_alert[:-20], "only the transfers that the alert no longer names"

    for each in {row.id: row for row in story.all(AlertRow)}.values():
        story.submit(a_decision(each, "close", 2 * DAY))
    story.tick(2 * DAY)
    closed = [row for row in range(wires) if clearings.is_cleared(row)]
    story.submit(AppealEntry(id="apl_1", alert_id=alert.id, reason="New facts.", operator="ann", at=T0 + 3 * DAY))
    appealed = [row for row in range(wires) if clearings.is_cleared(row)]

    assert set(in_alert) <= set(closed)
    assert appealed == [row for row in closed if row not in in_alert]
