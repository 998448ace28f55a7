"""Program caps on a shard: periods, late and corrected transfers, changes of a cap, and what becomes of alerts."""

from typing import Any

import msgspec
import pytest

from clearhold.features.core.entries.actions import CapKind
from clearhold.features.core.entries.preflight import ProposedTransfer, decide
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.rows.alerts import AlertRow, PolicyRow
from clearhold.features.core.vocabulary import AchType, Band, Decision, Direction, Rail
from clearhold.features.limits.caps import cap_usage
from clearhold.features.limits.ladder import LadderParties, bands_of, ladder_hits
from clearhold.features.limits.proposed import PreflightAssessment, assess_proposed
from clearhold.features.policy.bodies import BandCaps, Ladder, LimitLadder
from clearhold.features.policy.seeds import LADDER_V1
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.caps import approve, request, set_cap
from tests.support.clock import T0
from tests.support.stories import PROGRAM, ShardStory, detector_story

NOTHING = BandCaps(per_transaction_cents="0", daily_cents="0", monthly_cents="0")
BANDS = Ladder(clear=NOTHING, review=NOTHING, hold=NOTHING, unscored=NOTHING)
NOTHING_MAY_MOVE = LimitLadder(counterparty=BANDS, entity=BANDS, rescreen_days=LADDER_V1.rescreen_days)
BREACH = "program_limit_breach"
MIDNIGHT = 9 * HOUR_US  # from T0, 15:00 UTC on 2 March, to the end of the day
APRIL = MIDNIGHT + 29 * DAY_US


def capped(**caps: int) -> ShardStory:
    story = detector_story()
    for kind, cap in caps.items():
        set_cap(story, CapKind(kind), cap, at=T0)
    return story


def late(story: ShardStory, entity: str, cents: int, at: int, *, arrives: int, **over: Any) -> None:
    """An ACH debit that is delivered after its own time."""
    data = bank.an_ach_transfer(
        id=f"late_{len(story.entries)}",
        entity_id=entity,
        amount=cents,
        type="DEBIT",
        created_at=bank.rfc3339(T0 + at),
        updated_at=bank.rfc3339(T0 + arrives),
        **over,
    )
    story.deliver("ach.outgoing_transfer.settled", data, at=T0 + arrives)


def breaches(story: ShardStory) -> list[str]:
    """The kinds of the alerts, in the order in which they were opened."""
    return [evidence(alert)["limit"] for alert in story.alerts(BREACH)]


def evidence(alert: AlertRow) -> dict[str, str]:
    features: dict[str, str] = msgspec.json.decode(alert.evidence)["features"]
    return features


def proposal(story: ShardStory, cents: int, at: int, **over: Any) -> PreflightAssessment:
    usual: dict[str, Any] = {
        "rail": Rail.ACH,
        "direction": Direction.OUTGOING,
        "type": AchType.DEBIT,
        "entity_id": "enti_1",
    }
    return assess_proposed(story.program, ProposedTransfer(**usual | {"amount_cents": str(cents)} | over), at=T0 + at)


@pytest.mark.parametrize(
    ("kind", "last", "first"),
    [("ach_debit_daily", MIDNIGHT - 1, MIDNIGHT), ("ach_debit_monthly", APRIL - 1, APRIL)],
)
def test_given_a_day_or_month_that_is_full_when_it_ends_then_the_next_microsecond_is_another(
    kind: str, last: int, first: int
) -> None:
    story = capped(**{kind: 100_00})
    story.ach("enti_1", 100_00, last)

    assert [reason.id for reason in proposal(story, 1, last).crossed] == [f"limit:{kind}"]
    assert not proposal(story, 100_00, first).crossed
    story.ach("enti_2", 100_00, first)
    assert not breaches(story)
    sent = LadderParties("enti_2", story.program.entity("enti_2"), None, None)
    bands = bands_of(story.program, sent, at=T0 + first)
    hits = ladder_hits(NOTHING_MAY_MOVE, sent, bands, cents=1, at=T0 + first)
    assert [hit.observed for hit in hits] == ["0", "10000", "10000"]
    story.ach("enti_2", 1, first + 1)
    assert breaches(story) == [kind]


def test_given_transfers_in_any_order_when_the_day_passes_its_cap_then_one_alert_names_them() -> None:
    for times in ((HOUR_US, 2 * HOUR_US, 3 * HOUR_US), (3 * HOUR_US, 2 * HOUR_US, HOUR_US)):
        story = capped(ach_debit_daily=100_00)
        for at in times:
            late(story, "enti_1", 50_00, at, arrives=DAY_US)
        (alert,) = story.alerts(BREACH)
        late(story, "enti_1", 1, 4 * HOUR_US, arrives=DAY_US)

        (alert,) = story.alerts(BREACH)
        stored = msgspec.json.decode(alert.evidence)
        assert (len(stored["restsOn"]), stored["restsOnCount"], stored["hits"]) == (4, 4, 2)
        assert evidence(alert)["limitObservedCents"] == str(150_01)


def test_given_a_late_transfer_when_it_fills_24_hours_of_an_entity_then_the_breach_is_seen() -> None:
    story = capped(entity_velocity_24h=2)
    late(story, "enti_1", 1_00, 2 * HOUR_US, arrives=30 * HOUR_US)
    late(story, "enti_1", 1_00, 3 * HOUR_US + DAY_US, arrives=30 * HOUR_US)
    late(story, "enti_1", 1_00, 3 * HOUR_US, arrives=30 * HOUR_US)
    assert not breaches(story)

    late(story, "enti_1", 1_00, 3 * HOUR_US + 1, arrives=30 * HOUR_US)

    assert breaches(story) == ["entity_velocity_24h"]


def test_given_a_transfer_when_corrected_on_the_next_day_or_canceled_then_the_sums_follow() -> None:
    story = capped(ach_debit_daily=100_00)
    first = story.debit("enti_1", "cpty_1", 60_00, HOUR_US)
    second = story.debit("enti_1", "cpty_1", 40_00, 2 * HOUR_US)
    later = {"updated_at": bank.rfc3339(T0 + DAY_US)}
    story.deliver("ach.outgoing_transfer.settled", second | later | {"amount": 40_01}, at=T0 + DAY_US)
    assert breaches(story) == ["ach_debit_daily"]

    fresh = capped(ach_debit_daily=100_00)
    first = fresh.debit("enti_1", "cpty_1", 60_00, HOUR_US)
    stopped = first | {"status": "CANCELED", "updated_at": bank.rfc3339(T0 + 2 * HOUR_US)}
    fresh.deliver("ach.outgoing_transfer.canceled", stopped, at=T0 + 2 * HOUR_US)
    fresh.debit("enti_1", "cpty_1", 100_00, 3 * HOUR_US)
    assert not breaches(fresh)
    assert cap_usage(fresh.program, T0 + 4 * HOUR_US)[CapKind.ACH_DEBIT_DAILY] == (100_00, 1)


def test_given_a_transfer_known_before_a_cancellation_when_it_is_told_late_then_it_breaches_as_it_did_then() -> None:
    story = capped(ach_debit_daily=100_00)
    first = story.debit("enti_1", "cpty_1", 60_00, HOUR_US)
    stopped = first | {"status": "CANCELED", "updated_at": bank.rfc3339(T0 + 3 * HOUR_US)}
    story.deliver("ach.outgoing_transfer.canceled", stopped, at=T0 + 3 * HOUR_US)

    late(story, "enti_1", 50_00, 2 * HOUR_US, arrives=4 * HOUR_US)

    assert breaches(story) == ["ach_debit_daily"]


def test_given_both_directions_and_attempts_then_only_what_goes_out_and_moves_counts() -> None:
    story = capped(entity_daily=100_00, per_transaction=500_00)
    story.ach("enti_1", 900_00, HOUR_US, is_incoming=True)
    story.ach("enti_1", 900_00, HOUR_US, is_incoming=True, type="CREDIT")
    story.wire("cpty_1", "enti_1", 900_00, HOUR_US)
    story.ach("enti_1", 900_00, HOUR_US, status="REJECTED")
    story.wire("enti_1", "cpty_1", 900_00, HOUR_US, currency_code="JPY")  # without an amount in US dollars
    assert not breaches(story)

    story.ach("enti_1", 60_00, 2 * HOUR_US)
    story.wire("enti_1", "cpty_1", 40_00, 3 * HOUR_US)
    assert not breaches(story)
    story.ach("enti_1", 1, 4 * HOUR_US, type="CREDIT")
    assert breaches(story) == ["entity_daily"]
    assert story.program.actors[0].outgoing(0, T0 + DAY_US) == (4, 100_01)


def test_given_a_cap_that_changes_then_each_entry_is_held_against_the_one_in_force() -> None:
    story = capped(per_transaction=100_00)
    story.wire("enti_1", "cpty_1", 100_01, HOUR_US)
    set_cap(story, CapKind.PER_TRANSACTION, 200_00, at=T0 + 2 * HOUR_US)
    story.wire("enti_1", "cpty_1", 150_00, 3 * HOUR_US)
    set_cap(story, CapKind.PER_TRANSACTION, None, at=T0 + 4 * HOUR_US)
    story.wire("enti_1", "cpty_1", 900_00, 5 * HOUR_US)
    set_cap(story, CapKind.PER_TRANSACTION, 0, at=T0 + 6 * HOUR_US)
    story.wire("enti_1", "cpty_1", 1, 7 * HOUR_US)

    assert [evidence(alert)["limitVersion"] for alert in story.alerts(BREACH)] == ["limits-v1", "limits-v4"]
    assert [(each.before, each.cap) for each in story.program.caps.history] == [
        (None, 100_00),
        (100_00, 200_00),
        (200_00, None),
        (None, 0),
    ]


def test_given_a_request_then_nothing_is_in_force_until_another_person_approves_and_one_waits_at_a_time() -> None:
    story = detector_story()
    assert request(story, CapKind.ENTITY_DAILY, 100_00, at=T0) == "made"
    assert request(story, CapKind.ENTITY_DAILY, 200_00, at=T0, action_id="act_2") == "pending"
    assert request(story, CapKind.PER_TRANSACTION, 1, at=T0, action_id="act_3") == "made"
    assert not len(story.program.caps)

    approve(story, at=T0, approver=" Ann ")
    assert not len(story.program.caps)
    assert request(story, CapKind.ENTITY_DAILY, 200_00, at=T0, action_id="act_4") == "made"
    approve(story, at=T0, action_id="act_4")
    assert [(each.kind, each.cap) for each in story.program.caps] == [(CapKind.ENTITY_DAILY, 200_00)]


def test_given_a_shard_that_is_loaded_again_then_its_caps_and_windows_are_as_they_were() -> None:
    story = capped(ach_debit_daily=100_00, entity_daily=100_00)
    set_cap(story, CapKind.ENTITY_DAILY, None, at=T0)
    story.ach("enti_1", 60_00, HOUR_US)
    story.ach("enti_1", 10_00, HOUR_US, is_incoming=True)
    loaded = ShardState.loaded(iter(list(story.state.dump())))

    program = loaded.program(PROGRAM)

    assert program.caps.history == story.program.caps.history
    assert [version.kind for version in program.caps] == [CapKind.ACH_DEBIT_DAILY]
    assert cap_usage(program, T0 + 2 * HOUR_US) == cap_usage(story.program, T0 + 2 * HOUR_US)
    assert program.actors[0].outgoing(0, T0 + DAY_US) == (1, 60_00)


def test_given_an_account_whose_owner_is_told_then_its_transfers_count_for_the_owner() -> None:
    story = capped(entity_daily=100_00)
    story.wire("enti_1", "cpty_1", 60_00, HOUR_US)
    story.ach("enti_2", 30_00, HOUR_US, entity_id=None, bank_account_id="bacc_1")
    story.deliver("account.unfrozen", bank.an_account(id="bacc_1", owners=["enti_1"]), at=T0 + 2 * HOUR_US)

    assert cap_usage(story.program, T0 + 3 * HOUR_US)[CapKind.ENTITY_DAILY] == (90_00, 2)
    assert not proposal(story, 10_00, 3 * HOUR_US).crossed
    assert [each.id for each in proposal(story, 10_01, 3 * HOUR_US).crossed] == ["limit:entity_daily"]


def test_given_an_amount_over_what_a_window_counts_then_the_whole_amount_is_held_against_the_cap() -> None:
    story = capped(per_transaction=2 * 10**12, ach_debit_daily=2 * 10**12)

    before = proposal(story, 3 * 10**12, HOUR_US)
    story.ach("enti_1", 3 * 10**12, HOUR_US)

    assert {each.id for each in before.crossed} == {"limit:per_transaction", "limit:ach_debit_daily"}
    assert sorted(breaches(story)) == ["ach_debit_daily", "per_transaction"]


def test_given_a_crossed_cap_then_the_score_stays_and_the_decision_is_hold() -> None:
    story = capped(per_transaction=100_00)

    asked, under = proposal(story, 100_01, HOUR_US), proposal(story, 100_00, HOUR_US)

    assert asked.score.value == asked.assessment.score.value
    assert sum(reason.weight for reason in asked.crossed) == 0
    decisions = [decide(each.score.band, hard=each.score.hard, limits_hit=each.limits_hit) for each in (asked, under)]
    assert decisions == [Decision.HOLD, Decision.REVIEW]


def test_given_actors_in_the_hold_band_when_money_goes_out_then_their_hits_are_hard() -> None:
    story = detector_story()
    story.wire("enti_1", "cpty_1", 10_00, HOUR_US)
    story.program.scores.actors.instant(0, T0)
    story.program.scores.actors.exchange(0, 70, hard=False)

    hits = proposal(story, 1, 2 * HOUR_US, counterparty_id="cpty_1").limits_hit

    assert {(hit.limit, hit.band, hit.severity, hit.cap) for hit in hits} == {
        (f"entity.{kind}", Band.HOLD, "hard", "0") for kind in ("per_transaction", "daily", "monthly")
    }
    assert decide(Band.CLEAR, hard=False, limits_hit=hits) is Decision.HOLD
    assert not proposal(story, 1, 2 * HOUR_US, direction=Direction.INCOMING).limits_hit


def test_given_a_cap_on_one_transfer_then_amounts_just_under_it_are_split_to_stay_under_and_removing_it_ends_that() -> (
    None
):
    story = detector_story()
    for hour in range(2):
        story.wire("enti_1", "cpty_1", 450_00, hour * HOUR_US)
    assert story.vector.structuring_thresholds == "300000,1000000"
    set_cap(story, CapKind.PER_TRANSACTION, 500_00, at=T0 + 2 * HOUR_US)
    set_cap(story, CapKind.ACH_DEBIT_DAILY, 470_00, at=T0 + 2 * HOUR_US)

    capped_vector = story.wire("enti_1", "cpty_1", 450_00, 3 * HOUR_US)

    assert capped_vector.structuring_thresholds == "50000,300000,1000000"
    assert capped_vector.structuring_window_count == 3
    (alert,) = story.alerts("structuring_pattern")
    assert alert.subject_id == "enti_1"
    set_cap(story, CapKind.PER_TRANSACTION, None, at=T0 + 4 * HOUR_US)
    assert story.wire("enti_1", "cpty_1", 450_00, 5 * HOUR_US).structuring_thresholds == "300000,1000000"
    rows = [(row.version, msgspec.json.decode(row.body)["perTransactionCents"]) for row in story.all(PolicyRow)]
    assert rows == [("limits-v1", "50000"), ("limits-v2", "50000"), ("limits-v3", None)]


def test_given_an_amount_that_nobody_knows_in_us_dollars_then_it_crosses_what_is_used_up_and_nothing_else() -> None:
    story = capped(entity_daily=100_00)
    euros = {"rail": Rail.INTL_WIRE, "type": None, "currency": "EUR"}
    story.ach("enti_1", 99_99, HOUR_US)
    assert not proposal(story, 5, 2 * HOUR_US, **euros).crossed
    story.ach("enti_1", 1, 2 * HOUR_US)

    (crossed,) = proposal(story, 5, 3 * HOUR_US, **euros).crossed
    assert (crossed.id, "or more" in crossed.sentence) == ("limit:entity_daily", True)
    assert not proposal(story, 0, 3 * HOUR_US, **euros).crossed
    story.wire("enti_1", "cpty_1", 5, 3 * HOUR_US, currency_code="EUR")
    assert breaches(story) == ["entity_daily"]
    (alert,) = story.alerts(BREACH)
    assert "come to USD 100.01 or more (its US dollars are not stated) in 3 transfers" in alert.summary

    story.program.scores.actors.exchange(0, 70, hard=False)
    hits = proposal(story, 1, 4 * HOUR_US, **euros).limits_hit
    assert {hit.severity for hit in hits if hit.actor == "entity"} == {"hard"}


def test_given_two_entities_over_the_cap_of_a_day_then_each_has_an_alert_that_names_it() -> None:
    story = capped(entity_daily=100_00, entity_velocity_24h=1)
    for entity in ("enti_1", "enti_2"):
        story.wire(entity, "cpty_1", 60_00, HOUR_US)
        story.wire(entity, "cpty_1", 60_00, 2 * HOUR_US)

    alerts = story.alerts(BREACH)

    named = [(evidence(alert)["limit"], alert.summary.partition("enti_")[2][:1]) for alert in alerts]
    assert sorted(named) == [(kind, n) for kind in ("entity_daily", "entity_velocity_24h") for n in ("1", "2")]
    assert all("2 transfers" in alert.summary for alert in alerts)
