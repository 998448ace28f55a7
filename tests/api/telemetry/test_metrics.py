"""The metrics of the real service, read over its own port as Prometheus reads them."""

import hashlib
import hmac
import json
import re
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from clearhold.api.settings import Settings
from clearhold.api.telemetry.metrics import USUAL_PORT
from clearhold.features.shard.ticks import EVERY_TRANSFERS
from clearhold.store.clock import SystemClock
from clearhold.store.errors import StartupError
from tests.support.bank_events import an_ach_transfer, an_event, rfc3339
from tests.support.redis_process import redis_of_its_own
from tests.support.running_service import RunningService, wait_until_committed
from tests.support.waiting import eventually

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "metrics.md"
SHARDS: Final = 16
MOMENT_S: Final = 1.0
NO_PORT_NAMED: Final = {"CLEARHOLD_METRICS_PORT": None}
EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - what the test is about


def logged(service: RunningService, event: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, service.log_lines) if line["event"] == event]


def binds(taken: socket.socket, port: int) -> bool:
    try:
        taken.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


class Scrape:
    """One reading of the port."""

    def __init__(self, address: str) -> None:
        families = list(text_string_to_metric_families(httpx.get(address).raise_for_status().text))
        self.kinds = {family.name: family.type for family in families}
        self.labels = {family.name: _labels(family) for family in families if family.samples}
        self._samples = [sample for family in families for sample in family.samples]

    def values(self, name: str, **labels: str) -> list[float]:
        """Of the samples of that name that have these labels among theirs."""
        found = [sample for sample in self._samples if sample.name == f"clearhold_{name}"]
        return [sample.value for sample in found if labels.items() <= sample.labels.items()]

    def total(self, name: str, **labels: str) -> float:
        return sum(self.values(name, **labels))


def _labels(family: Metric) -> set[str]:
    return {label for sample in family.samples for label in sample.labels} - {"le"}


class Room:
    """A service with a tenant and a program, and the port that its numbers are read from."""

    def __init__(self, service: RunningService) -> None:
        self._began_at = time.monotonic()
        self.service = service
        self.address = logged(service, "metrics_on")[-1]["address"]
        self.tenant = service.admin("/api/admin/tenants", {"slug": "first-bank", "name": "First Bank"})
        described = {"tenantId": self.tenant["id"], "slug": "payroll", "name": "Payroll"}
        self.program = service.admin("/api/admin/programs", described)

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._began_at

    @property
    def operator(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tenant['operatorToken']}", "X-Operator": "ann"}

    def scrape(self) -> Scrape:
        return Scrape(self.address)

    def deliver(self, body: bytes, *, signed: bool = True, expect: int = 200) -> None:
        secret = self.program["ingestSecret"].encode() if signed else b"another"
        headers = {"Bank-Signature": hmac.new(secret, body, hashlib.sha256).hexdigest()}
        self.service.ask("POST", f"/api/ingest/bank/{self.program['id']}", headers, body, expect=expect)

    def originate(self, count: int) -> None:
        """So many ACH debits of now, in one batch."""
        now = SystemClock().now()
        debits = [
            an_ach_transfer(id=f"acht_{now}_{each}", type="DEBIT", created_at=rfc3339(now)) for each in range(count)
        ]
        body = b"\n".join(
            an_event("ach.outgoing_transfer.initiated", debit, event_id=f"evnt_{debit['id']}", created_at=now)
            for debit in debits
        )
        secret = self.program["ingestSecret"].encode()
        headers = {"Bank-Signature": hmac.new(secret, body, hashlib.sha256).hexdigest()}
        url = f"http://127.0.0.1:{self.service.port}/api/ingest/bank/{self.program['id']}/batch"
        httpx.post(url, content=body, headers=headers).raise_for_status()


def documented() -> list[tuple[str, str, set[str]]]:
    """Name, kind and labels of each series that the document names."""
    rows = re.findall(
        r"^\| `(clearhold_\w+)` \| (\w+) \| ([\w, ]*) ?\|", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return [(name, kind, set(re.findall(r"\w+", labels))) for name, kind, labels in rows]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    options = ("--metrics-port", "0", "--program-metrics", "1")
    with RunningService(tmp_path_factory.mktemp("metrics") / "data", *options) as service:
        yield Room(service)


def test_given_events_when_they_are_committed_then_ingest_and_flow_have_counted_them(room: Room) -> None:
    before = room.scrape()
    first = an_event("ach.outgoing_transfer.initiated", an_ach_transfer(id="acht_m1"), event_id="evnt_m1")

    room.deliver(first)
    room.deliver(first)
    room.deliver(b"{}", expect=400)
    room.deliver(first, signed=False, expect=401)
    wait_until_committed(room.service, room.tenant["operatorToken"], "acht_m1")

    after = room.scrape()
    for result in ("accepted", "duplicate", "refused_invalid", "refused_unverified"):
        grown = after.total("ingest_events_total", result=result) - before.total("ingest_events_total", result=result)
        assert grown == 1, result
    assert after.total("flow_batch_entries_sum") >= before.total("flow_batch_entries_sum") + 1
    assert after.total("flow_commit_duration_seconds_count") > before.total("flow_commit_duration_seconds_count")
    assert after.total("ingest_lag_seconds_count") > before.total("ingest_lag_seconds_count")
    eventually(lambda: room.scrape().values("flow_behind_seconds") == [0.0] * SHARDS)
    eventually(lambda: room.scrape().values("flow_behind_entries") == [0.0] * SHARDS)
    assert after.values("log_reachable") == [1.0]
    assert after.total("auth_failures_total", route="/api/ingest/bank/{program_id}") >= 1


def test_given_a_preflight_then_its_latency_is_counted_and_no_label_holds_an_id(room: Room) -> None:
    asked = {
        "programId": room.program["id"],
        "transfer": {
            "rail": "wire",
            "direction": "outgoing",
            "amountCents": "985000",
            "counterparty": {"name": "New Vendor LLC", "accountLast4": "6789", "countryCode": "US"},
        },
    }
    before = room.scrape()

    headers = room.operator | {"Content-Type": "application/json"}
    room.service.ask("POST", "/api/preflight", headers, json.dumps(asked).encode(), expect=201)

    after = room.scrape()
    name = "preflight_duration_seconds_count"
    assert after.total(name) == before.total(name) + 1
    labels = {"route": "/api/preflight", "method": "POST", "status": "201"}
    assert after.total("http_requests_total", **labels) == before.total("http_requests_total", **labels) + 1
    text = httpx.get(room.address).text
    assert room.program["id"] not in text
    assert room.tenant["id"] not in text


def test_given_a_verification_then_its_age_and_outcome_are_shown(room: Room) -> None:
    assert room.scrape().values("record_verification_ok", tenant="first-bank") == []

    room.service.ask("GET", "/api/record/verify", room.operator)

    after = room.scrape()
    assert after.values("record_verification_ok", tenant="first-bank") == [1.0]
    assert 0 <= after.total("record_verification_age_seconds", tenant="first-bank") < 60


def test_given_tokens_when_verified_then_each_is_counted_by_its_result(room: Room) -> None:
    headers = {"Content-Type": "application/json"}
    for body in (b"{}", b'{"token": 7}', b'{"token": "e30.e30."}'):
        room.service.ask("POST", "/api/proofs/verify", headers, body)
    room.service.ask("POST", "/api/proofs/verify", headers, b'{"tokens": 1}', expect=400)

    shown = room.scrape()
    assert {
        reason: shown.values("proof_verifications_total", result=reason)
        for reason in ("token required", "malformed", "unsupported alg")
    } == {
        "token required": [1.0],
        "malformed": [1.0],
        "unsupported alg": [1.0],
    }
    assert shown.total("proof_verifications_total") == 3


def test_given_the_data_directory_then_the_space_on_its_disk_is_shown(room: Room) -> None:
    disk = shutil.disk_usage(room.service.data)

    shown = room.scrape()

    assert shown.values("disk_size_bytes") == [float(disk.total)]
    assert 0 < shown.total("disk_free_bytes") <= disk.total


def test_given_a_path_of_no_route_then_it_is_counted_as_unmatched(room: Room) -> None:
    room.service.ask("GET", "/nowhere/4111111111111111", {}, expect=404)

    assert room.scrape().total("http_requests_total", route="unmatched", status="404") >= 1
    assert "4111111111111111" not in httpx.get(room.address).text


def test_given_the_two_ports_then_metrics_are_on_one_of_them_and_nothing_else_is(room: Room) -> None:
    root = room.address.removesuffix("/metrics")

    room.service.ask("GET", "/metrics", {}, expect=404)
    assert httpx.get(f"{root}/").status_code == 404
    assert httpx.get(f"{root}/api/programs", headers=room.operator).status_code == 404
    assert httpx.post(room.address).status_code == 501
    assert "server" not in httpx.get(room.address).headers


def test_given_the_document_then_it_names_every_series_and_no_other(room: Room) -> None:
    kinds = {name: kind for name, kind in room.scrape().kinds.items() if name.startswith("clearhold_")}

    rows = documented()

    assert {name: kind for name, kind, _ in rows} == {
        name + ("_total" if kind == "counter" else ""): kind for name, kind in kinds.items()
    }


def test_given_the_document_then_series_have_the_labels_that_it_names(room: Room) -> None:
    room.originate(EVERY_TRANSFERS)
    eventually(lambda: room.scrape().values("program_kri_value", kri="ach_unauthorized_return_rate", program="payroll"))

    shown = room.scrape().labels

    named = {name.removesuffix("_total"): labels for name, _, labels in documented()}
    assert {name: labels for name, labels in shown.items() if name in named} == {
        name: labels for name, labels in named.items() if name in shown
    }
    assert len(named.keys() & shown.keys()) > 30


def test_given_a_program_when_openmetrics_is_accepted_then_the_answer_is_that_and_names_the_program(room: Room) -> None:
    room.originate(EVERY_TRANSFERS)
    eventually(lambda: room.scrape().values("program_kri_value", program="payroll"))

    answer = httpx.get(room.address, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    families = {
        family.name: family
        for family in openmetrics_families(answer.text)  # type: ignore[no-untyped-call]
    }

    assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")
    (age,) = families["clearhold_program_snapshot_age_seconds"].samples
    assert age.labels == {"tenant": "first-bank", "program": "payroll", "source": "bank"}
    assert 0 <= age.value <= room.age_s + MOMENT_S
    assert families["clearhold_program_snapshot_age_seconds"].unit == "seconds"
    (status,) = families["clearhold_program_kri_status"].samples[:1]
    assert status.labels.keys() == {"tenant", "program", "source", "kri", "unit"}


def test_given_a_redis_of_its_own_that_dies_then_the_numbers_still_come_and_say_so(tmp_path: Path) -> None:
    at = {"CLEARHOLD_REDIS_URL": f"unix://{tmp_path / 'redis' / 'redis.sock'}"}
    with (
        redis_of_its_own(tmp_path / "redis") as kill,
        RunningService(tmp_path / "data", "--metrics-port", "0", environment=at) as service,
    ):
        address = logged(service, "metrics_on")[0]["address"]
        assert Scrape(address).values("log_reachable") == [1.0]

        kill()

        eventually(lambda: Scrape(address).values("log_reachable") == [0.0])


def test_given_an_embedded_redis_that_was_killed_then_the_numbers_say_when_the_next_one_answers(room: Room) -> None:
    assert room.service.kill_redis() == 1

    eventually(lambda: logged(room.service, "redis_restarted"))
    eventually(lambda: room.scrape().values("log_reachable") == [1.0])


def test_given_a_service_that_stopped_then_its_snapshots_have_an_age_in_the_next(tmp_path: Path) -> None:
    service = RunningService(tmp_path / "data", "--metrics-port", "0")
    with service:
        room = Room(service)
        service.stop()
        service.start()

        ages = Scrape(logged(service, "metrics_on")[-1]["address"]).values("checkpoint_age_seconds")

    assert room.program
    assert 1 <= len(ages) <= SHARDS  # the program's shard, and all of them when a minute passed meanwhile
    assert all(0 <= age < 600 for age in ages)


def test_given_a_named_port_that_is_taken_when_served_then_a_sentence_and_no_start(tmp_path: Path) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        service = RunningService(tmp_path / "data", "--metrics-port", port)

        with pytest.raises(
            AssertionError,
            match=f"Port {port} is already in use on 127.0.0.1. Choose a different port with --metrics-port",
        ):
            service.start()

    assert len([line for line in service.log_lines if '"event": "starting"' not in line]) == 1


def test_given_the_usual_port_that_is_taken_and_none_named_when_started_then_two_services_serve_and_say_so(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()

    with closing(socket.socket()) as taken:
        with suppress(AssertionError):  # somebody on this machine has it and keeps it, which is as well
            eventually(lambda: binds(taken, USUAL_PORT))
            taken.listen()
        with (
            RunningService(first / "data", environment=NO_PORT_NAMED) as one,
            RunningService(second / "data", environment=NO_PORT_NAMED) as other,
        ):
            assert one.ask("GET", "/healthz", {}) == other.ask("GET", "/healthz", {}) == {"status": "ok"}
            lines = [*logged(one, "metrics_off"), *logged(other, "metrics_off")]

    assert [line["level"] for line in lines] == ["warning", "warning"]
    assert all("Port 9464 is already in use" in line["reason"] for line in lines)


@pytest.mark.parametrize("text", ["65536", "-1", "http", "1e3", "9" * 5_000])
def test_given_a_variable_that_is_no_port_then_a_sentence_and_no_start(text: str) -> None:
    with pytest.raises(StartupError, match="CLEARHOLD_METRICS_PORT must be a port"):
        Settings.of(data=Path(), host="::1", port=0, environment={"CLEARHOLD_METRICS_PORT": text})


def test_given_an_option_and_a_variable_then_the_option_counts() -> None:
    environment = {"CLEARHOLD_METRICS_PORT": "9999"}

    named = Settings.of(data=Path(), host="::1", port=0, environment=environment, metrics_port=0)
    unnamed = Settings.of(data=Path(), host="::1", port=0, environment=environment)

    assert (named.metrics_port, unnamed.metrics_port) == (0, 9999)


def test_given_a_service_that_is_open_to_the_network_when_served_then_its_metrics_are_not_and_name_no_program(
    tmp_path: Path,
) -> None:
    with RunningService(tmp_path / "data", "--host", EVERYWHERE, "--metrics-port", "0") as service:
        address = logged(service, "metrics_on")[0]["address"]
        kinds = Scrape(address).kinds

    assert address.startswith("http://127.0.0.1:")
    assert "clearhold_log_reachable" in kinds
    assert not [name for name in kinds if name.startswith("clearhold_program")]


def test_given_a_host_for_the_metrics_when_named_then_an_option_goes_before_the_variable() -> None:
    environment = {"CLEARHOLD_METRICS_HOST": "10.0.0.1"}

    named = Settings.of(data=Path(), host="::1", port=0, environment=environment, metrics_host="10.0.0.2")
    by_variable = Settings.of(data=Path(), host="::1", port=0, environment=environment)
    unnamed = Settings.of(data=Path(), host="::1", port=0, environment={})

    hosts = [each.metrics_host for each in (named, by_variable, unnamed)]
    assert hosts == ["10.0.0.2", "10.0.0.1", "127.0.0.1"]


def test_given_an_idempotency_key_when_it_is_used_again_then_replays_and_conflicts_are_counted(room: Room) -> None:
    headers = room.operator | {"Content-Type": "application/json", "Idempotency-Key": "metrics-1"}
    first, other = ({"name": name, "mode": "live"} for name in ("one", "other"))
    before = room.scrape()

    room.service.ask("POST", "/api/keys", headers, json.dumps(first).encode(), expect=201)
    room.service.ask("POST", "/api/keys", headers, json.dumps(first).encode(), expect=201)
    room.service.ask("POST", "/api/keys", headers, json.dumps(other).encode(), expect=409)

    after = room.scrape()
    for name in ("idempotency_replays_total", "idempotency_conflicts_total"):
        assert after.total(name, tenant="first-bank") == before.total(name) + 1, name
