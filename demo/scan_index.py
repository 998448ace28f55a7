"""A simulator of a public scan index, ``scan-index/1``: three lists by pages over real HTTP, and faults on demand.

It serves its items unchanged. The demo runs it beside the service, too.
"""

from collections import deque
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

import msgspec

from clearhold.demo.http_simulator import HttpSimulator, SimulatorServer

LISTS: Final = ("agents", "profiles", "settlements")
SCHEMA: Final = "scan-index/1"
_TIME_OF: Final = {"agents": "updatedAt", "settlements": "settledAt"}

Item = dict[str, Any]


class ScanAnswer(NamedTuple):
    """An answer in place of a page."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    hangs_up: bool = False  # after the head, whose length it does not keep


class ScanIndex(HttpSimulator):
    """The index, while the block runs. Items and answers may be added at any time."""

    def __init__(self, *, page_items: int = 500, as_of: str | None = "2026-09-17T00:00:00Z") -> None:
        self.page_items, self.as_of = page_items, as_of
        self.items: dict[str, list[Item | bytes]] = {name: [] for name in LISTS}
        self.on_page: Callable[[str], None] = lambda _: None  # called with the list's name before each page
        self.requests: list[str] = []
        self._answers: dict[str, deque[ScanAnswer]] = {name: deque() for name in LISTS}
        self._pages: dict[str, Callable[[str | None], dict[str, Any]]] = {}
        self._lock = Lock()
        super().__init__(_Server(self))

    def reset(self) -> None:
        """Empty all lists and drop the prepared answers."""
        for name in LISTS:
            self.items[name].clear()
            self._answers[name].clear()
        self._pages.clear()
        self.requests.clear()
        self.page_items, self.as_of = 500, "2026-09-17T00:00:00Z"

    def put(self, name: str, *items: Item | bytes) -> None:
        """Add items to a list; bytes are served as they are."""
        with self._lock:
            self.items[name].extend(items)

    def replace(self, name: str, items: Sequence[Item | bytes]) -> None:
        with self._lock:
            self.items[name][:] = items

    def answer_next(self, name: str, *answers: ScanAnswer) -> None:
        """Answer the next requests for a list with these."""
        with self._lock:
            self._answers[name].extend(answers)

    def serve_pages(self, name: str, page: Callable[[str | None], dict[str, Any]]) -> None:
        """Serve a list by a function of the cursor."""
        self._pages[name] = page

    def page(self, name: str, query: dict[str, list[str]]) -> bytes:
        """One page of a list, by the contract."""
        limit = min(int(query.get("limit", ["500"])[0]), self.page_items)
        cursor, since = query.get("cursor", [None])[0], query.get("since", [None])[0]
        if name in self._pages:
            return msgspec.json.encode(self._pages[name](cursor))
        with self._lock:
            items = [item for item in self.items[name] if _is_since(item, _TIME_OF.get(name), since)]
        first = int(cursor or "0")
        more = first + limit < len(items)
        raw = [msgspec.Raw(item if isinstance(item, bytes) else msgspec.json.encode(item)) for item in items]
        page = {"items": raw[first : first + limit], "nextCursor": str(first + limit) if more else None}
        if self.as_of is not None:
            page["asOf"] = self.as_of
        return msgspec.json.encode(page | ({"schema": SCHEMA} if name == "agents" else {}))

    def next_answer(self, name: str) -> ScanAnswer | None:
        with self._lock:
            answers = self._answers[name]
            return answers.popleft() if answers else None


def _is_since(item: Item | bytes, field: str | None, since: str | None) -> bool:
    if since is None or field is None or isinstance(item, bytes):
        return True
    at = item.get(field)
    return not isinstance(at, str) or at[:19] >= since[:19]


class _Server(SimulatorServer):
    def __init__(self, index: ScanIndex) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.index = index


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the client hung up between two requests
            self.close_connection = True

    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        index, url = self.server.index, urlsplit(self.path)
        index.requests.append(self.path)
        name = url.path.removeprefix("/v1/")
        if name not in LISTS:
            self._reply(ScanAnswer(404, b'{"error":"no such list"}'))
            return
        index.on_page(name)
        answer = index.next_answer(name)
        self._reply(answer or ScanAnswer(body=index.page(name, parse_qs(url.query))))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the method it replaces
        pass

    def _reply(self, answer: ScanAnswer) -> None:
        length = len(answer.body) + 1_000 if answer.hangs_up else len(answer.body)
        try:
            self.send_response(answer.status)
            for header, value in answer.headers:
                self.send_header(header, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(answer.body)
            self.wfile.flush()
        except ConnectionError:  # the client hung up, as it may on a huge answer
            self.close_connection = True
        if answer.hangs_up:
            self.close_connection = True
