"""One effect for one Idempotency-Key: in flight, in parallel, and through kills between the effect and its answer."""

import contextlib
import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Final

import anyio.to_thread
import duckdb
import httpx
import msgspec
import pytest

from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from tests.support.callers import TRANSFER, Headers, bearer
from tests.support.running_app import RunningApp, assert_refused
from tests.support.running_service import ADMIN_TOKEN, RunningService
from tests.support.waiting import eventually

PARALLEL: Final = 50
ROUNDS: Final = 8
MOST_ROUNDS: Final = 40
AT_ONCE: Final = 4
KILL_WITHIN_S: Final = 0.06
ANSWERED_WITHIN_S: Final = 60.0
ASK_AGAIN_AFTER_S: Final = 0.05


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """A write whose effects can be counted by a mark that it leaves."""

    path: str
    headers: Headers
    body: Callable[[str], dict[str, Any]]


class Service:
    """One service for this module, a tenant, a program, and three writes."""

    def __init__(self, running: RunningService) -> None:
        self.running = running
        self.tenant = running.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        body = {"tenantId": self.tenant["id"], "slug": "pay", "name": "Pay"}
        self.program = running.admin("/api/admin/programs", body)
        operator = bearer(self.tenant["operatorToken"], "ann")
        self.operator = dict(operator)
        self.writes = {
            "key": Write(path="/api/keys", headers=operator, body=lambda mark: {"name": mark, "mode": "live"}),
            "program": Write(
                path="/api/admin/programs",
                headers=bearer(ADMIN_TOKEN, "root"),
                body=lambda mark: {"tenantId": self.tenant["id"], "slug": mark, "name": mark},
            ),
            "preflight": Write(
                path="/api/preflight",
                headers=operator,
                body=lambda mark: {
                    "programId": self.program["id"],
                    "transfer": TRANSFER | {"description": mark},
                },
            ),
        }

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=f"http://127.0.0.1:{self.running.port}", timeout=60)

    def send(self, client: httpx.Client, what: str, mark: str, key: str) -> httpx.Response:
        write = self.writes[what]
        headers = [*write.headers, ("Idempotency-Key", key)]
        return client.post(write.path, json=write.body(mark), headers=headers)

    def insist(self, client: httpx.Client, what: str, mark: str, key: str) -> httpx.Response:
        """Send until it is answered 201, as a caller that was told to come back."""
        until = time.monotonic() + ANSWERED_WITHIN_S
        while True:
            answer = self.send(client, what, mark, key)
            if answer.status_code == http.client.CREATED:
                return answer
            assert answer.status_code in {409, 429, 503}, answer.text
            assert answer.status_code != http.client.CONFLICT or answer.headers["retry-after"] == "1"
            assert time.monotonic() < until, answer.text
            time.sleep(ASK_AGAIN_AFTER_S)

    def effects(self, client: httpx.Client) -> Counter[str]:
        """How often each mark is on the lists of keys and programs."""
        keys = client.get("/api/keys", headers=self.operator).json()
        programs = client.get("/api/programs", headers=self.operator).json()
        return Counter([key["name"] for key in keys] + [program["name"] for program in programs])

    def preflights(self) -> Counter[str]:
        """How often each description is in the table of pre-flights; the service is stopped for it."""
        self.running.stop()
        with contextlib.closing(duckdb.connect(str(self.running.data / "clearhold.duckdb"), read_only=True)) as reading:
            rows = [str(row) for row in reading.execute("SELECT * FROM preflights").fetchall()]
        self.running.start()
        marks = [row.partition('"description":"')[2].partition('"')[0] for row in rows]
        return Counter(mark for mark in marks if mark)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder: Path = tmp_path_factory.mktemp("crashes")
    with RunningService(folder / "data") as running:
        yield Service(running)


def id_in(answer: httpx.Response) -> str:
    body = answer.json()
    found: str = body["preflightId"] if "preflightId" in body else body["id"]
    return found


def without_secrets(answer: httpx.Response) -> dict[str, Any]:
    return {name: value for name, value in answer.json().items() if name not in {"secret", "ingestSecret"}}


@pytest.mark.parametrize("what", ["key", "program", "preflight"])
def test_given_fifty_calls_at_once_under_one_key_when_sent_then_there_is_one_effect(
    service: Service, what: str
) -> None:
    mark = f"parallel-{what}"
    ready = threading.Barrier(PARALLEL)
    with service.client() as client, ThreadPoolExecutor(PARALLEL) as pool:

        def call(_: int) -> httpx.Response:
            ready.wait(60)
            return service.send(client, what, mark, mark)

        answers = list(pool.map(call, range(PARALLEL)))
        late = service.send(client, what, mark, mark)
        effects = service.effects(client)

    fresh = [each for each in answers if each.status_code == 201 and "idempotent-replayed" not in each.headers]
    replays = [each for each in answers if each.headers.get("idempotent-replayed") == "true"]
    busy = [each for each in answers if each.status_code == 409]
    assert (len(fresh), len(replays) + len(busy)) == (1, PARALLEL - 1)
    for each in busy:
        assert_refused(each, 409)
        assert each.headers["retry-after"] == "1"
    for each in (*replays, late):
        assert (each.status_code, each.headers["idempotent-replayed"]) == (201, "true")
        assert without_secrets(each) == without_secrets(fresh[0])
    assert len({each.headers["x-request-id"] for each in answers}) == PARALLEL
    counts = service.preflights() if what == "preflight" else effects
    assert counts[mark] == 1


def test_given_fifty_bodies_at_once_under_one_key_when_sent_then_one_of_them_has_an_effect(service: Service) -> None:
    marks = [f"rival-{number}" for number in range(PARALLEL)]
    with service.client() as client, ThreadPoolExecutor(PARALLEL) as pool:
        answers = list(pool.map(lambda mark: service.send(client, "key", mark, "rivals"), marks))
        effects = service.effects(client)

    assert sorted({answer.status_code for answer in answers}) == [201, 409]
    assert sum(effects[mark] for mark in marks) == 1
    assert [answer.status_code for answer in answers].count(201) == 1


def test_given_kills_between_effect_and_answer_when_sent_again_then_there_is_one_effect(service: Service) -> None:
    chance = Random(11)
    answered: dict[tuple[str, str], list[httpx.Response]] = {}
    cut_off = 0  # with an effect, and without an answer
    for turn in range(MOST_ROUNDS):
        if turn >= ROUNDS and cut_off:
            break
        calls = [(what, f"kill-{turn}-{number}-{what}") for what in service.writes for number in range(AT_ONCE)]
        for call, answer in through_a_kill(service, calls, KILL_WITHIN_S * chance.random()):
            answered.setdefault(call, []).append(answer)
        with service.client() as client:
            effects = service.effects(client)
            cut_off += sum(effects[call[1]] for call in calls if call not in answered)
            for what, mark in calls:
                again = [service.insist(client, what, mark, mark) for _ in range(2)]
                answered.setdefault((what, mark), []).extend(again)
                assert again[-1].headers["idempotent-replayed"] == "true"

    with service.client() as client:
        effects = service.effects(client)
    counts = effects + service.preflights()
    assert len(answered) >= ROUNDS * AT_ONCE * len(service.writes)
    assert cut_off  # or this test has not seen what it is about
    assert {mark: counts[mark] for _, mark in answered} == dict.fromkeys((mark for _, mark in answered), 1)
    for call, answers in answered.items():
        assert len({id_in(answer) for answer in answers}) == 1, call
        assert len({msgspec.json.encode(without_secrets(answer)) for answer in answers}) == 1, call


def through_a_kill(
    service: Service, calls: list[tuple[str, str]], after_s: float
) -> list[tuple[tuple[str, str], httpx.Response]]:
    """Send all at once, kill meanwhile, start again; the answers that came all the same."""
    got: list[tuple[tuple[str, str], httpx.Response]] = []
    ready = threading.Barrier(len(calls) + 1)
    with service.client() as client, ThreadPoolExecutor(len(calls)) as pool:

        def send(call: tuple[str, str]) -> None:
            ready.wait(60)
            with contextlib.suppress(httpx.TransportError):
                answer = service.send(client, *call, call[1])
                if answer.status_code == http.client.CREATED:
                    got.append((call, answer))

        sending = pool.map(send, calls)
        ready.wait(60)
        time.sleep(after_s)  # The moment must not depend on the service's state.
        service.running.kill()
        list(sending)
    service.running.start()
    return got


def assert_replayed(replay: httpx.Response, first: httpx.Response) -> None:
    assert (replay.status_code, replay.content) == (first.status_code, first.content)
    assert replay.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers


def test_given_a_call_in_flight_when_it_is_sent_again_then_409_says_when_to_come_back(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, released = threading.Event(), threading.Event()
    headers = api.operator(tenant) | {"Idempotency-Key": "slow"}
    body = {"programId": program["id"], "transfer": TRANSFER}
    append = api.appender.append
    answers: list[httpx.Response] = []

    async def slow(*entry: Any) -> int:
        reached.set()
        await anyio.to_thread.run_sync(released.wait, 10.0)
        return int(await append(*entry))

    monkeypatch.setattr(api.appender, "append", slow)
    first = threading.Thread(
        target=lambda: answers.append(api.client.post("/api/preflight", json=body, headers=headers))
    )
    first.start()
    try:
        eventually(reached.is_set)
        busy = api.client.post("/api/preflight", json=body, headers=headers)
        different = api.client.post("/api/preflight", json=body | {"idempotencyKey": "x"}, headers=headers)
    finally:
        released.set()
        first.join(10.0)

    assert_refused(busy, 409)
    assert busy.headers["retry-after"] == "1"
    assert_refused(different, 409, "Idempotency-Key")
    assert different.json()["error"] != busy.json()["error"]
    assert answers[0].status_code == 201
    assert_replayed(api.client.post("/api/preflight", json=body, headers=headers), answers[0])


def test_given_an_effect_whose_answer_was_lost_when_sent_again_then_it_is_found(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = api.operator(tenant) | {"Idempotency-Key": "lost"}
    body = {"programId": program["id"], "transfer": TRANSFER}
    append = api.appender.append

    async def answer_lost(*entry: Any) -> int:
        await append(*entry)
        raise UnavailableError("The answer got lost.")

    with monkeypatch.context() as broken:
        broken.setattr(api.appender, "append", answer_lost)
        assert_refused(api.client.post("/api/preflight", json=body, headers=headers), 503)
    api.restart()  # As the next process: what the last one left in flight is taken over.
    answer = api.client.post("/api/preflight", json=body, headers=headers)
    read = api.client.get(f"/api/preflight/{answer.json()['preflightId']}", headers=api.operator(tenant))

    assert (answer.status_code, read.status_code) == (201, 200)
    records = [entry.body for entry in api.entries() if entry.kind == EntryKind.PREFLIGHT]
    found = {msgspec.json.decode(body, type=PreflightRecord).answer.preflight_id for body in records}
    assert found == {answer.json()["preflightId"]}
