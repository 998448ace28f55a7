"""Actors read at random later instants: score, band, n and confidence are those of that instant on every route."""

from random import Random
from typing import Any, Final

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import EntryKind
from tests.oracle.effort import STREAMS
from tests.oracle.fading import COUNTERPARTY_FLOOR, Scored, band_of, entity_at, newness
from tests.oracle.late import history, own_time
from tests.oracle.reading import instant
from tests.oracle.test_late import told, transfers_of
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.running_app import SHARDS, RunningApp

Data = dict[str, Any]

LATER: Final = (HOUR_US, 9 * HOUR_US, DAY_US, 3 * DAY_US, 10 * DAY_US, 40 * DAY_US, 80 * DAY_US, 200 * DAY_US)
COUNTRIES: Final = ("US", "US", "US", "DE", "IR")
WORDS: Final = "The invoice and the contract were seen, and both agree with the payment."


class Customer:
    """One customer of a program with wires, most of them usual, and the clock of the application."""

    def __init__(self, api: RunningApp, tenant: Data, seed: int) -> None:
        self.api, self.tenant, self.chance = api, tenant, Random(seed)
        api.clock.at = max(api.clock.at, T0)
        self.program = api.create_program(tenant, slug=f"customer-{seed}", declaredCountries=["US"])
        self.explained: set[str] = set()
        for number in range(self.chance.randint(8, 40)):
            api.clock.advance(self.chance.choice((2 * HOUR_US, DAY_US, 2 * DAY_US)))
            self.wire(number, unusual=self.chance.random() < 0.15)
        api.catch_up()

    def wire(self, number: int, *, unusual: bool, country: str | None = None) -> None:
        chance, at = self.chance, self.api.clock.now()
        data = {
            "id": f"wire_{number}",
            "amount": 4_985_000 if unusual else 10_000 + 37 * number,
            "entity_id": "enti_1",
            "counterparty_id": f"cpty_new_{number}" if unusual else chance.choice(("cpty_1", "cpty_2")),
            "beneficiary_address": {"country_code": country or (chance.choice(COUNTRIES) if unusual else "US")},
            "created_at": bank.rfc3339(at),
            "updated_at": bank.rfc3339(at),
        }
        event = bank.an_event("wire.outgoing_transfer.completed", data, event_id=f"evnt_{number}", created_at=at)
        assert self.api.deliver(self.program, event).status_code == 200

    def post(self, path: str, body: Data) -> Data:
        answer = self.api.client.post(path, json=body, headers=self.api.operator(self.tenant))
        assert answer.status_code in (200, 201), answer.text
        self.api.catch_up()
        content: Data = answer.json()
        return content

    def get(self, path: str, **query: Any) -> Data:
        answer = self.api.client.get(path, params=query, headers=self.api.operator(self.tenant))
        assert answer.status_code == 200, answer.text
        content: Data = answer.json()
        return content

    def explain_one(self) -> None:
        """A person labels a transfer ok, or releases all alerts that hold it."""
        scored = [t for t in self.scored() if t.score and t.id not in self.explained]
        if not scored:
            return
        chosen = max(scored, key=lambda t: t.score or 0) if self.chance.random() < 0.7 else self.chance.choice(scored)
        alerts = self.get("/api/alerts", programId=self.program["id"], transferId=chosen.id, limit=100)["data"]
        own = [alert for alert in alerts if alert["transferId"] == chosen.id and alert["status"] == "held"]
        others = [each for each in alerts if each not in own and each["status"] != "closed"]
        is_last = all(each["subjectType"] == "program" for each in others)  # else its points wait for the others
        if own and is_last and self.chance.random() < 0.5:
            for alert in own:
                self.post(f"/api/alerts/{alert['id']}/decide", {"decision": "release", "narrative": WORDS})
        else:
            label = {"transferId": chosen.id, "programId": self.program["id"], "label": "ok", "reason": "It is known."}
            self.post("/api/labels", label)
        self.explained.add(chosen.id)

    def tick(self) -> None:
        for shard in range(SHARDS):
            self.api.on_loop(lambda shard=shard: self._append_tick(shard))  # type: ignore[misc]
        self.api.catch_up()

    async def _append_tick(self, shard: int) -> None:
        await self.api.appender.append(shard, EntryKind.TICK, "", self.api.clock.now(), b"")

    def scored(self) -> list[Scored]:
        return [
            Scored(id_, instant(each["bankCreatedAt"]), each["score"], id_ in self.explained)
            for id_, each in transfers_of(self.api, self.tenant, self.program).items()
        ]

    def report(self, kind: str, actor_id: str) -> Data:
        days = [bank.rfc3339(self.api.clock.now() + days * DAY_US)[:10] for days in (-360, 1)]
        path = f"/api/reports/actor/{kind}/{actor_id}"
        return self.get(path, programId=self.program["id"], **dict(zip(("from", "to"), days, strict=True)))

    def differences(self) -> list[str]:
        """Differences of the entity's report, proof, ladder and pre-flight from the definition."""
        expected, current = entity_at(self.scored(), self.api.clock.now()), self.report("entity", "enti_1")["current"]
        lines = []
        weight = sum(reason["weight"] for reason in current["reasons"] if reason["id"] == "ERS-TRF-01")
        if current["score"] is None:
            weight = expected.least
        if not expected.least <= weight <= expected.most:
            lines.append(f"ERS-TRF-01 {weight} is not from {expected.least} to {expected.most}")
        if (current["n"], current["confidence"]) != (expected.n, expected.confidence):
            lines.append(
                f"n, confidence {current['n']}, {current['confidence']} is not {expected.n}, {expected.confidence}"
            )
        is_scored = expected.confidence is not None
        if (current["score"] is not None) != is_scored or current["band"] != band_of(current["score"]):
            lines.append(f"score {current['score']}, band {current['band']} with n {expected.n}")
        if is_scored and sum(reason["weight"] for reason in current["reasons"]) != current["score"]:
            lines.append("the reasons do not add up")
        if is_scored:
            body = {"type": "entity", "id": "enti_1", "programId": self.program["id"]}
            claims = self.post("/api/proofs", body)["claims"]
            shown = tuple(current[name] for name in ("score", "band", "n", "confidence"))
            if tuple(claims[name] for name in ("score", "band", "n", "confidence")) != shown:
                lines.append(f"proof {claims} is not {shown}")
        transfer = {"rail": "wire", "direction": "outgoing", "amountCents": "1", "entityId": "enti_1"}
        question = {"programId": self.program["id"], "transfer": transfer}
        bands = self.post("/api/ladder/evaluate", question)["bands"]
        if bands["entity"] != current["band"]:
            lines.append(f"ladder {bands['entity']} is not {current['band']}")
        hits = {hit["band"] for hit in self.post("/api/preflight", question)["limitsHit"] if hit["actor"] == "entity"}
        if hits - {current["band"]} or (current["band"] == "hold" and not hits):
            lines.append(f"pre-flight's limits {hits} is not {current['band']}")
        return lines + self._newness_differences()

    def _newness_differences(self) -> list[str]:
        lines = []
        for party in ("cpty_1", "cpty_2"):
            with_it = [
                Scored(id_, instant(each["bankCreatedAt"]), None)
                for id_, each in transfers_of(self.api, self.tenant, self.program).items()
                if each["counterpartyId"] == party
            ]
            if len(with_it) < COUNTERPARTY_FLOOR:
                continue
            current = self.report("counterparty", party)["current"]
            wanted = newness(with_it, self.api.clock.now())
            got = [reason["id"] for reason in current["reasons"] if reason["id"] in ("CRS-CPY-01", "CRS-CPY-02")]
            if got != [wanted] * (wanted is not None):
                lines.append(f"{party}: {got} is not {wanted}")
            recent = [each for each in with_it if each.own > self.api.clock.now() - 90 * DAY_US]
            if len(recent) == len(with_it) and current["n"] != len(with_it):
                lines.append(f"{party}: n {current['n']} is not {len(with_it)}")
        return lines


def test_given_customers_when_read_at_later_instants_then_points_fade_and_observations_count_up_to_then(
    api: RunningApp, tenant: Data
) -> None:
    found: dict[int, list[str]] = {}
    for seed in range(STREAMS // 2):
        customer = Customer(api, tenant, seed)
        for _ in range(4):
            if customer.chance.random() < 0.4:
                customer.explain_one()
            api.clock.advance(customer.chance.choice(LATER))
            if lines := customer.differences():
                found.setdefault(seed, lines)

    assert not found, f"{len(found)} customers differ, the first: {next(iter(found.items()))}"


def test_given_a_customer_in_hold_when_days_tick_then_each_change_of_band_is_recorded_on_its_day(
    api: RunningApp, tenant: Data
) -> None:
    customer = Customer(api, tenant, 3)
    customer.wire(900, unusual=True, country="IR")
    api.catch_up()
    band = customer.report("entity", "enti_1")["current"]["band"]
    assert band == "hold"

    changes = []
    api.clock.at += DAY_US - api.clock.at % DAY_US
    for _ in range(60):
        api.clock.advance(60_000_000)
        customer.tick()
        now = customer.report("entity", "enti_1")["current"]["band"]
        if now != band:
            changes.append((bank.rfc3339(api.clock.now())[:10], band, now))
            band = now
        api.clock.advance(DAY_US - 60_000_000)

    report = customer.report("entity", "enti_1")
    assert [(from_, to) for _, from_, to in changes] == [("hold", "review"), ("review", "clear")]
    assert [(each["at"][:10], each["from"], each["to"]) for each in report["transitions"]][-2:] == changes
    assert [point["band"] for point in report["history"]][-2:] == ["review", "clear"]


WAYS: Final = (
    *(("wire", "outgoing", None), ("realtime", "outgoing", None), ("ach", "outgoing", "CREDIT")),
    *(("ach", "outgoing", "DEBIT"), ("ach", "incoming", "CREDIT"), ("wire", "incoming", None)),
    *(("check", "outgoing", None), ("check", "incoming", None), ("book", "outgoing", None)),
)
GAPS: Final = (HOUR_US, 7 * HOUR_US, 26 * HOUR_US, 5 * DAY_US, 20 * DAY_US, 61 * DAY_US, 120 * DAY_US)


def landing_of(chance: Random, way: tuple[str, str, str | None], number: int, at: int) -> tuple[str, Data, Data]:
    """A transfer on a rail, direction and ACH type: the event's type, its object, and the pre-flight for it."""
    rail, direction, ach_type = way
    account, cents = chance.choice(("bacc_1", "bacc_2", "bacc_3", "bacc_8")), chance.choice((12_500, 95_000, 600_000))
    party = chance.choice(("bacc_4", "bacc_9")) if rail == "book" else chance.choice(("cpty_1", "cpty_2", "cpty_77"))
    data: Data = {"id": f"asked_{number}", "amount": cents, "created_at": bank.rfc3339(at), "updated_at": None}
    if rail == "book":
        data |= {"sender_bank_account_id": account, "receiver_bank_account_id": party}
    else:
        data |= {"bank_account_id": account, "counterparty_id": party}
    question: Data = {"rail": rail, "direction": direction, "amountCents": str(cents), "entityId": account}
    if ach_type is not None:
        data["type"] = question["type"] = ach_type
    return f"{bank.RESOURCES[rail, direction]}.initiated", data, question | {"counterpartyId": party}


def test_given_a_history_when_asked_and_landed_at_a_later_instant_then_both_score_the_same(
    api: RunningApp, tenant: Data
) -> None:
    found: dict[int, list[str]] = {}
    for seed in range(STREAMS // 2):
        chance, events = Random(seed), history(seed, 20)
        program = told(api, tenant, f"asked-{seed}", events)
        api.clock.at = own_time(events[-1])
        for number in range(4):
            api.clock.advance(chance.choice(GAPS))
            kind, data, question = landing_of(chance, chance.choice(WAYS), number, api.clock.now())
            body = {"programId": program["id"], "transfer": question}
            asked = api.client.post("/api/preflight", json=body, headers=api.operator(tenant)).json()
            event = bank.an_event(kind, data, event_id=f"evnt_asked_{number}", created_at=api.clock.now())
            assert api.deliver(program, event).status_code == 200
            api.catch_up()
            query = {"programId": program["id"]}
            landed = api.client.get(f"/api/transfers/{data['id']}", params=query, headers=api.operator(tenant)).json()
            mine = [(r["id"], r["weight"], r["hard"]) for r in asked["reasons"] if not r["id"].startswith("limit:")]
            theirs = [(r["id"], r["weight"], r["hard"]) for r in landed["scoreInputs"]["reasons"]]
            first = (asked["score"], asked["band"], asked["n"], asked["confidence"], mine)
            names = ("score", "scoreBand", "scoreN", "scoreConfidence")
            second = (*(landed[name] for name in names), theirs)
            if first != second:
                found.setdefault(seed, []).append(f"{data['id']} {question}: asked {first}, landed {second}")

    assert not found, f"{len(found)} programs differ, the first: {next(iter(found.items()))}"
