"""What is fetched, when, and how often: rounds of the fetcher over real stores and a simulated bank."""

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from clearhold.demo.bank_api import TEST_KEY, BankApi
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.sandbox.scenarios import tag_of
from clearhold.flows.directory.waiting import PAUSE_US
from clearhold.store.ids import trace_id_of
from tests.flows.directory.fetching import Fetching
from tests.flows.directory.served_directory import ACCOUNT, COUNTERPARTY, ENTITY
from tests.support.clock import T0
from tests.support.running_app import RunningApp

FOUND = [("account", "bacc_1", "found"), ("counterparty", "cpty_1", "found"), ("entity", "enti_1", "found")]


@pytest.fixture
def served() -> Iterator[BankApi]:
    with BankApi() as served:
        served.put_account(ACCOUNT)
        served.put_entity(ENTITY)
        served.put_counterparty(COUNTERPARTY)
        yield served


@pytest.fixture
def fetching(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], served: BankApi) -> Iterator[Fetching]:
    fetching = Fetching(api, tenant, program, served)
    yield fetching
    fetching.close()


def test_given_a_transfer_when_its_parties_are_swept_then_they_and_the_owner_are_fetched_once(
    fetching: Fetching,
) -> None:
    fetching.put_key(TEST_KEY)
    fetching.wire()
    fetching.rounds()
    fetching.offer()
    fetching.api.clock.advance(HOUR_US)
    fetching.rounds()

    assert sorted(fetching.fetched) == FOUND
    assert len(fetching.asked_for) == 3
    assert {(row.kind, row.id, row.result) for row in fetching.recorded} == set(FOUND)
    assert {row.fetched_at for row in fetching.recorded} == {T0}


def test_given_parties_that_the_sandbox_made_then_the_bank_is_asked_about_none_of_them(fetching: Fetching) -> None:
    tag = tag_of("prg_1", "transfer", "run_1")
    fetching.put_key(TEST_KEY)
    fetching.wire(account=f"bacc_{tag}0001", counterparty=f"cpty_{tag}0002")
    fetching.offer()
    fetching.rounds()
    fetching.wire(account="bacc_sbx1", counterparty="cpty_1")  # no id of ours, whatever it begins with
    fetching.offer()
    fetching.rounds()

    assert {row.id for row in fetching.recorded} == {"bacc_sbx1", "cpty_1"}


def test_given_parties_of_a_commit_when_offered_then_they_are_fetched_before_what_the_sweep_has(
    fetching: Fetching,
) -> None:
    fetching.put_key(TEST_KEY)
    fetching.round()  # sweeps, and finds nothing
    fetching.wire()
    fetching.offer()
    fetching.offer()
    fetching.round()

    assert sorted(fetching.fetched) == FOUND[:2]


def test_given_fetches_that_are_not_committed_when_everything_is_looked_for_again_then_nothing_is_asked_twice(
    fetching: Fetching,
) -> None:
    fetching.put_key(TEST_KEY)
    fetching.wire()
    fetching.rounds(commit=False)
    fetching.offer()
    fetching.api.clock.advance(HOUR_US)
    fetching.rounds(commit=False)

    assert len(fetching.asked_for) == 2
    assert fetching.recorded == []


def test_given_another_process_then_it_asks_for_nothing_again(fetching: Fetching) -> None:
    fetching.put_key(TEST_KEY)
    fetching.wire()
    fetching.rounds()
    fetching.restart()
    fetching.offer()
    fetching.rounds()

    assert len(fetching.asked_for) == 3


def test_given_a_day_then_everything_is_fetched_again_and_what_is_unchanged_is_a_small_entry(
    fetching: Fetching, served: BankApi
) -> None:
    fetching.put_key(TEST_KEY)
    fetching.wire()
    fetching.rounds()
    fetching.api.clock.advance(DAY_US - SECOND_US)
    fetching.rounds()
    before = len(fetching.asked_for)
    served.put_entity(ENTITY | {"verification_status": "DENIED"})
    fetching.api.clock.advance(HOUR_US)
    fetching.rounds()

    assert before == 3
    assert sorted(fetching.fetched[3:]) == [
        ("account", "bacc_1", "unchanged"),
        ("counterparty", "cpty_1", "unchanged"),
        ("entity", "enti_1", "found"),
    ]
    assert {bytes(entry.data) for entry in fetching.entries if entry.result == "unchanged"} == {b"null"}
    entity = fetching.api.client.get("/api/entities/enti_1", headers=fetching.api.operator(fetching.tenant)).json()
    assert entity["verificationStatus"] == "DENIED"


def test_given_what_the_bank_does_not_know_or_answers_oddly_then_it_is_asked_for_again_a_day_later(
    fetching: Fetching, served: BankApi
) -> None:
    fetching.put_key(TEST_KEY)
    served.put_account({"id": "bacc_7"} | {"bank_account_id": "bacc_8"})
    fetching.wire("bacc_7", "cpty_9")
    fetching.rounds()
    fetching.api.clock.advance(2 * HOUR_US)
    fetching.rounds()
    first = sorted(fetching.fetched)
    fetching.api.clock.advance(DAY_US)
    fetching.rounds()

    assert first == [("account", "bacc_7", "found"), ("counterparty", "cpty_9", "missing")]
    assert {(row.id, row.result) for row in fetching.recorded} == {("bacc_7", "unusable"), ("cpty_9", "missing")}
    assert len(fetching.asked_for) == 4


def test_given_the_other_account_of_a_book_transfer_then_it_is_asked_for_as_an_account(
    fetching: Fetching, served: BankApi
) -> None:
    fetching.put_key(TEST_KEY)
    served.put_account({"id": "bacc_2", "owners": ["enti_1"]})
    fetching.wire("bacc_1", "bacc_2")
    fetching.rounds()

    assert sorted(fetching.asked_for) == ["/bank-accounts/bacc_1", "/bank-accounts/bacc_2", "/entities/enti_1"]


def test_given_a_tenant_without_a_key_then_nothing_is_asked_until_it_has_one_and_at_once_then(
    fetching: Fetching,
) -> None:
    other = fetching.api.create_tenant("second-bank")
    others = fetching.api.create_program(other)
    fetching.wire()
    fetching.wire("bacc_9", "cpty_9", program=others)
    fetching.offer()
    fetching.rounds()
    without = list(fetching.asked_for)
    fetching.put_key(TEST_KEY, other)
    fetching.rounds()
    of_other = sorted(fetching.asked_for)
    fetching.put_key(TEST_KEY)
    fetching.rounds()

    assert without == []
    assert of_other == ["/bank-accounts/bacc_9", "/counterparties/cpty_9"]
    assert len(fetching.asked_for) == 5


def test_given_failures_then_they_are_tried_again_later_and_later_and_then_recorded(
    fetching: Fetching, served: BankApi
) -> None:
    fetching.put_key(TEST_KEY)
    served.fail_next(2)
    served.fail_next(status=429, retry_after="60")
    fetching.wire()
    with capture_logs() as logs:
        fetching.rounds()
        at_once = len(fetching.asked_for)
        for _ in range(5):
            fetching.api.clock.advance(61 * SECOND_US)
            fetching.rounds()

    assert at_once in {1, 2}, "what was not under way at the first failure waits"
    assert sorted(fetching.fetched) == FOUND
    assert len(fetching.asked_for) == 6
    assert fetching.counts.fetches["account", "failed"] + fetching.counts.fetches["counterparty", "failed"] == 2
    events = [line["event"] for line in logs]
    assert events.count("bank_directory_failing") == events.count("bank_directory_answers_again") <= 2
    assert "bank_directory_failing" in events
    failing = next(line for line in logs if line["event"] == "bank_directory_failing")
    refused = [trace_id_of(each.traceparent.encode()) for each in served.requests if each.status == 500]
    assert failing["trace_id"] in refused
    assert TEST_KEY not in repr(logs)


def test_given_a_party_that_always_fails_then_the_others_are_fetched(fetching: Fetching, served: BankApi) -> None:
    fetching.put_key(TEST_KEY)
    for number in range(20):
        fetching.wire(f"bacc_{number}", "cpty_1")
    for _ in range(30):
        served.fail_next()
        fetching.rounds()
        fetching.api.clock.advance(2 * SECOND_US)
        fetching.rounds()

    assert len({row.id for row in fetching.recorded}) >= 20


def test_given_a_refused_key_then_the_tenant_is_paused_until_the_key_is_replaced(fetching: Fetching) -> None:
    fetching.put_key("test_of_another_bank")
    fetching.wire()
    fetching.rounds()
    fetching.api.clock.advance(PAUSE_US - SECOND_US)
    fetching.rounds()
    refused, paused = len(fetching.asked_for), fetching.counts.paused_tenants
    fetching.put_key(TEST_KEY)
    fetching.rounds()

    assert refused in {1, 2}, "what was not under way at the refusal waits"
    assert paused == 1
    assert sorted(fetching.fetched) == FOUND
    assert fetching.counts.paused_tenants == 0


def test_given_a_refused_key_then_it_is_tried_again_after_the_pause(fetching: Fetching, served: BankApi) -> None:
    served.key = "test_key_not_yet_valid"
    fetching.put_key(TEST_KEY)
    fetching.wire()
    fetching.rounds()
    served.key = TEST_KEY
    fetching.api.clock.advance(PAUSE_US)
    fetching.rounds()

    assert sorted(fetching.fetched) == FOUND


def test_given_a_removed_key_then_what_waits_is_forgotten(fetching: Fetching, served: BankApi) -> None:
    fetching.put_key(TEST_KEY)
    served.fail_next(2)
    fetching.wire()
    fetching.rounds()
    path = f"/api/admin/tenants/{fetching.tenant['id']}/bank-key"
    fetching.api.client.delete(path, headers=fetching.api.admin)
    fetching.api.clock.advance(DAY_US)
    fetching.rounds()

    assert len(fetching.asked_for) in {1, 2}
    assert fetching.counts.waiting == 0


def test_given_a_log_that_confirms_nothing_then_the_answer_is_fetched_again(
    fetching: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> int:
        raise UnavailableError("The log did not confirm this in time.")

    fetching.put_key(TEST_KEY)
    fetching.wire()
    with monkeypatch.context() as broken:
        broken.setattr(fetching.api.appender, "append", refuse)
        fetching.rounds()
    fetching.api.clock.advance(3 * SECOND_US)
    fetching.rounds()

    assert fetching.counts.unrecorded == 2
    assert sorted(fetching.fetched) == FOUND


def test_given_a_fetch_that_breaks_then_the_others_go_on_and_it_is_tried_again(
    fetching: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetching.put_key(TEST_KEY)
    fetching.wire()
    with monkeypatch.context() as broken, capture_logs() as logs:
        broken.setattr(fetching.fetcher._client, "fetch", None)
        fetching.rounds()
    fetching.api.clock.advance(3 * SECOND_US)
    fetching.rounds()

    assert [line["event"] for line in logs].count("directory_fetch_failed") == 2
    assert sorted(fetching.fetched) == FOUND
