"""An alert is hard where a reason of its subject's score is, whatever its own finding is."""

import pytest

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.alerts import AlertRow
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of
from tests.support.clock import T0
from tests.support.stories import ShardStory, detector_story

LARGE = "amount_spike"


def usual_payments(story: ShardStory) -> ShardStory:
    for day in range(12):
        story.wire("enti_1", "cpty_1", 100_00 + day, day * DAY)
    return story


def has_hard_reason(alert: AlertRow) -> bool:
    return any(reason["hard"] for reason in evidence_of(alert)["scoreReasons"])


def test_given_a_large_payment_to_a_sanctioned_country_then_every_alert_on_it_is_hard() -> None:
    story = usual_payments(detector_story().introduce("enti_1"))

    story.wire("enti_1", "cpty_1", 9_000_00, 20 * DAY, beneficiary_address={"country_code": "IR"})

    alerts = {alert.detector: alert for alert in story.last(AlertRow) if alert.subject_type != "program"}
    assert {"high_risk_geography", LARGE, "velocity_spike"} <= set(alerts)
    assert [name for name, alert in alerts.items() if not alert.hard_signal] == []
    (on_program,) = (alert for alert in story.last(AlertRow) if alert.subject_type == "program")
    assert (on_program.score_at_alert, on_program.hard_signal) == (None, False), "it has no score"
    assert all(has_hard_reason(alert) for alert in alerts.values())
    assert evidence_of(alerts[LARGE])["routeReason"] == "hard_signal"
    assert {alert.sla_tier for alert in alerts.values()} == {"standard"}


def test_given_a_large_payment_of_a_denied_entity_then_its_alerts_on_the_amount_are_hard() -> None:
    story = usual_payments(detector_story().introduce("enti_1"))
    denied = bank.an_entity(id="enti_1", verification_status="DENIED", updated_at=bank.rfc3339(T0 + 15 * DAY))
    story.deliver("identity.denied", denied, at=T0 + 15 * DAY)

    story.wire("enti_1", "cpty_1", 9_000_00, 20 * DAY)

    alerts = [alert for alert in story.last(AlertRow) if alert.detector != "kyc_denied_moving"]
    assert alerts
    assert all(alert.hard_signal and has_hard_reason(alert) for alert in alerts)


@pytest.mark.parametrize("country", ["US", "VN"])
def test_given_no_hard_reason_then_the_alert_is_not_hard(country: str) -> None:
    story = usual_payments(detector_story().introduce("enti_1"))

    story.wire("enti_1", "cpty_1", 9_000_00, 20 * DAY, beneficiary_address={"country_code": country})

    alert = story.alert(LARGE)
    assert (alert.hard_signal, has_hard_reason(alert)) == (False, False)
    assert evidence_of(alert)["routeReason"] != "hard_signal"


def test_given_an_alert_that_waits_when_a_hard_payment_joins_it_then_it_is_hard_and_due_sooner() -> None:
    story = detector_story().introduce("enti_1")
    sent = [story.debit("enti_1", f"cpty_{number}", 100_00, number * HOUR) for number in range(8)]
    for data in sent[:2]:
        story.return_debit(data, "R10", 2 * DAY)
    before = story.alert("unauthorized_return")
    assert (before.hard_signal, before.sla_tier) == (False, "complex")

    denied = bank.an_entity(id="enti_1", verification_status="DENIED", updated_at=bank.rfc3339(T0 + 3 * DAY))
    story.deliver("identity.denied", denied, at=T0 + 3 * DAY)
    third = story.debit("enti_1", "cpty_9", 100_00, 3 * DAY + HOUR)
    story.return_debit(third, "R10", 3 * DAY + 2 * HOUR)

    after = story.alert("unauthorized_return")
    assert (after.id, after.hard_signal, after.sla_tier) == (before.id, True, "standard")
    assert after.due_at is not None
    assert before.due_at is not None
    assert after.due_at < before.due_at


def test_given_an_alert_that_was_closed_when_a_hard_payment_is_found_then_a_hard_one_opens() -> None:
    story = detector_story().introduce("enti_1")
    for data in [story.debit("enti_1", f"cpty_{number}", 100_00, number * HOUR) for number in range(2)]:
        story.return_debit(data, "R10", 2 * DAY)
    story.submit(a_decision(story.alert("unauthorized_return"), "close", 2 * DAY + HOUR))

    denied = bank.an_entity(id="enti_1", verification_status="DENIED", updated_at=bank.rfc3339(T0 + 3 * DAY))
    story.deliver("identity.denied", denied, at=T0 + 3 * DAY)
    story.return_debit(story.debit("enti_1", "cpty_9", 100_00, 3 * DAY + HOUR), "R10", 3 * DAY + 2 * HOUR)

    first, second = story.alerts("unauthorized_return")
    assert [(alert.status, alert.hard_signal) for alert in (first, second)] == [("closed", False), ("open", True)]


def test_given_a_program_with_a_hard_reason_then_its_other_alerts_are_hard_and_without_one_they_are_not() -> None:
    hardness = {}
    for code in ("R10", None):
        story = detector_story()
        sent = [story.debit(f"enti_{place}", f"cpty_{place}", 100_00, place) for place in range(30)]
        if code is not None:
            story.return_debit(sent[0], code, DAY)
        frozen = bank.an_account(id="bacc_1", status="frozen", updated_at=bank.rfc3339(T0 + DAY))
        story.deliver("account.frozen", frozen, at=T0 + DAY)
        story.snapshot(DAY + HOUR)
        alert = story.alert("overdraft_or_freeze")
        assert alert.hard_signal == has_hard_reason(alert)
        hardness[code] = alert.hard_signal

    assert hardness == {"R10": True, None: False}
