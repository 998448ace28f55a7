"""The simulator of the bank's API answers as the bank does, and goes wrong as it is told."""

import base64
import http.client
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import msgspec
import pytest

from clearhold.demo.bank_api import TEST_KEY, BankApi, ServedRequest

ACCOUNT = {"id": "bacc_1", "type": "CHECKING", "owners": ["enti_1"]}
ENTITY = {"id": "enti_1", "type": "PERSON", "verification_status": "VERIFIED"}
COUNTERPARTY = {"id": "cpty_1", "name": "Muster GmbH", "local_bank_country_code": "DE"}


@pytest.fixture
def bank() -> Iterator[BankApi]:
    with BankApi() as bank:
        bank.put_account(ACCOUNT)
        bank.put_entity(ENTITY)
        bank.put_counterparty(COUNTERPARTY)
        yield bank


def get(
    bank: BankApi, path: str, *, key: str = TEST_KEY, timeout_s: float = 5.0
) -> tuple[int, http.client.HTTPMessage, bytes]:
    where = urlsplit(bank.url)
    with closing(http.client.HTTPConnection(where.hostname or "", where.port, timeout=timeout_s)) as connection:
        credentials = base64.b64encode(f":{key}".encode()).decode()
        connection.request("GET", path, headers={"Authorization": f"Basic {credentials}"})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/bank-accounts/bacc_1", ACCOUNT), ("/entities/enti_1", ENTITY), ("/counterparties/cpty_1", COUNTERPARTY)],
)
def test_given_an_object_when_asked_for_by_id_then_it_comes_as_it_was_put(
    bank: BankApi, path: str, expected: dict[str, object]
) -> None:
    status, headers, body = get(bank, path)

    assert (status, headers["Content-Type"], msgspec.json.decode(body)) == (200, "application/json", expected)
    assert bank.requests == (ServedRequest(method="GET", path=path, status=200),)


@pytest.mark.parametrize(
    ("path", "key", "status", "code"),
    [
        ("/entities/enti_1", "test_other", 401, "invalid_api_key"),
        ("/entities/enti_2", TEST_KEY, 404, "not_found"),
        ("/entities/bacc_1", TEST_KEY, 404, "not_found"),
        ("/entities/", TEST_KEY, 400, "invalid_parameter"),
        ("/entities/enti_1/documents", TEST_KEY, 400, "invalid_parameter"),
        ("/loans/loan_1", TEST_KEY, 404, "unknown_route"),
    ],
)
def test_given_a_request_that_cannot_be_answered_when_sent_then_the_refusal_says_why(
    bank: BankApi, path: str, key: str, status: int, code: str
) -> None:
    answered, _, body = get(bank, path, key=key)

    assert (answered, msgspec.json.decode(body)["code"]) == (status, code)


def test_given_failures_to_come_when_asked_then_they_come_first_and_then_the_object(bank: BankApi) -> None:
    bank.fail_next(2, status=429, retry_after="3")

    answers = [get(bank, "/entities/enti_1") for _ in range(3)]

    assert [(status, headers["Retry-After"]) for status, headers, _ in answers] == [(429, "3"), (429, "3"), (200, None)]


def test_given_bodies_to_come_when_asked_then_they_come_as_they_are(bank: BankApi) -> None:
    bank.answer_next(body=b"<html>")
    bank.answer_hugely_next(size_bytes=2_000_000)

    assert get(bank, "/entities/enti_1")[2] == b"<html>"
    assert len(get(bank, "/entities/enti_1")[2]) > 2_000_000


def test_given_a_hanging_answer_when_asked_then_nothing_comes_and_the_bank_can_still_be_closed(bank: BankApi) -> None:
    bank.hang_next()

    with pytest.raises(TimeoutError):
        get(bank, "/entities/enti_1", timeout_s=0.2)
    assert bank.requests == (ServedRequest(method="GET", path="/entities/enti_1", status=None),)
    assert get(bank, "/entities/enti_1")[0] == 200


def test_given_latency_when_asked_then_the_answer_waits(bank: BankApi) -> None:
    bank.latency_s = 1.0

    with pytest.raises(TimeoutError):
        get(bank, "/entities/enti_1", timeout_s=0.1)
