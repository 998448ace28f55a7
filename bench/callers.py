"""HTTP callers at the lowest cost: a separate process, raw sockets, one request under way on each.

A caller sends its next request after its answer, or requests are due at given times, independent of earlier answers.
The latency runs from before the send, or from the due time of a request that had to wait for a connection, to the whole
answer. Requests are built before the clock runs.
"""

import selectors
import socket
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from random import Random
from typing import Final, NamedTuple, Protocol

import msgspec

_ANSWER_WITHIN_S: Final = 30.0
_RECEIVE_BYTES: Final = 65_536
_HEAD_END: Final = b"\r\n\r\n"


class Requests(Protocol):
    """Makes the bytes of requests in the callers' process, so it must be picklable."""

    def made(self, count: int) -> Iterator[bytes]: ...


class Tally(msgspec.Struct, frozen=True):
    """The results; latencies in ascending order."""

    latencies_ms: list[float]
    statuses: dict[int, int]
    seconds: float

    @property
    def per_second(self) -> float:
        return len(self.latencies_ms) / self.seconds

    def require(self, status: int) -> "Tally":
        """Fast refusals are no figure."""
        if set(self.statuses) != {status}:
            raise SystemExit(f"Expected only answers with {status}, and got {self.statuses}.")
        return self


class _Caller:
    """One connection; ``wanted`` is the length of the answer under way, 0 until its head is complete."""

    __slots__ = ("buffer", "link", "sent_ns", "wanted")

    def __init__(self, address: tuple[str, int]) -> None:
        self.link = socket.create_connection(address, timeout=_ANSWER_WITHIN_S)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.wanted = 0
        self.sent_ns = 0

    def send(self, request: bytes, *, due_ns: int | None = None) -> None:
        self.buffer.clear()
        self.wanted = 0
        self.sent_ns = due_ns or time.perf_counter_ns()
        self.link.sendall(request)

    def received(self) -> bool:
        """Read the available bytes; True when the answer is complete."""
        more = self.link.recv(_RECEIVE_BYTES)
        if not more:
            raise SystemExit(f"The server closed the connection: {bytes(self.buffer[:500])!r}")
        self.buffer += more
        if not self.wanted:
            head = self.buffer.find(_HEAD_END)
            if head < 0:
                return False
            self.wanted = head + len(_HEAD_END) + _content_length(bytes(self.buffer[:head]))
        return len(self.buffer) >= self.wanted

    @property
    def status(self) -> int:
        return int(self.buffer[9:12])


class _Job(NamedTuple):
    address: tuple[str, int]
    requests: Requests
    connections: int
    answers: int
    warm_up: int
    per_second: int | None


def call(
    address: tuple[str, int],
    requests: Requests,
    *,
    callers: int,
    count: int,
    warm_up: int,
    per_second: int | None = None,
) -> Tally:
    """Make ``count`` requests, after ``warm_up`` uncounted ones: at random times, ``per_second``, or as fast as
    they are answered.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    job = _Job(address, requests, callers, count, warm_up, per_second)
    process = context.Process(target=_called, args=(theirs, job), daemon=True)
    process.start()
    theirs.close()
    try:
        return msgspec.msgpack.decode(ours.recv_bytes(), type=Tally)
    except EOFError:
        raise SystemExit("The callers failed; their reason is above.") from None
    finally:
        process.terminate()
        process.join()


def _called(pipe: Connection, job: _Job) -> None:
    made = list(job.requests.made(job.warm_up + job.answers))
    callers = [_Caller(job.address) for _ in range(job.connections)]
    _all_answered(callers, made[: job.warm_up])
    counted = made[job.warm_up :]
    answered = _all_answered(callers, counted) if job.per_second is None else _paced(callers, counted, job.per_second)
    pipe.send_bytes(msgspec.msgpack.encode(answered))


def _all_answered(callers: list[_Caller], requests: list[bytes]) -> Tally:
    waiting, latencies, statuses = iter(requests), list[float](), Counter[int]()
    started = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for caller in callers[: len(requests)]:
            selector.register(caller.link, selectors.EVENT_READ, caller)
            caller.send(next(waiting))
        while selector.get_map():
            ready = selector.select(_ANSWER_WITHIN_S)
            if not ready:
                raise SystemExit(f"No answer within {_ANSWER_WITHIN_S:.0f} s.")
            for key, _ in ready:
                caller = key.data
                if not caller.received():
                    continue
                latencies.append((time.perf_counter_ns() - caller.sent_ns) / 1e6)
                statuses[caller.status] += 1
                following = next(waiting, None)
                if following is None:
                    selector.unregister(caller.link)
                else:
                    caller.send(following)
    return Tally(sorted(latencies), dict(statuses), time.perf_counter() - started)


def _paced(callers: list[_Caller], requests: list[bytes], per_second: int) -> Tally:
    """Random gaps, as between the questions of programs that know nothing of each other."""
    chance, free, latencies, statuses = Random(per_second), list(callers), list[float](), Counter[int]()
    started = time.perf_counter()
    due, sent, has_waited = started, 0, False
    with selectors.SelectSelector() as selector:  # the one that waits for less than a millisecond
        for caller in callers:
            selector.register(caller.link, selectors.EVENT_READ, caller)
        while len(latencies) < len(requests):
            pause = due - time.perf_counter() if sent < len(requests) else _ANSWER_WITHIN_S
            if pause <= 0 and free:
                free.pop().send(requests[sent], due_ns=int(due * 1e9) if has_waited else None)
                due, sent, has_waited = due + chance.expovariate(per_second), sent + 1, False
                continue
            has_waited |= pause <= 0
            ready = selector.select(max(0.0, pause) if free else _ANSWER_WITHIN_S)
            if not ready and (not free or sent == len(requests)):
                raise SystemExit(f"No answer within {_ANSWER_WITHIN_S:.0f} s.")
            for key, _ in ready:
                if key.data.received():
                    latencies.append((time.perf_counter_ns() - key.data.sent_ns) / 1e6)
                    statuses[key.data.status] += 1
                    free.append(key.data)
    return Tally(sorted(latencies), dict(statuses), time.perf_counter() - started)


def post(path: str, body: bytes, *headers: str) -> bytes:
    """The bytes of one POST of JSON."""
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: bench",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *headers,
    )
    return "\r\n".join(lines).encode() + _HEAD_END + body


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise SystemExit(f"An answer without a length: {head!r}")
