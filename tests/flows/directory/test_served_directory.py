"""The bank's directory end to end: a service process with its stores, and a bank over real HTTP."""

import time
from pathlib import Path

from clearhold.demo.bank_api import TEST_KEY
from clearhold.flows.running.bank_http import ANSWER_WITHIN_S
from tests.flows.directory.served_directory import COUNTERPARTY, ENTITY, PATHS, ServedDirectory, until
from tests.support.stalls import Stopwatch


def test_given_a_bank_key_when_transfers_name_only_ids_then_their_parties_are_fetched_once_and_known(
    tmp_path: Path,
) -> None:
    with ServedDirectory(tmp_path) as served:
        assert served.put_key() == 204
        first = served.wire()
        served.wait_until_known()
        second = served.wire()
        entity, party = served.read("entities/enti_1"), served.read("counterparties/cpty_1")
        transfers = [served.read(f"transfers/{wire_id}") for wire_id in (first, second)]
        answered = dict(served.answered)
        served.service.kill()
        served.service.start()
        served.wire()
        time.sleep(2.0)  # a sweep at the start and the new transfer's rows would have asked by now
        answered_later, log_lines = dict(served.answered), "".join(served.service.log_lines)
        served.service.stop()
        stored = [path.read_bytes() for path in served.service.data.rglob("*") if path.is_file()]

    assert entity is not None
    assert (entity["name"], entity["verificationStatus"]) == ("Dana Rivers", "VERIFIED")
    assert "918273645" not in repr(entity)
    assert party is not None
    assert (party["name"], party["routingNumber"], party["accountLast4"]) == ("Muster GmbH", "021000021", "6789")
    assert party["countryCode"] == "DE"
    assert [each and each["entityId"] for each in transfers] == ["enti_1", "enti_1"]
    assert answered == dict.fromkeys(PATHS, 1)
    assert answered_later == answered
    assert TEST_KEY not in log_lines
    assert len(stored) > 5
    for secret in (TEST_KEY, ENTITY["person_details"]["ssn"], COUNTERPARTY["account_number"]):
        assert not [content for content in stored if secret.encode() in content]


def test_given_trouble_of_the_bank_when_it_ends_then_the_parties_are_known(tmp_path: Path) -> None:
    with ServedDirectory(tmp_path) as served:
        served.bank.fail_next(2)
        served.bank.fail_next(status=429, retry_after="1")
        assert served.put_key() == 204
        served.wire()
        served.wait_until_known()
        statuses = [each.status for each in served.bank.requests]
        answered = dict(served.answered)

    assert sorted(status or 0 for status in statuses) == [200, 200, 200, 429, 500, 500]
    assert answered == dict.fromkeys(PATHS, 1)


def test_given_a_bank_that_hangs_when_transfers_come_then_they_are_scored_all_the_same(tmp_path: Path) -> None:
    with ServedDirectory(tmp_path) as served:
        served.bank.hang_next(100)
        served.put_key()
        served.wire()
        until(lambda: len(served.bank.requests) >= 2)
        with Stopwatch() as scoring:
            for _ in range(5):
                served.wire()
        stopped_in_s = served.service.stop()

    assert scoring.own_s < ANSWER_WITHIN_S  # not even one of them has waited for the bank
    assert stopped_in_s < ANSWER_WITHIN_S


def test_given_a_refused_key_then_the_tenant_is_paused_until_it_is_replaced(tmp_path: Path) -> None:
    with ServedDirectory(tmp_path) as served:
        served.put_key("test_of_another_bank")
        served.wire()
        until(lambda: 401 in [each.status for each in served.bank.requests])
        time.sleep(1.5)
        refused = len(served.bank.requests)
        lines = [line for line in served.service.log_lines if "bank_key_refused" in line]
        assert served.put_key() == 204
        served.wait_until_known()
        log_lines = "".join(served.service.log_lines)

    assert refused <= 4
    assert len(lines) == 1
    assert "test_of_another_bank" not in log_lines


def test_given_no_key_or_a_live_one_then_nothing_is_asked_for_until_there_is_a_test_key(tmp_path: Path) -> None:
    with ServedDirectory(tmp_path) as served:
        assert served.put_key("live_key_of_the_bank") == 400
        served.wire()
        time.sleep(1.5)
        assert served.bank.requests == ()
        served.put_key()
        served.wait_until_known()

        assert dict(served.answered) == dict.fromkeys(PATHS, 1)
