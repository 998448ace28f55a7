"""Hits of one transfer on one alert: it is counted once, at its own time, and an alert is written once an entry."""

from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.instants import format_instant
from clearhold.features.core.rows.alerts import AlertRow, AlertTransferRow, DispositionRow
from clearhold.features.core.rows.events import EventRow
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of, results_of
from tests.support.clock import T0
from tests.support.programs import warmed_program
from tests.support.stories import ShardStory, detector_story

CODES = ("R01", "R10", "R03", "R29")


def deliver_returned_debit(story: ShardStory, name: str, party: str, created: int, returned: int) -> None:
    data = bank.an_ach_transfer(
        id=name,
        entity_id="enti_1",
        bank_account_id=None,
        counterparty_id=party,
        amount=100_00,
        type="DEBIT",
        receiver_name=None,
        created_at=bank.rfc3339(T0 + created),
        updated_at=bank.rfc3339(T0 + returned),
        status="RETURNED",
        return_details=[bank.a_return("R10", T0 + returned)],
    )
    story.deliver("ach.outgoing_transfer.returned", data, at=T0 + returned)


def written_twice(story: ShardStory) -> list[Any]:
    versions = Counter((row.id, row.offset) for row in story.all(AlertRow))
    return [place for place, count in versions.items() if count > 1]


def test_given_transfers_first_heard_of_as_returned_then_an_alert_has_one_version_an_entry() -> None:
    story = detector_story().introduce("enti_1")
    deliver_returned_debit(story, "acht_a", "cpty_5", DAY, 3 * DAY)
    deliver_returned_debit(story, "acht_b", "cpty_6", 2 * DAY, 4 * DAY)

    deliver_returned_debit(story, "acht_c", "cpty_7", 45 * DAY, 46 * DAY)

    assert story.alerts("unauthorized_return")
    assert written_twice(story) == []


@pytest.mark.parametrize("seed", range(40))
def test_given_debits_and_returns_in_any_order_then_no_transfer_is_in_an_alert_twice(seed: int) -> None:
    chance = Random(seed)
    story = detector_story().introduce("enti_1", "enti_2")
    sent: list[tuple[bank.Data, int]] = []
    at = DAY
    for _ in range(30):
        at += chance.randrange(3 * DAY)
        if sent and chance.random() < 0.5:
            data, created = sent.pop(chance.randrange(len(sent)))
            story.return_debit(data, chance.choice(CODES), max(at - chance.randrange(2 * DAY), created))
        else:
            actor, party = chance.choice(("enti_1", "enti_2")), f"cpty_{chance.randrange(3)}"
            sent.append((story.debit(actor, party, chance.randrange(1, 900_000), at), at))

    assert written_twice(story) == []
    for alert in story.all(AlertRow):
        evidence = evidence_of(alert)
        assert len(set(evidence["transferIds"])) == len(evidence["transferIds"])
        assert len(evidence["transferIds"]) == min(evidence["hits"], 20)


def test_given_a_transfer_of_an_alert_when_it_comes_back_then_it_is_counted_once_and_at_its_own_time() -> None:
    story = detector_story().introduce("enti_1")
    first, second = (story.debit("enti_1", f"cpty_{number}", 100_00, number * DAY) for number in (1, 2))
    story.return_debit(first, "R10", 4 * DAY)
    story.return_debit(second, "R10", 5 * DAY)
    third = story.debit("enti_1", "cpty_9", 777_00, 6 * DAY)
    story.return_debit(third, "R10", 20 * DAY)
    story.debit("enti_1", "cpty_10", 1_00, 21 * DAY)
    story.debit("enti_1", "cpty_11", 1_00, 22 * DAY)

    evidence = evidence_of(story.versions("unauthorized_return")[-1])

    names = [second["id"], third["id"]]
    assert evidence["transferIds"][:2] == names
    assert (evidence["hits"], evidence["totalCents"]) == (4, str(100_00 + 777_00 + 1_00 + 1_00))
    assert evidence["firstAt"] == format_instant(T0 + 2 * DAY)
    assert evidence["lastAt"] == format_instant(T0 + 22 * DAY)


def test_given_a_correction_that_overtakes_a_return_then_the_second_unauthorized_return_still_opens_its_alert() -> None:
    story = detector_story().introduce("enti_1")
    first = story.debit("enti_1", "cpty_1", 100_00, DAY)
    second = story.debit("enti_1", "cpty_2", 100_00, DAY + HOUR)
    story.return_debit(first, "R10", 3 * DAY)
    corrected = second | {"amount": 101_00, "updated_at": bank.rfc3339(T0 + 5 * DAY)}
    story.deliver("ach.outgoing_transfer.updated", corrected, at=T0 + 5 * DAY)

    story.return_debit(second, "R10", 4 * DAY)

    (alert,) = story.alerts("unauthorized_return")
    assert alert.subject_id == "enti_1"


def test_given_a_graver_hit_on_a_transfer_that_was_decided_then_the_new_alert_says_that_it_is_the_second() -> None:
    story = detector_story(declared_countries=("US", "VN", "IR")).introduce("enti_1")
    story.deliver("wire.outgoing_transfer.completed", to_country("VN", DAY), at=T0 + DAY)
    story.submit(a_decision(story.alert("high_risk_geography"), "close", 2 * DAY))

    story.deliver("wire.outgoing_transfer.completed", to_country("IR", 3 * DAY), at=T0 + 3 * DAY)

    _, second = story.alerts("high_risk_geography")
    assert evidence_of(second)["earlierAlerts"] == 1
    assert "The detector opened 1 earlier alert on the subject" in msgspec.json.decode(second.draft or "")["narrative"]


def to_country(country: str, updated: int) -> bank.Data:
    return bank.a_wire(
        id="wire_x",
        entity_id="enti_1",
        bank_account_id=None,
        amount=100_00,
        beneficiary_address={"country_code": country},
        beneficiary_name="A",
        created_at=bank.rfc3339(T0 + DAY),
        updated_at=bank.rfc3339(T0 + updated),
    )


def test_given_an_alert_that_the_policy_holds_when_a_person_holds_it_then_it_is_made_once_as_drafted() -> None:
    story = warmed_program()
    denied = bank.an_entity(
        id="enti_1", created_at=None, verification_status="DENIED", updated_at=bank.rfc3339(T0 + 79 * DAY)
    )
    story.deliver("identity.updated", denied, at=T0 + 79 * DAY)
    story.wire("enti_1", "cpty_new", 950_00, 80 * DAY, beneficiary_country_code="IR")
    alert = story.alert("kyc_denied_moving")
    assert (alert.status, evidence_of(alert)["autoHold"]) == ("held", True)

    first = story.submit(a_decision(alert, "hold", 80 * DAY + HOUR))
    again = story.submit(a_decision(alert, "hold", 80 * DAY + 2 * HOUR))

    assert results_of(first) == ["made"]
    assert [row.overturns_draft for row in first if isinstance(row, DispositionRow)] == [False]
    assert results_of(again) == ["already"]
    assert story.alert("kyc_denied_moving").status == "held"


@pytest.mark.parametrize("amount", [9_300_00, 6_000_00, 90])
def test_given_a_busy_entity_then_each_supporting_transfer_leads_to_the_alert_and_is_written_once(amount: int) -> None:
    story = detector_story().introduce("enti_1")
    for number in range(160):
        story.debit("enti_1", f"cpty_{number % 7}", amount, DAY + number * HOUR // 60)

    transfer_of = {row.offset: row.subject_id for row in story.all(EventRow)}
    found = Counter((row.alert_id, row.transfer_number) for row in story.all(AlertTransferRow))
    supported = {
        (alert.id, story.program.transfers.row_of(transfer_of[int(offset)] or ""))
        for alert in story.all(AlertRow)
        for offset in evidence_of(alert).get("restsOn", ())
    }
    assert len(supported) > 160
    assert supported <= set(found)
    assert set(found.values()) == {1}


@pytest.mark.parametrize("seed", range(3))
def test_given_older_transfers_in_any_order_when_they_are_added_again_then_each_is_among_them_once(seed: int) -> None:
    story = detector_story().introduce("enti_1", verification_status="DENIED")
    story.wire("enti_1", "cpty_1", 10_00, HOUR)
    alert = story.program.alerts.get(story.last(AlertRow)[0].id)
    assert alert is not None
    chance, added = Random(seed), set[int]()

    for row in range(40):
        for each in (row, row, chance.randrange(60)):
            assert alert.has_older(each) is (each in added)
            alert.add_older(each)
            added.add(each)

    assert list(alert.older()) == sorted(added)
