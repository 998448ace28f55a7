"""The report of an actor agrees with the lists that show the same things one by one, and says when it may not speak."""

from collections import Counter
from typing import Any

import pytest

from tests.support.alerting import ALERTING, alerts_of, deliver, outgoing, party
from tests.support.bank_events import a_card_authorization, an_event, an_international_wire
from tests.support.reported_bank import ReportedBank, summary_of, within
from tests.support.running_app import RunningApp, assert_refused

FIELDS = {
    *(
        "kind",
        "type",
        "id",
        "name",
        "programId",
        "generatedAt",
        "from",
        "to",
        "current",
        "history",
        "transitions",
        "signalTrends",
    ),
    *("transfers", "alerts", "dispositions"),
}
START, END = "2026-03-27", "2026-05-24"


def report(bank: ReportedBank, actor: str, **query: str) -> Any:
    return bank.read(f"/api/reports/actor/{actor}", **{"programId": bank.program["id"]} | query)


def busiest(bank: ReportedBank, field: str) -> list[str]:
    """The three actors with most transfers."""
    counts = Counter(each[field] for each in bank.every("/api/transfers") if each[field])
    return [actor_id for actor_id, _ in counts.most_common(3)]


def test_given_a_busy_entity_when_reported_then_every_field_is_there_with_its_type(bank: ReportedBank) -> None:
    shown = report(bank, f"entity/{busiest(bank, 'entityId')[0]}")

    assert set(shown) == FIELDS
    assert (shown["kind"], shown["type"], shown["programId"]) == ("actor", "entity", bank.program["id"])
    assert set(shown["current"]) == {"score", "band", "n", "confidence", "version", "reasons", "hard", "scoredAt"}
    assert shown["history"]
    assert all(set(point) == {"at", "score", "band", "n", "version", "signals"} for point in shown["history"])
    assert set(shown["transfers"]) == {"count", "volumeCents", "returns", "bands"}
    assert shown["alerts"]
    assert set(shown["alerts"][0]) == {"id", "detector", "status", "route", "openedAt", "summary"}
    assert shown["current"]["scoredAt"] == shown["generatedAt"]


@pytest.mark.parametrize(("kind", "field"), [("entity", "entityId"), ("counterparty", "counterpartyId")])
def test_given_an_actor_when_reported_then_its_totals_are_those_of_its_transfers(
    bank: ReportedBank, kind: str, field: str
) -> None:
    for actor_id in busiest(bank, field):
        transfers = bank.every("/api/transfers", **{field: actor_id})
        for start, end in ((START, END), ("2026-01-01", "2026-07-01"), ("2025-03-01", "2025-04-01")):
            shown = report(bank, f"{kind}/{actor_id}", **{"from": start, "to": end})
            assert shown["transfers"] == summary_of(within(transfers, "bankCreatedAt", start, end)), (actor_id, start)


@pytest.mark.parametrize(("kind", "field"), [("entity", "entityId"), ("counterparty", "counterpartyId")])
def test_given_an_actor_when_reported_then_its_alerts_and_decisions_are_those_on_it_and_its_transfers(
    bank: ReportedBank, kind: str, field: str
) -> None:
    alerts, dispositions = bank.every("/api/alerts"), bank.every("/api/dispositions")
    on_accounts = {each["id"] for each in alerts if each["subjectType"] == "account"}
    shown_in_all = 0
    for actor_id in busiest(bank, field):
        transfers = bank.every("/api/transfers", **{field: actor_id})
        subjects = {(kind, actor_id), *(("transfer", each["id"]) for each in transfers)}
        on_it = [each for each in alerts if (each["subjectType"], each["subjectId"]) in subjects]
        decided = {each["id"] for each in on_it}
        shown = report(bank, f"{kind}/{actor_id}", **{"from": START, "to": END})

        fields = ("id", "detector", "status", "route", "openedAt", "summary")
        expected = [{name: each[name] for name in fields} for each in within(on_it, "openedAt", START, END)]
        assert [each for each in shown["alerts"] if each["id"] not in on_accounts] == expected[:200]
        decisions = [each["alertId"] for each in shown["dispositions"] if each["alertId"] not in on_accounts]
        assert decisions == [
            each["alertId"] for each in within(dispositions, "createdAt", START, END) if each["alertId"] in decided
        ]
        shown_in_all += len(shown["alerts"])
    assert shown_in_all


def test_given_a_history_when_its_bands_change_then_the_transitions_say_so_and_nothing_else(bank: ReportedBank) -> None:
    for kind, field in (("entity", "entityId"), ("counterparty", "counterpartyId")):
        for actor_id in busiest(bank, field):
            shown = report(bank, f"{kind}/{actor_id}", **{"from": "2026-01-01", "to": "2026-07-01"})
            changes, band = [], "unscored"
            for point in shown["history"]:
                if point["band"] != band:
                    changes.append(
                        {"from": band, "to": point["band"]} | {name: point[name] for name in ("at", "score", "n")}
                    )
                band = point["band"]
            assert shown["transitions"] == changes
            assert len(shown["history"]) < 200  # all of it, so that the first change is the first score


def test_given_a_history_when_signals_are_counted_then_each_record_counts_once_in_its_period(
    bank: ReportedBank,
) -> None:
    actor = f"entity/{busiest(bank, 'entityId')[0]}"
    now = report(bank, actor, **{"from": "2026-04-01", "to": "2026-05-01"})
    before = report(bank, actor, **{"from": "2026-03-02", "to": "2026-04-01"})

    counts, prior = (
        Counter(code for point in each["history"] for code in {signal["code"] for signal in point["signals"]})
        for each in (now, before)
    )
    assert counts
    assert prior
    assert now["signalTrends"] == {
        code: {"count": counts[code], "prior": prior[code]} for code in sorted(counts | prior)
    }
    assert report(bank, actor, **{"from": "2024-03-16", "to": "2024-03-23"})["signalTrends"] is None


def test_given_a_period_in_the_past_when_reported_then_the_current_score_is_the_last_one_before_its_end(
    bank: ReportedBank,
) -> None:
    actor = f"entity/{busiest(bank, 'entityId')[0]}"
    history = report(bank, actor, **{"from": "2026-01-01", "to": "2026-07-01"})["history"]
    before = [point for point in history if point["at"] < START]

    assert report(bank, actor, to=START)["current"]["scoredAt"] == before[-1]["at"]
    assert report(bank, actor, to="2024-01-01")["current"] is None
    assert report(bank, actor, **{"from": "0001-01-01", "to": "0001-12-31"})["current"] is None


def test_given_one_id_in_two_programs_when_reported_then_a_program_must_be_named(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending", source="simulated")
    deliver(api, program, party("identity", "enti_1", name="One"))
    deliver(api, lending, party("identity", "enti_1", name="Two"))

    def read(**query: str) -> Any:
        return api.client.get("/api/reports/actor/entity/enti_1", params=query, headers=api.operator(tenant))

    assert_refused(read(), 400, "Several programs have an entity of this id; name one in programId.")
    named = read(programId=lending["id"]).json()
    assert (named["name"], named["simulated"], named["current"], named["signalTrends"]) == ("Two", True, None, None)
    assert "simulated" not in read(programId=program["id"]).json()


def test_given_an_entity_of_the_program_agents_when_reported_then_it_is_an_agent_and_only_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    agents = api.create_program(tenant, slug="agents")
    deliver(api, agents, party("identity", "agent_1", name="An Agent"))
    deliver(api, program, party("identity", "enti_1"))
    deliver(api, agents, *(outgoing(f"acht_{number}", entity_id="agent_1") for number in range(12)))

    def read(actor: str) -> Any:
        return api.client.get(f"/api/reports/actor/{actor}", params={"to": "2026-03-09"}, headers=api.operator(tenant))

    agent = read("agent/agent_1").json()
    assert (agent["type"], agent["transfers"]["count"]) == ("agent", 12)
    assert agent["current"]["version"] == "ars-v1"
    assert read("entity/agent_1").json()["current"] == agent["current"]
    assert_refused(read("agent/enti_1"), 404, "Unknown agent on this tenant.")
    kinds = ("agent", "entity", "counterparty")
    assert [read(f"{kind}/nobody").json()["code"] for kind in kinds] == [f"{kind}_not_found" for kind in kinds]


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("entity/nobody", 404, "Unknown entity on this tenant."),
        ("counterparty/nobody", 404, "Unknown counterparty on this tenant."),
        ("merchant/enti_1", 400, "actorType must be entity, counterparty, agent or account"),
        ("entity/enti_1?from=2026-03-02T12:00:00", 400, "from must be a date-time with an offset, or a date"),
        ("entity/enti_1?to=2026-03-02T25:00:00Z", 400, "to must be a date-time with an offset, or a date"),
        ("entity/enti_1?to=2026-02-30", 400, "to must be a date-time with an offset, or a date"),
        ("entity/enti_1?from=2026-03-02T13:00:00Z&to=2026-03-02T12:00:00Z", 400, "from must be before to"),
        ("entity/enti_1?from=2026-03-02&to=2026-03-02", 400, "from must be before to"),
        ("entity/enti_1?from=2099-01-01", 400, "from must not be after today"),
        ("entity/enti_1?from=2024-01-01&to=2026-01-01", 400, "from must not be more than 366 days before to"),
        ("entity/enti_1?days=7", 400, "days is not a known parameter"),
    ],
)
def test_given_a_report_that_cannot_be_made_when_asked_for_then_the_cause_is_named(
    bank: ReportedBank, path: str, status: int, sentence: str
) -> None:
    assert_refused(bank.get(f"/api/reports/actor/{path}"), status, sentence)


def test_given_bounds_with_offsets_that_are_utc_midnights_when_reported_then_they_are_whole_days(
    bank: ReportedBank,
) -> None:
    actor = f"entity/{busiest(bank, 'entityId')[0]}"
    same = report(bank, actor, **{"from": "2026-03-26T20:00:00-04:00", "to": "2026-05-24T00:00:00.000Z"})

    assert same == report(bank, actor, **{"from": START, "to": END})


@pytest.mark.parametrize(
    ("given", "days"),
    [
        ({"from": "2026-03-28T12:00:00Z", "to": "2026-05-23T00:00:01Z"}, ("2026-03-28", "2026-05-24")),
        ({"from": "2026-03-28T23:59:59.999Z", "to": "2026-05-23T23:30:00-04:00"}, ("2026-03-28", "2026-05-25")),
        ({"from": "2026-03-29T01:00:00+02:00", "to": "2026-05-24T00:00:00Z"}, ("2026-03-28", "2026-05-24")),
        ({"from": "2026-04-01T10:00:00Z", "to": "2026-04-01T11:00:00Z"}, ("2026-04-01", "2026-04-02")),
        ({"to": "2026-04-02T10:00:00Z"}, ("2026-03-04", "2026-04-03")),
    ],
)
def test_given_bounds_within_days_when_reported_then_their_days_are_whole_and_named(
    bank: ReportedBank, given: dict[str, str], days: tuple[str, str]
) -> None:
    actor = f"entity/{busiest(bank, 'entityId')[0]}"
    paths = (f"/api/reports/actor/{actor}", f"/api/reports/program/{bank.program['id']}")

    for path in paths:
        widened, whole = (bank.get(path, **query) for query in (given, {"from": days[0], "to": days[1]}))

        assert widened.json() == whole.json()
        assert (widened.json()["from"], widened.json()["to"]) == tuple(f"{day}T00:00:00.000Z" for day in days)


def test_given_an_account_whose_owner_is_learnt_later_when_the_owner_is_reported_then_what_was_before_is_in_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    declined = {"status": "DECLINED", "card_id": "card_1", "amount": 100, "entity_id": None}
    cards = [
        an_event("card.authorization.declined", a_card_authorization(id=f"card_{n}", **declined), event_id=f"evnt_{n}")
        for n in range(12)
    ]
    deliver(api, program, outgoing("acht_1", **ALERTING), *cards)
    (on_account,) = [each for each in alerts_of(api, tenant) if each["subjectType"] == "account"][:1]
    deliver(api, program, party("account", on_account["subjectId"], owners=["enti_9"], type="CHECKING", status="OPEN"))

    answer = api.client.get("/api/reports/actor/entity/enti_9", headers=api.operator(tenant)).json()

    assert answer["transfers"]["count"] >= 1
    assert on_account["id"] in {each["id"] for each in answer["alerts"]}


def test_given_amounts_in_other_currencies_when_reported_then_the_banks_us_dollars_count_and_unknown_ones_do_not(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    stated = {"settled_currency_code": "USD", "settled_amount": 6_500, "entity_id": "enti_1"}
    deliver(
        api,
        program,
        outgoing("acht_1", entity_id="enti_1"),
        an_event("swift.outgoing_transfer.initiated", _yen("sott_1") | stated, event_id="evnt_2"),
        an_event("swift.outgoing_transfer.initiated", _yen("sott_2") | {"entity_id": "enti_1"}, event_id="evnt_3"),
    )

    answer = api.client.get("/api/reports/actor/entity/enti_1", headers=api.operator(tenant)).json()

    assert (answer["transfers"]["count"], answer["transfers"]["volumeCents"]) == (3, "16500")


def _yen(transfer_id: str) -> dict[str, Any]:
    yen = an_international_wire(id=transfer_id, amount=950_000, currency_code="JPY")
    return {name: value for name, value in yen.items() if not name.startswith(("settled", "instructed"))}
