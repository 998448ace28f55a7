"""X-Deadline-Ms: an answer in time, if need be without a score, or none at all, and then a code that says which."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.core.errors import ErrorCode
from clearhold.features.shard.questions import Answer, Owner, Question, ScoreProposal
from clearhold.store.idempotency import IdempotencyClaims
from clearhold.store.redis_log.connect import EmbeddedRedis
from clearhold.store.redis_log.pipeline import AT_LEAST_S, AppendTimes
from tests.api.preflight.test_preflight import TRANSFER, recorded
from tests.support.alerting import deliver, outgoing
from tests.support.redis_process import pid_of
from tests.support.running_app import RunningApp, assert_refused
from tests.support.stalls import Stopwatch

pytestmark = pytest.mark.timed

LONG_MS: Final = 10_000
SHORT_MS: Final = 600  # a busy machine appends in less
MACHINE_MS: Final = 300  # what it may add to a deadline


class StalledOwner:
    """Never answers what a transfer would score."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    async def query(self, program_id: str, question: Question[Any]) -> Answer[Any]:
        if isinstance(question, ScoreProposal):
            await asyncio.Event().wait()
        return await self._owner.query(program_id, question)


def ask(
    api: RunningApp, tenant: dict[str, Any], deadline_ms: object, *, header_key: str | None = None, **over: Any
) -> Any:
    body = {"programSlug": "payroll", "transfer": TRANSFER} | over
    headers = api.operator(tenant) | ({} if deadline_ms is None else {"X-Deadline-Ms": str(deadline_ms)})
    headers |= {} if header_key is None else {"Idempotency-Key": header_key}
    return api.client.post("/api/preflight", json=body, headers=headers)


def code_of(answer: Any, status: int = 503) -> str:
    assert_refused(answer, status)
    code: str = answer.json()["code"]
    return code


@contextmanager
def in_time(deadline_ms: int) -> Iterator[None]:
    with Stopwatch() as answering:
        yield
    assert answering.own_s * 1_000 < deadline_ms + MACHINE_MS


@contextmanager
def stopped(server: EmbeddedRedis) -> Iterator[None]:
    """Nothing that is appended meanwhile becomes durable; what was sent does afterwards."""
    os.kill(pid_of(server), signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid_of(server), signal.SIGCONT)


@pytest.fixture(autouse=True)
def _usual_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that was quick so far, whatever the machine was doing; what it learns has tests of its own."""
    monkeypatch.setattr(AppendTimes, "expected_s", lambda *_, **__: AT_LEAST_S)


@pytest.fixture
def stalled(api: RunningApp, program: dict[str, Any]) -> dict[str, Any]:
    """The program, whose owner scores nothing."""
    api.stores = msgspec.structs.replace(api.stores, owner=StalledOwner(api.stores.owner))
    api.restart()
    return program


def test_given_time_enough_when_asked_then_the_answer_is_as_without_a_deadline(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    with_deadline, without = ask(api, tenant, 60_000), ask(api, tenant, None)

    assert with_deadline.status_code == 201
    varying = {"preflightId": "", "scoringUs": 0}
    assert with_deadline.json() | varying == without.json() | varying
    assert with_deadline.json()["programId"] == program["id"]


def test_given_a_stalled_owner_when_asked_then_the_answer_is_in_time_unscored_recorded_and_matched(
    api: RunningApp, tenant: dict[str, Any], stalled: dict[str, Any]
) -> None:
    transfer = TRANSFER | {"amountCents": "10000"}
    with in_time(1_600):
        answer = ask(api, tenant, 1_600, transfer=transfer, idempotencyKey="k")

    assert answer.status_code == 201
    given = answer.json()
    assert (given["decision"], given["score"], given["band"], given["n"]) == ("review", None, "unscored", 0)
    assert (given["degraded"], given["degradedReasons"], given["scoringUs"]) == (True, ["state_late"], None)
    again = ask(api, tenant, LONG_MS, transfer=transfer, idempotencyKey="k")
    assert again.json() == given | {"idempotent": True, "degradedReasons": []}
    assert len(recorded(api)) == 1
    api.clock.advance(2_000_000)
    deliver(api, stalled, outgoing("acht_1", at="2026-03-02T15:00:01Z"))
    read = api.client.get(f"/api/preflight/{given['preflightId']}", headers=api.operator(tenant)).json()
    assert read["matchedTransferId"] == "acht_1"


def test_given_no_time_for_the_append_when_asked_then_nothing_is_recorded(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    assert code_of(ask(api, tenant, 1, idempotencyKey="k")) == ErrorCode.DEADLINE_EXCEEDED
    assert recorded(api) == []
    assert ask(api, tenant, LONG_MS, idempotencyKey="k").status_code == 201
    assert program["slug"] == "payroll"


def test_given_an_owner_that_blocks_until_the_deadline_when_asked_then_nothing_is_recorded(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with api.shards.reading(program["id"]):
            held.set()
            release.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    threading.Timer(0.2, release.set).start()

    refused = ask(api, tenant, 100)

    holder.join()
    assert code_of(refused) == ErrorCode.DEADLINE_EXCEEDED
    assert recorded(api) == []


@pytest.mark.usefixtures("program")
def test_given_an_append_that_overruns_when_repeated_under_the_key_then_the_recorded_answer_is_given(
    api: RunningApp, tenant: dict[str, Any], redis_server: EmbeddedRedis
) -> None:
    ask(api, tenant, LONG_MS)
    with stopped(redis_server), in_time(SHORT_MS):
        overrun = ask(api, tenant, SHORT_MS, idempotencyKey="k")

    again = ask(api, tenant, LONG_MS, idempotencyKey="k")

    assert code_of(overrun) == ErrorCode.NOT_CONFIRMED
    assert (again.status_code, again.json()["idempotent"]) == (200, True)
    assert [record.idempotency_key for record in recorded(api)] == [None, "k"]


@pytest.mark.usefixtures("program")
def test_given_an_append_that_overruns_under_a_header_key_when_repeated_then_the_recorded_answer_is_given(
    api: RunningApp, tenant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    append = api.appender.append

    async def slow(*entry: Any) -> int:
        await asyncio.sleep(2 * SHORT_MS / 1_000)
        return await append(*entry)

    monkeypatch.setattr(api.appender, "append", slow)
    overrun = ask(api, tenant, SHORT_MS, header_key="k")
    again = ask(api, tenant, LONG_MS, header_key="k")  # while the first append is still under way

    assert code_of(overrun) == ErrorCode.NOT_CONFIRMED
    assert again.status_code == 201
    assert [record.answer.preflight_id for record in recorded(api)] == [again.json()["preflightId"]]


@pytest.mark.usefixtures("program")
def test_given_keys_that_cannot_be_claimed_or_stored_in_time_then_the_answer_is_not_late(
    api: RunningApp, tenant: dict[str, Any], redis_server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: Any) -> bool:
        await asyncio.Event().wait()
        return True

    with stopped(redis_server), in_time(SHORT_MS):
        unclaimed = ask(api, tenant, SHORT_MS, header_key="k")
    with monkeypatch.context() as broken, in_time(SHORT_MS):
        broken.setattr(IdempotencyClaims, "finish", never)
        unstored = ask(api, tenant, SHORT_MS, header_key="k")
    again = ask(api, tenant, LONG_MS, header_key="k")

    assert code_of(unclaimed) == ErrorCode.DEADLINE_EXCEEDED
    assert (unstored.status_code, again.status_code) == (201, 201)
    assert again.json()["preflightId"] == unstored.json()["preflightId"]
    assert len(recorded(api)) == 1


@pytest.mark.usefixtures("program")
def test_given_a_log_that_stands_still_when_more_is_asked_then_it_is_refused_before_it_is_appended(
    api: RunningApp, tenant: dict[str, Any], redis_server: EmbeddedRedis
) -> None:
    ask(api, tenant, LONG_MS)
    with stopped(redis_server):
        codes = [code_of(ask(api, tenant, SHORT_MS))]
        time.sleep(SHORT_MS / 2_000)  # so long, at least, its write is under way: longer than a later question may take
        codes += [code_of(ask(api, tenant, SHORT_MS // 2)) for _ in range(2)]

    assert codes == [ErrorCode.NOT_CONFIRMED] + [ErrorCode.DEADLINE_EXCEEDED] * 2
    assert ask(api, tenant, LONG_MS).status_code == 201
    assert len(recorded(api)) == 3


@pytest.mark.usefixtures("program")
def test_given_a_deadline_that_is_none_when_asked_then_400_names_the_header(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    for deadline in ("0", "60001", "-1", "1.5", "", "ten", "10 ms", "99999999999"):
        refused = ask(api, tenant, deadline)

        assert_refused(refused, 400, "X-Deadline-Ms")
        assert [field["path"] for field in refused.json()["fields"]] == ["X-Deadline-Ms"], deadline
    assert recorded(api) == []
