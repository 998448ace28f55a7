"""The graph of money: equal to one computed in plain Python from the events; its limits, windows and callers."""

from random import Random
from typing import Any

from msgspec import json

from tests.api.graph.naive import NaiveGraph, Sent, moment, shown
from tests.support.alerting import alerts_of, an_alert, decide, deliver, outgoing, party
from tests.support.running_app import RunningApp, assert_refused

OWNERS = {"bacc_1": "enti_1", "bacc_2": "enti_2"}
EVENT_OF = {"ach": "ach.outgoing_transfer.updated", "wire": "wire.outgoing_transfer.updated"}
EVENTS = EVENT_OF | {"book": "book.transfer.updated", "intl_wire": "swift.outgoing_transfer.updated"}


def graph(api: RunningApp, tenant: dict[str, Any], around: str, **query: Any) -> dict[str, Any]:
    answer = api.client.get("/api/graph", params={"around": around} | query, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def transfers_of(api: RunningApp, tenant: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    answer = api.client.get("/api/transfers", params={"limit": 100} | query, headers=api.operator(tenant))
    rows: list[dict[str, Any]] = answer.json()["data"]
    return rows


def by_ends(answer: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(edge["from"], edge["to"]): edge for edge in answer["edges"]}


def figures(answer: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The edges without the fields that are no sums of transfers."""
    apart = ("from", "to", "score", "band", "evidence", "path")
    return {
        ends: {name: value for name, value in edge.items() if name not in apart}
        for ends, edge in by_ends(answer).items()
    }


def event(sent: Sent, number: int) -> bytes:
    at = sent.data["updated_at"]
    return json.encode({"id": f"evnt_{number}", "created_at": at, "type": EVENTS[sent.rail], "data": sent.data})


def random_transfers(seed: int, count: int) -> list[Sent]:
    """Transfers of every kind of side, direction and state."""
    random = Random(seed)
    sent = []
    for number in range(count):
        rail = random.choice(["ach", "ach", "wire", "book", "intl_wire"])
        month, day = random.choice([(10, 20), (1, 5), (2, 1), (2, 27), (3, 1)]), random.randrange(24)
        at = f"{2025 if month[0] == 10 else 2026}-{month[0]:02}-{month[1]:02}T{day:02}:{number % 60:02}:00Z"
        data: dict[str, Any] = {"id": f"t_{number}", "amount": random.randrange(1, 90_000), "currency_code": "USD"}
        data |= {"status": random.choice(["INITIATED", "PENDING"]), "created_at": at, "updated_at": at}
        own = random.choice([{"entity_id": "enti_1"}, {"entity_id": "enti_3"}, {"a": "bacc_1"}, {"a": "bacc_9"}, {}])
        account = own.pop("a", None)
        others = ["bacc_2", "bacc_9", None]
        other = random.choice(others if rail == "book" else ["cpty_1", "cpty_2", "cpty_3", "enti_3", *others])
        if account is not None:
            data["sender_bank_account_id" if rail == "book" else "bank_account_id"] = account
        if other is not None:
            data["receiver_bank_account_id" if rail == "book" else "counterparty_id"] = other
        if rail != "book":
            data["is_incoming"] = random.random() < 0.4
        if rail == "ach":
            data["type"] = random.choice(["CREDIT", "DEBIT"])
        if rail == "intl_wire":
            data |= {"currency_code": "EUR"} | random.choice([{}, _settled(random)])
        sent.append(Sent(rail, data | own))
    return sent


def _settled(random: Random) -> dict[str, Any]:
    return {"settled_amount": random.randrange(1, 90_000), "settled_currency_code": "USD"}


def later(sent: Sent, random: Random) -> Sent:
    """The same transfer in a later state."""
    ends = {"ach": ["RETURNED", "SETTLED", "CANCELED"], "book": ["COMPLETED", "REJECTED"], "wire": ["COMPLETED"]}
    status = random.choice(ends.get(sent.rail, ["COMPLETED", "RETURNED", "REJECTED"]))
    data = dict(sent.data) | {"status": status, "updated_at": "2026-03-02T10:00:00Z"}
    if sent.rail == "ach" and status == "RETURNED":
        data["return_details"] = [{"return_code": "R01", "created_at": "2026-03-02T10:00:00Z"}]
    return Sent(sent.rail, data)


def deliver_world(api: RunningApp, program: dict[str, Any], seed: int) -> list[Sent]:
    """Deliver random transfers, half of them twice; returns each as last sent."""
    random, first = Random(seed), random_transfers(seed, 160)
    last = {sent.data["id"]: sent for sent in first}
    owned = party("account", "bacc_2", entity_id="enti_2", status="open")
    deliver(api, program, party("account", "bacc_1", entity_id="enti_1", status="open"))
    deliver(api, program, *(event(sent, number) for number, sent in enumerate(first)), owned)
    changed = [later(sent, random) for sent in random.sample(first, len(first) // 2)]
    deliver(api, program, *(event(sent, 1_000 + number) for number, sent in enumerate(changed)))
    last |= {sent.data["id"]: sent for sent in changed}
    return [*last.values()]


def held_transfers(api: RunningApp, tenant: dict[str, Any]) -> tuple[str, ...]:
    return tuple(alert["transferId"] for alert in alerts_of(api, tenant, status="held"))


def naive(sent: list[Sent], program: dict[str, Any], held: tuple[str, ...] = ()) -> NaiveGraph:
    accounts = {"bacc_1", "bacc_2", "bacc_9"}
    return NaiveGraph(
        sent,
        owners=OWNERS,
        accounts=accounts,
        entities={"enti_1", "enti_2", "enti_3"},
        program=program["id"],
        held=held,
    )


def test_given_random_transfers_then_the_graph_is_that_of_plain_python(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    sent = deliver_world(api, program, seed=11)
    expected = naive(sent, program, held_transfers(api, tenant))
    for around in ("entity:enti_1", "entity:enti_2", "entity:enti_3", "account:bacc_9", "counterparty:cpty_2"):
        for days in (90, 5):
            answer = graph(api, tenant, around, days=days)
            assert figures(answer) == shown(expected.edges({around}, days=days)), (around, days)
            assert answer["truncated"] == {"edges": 0, "transfers": 0, "cents": "0"}
            assert answer["nodes"][0]["key"] == around
    assert sum(edge["transfers"] for edge in graph(api, tenant, "entity:enti_1")["edges"]) > 20


def a_round_trip(api: RunningApp, program: dict[str, Any]) -> None:
    """Money that goes from an entity over an account of the program and back, among other payments."""
    deliver(api, program, *(party("account", each, entity_id=owner) for each, owner in OWNERS.items()))
    usual = [outgoing(f"acht_{day}", at=f"2026-02-{day:02}T14:00:00Z", amount=500_000) for day in range(1, 25)]
    deliver(api, program, *usual)
    for number, (own, other, at) in enumerate(
        [("bacc_1", "bacc_2", "01T10"), ("bacc_2", "bacc_3", "01T14"), ("bacc_3", "bacc_1", "01T18")]
    ):
        data = {"id": f"t_{number}", "amount": 480_000 - number, "currency_code": "USD", "status": "COMPLETED"}
        data |= {"sender_bank_account_id": own, "receiver_bank_account_id": other}
        data |= {"created_at": f"2026-03-{at}:00:00Z", "updated_at": f"2026-03-{at}:00:00Z"}
        deliver(api, program, event(Sent("book", data), number))


def test_given_an_alert_on_a_round_trip_then_its_path_is_always_there_in_its_order_of_money(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    a_round_trip(api, program)
    (alert,) = [each for each in alerts_of(api, tenant) if (each["evidence"].get("path") or {}).get("roundTrip")]
    path = [
        ("entity:enti_1", "entity:enti_2"),
        ("entity:enti_2", "account:bacc_3"),
        ("account:bacc_3", "entity:enti_1"),
    ]

    whole = graph(api, tenant, f"alert:{alert['id']}")
    least = graph(api, tenant, f"alert:{alert['id']}", limit=1, days=1, asOf="2025-06-01")

    assert {ends for ends, edge in by_ends(whole).items() if edge["path"]} == {*path}
    assert whole["edges"][-1]["path"] is False
    usual = by_ends(whole)["entity:enti_1", "counterparty:cpty_1"]
    scores = [each["score"] for each in transfers_of(api, tenant, counterpartyId="cpty_1") if each["score"] is not None]
    assert (usual["transfers"], usual["score"]) == (24, max(scores))
    report = api.client.get("/api/reports/actor/entity/enti_1", headers=api.operator(tenant)).json()["current"]
    (entity,) = [node for node in whole["nodes"] if node["key"] == "entity:enti_1"]
    assert entity["score"] > 0
    assert (entity["score"], entity["band"]) == (report["score"], report["band"])
    assert {*by_ends(least)} == {*path}
    assert all((edge["path"], edge["evidence"], edge["transfers"]) == (True, 1, 1) for edge in least["edges"])
    assert {node["key"] for node in least["nodes"] if node["hop"] == 0} == {end for ends in path for end in ends}


def test_given_a_limit_then_the_heaviest_edges_are_shown_and_the_others_counted(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    paid = [
        outgoing(f"acht_{n}", amount=100 + n, counterparty_id=f"cpty_{n}", bank_account_id="bacc_9") for n in range(9)
    ]
    deliver(api, program, *paid, outgoing("acht_more", amount=7, counterparty_id="cpty_2", bank_account_id="bacc_9"))

    answer = graph(api, tenant, "account:bacc_9", limit=2)

    assert [(edge["to"], edge["cents"]) for edge in answer["edges"]] == [
        ("counterparty:cpty_2", "109"),
        ("counterparty:cpty_8", "108"),
    ]
    left_out = sum(100 + n for n in range(9) if n not in {2, 8})
    assert answer["truncated"] == {"edges": 7, "transfers": 7, "cents": str(left_out)}
    assert [node["key"] for node in answer["nodes"]] == [
        "account:bacc_9",
        "counterparty:cpty_2",
        "counterparty:cpty_8",
    ]


def test_given_two_hops_then_parties_next_to_the_center_have_their_transfers_too(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    sent = deliver_world(api, program, seed=12)
    expected = naive(sent, program, held_transfers(api, tenant))
    near = expected.edges({"entity:enti_2"}, days=90)
    reached = {end for ends in near for end in ends if not end.startswith("program:")}
    behind = expected.edges(reached, days=90)

    one, two = (graph(api, tenant, "entity:enti_2", hops=hops) for hops in (1, 2))
    short = graph(api, tenant, "entity:enti_2", hops=2, limit=4)

    assert figures(one) == shown(near)
    assert figures(two) == shown(behind)
    assert len(behind) > len(near) > 2
    hops = {node["key"]: node["hop"] for node in two["nodes"]}
    assert hops == {
        **{end: 2 for ends in behind for end in ends},
        **{end: 1 for ends in near for end in ends},
        "entity:enti_2": 0,
    }
    assert {node["key"] for node in two["nodes"] if node["expanded"]} == reached
    heaviest = sorted(near.values(), key=lambda edge: -edge["cents"])[:2]
    assert [edge["cents"] for edge in short["edges"][:2]] == [str(edge["cents"]) for edge in heaviest]
    ends = [end for edge in short["edges"][:2] for end in (edge["from"], edge["to"])]
    assert all(edge["from"] in ends or edge["to"] in ends for edge in short["edges"])
    of_short = expected.edges({end for end in ends if not end.startswith("program:")}, days=90) | near
    assert len(short["edges"]) == 4
    assert short["truncated"]["edges"] == len(of_short) - 4
    shown_cents = sum(int(edge["cents"]) for edge in short["edges"])
    assert int(short["truncated"]["cents"]) == sum(edge["cents"] for edge in of_short.values()) - shown_cents


def test_given_a_window_then_it_ends_at_the_newest_transfer_or_where_it_is_stated_and_not_at_the_clock(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    days = ["2025-12-01", "2026-02-20", "2026-02-28"]
    deliver(api, program, *(outgoing(f"acht_{day}", at=f"{day}T14:00:00Z", bank_account_id="bacc_9") for day in days))
    api.clock.advance(400 * 24 * 3_600_000_000)

    newest = graph(api, tenant, "account:bacc_9", days=8)
    earlier = graph(api, tenant, "account:bacc_9", asOf="2026-02-28T14:00:00Z", days=80)
    before = graph(api, tenant, "account:bacc_9", asOf="2025-12-01", days=90)

    assert (newest["from"], newest["to"]) == ("2026-02-20T14:00:00.000Z", "2026-02-28T14:00:00.000Z")
    (edge,) = newest["edges"]
    assert (edge["transfers"], edge["firstAt"]) == (1, "2026-02-28T14:00:00.000Z")
    assert [edge["lastAt"] for edge in earlier["edges"]] == ["2026-02-20T14:00:00.000Z"]
    assert (before["edges"], [node["key"] for node in before["nodes"]]) == ([], ["account:bacc_9"])


def test_given_a_transfer_or_an_account_with_an_owner_then_the_center_is_its_sides_or_the_account_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    sent = deliver_world(api, program, seed=13)
    expected = naive(sent, program, held_transfers(api, tenant))
    last = next(each for each in sent if each.rail == "ach" and {"bank_account_id", "counterparty_id"} <= {*each.data})
    transfer_id = last.data["id"]

    account = graph(api, tenant, "account:bacc_1")
    around = graph(api, tenant, f"transfer:{transfer_id}", programId=program["id"])

    assert figures(account) == shown(expected.edges({"account:bacc_1"}, days=90, apart="bacc_1"))
    (own,) = [node for node in account["nodes"] if node["hop"] == 0]
    assert (own["key"], own["entityId"]) == ("account:bacc_1", "enti_1")
    center = {node["key"] for node in around["nodes"] if node["hop"] == 0}
    assert figures(around) == shown(expected.edges(center, days=90, marked=[transfer_id]))
    assert (around["edges"][0]["path"], around["edges"][0]["evidence"]) == (True, 1)
    assert {around["edges"][0]["from"], around["edges"][0]["to"]} == center
    unnamed = expected.unnamed({"entity:enti_3"})
    assert unnamed["transfers"] > 0
    assert graph(api, tenant, "entity:enti_3")["unnamed"]["transfers"] == unnamed_in_window(sent, program)["transfers"]


def unnamed_in_window(sent: list[Sent], program: dict[str, Any]) -> dict[str, Any]:
    newest = max(moment(each.data["created_at"]) for each in sent)
    recent = [each for each in sent if (newest - moment(each.data["created_at"])).days < 90]
    return naive(recent, program).unnamed({"entity:enti_3"})


def test_given_a_held_alert_then_its_money_is_held_and_the_node_has_name_and_score(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(
        api,
        program,
        party("identity", "enti_1", name="Ada Example", type="PERSON", status="VERIFIED"),
        party("counterparty", "cpty_1", name="Example Supplies", account_number="744-5678-99"),
    )
    alert = an_alert(api, tenant, program, "acht_1", entity_id="enti_1", amount=70_000)
    deliver(api, program, outgoing("acht_2", entity_id="enti_1"))
    before = graph(api, tenant, "entity:enti_1")
    assert decide(api, api.operator(tenant), alert["id"], "hold").status_code == 201
    api.catch_up()

    answer = graph(api, tenant, "entity:enti_1")

    (edge,) = answer["edges"]
    assert before["edges"][0]["heldCents"] in {"0", "70000"}
    assert (edge["cents"], edge["heldCents"], edge["pendingCents"]) == ("80000", "70000", "10000")
    entity, counterparty = answer["nodes"]
    assert (entity["name"], entity["key"], entity["hop"]) == ("Ada Example", "entity:enti_1", 0)
    assert (counterparty["name"], counterparty["accountLast4"]) == ("Example Supplies", "7899")
    assert "56789" not in str(answer)


def test_given_subjects_that_are_not_there_or_in_several_programs_then_each_refusal_has_its_code(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    deliver(api, program, outgoing("acht_1"))
    deliver(api, lending, outgoing("acht_1"))
    headers = api.operator(tenant)
    unknown = "00000000-0000-4000-8000-00000000dead"
    codes = {
        **{f"around={kind}:x_1": f"{kind}_not_found" for kind in ("transfer", "entity", "account", "counterparty")},
        "around=agent:x_1": "agent_not_found",
        f"around=alert:{unknown}": "alert_not_found",
        f"around=transfer:acht_1&programId={unknown}": "program_not_found",
    }
    for query, code in codes.items():
        answer = api.client.get(f"/api/graph?{query}", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (404, code), query
    for kind, each in (("transfer", "acht_1"), ("account", "bacc_1"), ("counterparty", "cpty_1")):
        answer = api.client.get(f"/api/graph?around={kind}:{each}", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "program_required")
        named = graph(api, tenant, f"{kind}:{each}", programId=lending["id"])
        assert (named["programId"], named["edges"][0]["transfers"]) == (lending["id"], 1)
    for query in ("", "around=card:1", "around=entity", "around=entity:x&hops=3", "around=entity:x&days=91"):
        assert_refused(api.client.get(f"/api/graph?{query}", headers=headers), 400)
    assert_refused(api.client.get("/api/graph?around=entity:x&limit=201", headers=headers), 400)
    assert_refused(api.client.get("/api/graph?around=entity:x&asOf=2026-02-31", headers=headers), 400)


def test_given_a_simulated_program_then_its_graph_says_so_and_others_do_not(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    play = api.create_program(tenant, slug="play", source="simulated")
    deliver(api, program, outgoing("acht_1", bank_account_id="bacc_real"))
    deliver(api, play, outgoing("acht_2", bank_account_id="bacc_play"))

    assert graph(api, tenant, "account:bacc_play")["simulated"] is True
    assert "simulated" not in graph(api, tenant, "account:bacc_real")


def test_given_an_alert_on_the_program_then_the_graph_has_the_transfers_that_it_rests_on(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    body = {"kind": "per_transaction", "capCents": "9999", "note": "A cap."}
    change = api.client.post(f"/api/limits/program/{program['id']}", json=body, headers=headers).json()
    assert api.client.post(f"/api/actions/{change['id']}/approve", headers=api.operator(tenant, "bob")).is_success
    deliver(api, program, outgoing("acht_1"), outgoing("acht_2", amount=5_000, counterparty_id="cpty_2"))
    (alert,) = alerts_of(api, tenant, detector="program_limit_breach")

    for hops in (1, 2):
        (edge,) = graph(api, tenant, f"alert:{alert['id']}", hops=hops)["edges"]
        assert (edge["from"], edge["to"]) == ("account:bacc_1", "counterparty:cpty_1")
        assert (edge["transfers"], edge["evidence"], edge["path"]) == (1, 1, False)
