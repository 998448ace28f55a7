"""What a plain feed of the bank shows and what it cannot: accounts and counterparties by their ids, nothing more."""

from random import Random

import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.parties import EntityRow
from clearhold.features.core.vocabulary import Reason
from tests.oracle.random_streams import stream_of
from tests.support import bank_events as bank
from tests.support.alert_rows import evidence_of
from tests.support.bank_stories import ach, wire
from tests.support.clock import T0
from tests.support.stories import ShardStory, detector_story

ENTITY_AS_DOCUMENTED = {
    "id": "enti_1",
    "type": "PERSON",
    "is_root": False,
    "verification_status": "VERIFIED",
    "review_reasons": [],
    "verification_tags": ["address_not_found"],
    "is_high_risk": False,
    "person_details": {"first_name": "Dana", "last_name": "Rivers", "pep_status": "not_checked"},
    "documents": [],
}
SAME_ACCOUNT = {
    "beneficiary_name": "North Trading Inc",
    "beneficiary_account_number": "000333444",
    "creditor_agent_routing_number": "021000021",
}


def signals(story: ShardStory) -> list[str]:
    """Of the last transfer's score."""
    assert story.scoring.score is not None
    return [reason.signal for reason in msgspec.json.decode(story.scoring.reasons, type=list[Reason])]


def busy_program(transfers: int = 40) -> ShardStory:
    """Enough of other accounts' transfers for the program to be scored."""
    story = detector_story()
    for place in range(transfers):
        account, party = f"bacc_other{place % 8}", f"cpty_other{place % 8}"
        wire(story, account, "outgoing", 100_00 + place % 20 * 20_00, place * 20 * HOUR, counterparty_id=party)
    return story


def book(story: ShardStory, sender: str, receiver: str, cents: int, at: int) -> None:
    stamp = bank.rfc3339(T0 + at)
    data = bank.a_book_transfer(
        id=f"book_{len(story.entries)}",
        sender_bank_account_id=sender,
        receiver_bank_account_id=receiver,
        amount=cents,
        created_at=stamp,
        updated_at=stamp,
    )
    story.deliver("book.transfer.completed", data, at=T0 + at)


@pytest.mark.parametrize("owner_told", [False, True])
@pytest.mark.parametrize(("last", "detector"), [("bacc_4", "layering_hops"), ("bacc_1", "round_trip")])
def test_given_accounts_first_seen_as_receivers_when_they_pay_on_then_money_is_followed_through_them(
    last: str, detector: str, *, owner_told: bool
) -> None:
    story, start = busy_program(), 40 * DAY
    book(story, "bacc_1", "bacc_2", 2_000_00, start)
    if owner_told:
        story.deliver("account.frozen", bank.an_account(id="bacc_2", owners=["enti_2"]), at=T0 + start)
    book(story, "bacc_2", "bacc_3", 1_900_00, start + HOUR)
    book(story, "bacc_3", last, 1_800_00, start + 2 * HOUR)

    assert detector in signals(story)
    assert story.alert(detector).severity == "high"


def test_given_two_quiet_strangers_when_nothing_else_is_found_then_the_review_has_an_alert_of_its_own() -> None:
    story = busy_program(220)

    wire(story, "bacc_1", "outgoing", 90_00, 184 * DAY, counterparty_id="cpty_1")

    assert (story.scoring.band, "rare_new_pair" in signals(story)) == ("review", True)
    alert = story.alert("band_review")
    assert (alert.severity, alert.route, alert.transfer_id) == ("low", "reviewed", alert.subject_id)


@pytest.mark.parametrize("last_by_ach", [False, True])
def test_given_three_accounts_that_pay_one_account_then_its_counterparty_is_shared_and_they_are_named(
    *, last_by_ach: bool
) -> None:
    story = busy_program()
    for place in range(2):
        wire(story, f"bacc_{place}", "outgoing", 50_00, (40 + place) * DAY, counterparty_id="cpty_1", **SAME_ACCOUNT)
    assert not story.alerts("counterparty_shared")

    if last_by_ach:
        ach(story, "bacc_2", "outgoing CREDIT", 50_00, 42 * DAY, counterparty_id="cpty_1")
    else:
        wire(story, "bacc_2", "outgoing", 50_00, 42 * DAY, counterparty_id="cpty_2", **SAME_ACCOUNT)

    alert = story.alert("counterparty_shared")
    assert "counterparty_shared" in signals(story)
    assert (alert.subject_id, alert.severity) == ("cpty_1", "high")
    assert evidence_of(alert)["actorIds"] == ["bacc_0", "bacc_1", "bacc_2"]
    assert evidence_of(alert)["restsOnCount"] == 3


def test_given_a_known_payee_under_another_account_number_when_it_is_wired_then_the_score_says_so() -> None:
    story = busy_program()
    wire(story, "bacc_1", "outgoing", 50_00, 40 * DAY, counterparty_id="cpty_1", **SAME_ACCOUNT)
    assert "counterparty_account_changed" not in signals(story)

    elsewhere = SAME_ACCOUNT | {"beneficiary_account_number": "000999888"}
    wire(story, "bacc_1", "outgoing", 50_00, 41 * DAY, counterparty_id="cpty_2", **elsewhere)

    assert "counterparty_account_changed" in signals(story)


def test_given_an_entity_in_the_banks_own_fields_then_nothing_is_said_of_screening_that_it_does_not_tell() -> None:
    story = busy_program()
    story.deliver("identity.verification.verified", ENTITY_AS_DOCUMENTED)
    story.deliver("account.frozen", bank.an_account(id="bacc_1", owners=["enti_1"]))

    v = wire(story, "bacc_1", "outgoing", 50_00, 40 * DAY, counterparty_id="cpty_other1")

    assert story.all(EntityRow)[-1].id == "enti_1"
    assert (v.entity_verification_status, v.entity_fraud_risk) == ("VERIFIED", False)
    assert (v.entity_requires_screening, v.entity_screening_age_days, v.entity_rescreen_days) == (None, None, None)
    assert not {"never_screened", "screening_stale", "pep", "fraud_risk_flagged"} & set(signals(story))
    assert not story.scoring.degraded


@pytest.mark.parametrize("seed", range(6))
def test_given_a_random_stream_when_a_transfer_is_in_review_or_hold_then_an_alert_holds_it(seed: int) -> None:
    story, looked_at = busy_program(), 0
    holding: dict[str, set[str]] = {}
    for entry in stream_of(Random(seed), 60):
        story.apply(msgspec.structs.replace(entry, offset=len(story.entries) + 1 << 20))
        for alert in story.last(AlertRow):
            if alert.status not in {"closed", "auto_closed"} and alert.subject_type != "program":
                evidence = evidence_of(alert)
                holding.setdefault(alert.id, set()).update(evidence["transferIds"], evidence["restsOn"])
        for row in story.last(TransferFeaturesRow):
            if row.band not in {"review", "hold"}:
                continue
            looked_at += 1
            own = {row.transfer_id, str(story.entries[-1].offset)}
            assert any(own & names for names in holding.values()), row.transfer_id

    assert looked_at
