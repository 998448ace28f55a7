"""Hits of one transfer on one alert: it is counted once, at its own time, and an alert is written once an entry."""

from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from features.core.instants import format_instant
from features.core.rows import AlertRow, DispositionRow
from tests.features.standing import results_of
from tests.features.warmed import warmed
from tests.features.watched import DAY, HOUR, Watched, a_decision, evidence_of
from tests.support import bank_events as bank
from tests.support.clock import T0

CODES = ("R01", "R10", "R03", "R29")


def first_heard_of_as_returned(watched: Watched, name: str, party: str, made: int, returned: int) -> None:
    data = bank.an_ach_transfer(
        id=name,
        entity_id="enti_1",
        bank_account_id=None,
        counterparty_id=party,
        amount=100_00,
        type="DEBIT",
        receiver_name=None,
        created_at=bank.rfc3339(T0 + made),
        updated_at=bank.rfc3339(T0 + returned),
        status="RETURNED",
        return_details=[bank.a_return("R10", T0 + returned)],
    )
    watched.say("ach.outgoing_transfer.returned", data, returned)


def written_twice(watched: Watched) -> list[Any]:
    versions = Counter((row.id, row.offset) for row in watched.all(AlertRow))
    return [place for place, count in versions.items() if count > 1]


def test_given_transfers_first_heard_of_as_returned_then_an_alert_has_one_version_an_entry() -> None:
    watched = Watched().know("enti_1")
    first_heard_of_as_returned(watched, "acht_a", "cpty_5", DAY, 3 * DAY)
    first_heard_of_as_returned(watched, "acht_b", "cpty_6", 2 * DAY, 4 * DAY)

    first_heard_of_as_returned(watched, "acht_c", "cpty_7", 45 * DAY, 46 * DAY)

    assert watched.alerts("unauthorized_return")
    assert watched.alerts("unauthorized_return_rate")
    assert written_twice(watched) == []


@pytest.mark.parametrize("seed", range(40))
def test_given_debits_and_returns_in_any_order_then_no_transfer_is_in_an_alert_twice(seed: int) -> None:
    chance = Random(seed)
    watched = Watched().know("enti_1", "enti_2")
    sent: list[tuple[bank.Data, int]] = []
    at = DAY
    for _ in range(30):
        at += chance.randrange(3 * DAY)
        if sent and chance.random() < 0.5:
            data, made = sent.pop(chance.randrange(len(sent)))
            watched.come_back(data, chance.choice(CODES), max(at - chance.randrange(2 * DAY), made))
        else:
            actor, party = chance.choice(("enti_1", "enti_2")), f"cpty_{chance.randrange(3)}"
            sent.append((watched.debit(actor, party, chance.randrange(1, 900_000), at), at))

    assert written_twice(watched) == []
    for alert in watched.all(AlertRow):
        evidence = evidence_of(alert)
        assert len(set(evidence["transferIds"])) == len(evidence["transferIds"])
        assert len(evidence["transferIds"]) == min(evidence["hits"], 20)


def test_given_a_transfer_of_an_alert_when_it_comes_back_then_it_is_counted_once_and_at_its_own_time() -> None:
    watched = Watched().know("enti_1")
    first, second = (watched.debit("enti_1", f"cpty_{number}", 100_00, number * DAY) for number in (1, 2))
    watched.come_back(first, "R10", 4 * DAY)
    watched.come_back(second, "R10", 5 * DAY)
    third = watched.debit("enti_1", "cpty_9", 777_00, 6 * DAY)
    watched.come_back(third, "R10", 20 * DAY)
    watched.debit("enti_1", "cpty_10", 1_00, 21 * DAY)
    watched.debit("enti_1", "cpty_11", 1_00, 22 * DAY)

    evidence = evidence_of(watched.versions("unauthorized_return")[-1])

    names = [second["id"], third["id"]]
    assert evidence["transferIds"][:2] == names
    assert (evidence["hits"], evidence["totalCents"]) == (4, str(100_00 + 777_00 + 1_00 + 1_00))
    assert evidence["firstAt"] == format_instant(T0 + 2 * DAY)
    assert evidence["lastAt"] == format_instant(T0 + 22 * DAY)


def test_given_a_correction_that_overtakes_a_return_then_the_second_unauthorized_return_still_opens_its_alert() -> None:
    watched = Watched().know("enti_1")
    first = watched.debit("enti_1", "cpty_1", 100_00, DAY)
    second = watched.debit("enti_1", "cpty_2", 100_00, DAY + HOUR)
    watched.come_back(first, "R10", 3 * DAY)
    corrected = second | {"amount": 101_00, "updated_at": bank.rfc3339(T0 + 5 * DAY)}
    watched.say("ach.outgoing_transfer.updated", corrected, 5 * DAY)

    watched.come_back(second, "R10", 4 * DAY)

    (alert,) = watched.alerts("unauthorized_return")
    assert alert.subject_id == "enti_1"


def test_given_a_graver_hit_on_a_transfer_that_was_decided_then_the_new_alert_says_that_it_is_the_second() -> None:
    watched = Watched(declared_countries=("US", "VN", "IR")).know("enti_1")
    watched.say("wire.outgoing_transfer.completed", to_country("VN", DAY), DAY)
    watched.ask(a_decision(watched.alert("high_risk_geography"), "close", 2 * DAY))

    watched.say("wire.outgoing_transfer.completed", to_country("IR", 3 * DAY), 3 * DAY)

    _, second = watched.alerts("high_risk_geography")
    assert evidence_of(second)["earlierAlerts"] == 1
    assert "It is not the first of its kind here" in msgspec.json.decode(second.draft or "")["narrative"]


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
    watched = warmed()
    denied = bank.an_entity(
        id="enti_1", created_at=None, verification_status="DENIED", updated_at=bank.rfc3339(T0 + 79 * DAY)
    )
    watched.say("identity.updated", denied, 79 * DAY)
    watched.wire("enti_1", "cpty_new", 950_00, 80 * DAY, beneficiary_country_code="IR")
    alert = watched.alert("kyc_denied_moving")
    assert (alert.status, evidence_of(alert)["autoHold"]) == ("held", True)

    made = watched.ask(a_decision(alert, "hold", 80 * DAY + HOUR))
    again = watched.ask(a_decision(alert, "hold", 80 * DAY + 2 * HOUR))

    assert results_of(made) == ["made"]
    assert [row.overturns_draft for row in made if isinstance(row, DispositionRow)] == [False]
    assert results_of(again) == ["already"]
    assert watched.alert("kyc_denied_moving").status == "held"
