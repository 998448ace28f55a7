"""What a scan index may hold, item by item, from the index to the answers of the API."""

from typing import Any, Final

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US
from tests.api.agents.conftest import Agents
from tests.support.clock import T0
from tests.support.scan_items import (
    BASE,
    REGISTRY,
    a_profile,
    a_settlement,
    address,
    an_agent,
    entity_of,
    transfer_of,
    wallet_of,
)

NOTHING: Final = {
    "agents": 0,
    "profiles": 0,
    "settlementsScanned": 0,
    "transfers": 0,
    "counterparties": 0,
    "agentCounterparties": 0,
}
AT: Final = T0 - 20 * HOUR_US  # the clock of the service stands still


def test_given_an_agent_and_a_settlement_when_imported_then_the_agent_is_shown(agents: Agents) -> None:
    agents.index.put("agents", an_agent())
    agents.index.put("profiles", a_profile(wallet_of(22)))
    paid = a_settlement(1, AT)
    agents.index.put("settlements", paid)

    counters = agents.run_import()
    again = agents.run_import()

    assert counters == {
        "agents": 1,
        "profiles": 1,
        "settlementsScanned": 1,
        "transfers": 1,
        "counterparties": 1,
        "agentCounterparties": 0,
    }
    assert again == counters | {"transfers": 0, "counterparties": 0}
    agent = agents.agent(entity_of(22))
    assert agent == {
        "entityId": entity_of(22),
        "name": "Quote Bot 22",
        "chainId": BASE,
        "agentId": "22",
        "address": wallet_of(22),
        "verificationStatus": "UNVERIFIED",
        "screeningStatus": "clear",
        "lastScreenedAt": agent["lastScreenedAt"],
        "settlements": 1,
        "volumeCents": "250",
        "score": None,
        "bandName": "unscored",
        "n": 1,
        "confidence": None,
        "version": None,
    }
    assert agents.get("/api/agents").json() == [agent]
    transfer = agents.transfer(transfer_of(paid))
    assert transfer["raw"] == paid
    assert (transfer["amountCents"], transfer["status"], transfer["entityId"]) == ("250", "CONFIRMED", entity_of(22))


def test_given_an_empty_index_then_nothing_is_imported(agents: Agents) -> None:
    assert agents.run_import() == NOTHING
    assert agents.get("/api/agents").json() == []


def test_given_three_pages_and_a_duplicate_across_them_then_each_item_is_imported_once(agents: Agents) -> None:
    agents.index.page_items = 4
    agents.index.put("agents", *(an_agent(number) for number in range(1, 10)))
    settlements = [a_settlement(number, AT + number * HOUR_US, agent=1) for number in range(10)]
    agents.index.put("settlements", *settlements[:6], settlements[3], *settlements[6:])

    counters = agents.run_import()

    assert (counters["agents"], counters["settlementsScanned"], counters["transfers"]) == (9, 11, 10)
    assert agents.listed() == [entity_of(number) for number in range(1, 10)]


def test_given_two_logs_in_one_transaction_then_they_are_two_transfers(agents: Agents) -> None:
    agents.index.put("agents", an_agent())
    one = a_settlement(1, AT)
    other = one | {"id": one["id"].removesuffix("14") + "15", "logIndex": 15}
    agents.index.put("settlements", one, other)

    assert agents.counts() == (2, 1, 0)
    assert agents.agent(entity_of(22))["volumeCents"] == "500"


def test_given_a_settlement_that_is_dropped_then_it_is_marked_and_counts_no_more(agents: Agents) -> None:
    agents.index.put("agents", an_agent())
    pending, other = a_settlement(1, AT, status="pending"), a_settlement(2, AT)
    agents.index.put("settlements", pending, other)
    assert agents.counts() == (2, 2, 0)
    assert agents.transfer(transfer_of(pending))["status"] == "PENDING"

    for status, settlements in (("confirmed", 2), ("dropped", 1), ("confirmed", 2), ("dropped", 1)):
        agents.index.replace("settlements", [pending | {"status": status}, other])
        assert agents.counts() == (0, 0, 0)
        assert agents.transfer(transfer_of(pending))["status"] == status.upper()
        agent = agents.agent(entity_of(22))
        assert (agent["settlements"], agent["volumeCents"]) == (settlements, str(250 * settlements))


def test_given_one_agent_id_on_two_chains_then_they_are_two_agents(agents: Agents) -> None:
    agents.index.put("agents", an_agent(), an_agent(chainId=1))
    on_base, on_ethereum = a_settlement(1, AT), a_settlement(2, AT)
    other = {"chainId": 1, "registry": REGISTRY.upper().replace("0X", "0x"), "agentId": "22"}
    on_ethereum |= {"id": on_ethereum["id"].replace("8453:", "1:", 1), "chainId": 1, "agent": other}
    agents.index.put("settlements", on_base, on_ethereum)

    assert agents.counts() == (2, 2, 0)
    assert agents.transfer(transfer_of(on_base))["entityId"] == entity_of(22)
    assert agents.transfer(transfer_of(on_ethereum))["entityId"] == entity_of(22, chain_id=1)


def test_given_a_wallet_that_changes_hands_then_each_settlement_is_its_holders_of_that_time(agents: Agents) -> None:
    changed_at = "2026-02-25T00:00:00Z"
    before, after = a_settlement(1, T0 - 9 * DAY_US, agent=None), a_settlement(2, T0 - HOUR_US, agent=None)
    first_at = "2026-02-01T00:00:00Z"
    agents.index.put("agents", an_agent(updatedAt=first_at), an_agent(23, wallet=None, updatedAt=first_at))
    agents.index.put("settlements", before)
    agents.run_import()
    agents.index.replace(
        "agents",
        [an_agent(wallet=None, updatedAt=changed_at), an_agent(23, wallet=wallet_of(22), updatedAt=changed_at)],
    )
    agents.index.put("settlements", after)

    assert agents.counts() == (1, 1, 0)
    assert agents.transfer(transfer_of(before))["entityId"] == entity_of(22)
    assert agents.transfer(transfer_of(after))["entityId"] == entity_of(23)


def test_given_a_sanctioned_payer_in_mixed_case_then_the_agent_it_pays_is_in_review(agents: Agents) -> None:
    listed = "0x8589427373D6D84E98730D7795D8f6f8731FDA16"
    agents.index.put("agents", an_agent())
    agents.index.put("profiles", a_profile(listed, "hit", hits=["OFAC-SDN"]))
    settlements = [a_settlement(number, AT + number * HOUR_US) for number in range(12)]
    settlements[5]["payer"] = listed.lower()
    agents.index.put("settlements", *settlements)

    agents.run_import()

    agent = agents.agent(entity_of(22))
    assert (agent["score"], agent["bandName"], agent["version"]) == (55, "review", "ars-v1")
    payer = agents.get(f"/api/counterparties/wallet:{BASE}:{listed.lower()}").json()
    assert payer["raw"]["screeningStatus"] == "hit"


def test_given_a_wallet_that_was_never_screened_then_the_status_is_null(agents: Agents) -> None:
    agents.index.put("agents", an_agent(), an_agent(23))
    agents.index.put("profiles", a_profile(wallet_of(22), None))

    assert agents.run_import()["profiles"] == 1
    for number in (22, 23):
        agent = agents.agent(entity_of(number))
        assert (agent["screeningStatus"], agent["lastScreenedAt"]) == (None, None)


def test_given_amounts_below_a_cent_then_they_add_up(agents: Agents) -> None:
    agents.index.put("agents", an_agent())
    payments = [a_settlement(number, AT + number, amountAtomic="4000") for number in range(5)]
    agents.index.put("settlements", *payments)

    agents.run_import()

    assert agents.transfer(transfer_of(payments[0]))["amountCents"] == "0"
    assert agents.agent(entity_of(22))["volumeCents"] == "2"


@pytest.mark.parametrize(
    ("reason", "odd"),
    [
        ("unknown_asset", {"asset": address(0xBAD), "assetSymbol": "USDC"}),
        ("malformed", {"payTo": 7}),
        ("malformed", {"decimals": 18}),
        ("malformed", {"amountAtomic": "-5"}),
        ("malformed", {"settledAt": "yesterday"}),
        ("malformed", {"status": "surely"}),
        ("malformed", {"id": "8453:0x1:1"}),
        ("malformed", {"agent": {"chainId": BASE}}),
        ("too_large", {"resource": "x" * 20_000}),
        ("unknown_agent", {"agent": {"chainId": BASE, "registry": REGISTRY, "agentId": "99"}}),
        ("no_agent", {"agent": None, "payTo": address(0xE15E)}),
        ("contradicted", {"payTo": wallet_of(23)}),
    ],
)
def test_given_an_odd_settlement_then_it_is_left_out_and_counted_and_the_others_are_taken(
    agents: Agents, reason: str, odd: dict[str, Any]
) -> None:
    agents.index.put("agents", an_agent(), an_agent(23))
    agents.index.put("settlements", a_settlement(1, AT), a_settlement(2, AT) | odd, a_settlement(3, AT))

    assert agents.counts() == (2, 2, 0)
    assert agents.state()["skipped"] == {reason: 1}


def test_given_items_that_are_no_objects_then_the_page_goes_on(agents: Agents) -> None:
    agents.index.put("agents", b"7", b'"x"', b"null", b"[]", b"{}", an_agent(), {"chainId": BASE, "agentId": "x"})
    agents.index.put("profiles", b"false", a_profile(wallet_of(22), "perhaps"), a_profile(wallet_of(22)))

    counters = agents.run_import()

    assert (counters["agents"], counters["profiles"], agents.state()["skipped"]) == (1, 1, {"malformed": 8})


def test_given_payers_that_are_agents_then_they_are_linked(agents: Agents) -> None:
    agents.index.put("agents", an_agent(), an_agent(23), an_agent(24, wallet=None))
    claimed = {"chainId": BASE, "registry": REGISTRY, "agentId": "24"}
    agents.index.put(
        "settlements",
        a_settlement(1, AT, payer=wallet_of(23)),
        a_settlement(2, AT, payer=address(0x24), payerAgent=claimed),
        a_settlement(3, AT),
    )

    assert agents.counts() == (3, 3, 2)
    payer = agents.get(f"/api/counterparties/wallet:{BASE}:{wallet_of(23)}").json()
    assert payer["raw"]["agentEntityId"] == entity_of(23)
    assert agents.agent(entity_of(23))["settlements"] == 0, "a paying agent gets no second, outgoing transfer"
