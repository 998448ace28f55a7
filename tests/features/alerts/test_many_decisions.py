"""One decision on several alerts: each as if it came alone, each with its own result, all in one entry."""

from typing import Any

import msgspec

from clearhold.features.core.entries.commands import DecisionsEntry, OperatorKind
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.features.core.rows.alerts import ActionRow, AlertRow, DispositionRow, EntryResultRow
from clearhold.features.core.vocabulary import AlertDecision
from clearhold.features.policy.seeds import POLICY_V1
from tests.support.alert_rows import a_decision
from tests.support.clock import T0
from tests.support.policies import in_force_at
from tests.support.stories import ShardStory, detector_story

NOBODY = "00000000-0000-5000-8000-000000000000"


def waiting_alerts() -> tuple[ShardStory, list[AlertRow]]:
    """Alerts on one person who splits an amount, the newest version of each."""
    story = detector_story().introduce("enti_1")
    for place in range(8):
        story.wire("enti_1", f"cpty_{place}", 950_000, place * HOUR)
    rows = [*{row.id: row for row in story.all(AlertRow)}.values()]
    assert len(rows) >= 5
    return story, rows


def many(rows: list[AlertRow], decision: str = "close", **over: Any) -> DecisionsEntry:
    usual: dict[str, Any] = {
        "id": "dsp_many",
        "alert_ids": tuple(row.id for row in rows),
        "decision": AlertDecision(decision),
        "narrative": "One invoice, paid in parts; the contract was seen.",
        "operator": "ann",
        "operator_kind": OperatorKind.PERSON,
        "at": T0 + DAY,
    }
    return DecisionsEntry(**usual | over)


def results(story: ShardStory) -> dict[str | None, str]:
    """By alert, of the last entry; None is the entry itself."""
    return {row.alert_id: row.result for row in story.last(EntryResultRow)}


def test_given_one_decision_on_several_alerts_then_each_has_a_disposition_and_a_link_of_the_same_words() -> None:
    story, rows = waiting_alerts()
    entry = many(rows)

    story.submit(entry)

    dispositions = story.last(DispositionRow)
    assert [row.alert_id for row in dispositions] == [*entry.alert_ids]
    assert {(row.narrative, row.decided_by) for row in dispositions} == {(entry.narrative, "operator:ann")}
    assert [fact.id for fact in story.last(ChainFactRow)] == [entry.id_on(alert_id) for alert_id in entry.alert_ids]
    assert {row.offset for row in dispositions} == {story.entries[-1].offset}
    of_alerts: dict[str | None, str] = dict.fromkeys(entry.alert_ids, "made")
    assert results(story) == of_alerts | {None: "made"}
    assert {row.status for row in story.last(AlertRow)} == {"closed"}


def test_given_alerts_that_cannot_be_decided_among_them_then_the_others_are() -> None:
    story, rows = waiting_alerts()
    closed, *others = rows
    story.submit(a_decision(closed, "close", 10 * HOUR))
    unknown = msgspec.structs.replace(closed, id=NOBODY)

    story.submit(many([closed, unknown, *others]))

    expected: dict[str | None, str] = {row.id: "made" for row in others}
    assert results(story) == expected | {
        closed.id: "final",
        NOBODY: "unknown",
        None: "made",
    }
    assert [row.alert_id for row in story.last(DispositionRow)] == [row.id for row in others]


def test_given_the_entry_comes_again_then_nothing_changes() -> None:
    story, rows = waiting_alerts()
    story.submit(many(rows, "hold"))
    before = len(story.rows)

    assert story.submit(many(rows, "hold")) == []
    assert len(story.rows) == before


def test_given_several_alerts_then_their_rows_are_those_of_single_decisions() -> None:
    story, rows = waiting_alerts()
    entry = many(rows)
    story.submit(entry)
    alone, same = waiting_alerts()

    for row in same:
        decision = a_decision(row, "close", DAY, id=entry.id_on(row.id), operator="ann", narrative=entry.narrative)
        alone.submit(decision)

    def bodies(one: ShardStory) -> list[tuple[str, str]]:
        return [(fact.id, fact.body) for fact in one.all(ChainFactRow)]

    assert bodies(story) == bodies(alone)


def test_given_the_policy_needs_a_second_person_for_hard_alerts_then_those_wait_for_one() -> None:
    policy = msgspec.structs.replace(POLICY_V1, version="policy-v2", hard_needs_second_person=True)
    story = detector_story().introduce("enti_1", verification_status="DENIED")
    in_force_at(story, "policy-v2", policy, 0)
    story.wire("enti_1", "cpty_1", 950_000, HOUR)
    rows = [*{row.id: row for row in story.all(AlertRow)}.values()]
    hard = [row for row in rows if row.hard_signal]
    assert hard

    entry = many(rows)
    story.submit(entry)

    actions = [row for row in story.last(ActionRow) if row.type == "decide_alert"]
    assert {row.alert_id for row in actions} == {row.id for row in hard}
    assert {row.id for row in actions} == {entry.id_on(row.id) for row in hard}
    assert {row.alert_id for row in story.last(DispositionRow)} == {row.id for row in rows if not row.hard_signal}


def test_given_a_hard_alert_that_waits_for_a_second_person_when_decided_again_then_its_refusal_names_it() -> None:
    policy = msgspec.structs.replace(POLICY_V1, version="policy-v2", hard_needs_second_person=True)
    story = detector_story().introduce("enti_1", verification_status="DENIED")
    in_force_at(story, "policy-v2", policy, 0)
    story.wire("enti_1", "cpty_1", 950_000, HOUR)
    hard = [row for row in {row.id: row for row in story.all(AlertRow)}.values() if row.hard_signal]
    story.submit(many(hard))

    story.submit(many(hard, id="dsp_again", operator="bob"))

    expected: dict[str | None, str] = {row.id: "pending" for row in hard}
    assert results(story) == expected | {None: "made"}


def test_given_a_narrative_that_is_too_short_for_hard_alerts_then_only_they_are_refused() -> None:
    story = detector_story().introduce("enti_1", verification_status="DENIED")
    story.wire("enti_1", "cpty_1", 950_000, HOUR)
    story.introduce("enti_2")
    for place in range(4):
        story.wire("enti_2", f"cpty_{place}", 950_000, (2 + place) * HOUR)
    rows = [*{row.id: row for row in story.all(AlertRow)}.values()]

    story.submit(many(rows, narrative="Seen."))

    expected = {row.id: "narrative_too_short" if row.hard_signal else "made" for row in rows}
    assert {"narrative_too_short", "made"} == set(expected.values())
    assert results(story) == expected | {None: "made"}


def test_given_a_key_without_a_person_then_no_waiting_alert_is_decided() -> None:
    story, rows = waiting_alerts()

    story.submit(many(rows, operator="key:live_abcdefg", operator_kind=OperatorKind.KEY))

    expected: dict[str | None, str] = {row.id: "needs_person" for row in rows}
    assert results(story) == expected | {None: "made"}
    assert story.last(DispositionRow) == []
