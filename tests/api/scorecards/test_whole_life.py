"""A bank's own card from its labels to its end, over HTTP: what is fitted, compared, refused, scores, and stays."""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from clearhold.api.cli import explain
from clearhold.calibrate import command as calibrate
from clearhold.features.core.instants import DAY_US, HOUR_US, format_instant
from clearhold.features.core.scorecards import Scorecard, scorecard_sha256
from tests.support.bank_events import a_wire, an_event
from tests.support.running_app import RunningApp, assert_refused
from tests.support.scorecard_calls import ScorecardCalls
from tests.support.scorecards import a_card

WIRE: Final = "wire.outgoing_transfer.completed"
DEFAULT: Final = "trs-v1"
OWN: Final = "trs-v1+scorecard-v1"
LARGE: Final = 9_700_00
USUAL: Final = 1_000_00


class Bank:
    """Delivers wires of one entity six hours apart, labels them, and reads what is known of them."""

    def __init__(self, api: RunningApp, cards: ScorecardCalls, program: dict[str, Any], folder: Path) -> None:
        self.api, self.cards, self.program, self.folder = api, cards, program, folder
        self.sent = 0

    def wire(self, cents: int, party: str | None = None) -> str:
        """Without a party, to one that is new."""
        self.sent += 1
        self.api.clock.advance(6 * HOUR_US)
        transfer_id, at = f"wire_{self.sent}", format_instant(self.api.clock.now())
        data = a_wire(
            id=transfer_id,
            amount=cents,
            entity_id="enti_1",
            counterparty_id=party or f"cpty_new_{self.sent}",
            created_at=at,
            updated_at=at,
        )
        event = an_event(WIRE, data, event_id=f"evnt_{self.sent}", created_at=self.api.clock.now())
        assert self.api.deliver(self.program, event).status_code == 200
        return transfer_id

    def some(self, count: int, *, seed: int) -> None:
        """Wires of which a sixth turns out bad: those are mostly large first payments, as few others are."""
        random, labels = Random(seed), dict[str, str]()
        for place in range(count):
            is_bad = place % 6 == 0
            is_large = random.random() < (0.7 if is_bad else 0.06)
            transfer_id = self.wire(LARGE + place) if is_large else self.wire(USUAL + place % 9, "cpty_1")
            labels[transfer_id] = "bad" if is_bad else "ok"
        self.api.catch_up()
        for transfer_id, label in labels.items():
            self.post("/api/labels", {"transferId": transfer_id, "label": label, "reason": "A customer's word."})

    def get(self, path: str) -> Any:
        answer = self.api.client.get(path, headers=self.api.operator(self.cards.tenant))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = self.api.client.post(path, json=body, headers=self.api.operator(self.cards.tenant))
        assert answer.status_code < 300, answer.text
        return answer.json()

    def scored(self, transfer_id: str) -> tuple[str, int]:
        """The version and the points, which the weights add up to, by a card that is named with it."""
        self.api.catch_up()
        transfer = self.get(f"/api/transfers/{transfer_id}")
        inputs = transfer["scoreInputs"]
        version = inputs["card"]["version"]
        assert sum(reason["weight"] for reason in inputs["reasons"]) == transfer["score"]
        assert inputs["card"]["sha256"] == self.cards.read(version)["cardSha256"]
        assert self.cards.read(version)["scoreVersion"] == transfer["scoreVersion"]
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

    def rescored(self) -> int:
        scored: int = self.post(f"/api/skoor/backfill/{self.program['id']}", None)["scored"]
        return scored

    def command(self, *options: str) -> str:
        """What ``clearhold`` prints over the data that this service has now."""
        data = self.folder / "copy"
        data.mkdir(exist_ok=True)
        self.api.database.execute("CHECKPOINT")
        shutil.copy(self.folder / "clearhold.duckdb", data)
        app = typer.Typer()
        app.command()(calibrate.calibrate)
        app.command()(explain.explain)
        result = CliRunner().invoke(app, [*options, "--data", str(data)])
        assert result.exit_code == 0, result.output
        return result.stdout

    def calibrated(self, *options: str) -> tuple[Scorecard, dict[str, Any]]:
        """The card and its report, as of now."""
        out, now = str(self.folder), format_instant(self.api.clock.now())
        volume = () if "--card" in options else ("--volume", "300")  # a sixth of these transfers are bad
        self.command("calibrate", "--out", out, "--now", now, *volume, *options)
        card = msgspec.json.decode((self.folder / "card.json").read_bytes(), type=Scorecard)
        return card, json.loads((self.folder / "report.json").read_bytes())


@pytest.fixture
def bank(api: RunningApp, cards: ScorecardCalls, program: dict[str, Any], tmp_path: Path) -> Bank:
    """A program with labels that are mature."""
    bank = Bank(api, cards, program, tmp_path)
    for place in range(12):
        bank.wire(USUAL + place, "cpty_1")
    bank.some(318, seed=18)
    api.clock.advance(61 * DAY_US)
    return bank


def compare_in_shadow(bank: Bank, cards: ScorecardCalls) -> None:
    """Run the first card beside the champion for some wires, until their labels are mature."""
    cards.send("POST", "/scorecard-v1/shadow")
    bank.some(24, seed=5)
    bank.api.clock.advance(61 * DAY_US)

    compared = cards.send("GET", "/scorecard-v1/shadow").json()

    assert (compared["transfers"], compared["championVersions"]) == (24, [DEFAULT])
    assert (compared["labelledBad"], compared["labelledOk"]) == (4, 20)
    assert sum(move["transfers"] for move in compared["moves"]) == 24
    assert compared["challenger"]["recall"]["value"] >= compared["champion"]["recall"]["value"]


def refuse_what_is_not_right(bank: Bank, cards: ScorecardCalls, card: Scorecard, stale: dict[str, Any]) -> None:
    """A report that is too old, a card that was edited since, and the requester as approver."""
    edited = cards.propose(msgspec.structs.replace(card, name="Edited")).json()["version"]
    assert cards.send("POST", "/scorecard-v1/reports", {"report": stale}).status_code == 201
    assert_refused(cards.activate("scorecard-v1"), 409, "less than seven days old")
    _, fresh = bank.calibrated("--card", str(bank.folder / "card.json"), "--split", "0.35")
    assert_refused(cards.send("POST", f"/{edited}/reports", {"report": fresh}), 400, "digest of this exact card")
    assert_refused(cards.activate(edited), 409, "report of this exact card")
    assert cards.send("POST", "/scorecard-v1/reports", {"report": fresh}).status_code == 201
    assert cards.approve(cards.activate("scorecard-v1").json()["id"], " Ann")["status"] == "refused"
    assert cards.of_program(bank.program["id"]) == (DEFAULT, OWN)


def test_given_labels_then_a_fitted_card_is_shadowed_compared_activated_explained_taken_back_and_rescored(
    bank: Bank, cards: ScorecardCalls
) -> None:
    card, report = bank.calibrated()
    named = f"Card scorecard-v1, {card.name}, digest {scorecard_sha256(card)}"
    assert cards.propose(card).json()["cardSha256"] == scorecard_sha256(card)
    before = bank.wire(LARGE)
    known = bank.scored(before)
    compare_in_shadow(bank, cards)
    refuse_what_is_not_right(bank, cards, card, report)

    cards.activated("scorecard-v1")
    proposed = bank.preflight(LARGE)
    after = bank.wire(LARGE)

    assert bank.scored(after) == proposed
    assert (proposed[0], known[0], bank.scored(before)) == (OWN, DEFAULT, known)
    assert named in bank.command("explain", after)
    assert bank.rescored() == bank.sent
    assert bank.scored(before)[0] == OWN
    assert named in bank.command("explain", before)

    cards.activated(DEFAULT)
    last = bank.wire(LARGE)

    assert bank.scored(last)[0] == DEFAULT
    assert bank.scored(after) == proposed
    assert bank.rescored() == bank.sent
    assert bank.scored(before) == known
    assert {bank.scored(each)[0] for each in (after, last)} == {DEFAULT}
    assert bank.get("/api/record/verify")["ok"]
    versions = bank.api.database.execute(
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
