"""Alerts on settlements whose wallets are on a sanctions list."""

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, format_instant
from clearhold.features.core.log_entry import LogEntry, no_rows
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.shard.shard import ShardState
from tests.features.agents.test_oracle import played
from tests.support.clock import T0
from tests.support.scan_items import BASE, AgentStory, a_profile, a_settlement, address, an_agent, entity_of, wallet_of

DETECTOR = "screening_stale_or_hit"
LISTED = address(0xBAD0)


def hits_of(row: AlertRow) -> int:
    hits: int = msgspec.json.decode(row.evidence)["hits"]
    return hits


def test_given_a_listed_payer_when_it_pays_then_one_hard_alert_on_it_counts_its_payments() -> None:
    story = AgentStory().agents(an_agent()).profiles(a_profile(LISTED, "hit"))
    for number in range(3):
        at = T0 + number * HOUR_US
        story.settle(a_settlement(number, at, payer=LISTED), a_settlement(10 + number, at), at=at)

    rows = [row for row in story.all(AlertRow) if row.detector == DETECTOR]
    assert {(row.subject_type, row.subject_id) for row in rows} == {("counterparty", f"wallet:{BASE}:{LISTED}")}
    assert [(row.hard_signal, row.severity, row.route, hits_of(row)) for row in rows] == [
        (True, "high", "reviewed", hits) for hits in (1, 2, 3)
    ]


def test_given_an_agent_whose_wallet_is_listed_when_payments_of_before_are_imported_then_the_alert_is_hard() -> None:
    story = AgentStory().agents(an_agent()).profiles(a_profile(wallet_of(22), "hit"))
    story.settle(a_settlement(1, T0 - 20 * DAY_US), a_settlement(2, T0 + HOUR_US), at=T0 + HOUR_US)

    *_, row = [row for row in story.all(AlertRow) if row.detector == DETECTOR]
    assert (row.subject_id, row.hard_signal, hits_of(row)) == (entity_of(22), True, 2)


def listed_alerts(story: AgentStory) -> list[tuple[str, str, bool, str, int, str | None]]:
    rows = [row for row in story.all(AlertRow) if row.detector == DETECTOR]
    return [(r.subject_type, r.subject_id, r.hard_signal, r.route, hits_of(r), r.transfer_id) for r in rows]


def test_given_a_payer_when_its_wallet_is_listed_after_it_paid_then_it_is_in_a_hard_alert_at_once() -> None:
    story = AgentStory().agents(an_agent())
    story.settle(a_settlement(1, T0, payer=LISTED), a_settlement(2, T0 + HOUR_US, payer=LISTED), at=T0 + HOUR_US)
    story.settle(a_settlement(3, T0 + 2 * HOUR_US), at=T0 + 2 * HOUR_US)
    payer = f"wallet:{BASE}:{LISTED}"

    story.profiles(a_profile(LISTED, "hit"), at=T0 + DAY_US)

    assert listed_alerts(story) == [("counterparty", payer, True, "reviewed", 1, None)]
    row = story.one(AlertRow)
    evidence = msgspec.json.decode(row.evidence)
    assert (row.opened_at, evidence["fromHistory"], evidence["restsOn"]) == (
        T0 + DAY_US,
        False,
        [str(story.entries[3].offset)],
    )
    assert evidence["firstAt"] == evidence["lastAt"] == format_instant(T0 + HOUR_US)

    assert "a transfer, USD 2.50 incoming by realtime" in msgspec.json.decode(row.draft or "{}")["narrative"]

    story.profiles(a_profile(LISTED, "clear"), at=T0 + 2 * DAY_US).profiles(
        a_profile(LISTED, "hit"), at=T0 + 3 * DAY_US
    )
    paid_again = T0 + 4 * DAY_US
    story.settle(a_settlement(4, paid_again, payer=LISTED), at=paid_again)
    assert [alert[1:5] for alert in listed_alerts(story)][1:] == [(payer, True, "reviewed", 2)]
    assert story.all(AlertRow)[0].id == story.all(AlertRow)[-1].id


def test_given_an_agent_when_its_wallet_is_listed_after_it_was_paid_then_it_is_in_a_hard_alert_at_once() -> None:
    story = AgentStory().agents(an_agent(), an_agent(23))
    story.settle(a_settlement(1, T0), at=T0)

    story.profiles(a_profile(wallet_of(22), "hit"), a_profile(wallet_of(23), "hit"), at=T0 + DAY_US)

    assert listed_alerts(story) == [("entity", entity_of(22), True, "reviewed", 1, None)]


def test_given_an_agent_that_was_paid_when_it_takes_a_listed_wallet_then_it_is_in_a_hard_alert_at_once() -> None:
    story = AgentStory().agents(an_agent()).profiles(a_profile(LISTED, "hit"))
    story.settle(a_settlement(1, T0), at=T0)

    story.agents(an_agent(wallet=LISTED, updatedAt=format_instant(T0 + DAY_US)), at=T0 + DAY_US)

    assert [alert[:3] for alert in listed_alerts(story)] == [("entity", entity_of(22), True)]


@pytest.mark.parametrize("paid_before", [91 * DAY_US, None])
def test_given_a_wallet_that_nobody_saw_pay_in_90_days_when_it_is_listed_then_there_is_no_alert(
    paid_before: int | None,
) -> None:
    story = AgentStory().agents(an_agent())
    if paid_before is not None:
        story.settle(a_settlement(1, T0 - paid_before, payer=LISTED), at=T0)

    story.profiles(a_profile(LISTED, "hit"), at=T0)

    assert listed_alerts(story) == []


def test_given_a_new_agent_when_many_pay_it_then_that_alone_is_no_alert() -> None:
    story = AgentStory().agents(an_agent())
    story.settle(*(a_settlement(number, T0 + number) for number in range(9)), at=T0 + HOUR_US)

    assert "fan_in" not in {row.detector for row in story.all(AlertRow)}


def test_given_an_agent_when_far_more_pay_it_than_in_its_weeks_then_it_is_an_alert() -> None:
    story = AgentStory().agents(an_agent())
    for number in range(30):
        at = T0 + number * DAY_US
        story.settle(a_settlement(number, at, payer=address(7)), at=at)
    at = T0 + 30 * DAY_US
    story.settle(*(a_settlement(50 + number, at + number) for number in range(9)), at=at + HOUR_US)

    assert "fan_in" in {row.detector for row in story.all(AlertRow)}


@pytest.mark.parametrize("seed", range(4))
def test_given_agents_when_the_log_is_replayed_then_state_and_rows_are_those_of_before(seed: int) -> None:
    story, _, _ = played(seed)

    state, rows = replayed(story.entries)

    assert list(state.dump()) == list(story.state.dump())
    assert rows == story.rows
    silent = ShardState(0)
    for entry in story.entries:
        silent.apply(entry, no_rows)
    assert list(silent.dump()) == list(story.state.dump())


def replayed(entries: list[LogEntry]) -> tuple[ShardState, list[object]]:
    """A state that is made from the log, loaded from a dump in the middle, and its rows."""
    state, rows = ShardState(0), list[object]()
    for number, entry in enumerate(entries):
        if number == len(entries) // 2:
            state = ShardState.loaded(iter([*state.dump()]))
        state.apply(entry, rows.append)
    return state, rows


def test_given_an_agent_that_was_paid_when_its_profile_denies_it_then_a_hard_alert_opens_at_once() -> None:
    story = AgentStory()
    story.agents(an_agent())
    story.settle(a_settlement(1, T0), at=T0)

    story.profiles(a_profile(wallet_of(22), verificationStatus="DENIED", screenedAt=format_instant(T0 + 1)), at=T0 + 2)

    (alert,) = story.last(AlertRow)
    assert (alert.detector, alert.subject_id, alert.hard_signal) == ("kyc_denied_moving", entity_of(22), True)
    story.profiles(a_profile(wallet_of(22), verificationStatus="DENIED", screenedAt=format_instant(T0 + 3)), at=T0 + 4)
    assert story.last(AlertRow) == []
