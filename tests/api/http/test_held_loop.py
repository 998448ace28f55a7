"""No body and no query holds the event loop: while one caller's is read, the others' requests have their turn."""

import gzip
import http.client
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

import msgspec
import pytest
from litestar.handlers import HTTPRouteHandler

from clearhold.api.areas import AREAS
from clearhold.api.http.gate import MAX_QUERY_PARAMETERS
from clearhold.api.http.operation import OPT, Access, Operation
from clearhold.api.http.request_schema import MOST_VALUES
from clearhold.api.ingest.routes import MOST_EVENTS, MOST_LINES
from clearhold.features.bank import envelope
from clearhold.features.rules.language import MAX_CONDITIONS, MAX_VALUES
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import signature
from tests.support.running_service import ADMIN_TOKEN, RunningService
from tests.support.turns import WATCHED, LongestTurn, reading_s

READINGS: Final = 3  # of a plain list of 256 KiB, in the time of the longest turn: 10 ms of a processor of 2020
TRIES: Final = 6  # The machine may do something else within a turn.
RATES: Final = {"CLEARHOLD_RATE_LIMITS": "write=1000000,read=1000000,verify=1000000,preflight=1000000"}

EVENT: Final = b'{"id":"evnt_1","type":"a.b","created_at":"2026-03-02T14:00:00Z","data":'


def operations() -> Iterator[tuple[str, str, Operation]]:
    """Method, path and operation of every route."""
    for handler in (each for area in AREAS for each in area.routes if isinstance(each, HTTPRouteHandler)):
        operation: Operation | None = (handler.opt or {}).get(OPT)
        if operation is not None:
            for path in handler.paths:
                for method in handler.http_methods:
                    yield method, path, operation


ROUTES: Final = {operation.id: (method, path, operation) for method, path, operation in operations()}
WITH_BODY: Final = [
    name for name, (method, _, operation) in ROUTES.items() if operation.reads_body or operation.is_idempotent(method)
]
"""Those whose body is read, also where they take none."""

QUERY_BYTES: Final = 60_000
QUERIES: Final[Mapping[str, str]] = {
    "many names": "&".join(f"n{each:x}=1" for each in range(QUERY_BYTES // 8)),
    "one name many times": "&".join(["limit=1"] * (QUERY_BYTES // 8)),
    "an endless list": "programId=" + "," * QUERY_BYTES,
    "an endless list in escapes": "programId=" + "%2C" * (QUERY_BYTES // 3),
    "a list as long as is read": "programId=" + "," * MAX_QUERY_PARAMETERS,
    "lists of words": "&".join(["status=" + "a," * 400, "band=" + "a," * 90]),
    "names as many as are read": "&".join(f"programIdX{each}=1" for each in range(MAX_QUERY_PARAMETERS)),
    "escapes": "cursor=" + "%41" * (QUERY_BYTES // 3),
    "no text": "cursor=" + "%ff" * (QUERY_BYTES // 3),
    "separators": "&" * QUERY_BYTES,
    "a long number": "limit=" + "9" * QUERY_BYTES,
    "a long time": "from=" + "9" * QUERY_BYTES,
}

HOSTILE: Final[Mapping[str, Callable[[int], bytes]]] = {
    "line ends": lambda size: b"\n" * size,
    "spaces and line ends": lambda size: b" \n" * (size // 2),
    "spaces": lambda size: b" " * size,
    "an event and line ends": lambda size: EVENT + b"1}" + b"\n" * (size - len(EVENT) - 2),
    "short lines": lambda size: b"{}\n" * min(size // 3, MOST_LINES),
    "too many short lines": lambda size: b"{}\n" * (size // 3),
    "lists in lists": lambda size: b"[" * size,
    "objects in objects": lambda size: b'{"a":' * (size // 5),
    "many names": lambda size: b"{" + names(size // 12) + b"}",
    "one name many times": lambda size: b"{" + b'"a":1,' * (size // 6 - 1) + b'"a":1}',
    "many small objects": lambda size: b"[" + b'{"a":1,"a":2},' * (size // 14 - 1) + b"1]",
    "many numbers": lambda size: b"[" + b"1," * (size // 2 - 1) + b"1]",
    "many fractions": lambda size: b"[" + b"1.0," * (size // 4 - 1) + b"1]",
    "a huge number": lambda size: b'{"id":' + b"9" * (size - 7) + b"}",
    "long numbers": lambda size: b'{"id":[' + (b"9" * 4_000 + b",") * (size // 4_001 - 1) + b"1]}",
    "a long text": lambda size: b'{"id":"' + b"x" * (size - 9) + b'"}',
    "a text of escapes": lambda size: b'{"id":"' + b"\\u0061" * ((size - 9) // 6) + b'"}',
    "names beside an escape": lambda size: EVENT + b'1,"\\u0061":1,' + names(size // 12 - 10) + b"}",
    "objects beside an escape": lambda size: EVENT + b'1,"\\u0061":[' + b"{}," * (size // 3 - 40) + b"1]}",
    "numbers in an event": lambda size: EVENT + b"[" + b"1," * (size // 2 - 50) + b"1]}",
    "as many values as a body may have": lambda size: many(size // 15, MOST_VALUES // 2),
    "as many values as an event may have": lambda size: (
        EVENT + many(size // 15 - 10, envelope.MOST_VALUES // 2 - 10) + b',"\\u0061":1}'
    ),
    "parts of a form": lambda size: b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' * (size // 56),
    "packed line ends": lambda size: gzip.compress(b"\n" * 64 * size, 1)[:size],
    "as many names as a body may have": lambda size: b"{" + names(min(MOST_VALUES, size // 12)) + b"}",
}


SENT_AS: Final[Mapping[str, Mapping[str, str]]] = {
    "parts of a form": {"Content-Type": "multipart/form-data; boundary=x"},
    "packed line ends": {"Content-Encoding": "gzip"},
}


def names(number: int) -> bytes:
    return b",".join(b'"n%x":1' % each for each in range(number))


def many(*numbers: int) -> bytes:
    return b"[" + b'{"a":1,"b":2},' * min(numbers) + b"1]"


def full_batch(size: int) -> bytes:
    """As many events as a batch may have, as long as they may be together."""
    rest = size // MOST_EVENTS - 110
    return b"\n".join(
        EVENT.replace(b"evnt_1", b"evnt_%d" % each) + b'"' + b"x" * rest + b'"}' for each in range(MOST_EVENTS)
    )


def rule_of_a_wrong_value(_: int) -> bytes:
    """A rule whose value is of none of the types that it may have."""
    condition = {"field": "rail", "op": "eq", "value": {"a": [{"a": 1, "b": 2}] * (MOST_VALUES // 2 - 10)}}
    return msgspec.json.encode({"id": "r", "name": "r", "when": [condition], "action": "log", "severity": "low"})


def rule_of_wrong_words(_: int) -> bytes:
    """A rule of the right form with as many faults as it can have."""
    words = {"field": "counterpartyCountry", "op": "in", "value": ["ZZ"] * MAX_VALUES}
    return msgspec.json.encode(
        {"id": "r", "name": "r", "when": [words] * MAX_CONDITIONS, "action": "log", "severity": "low"}
    )


OF_ROUTE: Final[Mapping[str, Mapping[str, Callable[[int], bytes]]]] = {
    "ingestBankEvents": {"a full batch": full_batch},
    "createRule": {"wrong words": rule_of_wrong_words, "a wrong value": rule_of_a_wrong_value},
}


class Bystander:
    """A service whose turns are timed, and a caller of each kind."""

    def __init__(self, service: RunningService, turn: LongestTurn) -> None:
        self._service, self.turn = service, turn
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        of_bank = {"tenantId": tenant["id"], "slug": "trial", "name": "Trial", "source": "simulated"}
        self._program = service.admin("/api/admin/programs", of_bank)
        self._operator = {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "ann"}
        key = service.ask(
            "POST", "/api/keys", self._operator | JSON, b'{"name":"k","mode":"test"}', expect=http.client.CREATED
        )
        self._test_key = {"Authorization": f"Bearer {key['secret']}"}

    def headers(self, operation: Operation, body: bytes) -> dict[str, str]:
        if operation.tag == "ingest":
            return {"Bank-Signature": signature(self._program["ingestSecret"], body)}
        if operation.access is Access.ADMIN:
            return {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root"}
        if operation.access is Access.PUBLIC:
            return {}
        return self._test_key if operation.sandbox else self._operator

    def longest_s(self, method: str, path: str, operation: Operation, body: bytes, sent_as: Mapping[str, str]) -> float:
        """The longest turn of a request with this body."""
        self.turn.forget()
        path = re.sub(r"\{program_id[^}]*\}", self._program["id"], path)
        path = re.sub(r"\{[^}]*\}", UNKNOWN_ID, path)
        with closing(self._service.connect()) as connection:
            connection.request(method, path, body, {**JSON, **self.headers(operation, body), **sent_as})
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status in (ANSWERS if body else ANSWERS_WITHOUT_BODY), content
            connection.request("GET", "/healthz")  # in a later turn
            assert connection.getresponse().read()
        return self.turn.seconds


JSON: Final = {"Content-Type": "application/json"}
ANSWERS: Final = frozenset({200, 400, 413, 415})
ANSWERS_WITHOUT_BODY: Final = ANSWERS | {302, 404}


@pytest.fixture(scope="module")
def bystander(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bystander]:
    folder = tmp_path_factory.mktemp("held")
    turn = LongestTurn(folder / "turn")
    command = WATCHED.format(file=str(folder / "turn"))
    with RunningService(folder / "data", "--metrics-port", "0", command=command, environment=RATES) as service:
        yield Bystander(service, turn)


@pytest.mark.parametrize("route", WITH_BODY)
def test_given_hostile_bodies_when_sent_then_none_holds_the_loop(bystander: Bystander, route: str) -> None:
    method, path, operation = ROUTES[route]
    made = {**HOSTILE, **OF_ROUTE.get(route, {})}
    bodies: dict[str, bytes] = {case: body(operation.body_limit) for case, body in made.items()}
    if operation.body is not None:
        bodies |= in_properties(operation)

    reading = reading_s()
    held: dict[str, float] = {}
    for case, body in bodies.items():
        for _ in range(TRIES):
            readings = bystander.longest_s(method, path, operation, body, SENT_AS.get(case, {})) / reading
            if readings <= READINGS:
                break
            reading = reading_s()  # of the machine as busy as it is by now
        else:
            held[case] = readings

    assert held == {}


@pytest.mark.parametrize("route", ROUTES)
def test_given_hostile_queries_when_sent_then_none_holds_the_loop(bystander: Bystander, route: str) -> None:
    method, path, operation = ROUTES[route]

    reading = reading_s()
    held: dict[str, float] = {}
    for case, query in QUERIES.items():
        for _ in range(TRIES):
            readings = bystander.longest_s(method, f"{path}?{query}", operation, b"", {}) / reading
            if readings <= READINGS:
                break
            reading = reading_s()  # of the machine as busy as it is by now
        else:
            held[case] = readings

    assert held == {}


def in_properties(operation: Operation) -> dict[str, bytes]:
    """The example of a body with a list in place of each of its properties."""
    assert operation.body is not None
    example: dict[str, Any] = dict(operation.example or {})
    many = [{"a": 1, "b": 2}] * (min(MOST_VALUES, operation.body_limit // 8) // 2 - 200)
    return {f"a list as {name}": msgspec.json.encode(example | {name: many}) for name in operation.body.properties}
