"""DuckDB made again from the log and the chains' files is the DuckDB that was lost."""

import shutil
import subprocess
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import pytest

from clearhold.api.rules.routes import NEW_RULE
from clearhold.demo.bank_api import TEST_KEY, BankApi
from clearhold.demo.scan_index import ScanIndex
from clearhold.features.core.instants import DAY_US, HOUR_US, format_instant
from clearhold.features.core.log_entry import shard_of
from clearhold.features.core.rules import RuleMode
from clearhold.store.clock import SystemClock
from clearhold.store.data_dir import DEFAULT_SHARDS
from clearhold.store.duck.database import TABLES
from tests.support.alerting import ALERTING, DETECTOR, outgoing
from tests.support.callers import TRANSFER
from tests.support.lake import move_into_segments
from tests.support.lake_rows import differing_rows, views_with_rows
from tests.support.running_bank import RunningBank
from tests.support.running_service import ADMIN_TOKEN, RunningService, post_until_taken, wait_until_committed
from tests.support.scan_items import a_profile, a_settlement, an_agent, wallet_of
from tests.support.scorecards import a_card
from tests.support.waiting import eventually
from tests.support.warm import ran

PROGRAMS: Final = ("payroll", "lending", "remittance")
ALERTS: Final = 4  # a program
ACCOUNT_NUMBER: Final = "000123456789"
PROPOSED: Final = TRANSFER | {"description": f"to {ACCOUNT_NUMBER}"}
ANALYSTS_SEE: Final = {
    *("events", "transfers", "transfer_features", "transfer_reasons", "actor_scores", "actor_reasons", "shadow_scores"),
    *("entities", "counterparties", "accounts", "programs", "directory_fetches", "preflights"),
    *("agents", "alerts", "dispositions", "labels", "actions", "policies", "rule_matches", "lake_status"),
}
SET_UP: Final = {"tenants", "policy_versions", "scorecard_reports", "rules", "rule_backtests"}
SETTLEMENTS: Final = 12
NOW: Final = SystemClock().now()
SETTLED_FROM: Final = NOW - 10 * DAY_US
REQUESTS: Final = 15  # account, owner and counterparty of each program, and two actions


class Bank(RunningBank):
    """A tenant with programs in several shards, alerts on them, and decisions about the alerts."""

    def spread(self) -> None:
        """Replace the last program until not all are of one shard, as ids let them be once in 256 times."""
        again = count(2)
        while len({shard_of(program["id"], DEFAULT_SHARDS) for program in self.programs}) == 1:
            self.programs[-1] = self.create_program(f"{PROGRAMS[-1]}-{next(again)}")

    def run(self) -> None:
        self.put_as_admin(f"tenants/{self.tenant['id']}/bank-key", {"key": TEST_KEY}, expect=204)
        self.rule_in_force(
            "acts", action="alert", severity="low", when=[{"field": "amountCents", "op": "gte", "value": 1}]
        )
        self.rule_in_testing("tries", when=[{"field": "counterparty.n", "op": "gte", "value": 1}])
        for number in range(ALERTS):
            self.change_card(number)
            for program in self.programs:
                ids = [f"acht_{program['slug']}_{number}_{each}" for each in range(3)]
                bodies = [outgoing(ids[0], **ALERTING), outgoing(ids[1]), outgoing(ids[2])]
                post_until_taken(self.service, program, bodies, within_s=60)
                wait_until_committed(self.service, self.token, ids[-1])
                self.decide(ids[0], ("close", "hold", "escalate")[number % 3])
        self.get("/api/record/checkpoint?chain=dispositions", raw=True)
        for program in self.programs:
            self.tell_owner(program, "bacc_1")
            self.post("/api/preflight", {"programId": program["id"], "transfer": PROPOSED})
            self.post("/api/labels", {"transferId": f"acht_{program['slug']}_0_0", "label": "bad", "reason": "It was."})
            self.post(f"/api/skoor/backfill/{program['id']}", {}, expect=200)
            self.post(f"/api/skoor/actors/backfill/{program['id']}", {}, expect=200)
            self.act(program)
        self.import_agents()
        self.write_rules()
        closed = self.get("/api/alerts?status=closed")["data"][0]
        self.post(f"/api/alerts/{closed['id']}/appeal", {"reason": "It was not."})

    def change_card(self, number: int) -> None:
        """A card runs beside the second round, scores the third and the fourth."""
        if number == 1:
            self.card_in_shadow("scorecard-v1", a_card())
        elif number == 2:
            self.card_in_force("scorecard-v1", a_card())

    def act(self, program: dict[str, Any]) -> None:
        """One action that is carried out at once, one that a second person approved, one that waits."""
        cancel = {"type": "cancel_transfer", "targetType": "transfer", "targetId": f"acht_{program['slug']}_0_0"}
        self.post("/api/actions", cancel | {"programId": program["id"]})
        freeze = {"type": "freeze_account", "targetType": "account", "targetId": "bacc_1", "programId": program["id"]}
        approved, _ = (self.post("/api/actions", freeze) for _ in range(2))
        approval = {"approverId": "ben"}
        assert self.post(f"/api/actions/{approved['id']}/approve", approval, expect=200)["status"] == "executed"

    def import_agents(self) -> None:
        """One agent of a scan index, its screening and what it settled."""
        self.create_program("agents")
        with closing(self.service.connect()) as connection:
            connection.request("POST", "/api/agents/import", headers=self.headers)
            answer = connection.getresponse()
            assert (answer.status, msgspec.json.decode(answer.read())["transfers"]) == (200, SETTLEMENTS)

    def write_rules(self) -> None:
        """One rule in force and written again, one in testing, one that was paused."""
        self.rule_in_force("in-force")
        self.rule_in_testing("in-testing")
        self.rule_in_force("paused")
        self.post("/api/rules/paused/pause", {}, expect=200)
        again, if_match = NEW_RULE | {"id": "in-force", "severity": "high"}, {"If-Match": "*"}
        self.ask("PUT", "/api/rules/in-force", again, headers=self.headers | if_match)

    def rules(self) -> list[Any]:
        """All that the API shows of them, and of scorecards."""
        paths = ["", "/versions", *(f"/{rule_id}/backtests" for rule_id in ("in-force", "in-testing", "paused"))]
        return [self.get("/api/scorecards"), *(self.get(f"/api/rules{path}") for path in paths)]

    def tell_owner(self, program: dict[str, Any], account: str) -> None:
        self.put_as_admin(f"programs/{program['id']}/accounts/{account}", {"entityId": "enti_1"})

    def put_as_admin(self, path: str, body: dict[str, str], *, expect: int = 200) -> None:
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "ann", "Content-Type": "application/json"}
        with closing(self.service.connect()) as connection:
            connection.request("PUT", f"/api/admin/{path}", msgspec.json.encode(body), headers)
            assert connection.getresponse().status == expect

    def decide(self, transfer_id: str, decision: str) -> None:
        (alert,) = self.get(f"/api/alerts?transferId={transfer_id}&detector={DETECTOR}")["data"]
        self.post(
            f"/api/alerts/{alert['id']}/decide", {"decision": decision, "narrative": f"Because “{decision}” is right."}
        )

    def post(self, path: str, body: dict[str, Any], *, expect: int = 201) -> Any:
        return self.ask("POST", path, body, expect=expect)

    def get(self, path: str, *, raw: bool = False) -> Any:
        with closing(self.service.connect()) as connection:
            connection.request("GET", path, headers=self.headers)
            answer = connection.getresponse()
            content = answer.read()
        assert answer.status == 200, content
        return content if raw else msgspec.json.decode(content)


class Stopped:
    """What a service left, and what it said last."""

    def __init__(
        self, data: Path, tenant: dict[str, Any], export: bytes, report: dict[str, Any], rules: list[Any]
    ) -> None:
        self.data, self.tenant, self.export, self.report, self.rules = data, tenant, export, report, rules

    def copied(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.data, folder / "data", ignore=shutil.ignore_patterns("*.sock", "*.pid")))


def reading(bank_api: BankApi, index: ScanIndex) -> dict[str, str]:
    """The environment of a service that reads this bank's directory and this scan index."""
    bank_api.put_account({"id": "bacc_1", "type": "CHECKING", "owners": ["enti_1"]})
    bank_api.put_counterparty({"id": "cpty_1", "name": "Muster GmbH", "account_number": ACCOUNT_NUMBER})
    index.put("agents", an_agent())
    index.put("profiles", a_profile(wallet_of(22)))
    index.put("settlements", *(a_settlement(each, SETTLED_FROM + each * HOUR_US) for each in range(SETTLEMENTS)))
    return {
        "CLEARHOLD_BANK_URL": bank_api.url,
        "CLEARHOLD_SCAN_INDEX_URL": index.url,
        "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1",
    }


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("rebuild")
    with (
        BankApi() as bank_api,
        ScanIndex(as_of=format_instant(NOW)) as index,
        RunningService(folder / "data", environment=reading(bank_api, index)) as service,
    ):
        bank = Bank(service, *PROGRAMS)
        bank.spread()
        bank.run()
        eventually(lambda: len(bank_api.requests) >= REQUESTS)
        export, report = bank.get("/api/record/export", raw=True), bank.get("/api/record/verify")
        rules = bank.rules()
        service.stop()
    move_into_segments(folder / "data")
    return Stopped(folder / "data", bank.tenant, export, report, rules)


@pytest.fixture
def data(stopped: Stopped, tmp_path: Path) -> Path:
    return stopped.copied(tmp_path)


def rebuilt(data: Path) -> subprocess.CompletedProcess[str]:
    return ran("rebuild", "--data", data)


def tables(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything, but for when it was committed. Of an alert the newest version: what a page has decides the others."""
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        found = {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall()  # noqa: S608 - our own tables
            for name, _ in TABLES
            if name != "log_offsets"
        }
        found["alerts"] = connection.execute("SELECT * FROM alerts_latest ORDER BY ALL").fetchall()
        newest = 'SELECT shard, max("offset") FROM log_offsets GROUP BY shard ORDER BY shard'
        return found | {"log_offsets": connection.execute(newest).fetchall()}


def chain_file(data: Path) -> Path:
    (path,) = (data / "record").glob("*/dispositions.ndjson")
    return path


def lose_database(data: Path) -> None:
    for path in data.glob("clearhold.duckdb*"):
        path.unlink()


def test_given_a_database_that_is_lost_when_rebuilt_then_tables_chains_and_answers_are_what_they_were(
    stopped: Stopped, data: Path
) -> None:
    before = tables(data / "clearhold.duckdb")
    lose_database(data)

    run = rebuilt(data)

    assert run.returncode == 0, run.stderr
    assert f"{stopped.report['checked']} links placed" in run.stdout
    after = tables(data / "clearhold.duckdb")
    for table, rows in before.items():
        assert after[table] == rows, table
    assert set(differing_rows(data).values()) == {0}
    assert views_with_rows(data) >= ANALYSTS_SEE
    assert views_with_rows(data, ACCOUNT_NUMBER) == set()
    assert before["directory"]
    assert before["agents"]
    assert len(before["actions"]) == len(PROGRAMS) * (2 + 3 + 1) + 4 * 3 + 2
    cards, rules, versions, *_ = stopped.rules
    assert [rule["status"] for rule in rules][:3] == ["paused", "testing", "draft"]
    assert [rule["severity"] for rule in versions[0]["rules"]][-1:] == ["medium"]
    assert [card["active"] for card in cards] == [True, False]
    assert len(before["shadow_scores"]) == 3 * len(PROGRAMS)
    assert RuleMode.SHADOW in {value for row in before["rule_matches"] for value in row}
    assert len(before["record_chain"]) >= ALERTS * len(PROGRAMS)
    assert len(before["record_checkpoints"]) >= 1
    with RunningService(data, environment={"CLEARHOLD_LAKE_SECONDS": "1"}) as service:
        bank = Bank(service, tenant=stopped.tenant)
        assert bank.get("/api/record/verify") == stopped.report
        assert stopped.report["ok"]
        assert bank.get("/api/record/export", raw=True) == stopped.export
        assert bank.rules() == stopped.rules
        eventually(lambda: views_with_rows(data) >= SET_UP)


def test_given_a_database_that_is_there_when_rebuilt_then_it_is_set_aside(data: Path) -> None:
    before = tables(data / "clearhold.duckdb")

    first, second = rebuilt(data), rebuilt(data)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    aside = data / "clearhold.duckdb.before-rebuild-1"
    assert str(aside) in first.stdout
    assert "clearhold.duckdb.before-rebuild-2" in second.stdout
    assert tables(aside) == before
    assert tables(data / "clearhold.duckdb") == before

    kept = (data / "clearhold.duckdb.before-rebuild-2").read_bytes()
    aside.unlink()
    assert rebuilt(data).returncode == 0
    assert (data / "clearhold.duckdb.before-rebuild-2").read_bytes() == kept


def test_given_a_file_whose_last_line_is_torn_when_rebuilt_then_its_fact_is_linked_again_at_its_place(
    data: Path,
) -> None:
    before = tables(data / "clearhold.duckdb")
    whole = chain_file(data).read_bytes()
    chain_file(data).write_bytes(whole[:-20])
    lose_database(data)

    run = rebuilt(data)

    assert run.returncode == 0, run.stderr
    assert chain_file(data).read_bytes() == whole
    assert tables(data / "clearhold.duckdb") == before


def test_given_a_database_that_is_lost_when_the_service_starts_then_it_stops_and_says_what_to_do(data: Path) -> None:
    lose_database(data)
    service = RunningService(data)

    with pytest.raises(AssertionError, match=r"\w+\.ndjson is ahead of the database: .* clearhold rebuild"):
        service.start()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ((b"Because", b"BECAUSE"), "is damaged: it breaks at seq 0."),
        ((b'"hash":"', b'"hash":"0'), "is damaged: it breaks at seq 0."),
        ((b'"seq":1,', b'"seq":2,'), "is damaged: it breaks at seq 1."),
        ((b'"offset":', b'"offset":1'), "holds seq 0, to which no entry of the log leads."),
    ],
)
def test_given_a_file_that_was_changed_when_rebuilt_then_it_stops_with_file_and_seq_and_changes_nothing(
    data: Path, change: tuple[bytes, bytes], sentence: str
) -> None:
    before = tables(data / "clearhold.duckdb")
    chain_file(data).write_bytes(chain_file(data).read_bytes().replace(*change, 1))
    changed = chain_file(data).read_bytes()

    run = rebuilt(data)

    assert run.returncode == 2
    assert f"{chain_file(data)} {sentence}" in run.stderr
    assert "Traceback" not in run.stderr
    assert not list(data.glob("*.rebuilding*"))
    assert tables(data / "clearhold.duckdb") == before
    assert chain_file(data).read_bytes() == changed


def test_given_a_file_cut_below_a_checkpoint_and_history_written_anew_when_rebuilt_then_the_checkpoint_stops_it(
    data: Path,
) -> None:
    lines = chain_file(data).read_bytes().splitlines(keepends=True)
    assert len({msgspec.json.decode(line)["shard"] for line in lines}) > 1
    chain_file(data).unlink()  # The order in which the shards came is lost with it.

    run = rebuilt(data)

    assert run.returncode == 2
    assert "contradicts the last checkpoint over it" in run.stderr


def test_given_a_service_that_runs_when_rebuilt_then_it_is_refused(data: Path) -> None:
    with RunningService(data):
        run = rebuilt(data)

    assert run.returncode == 2
    assert "is in use by another clearhold process" in run.stderr


def test_given_a_folder_that_is_no_data_directory_when_rebuilt_then_nothing_is_made_there(tmp_path: Path) -> None:
    run = rebuilt(tmp_path / "elsewhere")

    assert run.returncode == 2
    assert "is not a data directory" in run.stderr
    assert not (tmp_path / "elsewhere").exists()
