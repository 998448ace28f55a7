"""A reader of the feed over HTTP, on a thread; it parses the bytes as the specification of server-sent events says."""

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Self

import httpx
import msgspec

from tests.support.waiting import eventually


class Told(NamedTuple):
    """One event, and the last id at that point."""

    id: str
    kind: str
    data: Any


class Parser:
    """Lines end with LF; a CR would stay in the line, and show."""

    def __init__(self) -> None:
        self.last_id = ""
        self.retry: int | None = None
        self.comments = 0
        self._rest = b""
        self._fields: dict[str, list[str]] = {}

    def read(self, chunks: Iterable[bytes]) -> Iterator[Told]:
        for chunk in chunks:
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                yield from self._read_line(line.decode())

    def _read_line(self, line: str) -> Iterator[Told]:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line.startswith(":"):
            self.comments += 1
        elif line:
            self._fields.setdefault(name, []).append(value)
        else:
            fields, self._fields = self._fields, {}
            self.last_id = fields.pop("id", [self.last_id])[-1]
            if "retry" in fields:
                self.retry = int(fields.pop("retry")[-1])
            if "data" in fields:
                kind = fields.pop("event", ["message"])[-1]
                yield Told(self.last_id, kind, msgspec.json.decode("\n".join(fields.pop("data"))))
            assert not fields, fields


class Listener:
    """Reads from the moment on that the context is entered, until it is left or the service ends the answer."""

    def __init__(self, port: int, token: str, query: str = "", *, last_id: str = "") -> None:
        headers = {"Authorization": f"Bearer {token}", "X-Operator": "ann"}
        headers |= {"Last-Event-ID": last_id} if last_id else {}
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60)
        self._path = f"/api/live{query}"
        self.parser = Parser()
        self.told: list[Told] = []
        self.headers: httpx.Headers = httpx.Headers()
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._is_over = False
        self._connection: socket.socket | None = None

    def __enter__(self) -> Self:
        self.begin()
        eventually(lambda: self.parser.last_id or self.is_done)
        if not self.parser.last_id:
            self.end()
            raise AssertionError(self.failure)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Hang up; the thread sees it by itself."""
        self._is_over = True
        if self._connection is not None:
            with suppress(OSError):  # the service has hung up
                self._connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self._client.close()

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    @property
    def last_id(self) -> str:
        return self.parser.last_id

    @property
    def events(self) -> list[Told]:
        """Without the feed's own."""
        return [each for each in self.told if each.kind not in {"resync", "end"}]

    def of(self, kind: str) -> list[Told]:
        return [each for each in self.told if each.kind == kind]

    def _run(self) -> None:
        try:
            with self._client.stream("GET", self._path) as answer:
                assert answer.status_code == 200, answer.read()
                self._connection = answer.extensions["network_stream"].get_extra_info("socket")
                self.headers = answer.headers
                for each in self.parser.read(answer.iter_raw()):
                    self.told.append(each)
        except Exception as failure:  # noqa: BLE001 - of whatever kind: a test looks at it
            self.failure = None if self._is_over else failure
