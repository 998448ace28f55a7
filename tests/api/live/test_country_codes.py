"""Codes of countries: every usual spelling is read; any other text is reported, unknown, and raises the score."""

import pytest

from tests.support.live_feed import LiveBank, LiveFeed, now, text_of

SWIFT = "swift.outgoing_transfer.initiated"
GEOGRAPHY, UNDECLARED = "high_risk_geography", "country_outside_declared"
UNKNOWN_COUNTRY = "TRS-GEO-04"


def wire_to(feed: LiveFeed, code: object) -> dict[str, object]:
    data = {
        "id": "swft_1",
        "amount": 100_000,
        "currency_code": "USD",
        "entity_id": "enti_1",
        "beneficiary_name": "Nord",
    }
    feed.send(SWIFT, data | {"beneficiary_address": {"country_code": code}}, now())
    feed.settle()
    return feed.transfer("swft_1")


def detectors(feed: LiveFeed) -> set[str]:
    return {alert["detector"] for alert in feed.alerts()}


@pytest.mark.parametrize(
    ("code", "country"),
    [
        *(("IR", "IR"), ("IRN", "IR"), ("irn", "IR"), (" IRN ", "IR"), ("PRK", "KP"), ("MMR", "MM"), ("prk", "KP")),
        *(("USA", "US"), ("GBR", "GB"), ("DEU", "DE"), ("gb", "GB"), ("GB ", "GB"), ("UK", "GB"), ("uk", "GB")),
        *(("EL", "GR"), ("GRC", "GR"), ("CHE", "CH"), ("ROU", "RO")),
    ],
)
def test_given_a_code_of_two_or_three_letters_when_a_wire_goes_there_then_it_is_read_as_what_it_means(
    live_bank: LiveBank, code: str, country: str
) -> None:
    feed = live_bank.feed(declaredRails=["intl_wire"], declaredCountries=["US", "GB", "DE", "GR", "CH", "RO"])

    transfer = wire_to(feed, code)

    opened = detectors(feed) & {GEOGRAPHY, UNDECLARED}
    assert transfer["counterpartyCountry"] == country
    assert (GEOGRAPHY in opened) is (country in {"IR", "KP", "MM"})
    assert (UNDECLARED in opened) is (country in {"IR", "KP", "MM"})
    assert feed.event()["path"] is None


@pytest.mark.parametrize("code", ["UK", "EL", "GBR", "usa", "IRN", " de "])
def test_given_a_code_that_an_event_may_have_when_asked_before_then_it_scores_as_it_lands(
    live_bank: LiveBank, code: str
) -> None:
    feed = live_bank.feed(declaredRails=["intl_wire"], declaredCountries=["US", "GB"])
    feed.send_usual(range(1, 8))
    feed.settle()

    party = {"name": "Nord", "countryCode": code}
    asked = feed.ask(rail="intl_wire", amountCents="100000", entityId="enti_1", counterparty=party)
    transfer = wire_to(feed, code)

    resolved = feed.bank.get(f"/api/preflight/{asked['preflightId']}")["request"]["resolved"]
    assert resolved["counterpartyCountry"] == transfer["counterpartyCountry"]
    assert (asked["score"], asked["band"]) == (transfer["score"], transfer["scoreBand"])


@pytest.mark.parametrize("declared", [["UK"], ["GBR"], ["gb"]])
def test_given_a_country_declared_in_another_spelling_when_a_wire_goes_there_then_it_is_declared(
    live_bank: LiveBank, declared: list[str]
) -> None:
    feed = live_bank.feed(declaredRails=["intl_wire"], declaredCountries=["US", *declared])

    wire_to(feed, "GB")

    assert UNDECLARED not in detectors(feed)
    assert live_bank.get(f"/api/programs/{feed.id}")["declaredCountries"] == ["US", "GB"]


@pytest.mark.parametrize("code", ["ZZ", "XX", "AN", "QQQ", "Germany", "1", 5])
def test_given_what_is_no_country_when_a_wire_goes_there_then_it_is_unknown_and_a_signal(
    live_bank: LiveBank, code: object
) -> None:
    feed = live_bank.feed(declaredRails=["intl_wire"], declaredCountries=["US", "GB"])
    feed.send_usual(range(1, 8))

    transfer = wire_to(feed, code)

    harmless = live_bank.feed(declaredRails=["intl_wire"], declaredCountries=["US", "GB"])
    harmless.send_usual(range(1, 8))
    wire_to(harmless, "GB")
    assert transfer["counterpartyCountry"] is None
    assert UNKNOWN_COUNTRY in feed.reasons("swft_1")
    assert UNKNOWN_COUNTRY not in harmless.reasons("swft_1")
    assert feed.event()["path"] == "data.beneficiary_address.country_code"


@pytest.mark.parametrize("code", ["ZZ", "QQQ", "Germany"])
def test_given_what_is_no_country_when_asked_before_then_it_is_refused_with_its_path(feed: LiveFeed, code: str) -> None:
    refused = feed.refusal(rail="intl_wire", counterparty={"name": "Nord", "countryCode": code})

    assert [field["path"] for field in refused["fields"]] == ["transfer.counterparty.countryCode"]


@pytest.mark.parametrize("value", ["UK", "GBR", "GB"])
def test_given_a_rule_on_a_country_in_another_spelling_when_a_wire_goes_there_then_it_matches(
    live_bank: LiveBank, value: str
) -> None:
    feed = live_bank.feed(declaredRails=["intl_wire"], declaredCountries=["US", "GB"])
    wire_to(feed, "GBR")
    rule_id = f"to-{value.lower()}-{feed.program['slug']}"
    when = [{"field": "counterpartyCountry", "op": "eq", "value": value}]
    body = {"id": rule_id, "name": "Abroad", "programId": feed.id, "action": "log", "severity": "low", "when": when}
    live_bank.post("/api/rules", body)

    report = live_bank.post(f"/api/rules/{rule_id}/backtest", {"days": 90})

    assert report["matched"] == 1


@pytest.mark.parametrize(("first", "second"), [("IR", "US"), ("US", "IR"), ("IR", "IR")])
def test_given_an_address_that_names_its_country_twice_when_a_wire_lands_then_neither_counts(
    feed: LiveFeed, first: str, second: str
) -> None:
    codes = f'"country_code": "{first}", "city": "Ostra", "country_code": "{second}"'
    data = f'{{"id": "swft_1", "amount": 100, "currency_code": "USD", "beneficiary_address": {{{codes}}}}}'
    event = f'{{"id": "evnt_two", "type": "{SWIFT}", "created_at": "{text_of(now())}", "data": {data}}}'

    assert feed.deliver(event.encode()).status_code == 200

    feed.last_event = "evnt_two"
    found = feed.event()
    assert (found["result"], found["path"]) == ("unusable", "data.beneficiary_address")


def test_given_two_addresses_with_a_country_each_when_a_wire_lands_then_both_are_read(feed: LiveFeed) -> None:
    sides = {"beneficiary_address": {"country_code": "DE"}, "originator_address": {"country_code": "US"}}
    feed.send(SWIFT, {"id": "swft_1", "amount": 100, "currency_code": "USD"} | sides, now())

    assert feed.event()["result"] == "applied"
    assert feed.transfer("swft_1")["counterpartyCountry"] == "DE"
