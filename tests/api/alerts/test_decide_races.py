"""One decision of many at once, and one disposition through kills between the log and the answer, in a real process."""

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx
import pytest

from tests.support.alerting import ALERTING, DETECTOR, NARRATIVE, outgoing
from tests.support.running_app import assert_refused
from tests.support.running_service import RunningService, post_until_taken

PARALLEL: Final = 50
ROUNDS: Final = 6
MOST_ROUNDS: Final = 40
AT_ONCE: Final = 4
KILL_WITHIN_S: Final = 0.12
ANSWERED_WITHIN_S: Final = 60.0
ASK_AGAIN_AFTER_S: Final = 0.05


class Service:
    """One service for this module, with a tenant and a program."""

    def __init__(self, running: RunningService) -> None:
        self.running = running
        tenant = running.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        asked = {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"}
        self.program = running.admin("/api/admin/programs", asked)
        self.headers = {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "ann"}
        self._made = 0

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=f"http://127.0.0.1:{self.running.port}", timeout=60, headers=self.headers)

    def alerts(self, client: httpx.Client, count: int) -> list[str]:
        """Fresh alerts that are open: each on a transfer of strangers, whose score is not measured."""
        names = [f"acht_{self._made + number}" for number in range(count)]
        self._made += count
        bodies = [
            outgoing(name, **ALERTING, bank_account_id=f"bacc_{name}", counterparty_id=f"cpty_{name}") for name in names
        ]
        post_until_taken(self.running, self.program, bodies, within_s=ANSWERED_WITHIN_S)
        until = time.monotonic() + ANSWERED_WITHIN_S
        while True:
            listed = client.get("/api/alerts", params={"detector": DETECTOR, "limit": 100}).json()["data"]
            of_transfer = {alert["transferId"]: alert["id"] for alert in listed}
            if of_transfer.keys() >= set(names):
                return [of_transfer[name] for name in names]
            assert time.monotonic() < until
            time.sleep(ASK_AGAIN_AFTER_S)

    def decide(self, client: httpx.Client, alert_id: str, decision: str, key: str | None = None) -> httpx.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        body = {"decision": decision, "narrative": NARRATIVE}
        return client.post(f"/api/alerts/{alert_id}/decide", json=body, headers=headers)

    def insist(self, client: httpx.Client, alert_id: str, decision: str, key: str) -> dict[str, Any]:
        """Send until it is answered 201, as a caller that was told to come back."""
        until = time.monotonic() + ANSWERED_WITHIN_S
        while True:
            answer = self.decide(client, alert_id, decision, key)
            if answer.status_code == 201:
                body: dict[str, Any] = answer.json()
                return body
            assert answer.headers.get("retry-after") == "1", answer.text
            assert time.monotonic() < until, answer.text
            time.sleep(ASK_AGAIN_AFTER_S)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder: Path = tmp_path_factory.mktemp("decisions")
    with RunningService(folder / "data") as running:
        yield Service(running)


def dispositions(client: httpx.Client, alert_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/api/alerts/{alert_id}/dispositions").json()
    return found


def fifty_at_once(service: Service, decisions: tuple[str, ...]) -> tuple[list[httpx.Response], list[dict[str, Any]]]:
    """The answers to fifty decisions on one alert at once, and the dispositions that it has then."""
    ready = threading.Barrier(PARALLEL)
    with service.client() as client, ThreadPoolExecutor(PARALLEL) as pool:
        (alert_id,) = service.alerts(client, 1)

        def call(number: int) -> httpx.Response:
            ready.wait(60)
            return service.decide(client, alert_id, decisions[number % len(decisions)])

        answers = list(pool.map(call, range(PARALLEL)))
        return answers, dispositions(client, alert_id)


@pytest.mark.parametrize("decisions", [("close",), ("hold",), ("escalate",), ("close", "no_action")])
def test_given_fifty_decisions_at_once_when_sent_then_one_is_made(service: Service, decisions: tuple[str, ...]) -> None:
    answers, stored = fifty_at_once(service, decisions)

    assert [answer.json() for answer in answers if answer.status_code == 201] == stored
    assert len(stored) == 1
    refused = [answer for answer in answers if answer.status_code != 201]
    assert len(refused) == PARALLEL - 1
    for answer in refused:
        assert_refused(answer, 409)


def test_given_fifty_decisions_of_every_kind_at_once_when_sent_then_those_made_are_a_way_through_the_states(
    service: Service,
) -> None:
    answers, stored = fifty_at_once(service, ("close", "hold", "escalate", "release", "no_action"))

    assert {answer.status_code for answer in answers} == {201, 409}
    taken = {answer.json()["id"]: answer.json() for answer in answers if answer.status_code == 201}
    assert taken == {each["id"]: each for each in stored}
    assert {each["decision"] for each in stored[:-1]} <= {"hold", "escalate"}
    assert stored[-1]["decision"] in {"close", "release", "no_action"}


def test_given_kills_between_the_log_and_the_answer_when_asked_again_then_each_decision_is_made_once(
    service: Service,
) -> None:
    chance = Random(7)
    cut_off = 0  # made, and never answered
    for turn in range(MOST_ROUNDS):
        if turn >= ROUNDS and cut_off:
            break
        with service.client() as client:
            alerts = service.alerts(client, AT_ONCE)
        answered = through_a_kill(service, alerts, KILL_WITHIN_S * chance.random())
        with service.client() as client:
            before = {alert_id: dispositions(client, alert_id) for alert_id in alerts}
            cut_off += sum(bool(before[alert_id]) for alert_id in alerts if alert_id not in answered)
            for alert_id in alerts:
                again = service.insist(client, alert_id, "hold", alert_id)
                assert dispositions(client, alert_id) == [again], turn
                assert answered.get(alert_id, again) == again
                assert not before[alert_id] or before[alert_id] == [again]
                assert_refused(service.decide(client, alert_id, "hold"), 409)

    assert cut_off  # or this test has not seen what it is about
    with service.client() as client:
        chain = client.get("/api/dispositions", params={"limit": 100}).json()["data"]
    hashes = {each["hash"] for each in chain}
    assert len(hashes) == len(chain)
    assert {each["prevHash"] for each in chain} - hashes == {None}
    assert len({each["prevHash"] for each in chain}) == len(chain)


def through_a_kill(service: Service, alerts: list[str], after_s: float) -> dict[str, dict[str, Any]]:
    """Decide all at once, kill meanwhile, start again; the answers that came all the same."""
    got: dict[str, dict[str, Any]] = {}
    ready = threading.Barrier(len(alerts) + 1)
    with service.client() as client, ThreadPoolExecutor(len(alerts)) as pool:

        def send(alert_id: str) -> None:
            ready.wait(60)
            with contextlib.suppress(httpx.TransportError):
                answer = service.decide(client, alert_id, "hold", alert_id)
                if answer.status_code == 201:
                    got[alert_id] = answer.json()

        sending = pool.map(send, alerts)
        ready.wait(60)
        time.sleep(after_s)  # The moment must not depend on the service's state.
        service.running.kill()
        list(sending)
    service.running.start()
    return got
