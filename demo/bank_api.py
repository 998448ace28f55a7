"""A simulator of the bank's REST API: parties by id, actions on objects, real HTTP, and faults on demand.

It serves its objects unchanged, and accepts every action without a look at its idempotency key, so that a test sees
each call. The demo runs it beside the service, too.

Authentication is as at the bank: HTTP Basic with an empty user name and the key as the password.
"""

import base64
import re
from collections import deque
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from threading import Event, Lock
from typing import Any, Final

import msgspec

from clearhold.demo.http_simulator import HttpSimulator, SimulatorServer

TEST_KEY: Final = "test_simulated_bank_key"
ACCOUNTS: Final = "bank-accounts"
ENTITIES: Final = "entities"
COUNTERPARTIES: Final = "counterparties"
HUGE_BODY_BYTES: Final = 32 * 1024 * 1024
HANGS_FOR_S: Final = 120.0

_ACTION: Final = re.compile(
    r"/(?:transfers/[a-z-]+|cards|card-accounts|bank-accounts)/([A-Za-z0-9_-]{1,128})"
    r"/(?:clear|cancel|stop-payment|pause|suspend|freeze)"
)
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


class ServedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One answered request. ``status`` is None where the bank hung up without an answer."""

    method: str
    path: str
    status: int | None
    traceparent: str = ""


class TakenAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action as it arrived; it was executed unless a fault refused it."""

    path: str
    idempotency_key: str
    body: Any
    was_done: bool


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """The fault for one request, whatever it asks for."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    hangs: bool = False


class BankApi(HttpSimulator):
    """The bank, while the block runs. Objects and faults may be added at any time."""

    def __init__(self, *, key: str = TEST_KEY) -> None:
        self.key = key
        self.latency_s = 0.0
        self.closing = Event()
        self._objects: dict[tuple[str, str], bytes] = {}
        self._faults: dict[str, deque[Fault]] = {"GET": deque(), "POST": deque()}
        self._requests: list[ServedRequest] = []
        self._actions: list[TakenAction] = []
        self._lock = Lock()
        super().__init__(_Server(self))

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        super().__exit__(*error)

    @property
    def requests(self) -> tuple[ServedRequest, ...]:
        """All answered requests, in order."""
        with self._lock:
            return tuple(self._requests)

    @property
    def actions(self) -> tuple[TakenAction, ...]:
        """All actions that arrived with the key, in order."""
        with self._lock:
            return tuple(self._actions)

    def put_account(self, account: Mapping[str, Any]) -> None:
        self._put(ACCOUNTS, account)

    def put_entity(self, entity: Mapping[str, Any]) -> None:
        self._put(ENTITIES, entity)

    def put_counterparty(self, counterparty: Mapping[str, Any]) -> None:
        self._put(COUNTERPARTIES, counterparty)

    def fail_next(
        self, times: int = 1, *, status: int = 500, retry_after: str | None = None, method: str = "GET"
    ) -> None:
        """Refuse the next ``times`` requests, with a Retry-After when one is given."""
        headers = () if retry_after is None else (("Retry-After", retry_after),)
        code = "rate_limited" if status == 429 else "internal_error"
        body = _error("api", code, "The bank has trouble")
        self.answer_next(times, status=status, headers=headers, body=body, method=method)

    def answer_next(
        self,
        times: int = 1,
        *,
        body: bytes,
        status: int = 200,
        headers: tuple[tuple[str, str], ...] = (),
        method: str = "GET",
    ) -> None:
        """Answer the next ``times`` requests with these bytes: no JSON, a wrong object, a redirect."""
        self._expect(method, times, Fault(status=status, headers=headers, body=body))

    def answer_hugely_next(self, times: int = 1, *, size_bytes: int = HUGE_BODY_BYTES) -> None:
        """Answer the next ``times`` requests with an object that is well-formed and far too large."""
        self.answer_next(times, body=b'{"id":"' + b"x" * size_bytes + b'"}')

    def hang_next(self, times: int = 1, *, method: str = "GET") -> None:
        """Never answer the next ``times`` requests; actions are executed all the same."""
        self._expect(method, times, Fault(hangs=True))

    def next_fault(self, method: str) -> Fault | None:
        with self._lock:
            faults = self._faults[method]
            return faults.popleft() if faults else None

    def take(self, action: TakenAction) -> None:
        with self._lock:
            self._actions.append(action)

    def find(self, kind: str, object_id: str) -> bytes | None:
        with self._lock:
            return self._objects.get((kind, object_id))

    def served(self, request: ServedRequest) -> None:
        with self._lock:
            self._requests.append(request)

    def _put(self, kind: str, value: Mapping[str, Any]) -> None:
        with self._lock:
            self._objects[(kind, value["id"])] = msgspec.json.encode(value)

    def _expect(self, method: str, times: int, fault: Fault) -> None:
        with self._lock:
            self._faults[method].extend([fault] * times)


class _Server(SimulatorServer):
    def __init__(self, bank: BankApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bank = bank


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    @property
    def bank(self) -> BankApi:
        assert isinstance(self.server, _Server)
        return self.server.bank

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the client hung up between two requests
            self.close_connection = True

    def do_GET(self) -> None:
        self._serve(self._answer)

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._serve(self._act, sent)

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._reply(405, _error("invalid_request", "method_not_allowed", "Reading and actions are simulated"))

    do_PATCH = do_DELETE = do_PUT  # noqa: N815 - the names that http.server calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the method it replaces
        pass

    def _serve(self, answer: Callable[[], tuple[int, bytes]], sent: bytes | None = None) -> None:
        """Answer after the bank's delay, or as the next fault demands."""
        fault = self.bank.next_fault(self.command)
        if sent is not None and _ACTION.fullmatch(self.path) and self._is_authenticated():
            self._take(sent, was_done=fault is None or fault.hangs or fault.status < 300)
        if self.bank.latency_s:
            self.bank.closing.wait(self.bank.latency_s)
        if fault is not None and fault.hangs:
            self._note(None)
            self.bank.closing.wait(HANGS_FOR_S)
            self.close_connection = True
        elif fault is not None:
            self._reply(fault.status, fault.body, fault.headers)
        else:
            self._reply(*answer())

    def _take(self, sent: bytes, *, was_done: bool) -> None:
        key = self.headers.get("Idempotency-Key", "")
        body = msgspec.json.decode(sent)
        self.bank.take(TakenAction(path=self.path, idempotency_key=key, body=body, was_done=was_done))

    def _act(self) -> tuple[int, bytes]:
        if not self._is_authenticated():
            return 401, _error("authentication", "invalid_api_key", "The API key is missing or wrong")
        action = _ACTION.fullmatch(self.path)
        if action is None:
            return 404, _error("invalid_request", "unknown_route", "No such route")
        return 200, msgspec.json.encode({"id": action[1], "account_number": "000918276789", "status": "DONE"})

    def _answer(self) -> tuple[int, bytes]:
        if not self._is_authenticated():
            return 401, _error("authentication", "invalid_api_key", "The API key is missing or wrong")
        kind, _, object_id = self.path.removeprefix("/").partition("/")
        if kind not in (ACCOUNTS, ENTITIES, COUNTERPARTIES):
            return 404, _error("invalid_request", "unknown_route", "No such route")
        if not _ID.fullmatch(object_id):
            return 400, _error("invalid_request", "invalid_parameter", "That is no id")
        stored = self.bank.find(kind, object_id)
        if stored is None:
            return 404, _error("invalid_request", "not_found", "No object has that id")
        return 200, stored

    def _is_authenticated(self) -> bool:
        expected = base64.b64encode(f":{self.bank.key}".encode()).decode()
        return self.headers.get("Authorization") == f"Basic {expected}"

    def _note(self, status: int | None) -> None:
        traceparent = self.headers.get("traceparent", "")
        self.bank.served(ServedRequest(method=self.command, path=self.path, status=status, traceparent=traceparent))

    def _reply(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self._note(status)
        try:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        except ConnectionError:  # the client hung up, as it may on a slow or huge answer
            self.close_connection = True


def _error(error_type: str, code: str, message: str) -> bytes:
    return msgspec.json.encode(
        {"type": error_type, "code": code, "message": message, "documentation_url": "", "details": {}}
    )
