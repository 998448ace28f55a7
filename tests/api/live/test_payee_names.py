"""A known payee with a new account is found however its name is written; account numbers are their digits."""

import unicodedata

import pytest

from tests.support.live_feed import CHANGED_ACCOUNT, WIRE, LiveBank, LiveFeed, now, reason_ids

NEW = {"routingNumber": "111000025", "accountLast4": "9999"}
PLAIN, ACCENTED = "Cedar Freight LLC", "Olmo Caf\u00e9"
STRANGER = "TRS-CPY-01"
HIDDEN = {
    "plain": PLAIN,
    "other case": "CEDAR freight llc",
    "spaces": "  Cedar   Freight\u00a0LLC ",
    "zero width space at the end": f"{PLAIN}\u200b",
    "zero width space inside": "Cedar Fre\u200bight LLC",
    "word joiner": "Cedar\u2060 Freight LLC",
    "direction marks": f"\u202a{PLAIN}\u202c",
    "soft hyphen": "Cedar Frei\u00adght LLC",
    "byte order mark": f"\ufeff{PLAIN}",
    "full width": "\uff23edar Freight LLC",
    "comma and stop": "Cedar Freight, L.L.C.",
    "stop at the end": "Cedar Freight LLC.",
    "Cyrillic e": "C\u0435dar Freight LLC",
    "Cyrillic capital C": "\u0421edar Freight LLC",
    "Greek capital E": "C\u0395DAR FREIGHT LLC",
    "variation selector": f"{PLAIN}\ufe0f",
    "tab and line": "Cedar\tFreight\nLLC",
}


def paid_for_two_weeks(feed: LiveFeed, name: str, number: str, routing: str = "021000021") -> None:
    """A wire of about 1,000.00 a day to a payee without an id, from one account."""
    sides = {"beneficiary_name": name, "beneficiary_account_number": number, "creditor_agent_routing_number": routing}
    feed.send_usual(range(2, 14), amount=100_000, counterparty_id=None, **sides)
    feed.settle()


@pytest.fixture(scope="module")
def paid(live_bank: LiveBank) -> LiveFeed:
    feed = live_bank.feed()
    paid_for_two_weeks(feed, PLAIN, "000123454321")
    paid_for_two_weeks(feed, ACCENTED, "000123454322")
    return feed


@pytest.mark.parametrize("name", HIDDEN.values(), ids=HIDDEN)
def test_given_a_known_payees_name_however_written_when_asked_with_another_account_then_it_is_a_changed_account(
    paid: LiveFeed, name: str
) -> None:
    answer = paid.ask(amountCents="100000", entityId="enti_1", counterparty={"name": name} | NEW)

    assert CHANGED_ACCOUNT in reason_ids(answer["reasons"])
    assert answer["decision"] == "review"


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_given_an_accent_in_any_unicode_form_when_asked_with_another_account_then_it_is_a_changed_account(
    paid: LiveFeed, form: str
) -> None:
    name = unicodedata.normalize(form, ACCENTED)  # type: ignore[arg-type]

    answer = paid.ask(amountCents="100000", entityId="enti_1", counterparty={"name": name} | NEW)

    assert CHANGED_ACCOUNT in reason_ids(answer["reasons"])


@pytest.mark.parametrize("name", HIDDEN.values(), ids=HIDDEN)
def test_given_a_known_payees_name_however_written_when_a_wire_lands_on_another_account_then_it_is_a_changed_account(
    live_bank: LiveBank, name: str
) -> None:
    feed = live_bank.feed()
    paid_for_two_weeks(feed, PLAIN, "000123454321")

    sides = {"beneficiary_name": name, "beneficiary_account_number": "0009999"}
    data = {"id": "wire_x", "amount": 100_000, "entity_id": "enti_1", "creditor_agent_routing_number": "111000025"}
    feed.send(WIRE, data | sides, now())
    feed.settle()

    assert CHANGED_ACCOUNT in feed.reasons("wire_x")


@pytest.mark.parametrize("name", ["Cedar Freight", "Cedar Freights LLC", "Ceder Freight LLC", "Birch Freight LLC"])
def test_given_another_name_when_asked_with_another_account_then_it_is_a_stranger_and_nothing_changed(
    paid: LiveFeed, name: str
) -> None:
    reasons = reason_ids(
        paid.ask(amountCents="100000", entityId="enti_1", counterparty={"name": name} | NEW)["reasons"]
    )

    assert STRANGER in reasons
    assert CHANGED_ACCOUNT not in reasons


@pytest.mark.parametrize(
    "name", [HIDDEN["Cyrillic e"], HIDDEN["Greek capital E"], "CedarFreight LLC", "Cedar Freight + LLC"]
)
def test_given_a_name_that_is_nearly_a_known_one_when_asked_without_an_account_then_it_is_a_stranger(
    paid: LiveFeed, name: str
) -> None:
    reasons = reason_ids(paid.ask(amountCents="100000", entityId="enti_1", counterparty={"name": name})["reasons"])

    assert STRANGER in reasons
    assert CHANGED_ACCOUNT not in reasons


@pytest.mark.parametrize("name", ["  Cedar Fre\u200bight,  LLC", "Cedar\tFreight LLC "])
def test_given_a_name_when_its_counterparty_is_read_then_it_is_shown_as_delivered(feed: LiveFeed, name: str) -> None:
    feed.send("counterparty.created", {"id": "cpty_1", "name": name}, now())
    feed.settle()

    assert feed.bank.get(f"/api/counterparties/cpty_1?programId={feed.id}")["name"] == name


NUMBERS = {
    "744-5678-99": "7899",
    "DE89 3704 0044 0532 0130 00": "3000",
    "123456789 111": "9111",
    "GB29NWBK60161331926819": "6819",
    " 000 123 4567 ": "4567",
    "0001.2345.6": "3456",
}


@pytest.mark.parametrize(("number", "last4"), NUMBERS.items(), ids=NUMBERS)
def test_given_an_account_number_with_marks_when_asked_with_its_last_four_then_the_payee_is_known(
    live_bank: LiveBank, number: str, last4: str
) -> None:
    feed = live_bank.feed()
    paid_for_two_weeks(feed, PLAIN, number)

    party = {"name": PLAIN, "routingNumber": "021000021", "accountLast4": last4}
    reasons = reason_ids(feed.ask(amountCents="100000", entityId="enti_1", counterparty=party)["reasons"])

    assert not {STRANGER, CHANGED_ACCOUNT} & set(reasons)


@pytest.mark.parametrize("again", ["744567899", "744 567 899", "7-4-4-5-6-7-8-9-9"])
def test_given_an_account_number_with_marks_when_it_comes_with_others_then_it_is_the_same_account(
    live_bank: LiveBank, again: str
) -> None:
    feed = live_bank.feed()
    paid_for_two_weeks(feed, PLAIN, "744-5678-99")

    sides = {"beneficiary_name": PLAIN, "beneficiary_account_number": again}
    data = {"id": "wire_x", "amount": 100_000, "entity_id": "enti_1", "creditor_agent_routing_number": "021000021"}
    feed.send(WIRE, data | sides, now())
    feed.settle()

    assert not {STRANGER, CHANGED_ACCOUNT} & set(feed.reasons("wire_x"))


@pytest.mark.parametrize("last4", ["7899", "78-99", " 7899 "])
def test_given_the_last_four_with_marks_when_asked_then_they_are_the_last_four(live_bank: LiveBank, last4: str) -> None:
    feed = live_bank.feed()
    paid_for_two_weeks(feed, PLAIN, "744-5678-99")

    party = {"name": PLAIN, "routingNumber": "021000021", "accountLast4": last4}
    reasons = reason_ids(feed.ask(amountCents="100000", entityId="enti_1", counterparty=party)["reasons"])

    assert not {STRANGER, CHANGED_ACCOUNT} & set(reasons)


@pytest.mark.parametrize("routing", ["021000021", "021000021 ", "021-000-021", "0210-0002-1"])
def test_given_a_routing_number_with_marks_when_asked_then_it_is_the_same_bank(paid: LiveFeed, routing: str) -> None:
    party = {"name": PLAIN, "routingNumber": routing, "accountLast4": "4321"}

    reasons = reason_ids(paid.ask(amountCents="100000", entityId="enti_1", counterparty=party)["reasons"])

    assert not {STRANGER, CHANGED_ACCOUNT} & set(reasons)


@pytest.mark.parametrize("routing", ["21000021", "0210000210", "12345", "02100002x"])
def test_given_a_routing_number_that_has_not_nine_digits_when_asked_then_it_is_refused_with_its_path(
    paid: LiveFeed, routing: str
) -> None:
    refused = paid.refusal(counterparty={"name": PLAIN, "routingNumber": routing, "accountLast4": "4321"})

    assert [field["path"] for field in refused["fields"]] == ["transfer.counterparty.routingNumber"]


@pytest.mark.parametrize("routing", ["21000021", "0210000210"])
def test_given_a_routing_number_that_has_not_nine_digits_when_it_comes_in_an_event_then_it_is_named_and_no_other_bank(
    live_bank: LiveBank, routing: str
) -> None:
    feed = live_bank.feed()
    paid_for_two_weeks(feed, PLAIN, "000123454321")

    sides = {"beneficiary_name": PLAIN, "beneficiary_account_number": "000123454321"}
    data = {"id": "wire_x", "amount": 100_000, "entity_id": "enti_1", "creditor_agent_routing_number": routing}
    feed.send(WIRE, data | sides, now())
    feed.settle()

    assert feed.event()["path"] == "data.creditor_agent_routing_number"
    assert CHANGED_ACCOUNT not in feed.reasons("wire_x")
