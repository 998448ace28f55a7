"""A bad screening outcome opens an alert at delivery, if the entity moved money in the last 90 days."""

from typing import Any, Final

import msgspec
import pytest

from clearhold.features.core.entries.commands import OwnerEntry
from clearhold.features.core.entries.directory import DirectoryEntry, DirectoryKind, DirectoryResult
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.scorecards import points_when
from clearhold.features.scorers.cards import compile_card
from clearhold.features.scorers.trs_v1.relationship import FIRST_TIME
from tests.features.alerts.test_cards_and_alerts import with_points
from tests.support.alert_rows import a_decision, evidence_of, grade_of
from tests.support.bank_events import an_account, an_entity, rfc3339
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.daily_payments import pay_daily
from tests.support.stories import ShardStory, detector_story

DAY: Final = DAY_US
DENIED_DETECTOR: Final = "kyc_denied_moving"
SCREENING: Final = "screening_stale_or_hit"
OUTCOMES: Final[dict[str, tuple[dict[str, Any], str, tuple[str, bool], str]]] = {
    "denied": ({"verification_status": "DENIED"}, DENIED_DETECTOR, ("high", True), "TRS-KYC-01"),
    "exposed": ({"pep_status": "yes"}, SCREENING, ("medium", False), "TRS-SCR-01"),
    "may be exposed": ({"person_details": {"pep_status": "potential"}}, SCREENING, ("medium", False), "TRS-SCR-02"),
    "high risk": ({"is_high_risk": True}, SCREENING, ("medium", False), "TRS-SCR-03"),
    "fraud risk": ({"review_reasons": ["Fraud_Risk"]}, SCREENING, ("medium", False), "TRS-SCR-07"),
    "sanctions": ({"review_reasons": ["name_mismatch", "sanctions_match"]}, SCREENING, ("medium", False), "TRS-SCR-07"),
    "OFAC": ({"review_reasons": "OFAC-hit"}, SCREENING, ("medium", False), "TRS-SCR-07"),
}


def moved(days_ago: int = 10) -> ShardStory:
    """A verified entity with one ordinary wire ``days_ago`` days before T0."""
    story = ShardStory(a_program()).introduce("enti_1")
    story.wire("enti_1", "cpty_1", 10_000, -days_ago * DAY)
    return story


def state(story: ShardStory, at: int, **over: Any) -> list[AlertRow]:
    """Deliver a new object of the entity; the alert rows that it wrote."""
    data = an_entity(updated_at=rfc3339(T0 + at), created_at=None, **over)
    return story.deliver("identity.updated", data, at=T0 + at).last(AlertRow)


@pytest.mark.parametrize(("over", "detector", "grade", "reason"), OUTCOMES.values(), ids=OUTCOMES)
def test_given_an_entity_that_moved_money_when_an_outcome_is_delivered_then_its_alert_opens_at_once(
    over: dict[str, Any], detector: str, grade: tuple[str, bool], reason: str
) -> None:
    story = moved()

    (alert,) = state(story, 0, **over)

    assert (alert.detector, grade_of(alert)) == (detector, grade)
    assert (alert.subject_type, alert.subject_id, alert.opened_at) == ("entity", "enti_1", T0)
    evidence = evidence_of(alert)
    assert [each["id"] for each in evidence["reasons"]] == [reason]
    assert evidence["restsOnCount"] >= 1


@pytest.mark.parametrize("over", [each[0] for each in OUTCOMES.values()], ids=OUTCOMES)
def test_given_an_outcome_when_it_is_stated_again_then_no_further_alert_opens(over: dict[str, Any]) -> None:
    story = moved()
    state(story, 0, **over)

    assert state(story, DAY, **over) == []
    assert len({row.id for row in story.all(AlertRow)}) == 1


def test_given_an_outcome_when_the_entity_moves_money_again_then_the_transfer_joins_the_alert() -> None:
    story = moved()
    (opened,) = state(story, 0, verification_status="DENIED")

    story.wire("enti_1", "cpty_1", 10_001, DAY)

    (alert,) = [row for row in story.last(AlertRow) if row.detector == DENIED_DETECTOR]
    assert alert.id == opened.id
    assert len(evidence_of(alert)["transferIds"]) == 1


@pytest.mark.parametrize("outcome", ["may be exposed", "high risk", "fraud risk"])
def test_given_an_open_alert_when_a_further_outcome_rests_on_a_transfer_that_is_now_in_review_then_it_counts_none(
    outcome: str,
) -> None:
    story = detector_story().introduce("enti_1")
    pay_daily(story, 6, at=T0 - 16 * DAY)
    story.wire("enti_1", "cpty_new", 1_000, -DAY)
    (opened,) = state(story, 0, pep_status="yes")
    card = with_points(points_when(FIRST_TIME.id, 60))
    story.program.scorecards.champion = compile_card(card, version="scorecard-v1")

    state(story, DAY, **{"pep_status": "yes"} | OUTCOMES[outcome][0])

    alert = story.program.alerts.get(opened.id)
    assert alert is not None
    assert (alert.hits, alert.cents, alert.newest_transfers) == (1, 1_000, ())


@pytest.mark.parametrize("days_ago", [None, 90, 200])
def test_given_an_entity_that_moved_nothing_in_90_days_then_its_alert_opens_with_its_next_transfer(
    days_ago: int | None,
) -> None:
    story = ShardStory(a_program()).introduce("enti_1") if days_ago is None else moved(days_ago)

    assert state(story, 0, verification_status="DENIED") == []

    story.wire("enti_1", "cpty_1", 10_000, DAY)
    assert DENIED_DETECTOR in {row.detector for row in story.last(AlertRow)}


@pytest.mark.parametrize(("days_ago", "is_opened"), [(89, True), (91, False)])
def test_given_a_transfer_around_90_days_ago_then_only_a_newer_one_counts(days_ago: int, is_opened: bool) -> None:  # noqa: FBT001
    assert bool(state(moved(days_ago), 0, pep_status="yes")) == is_opened


def test_given_a_profile_from_the_banks_directory_when_it_denies_then_the_alert_opens() -> None:
    story = ShardStory(a_program())
    story.wire("enti_1", "cpty_1", 10_000, -DAY)
    data = an_entity(verification_status="DENIED", updated_at=rfc3339(T0), person_details={"pep_status": "yes"})
    entry = DirectoryEntry(
        kind=DirectoryKind.ENTITY,
        id="enti_1",
        result=DirectoryResult.FOUND,
        fetched_at=T0,
        data=msgspec.Raw(msgspec.json.encode(data)),
    )

    story.append(EntryKind.DIRECTORY, msgspec.json.encode(entry))

    assert sorted(row.detector for row in story.last(AlertRow)) == [DENIED_DETECTOR, SCREENING]


@pytest.mark.parametrize("stated_by", ["bank", "operator"])
def test_given_a_denied_entity_when_an_account_that_moved_money_turns_out_to_be_its_own_then_the_alert_opens(
    stated_by: str,
) -> None:
    story = ShardStory(a_program()).introduce("enti_1", verification_status="DENIED")
    story.wire("enti_2", "cpty_1", 10_000, -DAY, entity_id=None, bank_account_id="bacc_1")
    assert story.all(AlertRow) == []

    if stated_by == "bank":
        story.deliver("account.created", an_account(id="bacc_1", owners=["enti_1"]))
    else:
        entry = OwnerEntry(id="own_1", account_id="bacc_1", entity_id="enti_1", operator="ann", at=T0)
        story.append(EntryKind.OWNER, msgspec.json.encode(entry))

    (alert,) = story.last(AlertRow)
    assert (alert.detector, alert.subject_id) == (DENIED_DETECTOR, "enti_1")


def test_given_an_outcome_that_was_taken_back_when_it_is_stated_after_the_window_then_a_new_alert_opens() -> None:
    story = moved()
    (first,) = state(story, 0, pep_status="yes")
    state(story, DAY, pep_status="no")
    story.wire("enti_1", "cpty_1", 10_000, 39 * DAY)

    (second,) = state(story, 40 * DAY, pep_status="yes")

    assert first.id != second.id


@pytest.mark.parametrize(("over", "detector", "grade", "reason"), OUTCOMES.values(), ids=OUTCOMES)
@pytest.mark.parametrize(("days_ago", "is_opened"), [(1, True), (89, True), (91, False)])
def test_given_an_outcome_when_a_transfer_of_the_days_before_it_arrives_late_then_the_alert_opens(
    over: dict[str, Any], detector: str, grade: tuple[str, bool], reason: str, days_ago: int, *, is_opened: bool
) -> None:
    story = ShardStory(a_program()).introduce("enti_1")
    assert state(story, 0, **over) == []

    story.wire("enti_1", "cpty_1", 10_000, -days_ago * DAY)

    found = [row for row in story.last(AlertRow) if row.subject_id == "enti_1"]
    assert [(row.detector, grade_of(row)) for row in found] == [(detector, grade)] * is_opened
    assert [[each["id"] for each in evidence_of(row)["reasons"]] for row in found] == [[reason]] * is_opened


def test_given_an_outcome_when_several_transfers_arrive_late_then_one_alert_opens() -> None:
    story = ShardStory(a_program()).introduce("enti_1")
    state(story, 0, verification_status="DENIED")

    for days_ago in (3, 60, 2, 30):
        story.wire("enti_1", "cpty_1", 10_000 + days_ago, -days_ago * DAY)

    assert len({row.id for row in story.all(AlertRow) if row.detector == DENIED_DETECTOR}) == 1


@pytest.mark.parametrize("reason", ["ssn_mismatch", "address_mismatch", "other_review_reason", "sdnx", "risk"])
def test_given_a_review_for_another_reason_when_it_is_stated_then_no_alert_opens(reason: str) -> None:
    assert state(moved(), 0, verification_status="VERIFIED", review_reasons=[reason]) == []


def test_given_an_outcome_that_was_taken_back_when_a_transfer_arrives_late_then_no_alert_opens() -> None:
    story = ShardStory(a_program()).introduce("enti_1")
    state(story, -DAY, verification_status="DENIED")
    state(story, 0, verification_status="VERIFIED")

    story.wire("enti_1", "cpty_1", 10_000, -3 * DAY)

    assert story.all(AlertRow) == []


def test_given_a_denied_entity_when_an_older_statement_on_the_owner_arrives_last_then_the_alert_opens() -> None:
    story = ShardStory(a_program()).introduce("enti_1", verification_status="DENIED")
    story.wire("enti_2", "cpty_1", 10_000, -DAY, entity_id=None, bank_account_id="bacc_1")

    story.deliver("account.created", an_account(id="bacc_1", owners=["enti_1"]), at=T0 - 50 * DAY, appended_at=T0)

    assert [(alert.detector, alert.subject_id) for alert in story.last(AlertRow)] == [(DENIED_DETECTOR, "enti_1")]


@pytest.mark.parametrize(
    ("first", "between", "second", "reason"),
    [
        ({"pep_status": "yes"}, {}, {"pep_status": "yes", "review_reasons": ["fraud_risk"]}, "TRS-SCR-07"),
        (
            {"verification_status": "DENIED"},
            {"verification_status": "VERIFIED"},
            {"verification_status": "DENIED"},
            "TRS-KYC-01",
        ),
    ],
)
@pytest.mark.parametrize("decision", ["close", "escalate"])
def test_given_an_alert_that_a_person_decided_when_the_next_outcome_is_stated_then_a_closed_one_does_not_cover_it(
    first: dict[str, Any], between: dict[str, Any], second: dict[str, Any], reason: str, decision: str
) -> None:
    story = moved()
    (alert,) = state(story, 0, **first)
    story.submit(a_decision(alert, decision, T0 + HOUR_US))
    if between:
        state(story, 2 * HOUR_US, **between)

    (found,) = state(story, DAY, **second)

    assert (found.id == alert.id) is (decision == "escalate")
    assert [each["id"] for each in evidence_of(found)["reasons"]] == [reason]
