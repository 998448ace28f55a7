"""A bank's own card from its proposal to its end, over HTTP: what scores, what is compared, what stays."""

from typing import Any, Final

import msgspec
import pytest

from features.core.instants import HOUR_US, format_instant
from tests.support.bank_events import a_wire, an_event
from tests.support.clock import T0
from tests.support.running_app import RunningApp, assert_refused
from tests.support.scorecard_calls import ScorecardCalls
from tests.support.scorecards import a_card

WIRE: Final = "wire.outgoing_transfer.completed"
DEFAULT: Final = "trs-v1"
OWN: Final = "trs-v1+scorecard-v1"


class Bank:
    """Delivers wires of one entity an hour apart, and reads what became of them."""

    def __init__(self, api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]) -> None:
        self.api, self.cards, self.program = api, cards, program
        self.sent = 0

    def wire(self, cents: int, party: str) -> str:
        self.sent += 1
        transfer_id, at = f"wire_{self.sent}", format_instant(T0 + self.sent * HOUR_US)
        data = a_wire(
            id=transfer_id, amount=cents, entity_id="enti_1", counterparty_id=party, created_at=at, updated_at=at
        )
        self.api.clock.advance(HOUR_US)
        event = an_event(WIRE, data, event_id=f"evnt_{self.sent}", created_at=T0 + self.sent * HOUR_US)
        assert self.api.deliver(self.program, event).status_code == 200
        self.api.catch_up()
        return transfer_id

    def get(self, path: str) -> Any:
        answer = self.api.client.get(path, headers=self.api.operator(self.cards.tenant))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = self.api.client.post(path, json=body, headers=self.api.operator(self.cards.tenant))
        assert answer.status_code < 300, answer.text
        self.api.catch_up()
        return answer.json()

    def scored(self, transfer_id: str) -> tuple[str, int]:
        """The version and the points, which the weights add up to."""
        transfer = self.get(f"/api/transfers/{transfer_id}")
        reasons = transfer["scoreInputs"]["reasons"]
        assert sum(reason["weight"] for reason in reasons) == transfer["score"]
        return transfer["scoreVersion"], transfer["score"]

    def preflight(self, cents: int) -> tuple[str, int]:
        transfer = {
            "rail": "wire",
            "direction": "outgoing",
            "amountCents": str(cents),
            "entityId": "enti_1",
            "counterparty": {"name": "Someone New", "routingNumber": "021000021", "accountLast4": "6789"},
        }
        answer = self.post("/api/preflight", {"programId": self.program["id"], "transfer": transfer})
        return answer["version"], answer["score"]


@pytest.fixture
def bank(api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]) -> Bank:
    """A program with a quiet history of one entity."""
    bank = Bank(api, cards, program)
    for number in range(31):
        bank.wire(1_000_00 + number, "cpty_1")
    return bank


def test_given_a_card_of_a_bank_then_it_is_compared_scores_explains_goes_back_and_is_rescored(
    bank: Bank, cards: ScorecardCalls
) -> None:
    before = bank.wire(9_500_00, "cpty_2")
    cards.propose()
    cards.send("POST", "/scorecard-v1/shadow")
    beside = bank.wire(9_600_00, "cpty_3")
    bank.wire(1_000_00, "cpty_1")
    bank.post("/api/labels", {"transferId": beside, "label": "bad", "reason": "It came back."})

    compared = cards.send("GET", "/scorecard-v1/shadow").json()

    assert bank.scored(beside)[0] == DEFAULT
    assert (compared["transfers"], compared["championVersions"], compared["provisionalBad"]) == (2, [DEFAULT], 1)
    assert sum(move["transfers"] for move in compared["moves"]) == 2
    assert compared["challenger"]["recall"]["n"] == 1

    cards.report("scorecard-v1")
    assert cards.approve(cards.activate("scorecard-v1").json()["id"])["status"] == "executed"
    asked = bank.preflight(9_700_00)
    after = bank.wire(9_700_00, "cpty_4")

    assert bank.scored(before)[0] == bank.scored(beside)[0] == DEFAULT
    assert bank.scored(after)[0] == asked[0] == OWN
    lines = bank.api.client.get("/api/record/export?kinds=policy", headers=bank.api.operator(cards.tenant)).text
    assert a_card().name in lines

    scored = bank.post(f"/api/skoor/backfill/{bank.program['id']}", None)["scored"]

    assert scored == bank.sent
    assert {bank.scored(each)[0] for each in (before, beside, after)} == {OWN}

    assert cards.approve(cards.activate("trs-v1").json()["id"])["status"] == "executed"
    last = bank.wire(9_800_00, "cpty_5")
    assert bank.scored(last)[0] == DEFAULT
    assert bank.scored(after)[0] == OWN
    assert bank.post(f"/api/skoor/backfill/{bank.program['id']}", None)["scored"] == bank.sent
    assert {bank.scored(each)[0] for each in (before, beside, after, last)} == {DEFAULT}
    verified = bank.get("/api/record/verify")
    assert verified["ok"], verified
    versions = bank.api.stores.database.execute(
        "SELECT DISTINCT score_version FROM transfer_features WHERE transfer_id = ? ORDER BY ALL", [after]
    ).fetchall()
    assert versions == [(DEFAULT,), (OWN,)]


HOSTILE: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "overlapping bins": ({"bins": [[1, None, 5], [2, None, 6]]}, "card.signals[0].bins[0].below"),
    "a hole": ({"bins": [[1, 2, 5], [3, None, 6]]}, "card.signals[0].bins[0].below"),
    "a million points": ({"bins": [[1, None, 10**6]]}, "card.signals[0].bins[0].points"),
    "an unknown signal": ({"id": "TRS-NEW-99"}, "card.signals[0].id"),
}


@pytest.mark.parametrize(("change", "path"), HOSTILE.values(), ids=HOSTILE)
def test_given_a_card_that_cannot_score_then_it_is_refused_with_the_path_of_the_fault(
    cards: ScorecardCalls, change: dict[str, Any], path: str
) -> None:
    card = msgspec.to_builtins(a_card())
    if "bins" in change:
        names = ("atLeast", "below", "points")
        change = {"bins": [dict(zip(names, each, strict=True)) for each in change["bins"]]}
    card["signals"] = [card["signals"][0] | change, *card["signals"][1:]]

    answer = cards.send("POST", "", {"card": card})

    assert_refused(answer, 400, path)
    assert path in {field["path"] for field in answer.json()["fields"]}


def test_given_not_a_number_among_the_points_then_the_card_is_no_json(cards: ScorecardCalls) -> None:
    body = msgspec.json.encode({"card": a_card()}).replace(b'"points":30', b'"points":NaN', 1)
    headers = cards.api.operator(cards.tenant) | {"Content-Type": "application/json"}

    assert_refused(cards.api.client.post("/api/scorecards", content=body, headers=headers), 400, "valid JSON")
