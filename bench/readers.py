"""Readers over HTTP that request one answer after the other, with a pause for reading, each in a separate process.

The latency is from before the request is sent until the whole answer is there. Anything but a 200 ends the run: a fast
refusal is no figure.
"""

import http.client
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import cycle
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Final, Self

PAUSE_S: Final = 0.5
_ANSWER_WITHIN_S: Final = 60
_OK: Final = 200


class Readers:
    """Several readers of the paths, while the block runs; each begins with a different path."""

    def __init__(
        self, address: tuple[str, int], paths: Mapping[str, str], headers: Mapping[str, str], *, count: int
    ) -> None:
        context = get_context("spawn")
        self._readers: list[tuple[Connection, BaseProcess]] = []
        for number in range(count):
            ours, theirs = context.Pipe()
            in_turn = [*paths.items()]
            turned = in_turn[number % len(in_turn) :] + in_turn[: number % len(in_turn)]
            process = context.Process(target=_read, args=(theirs, address, turned, dict(headers)), daemon=True)
            self._readers.append((ours, process))

    def __enter__(self) -> Self:
        for _, process in self._readers:
            process.start()
        for pipe, _ in self._readers:
            _received(pipe)
        return self

    def stop(self) -> dict[str, list[float]]:
        """End the reading; milliseconds of each answer, by the name of its path."""
        for pipe, _ in self._readers:
            pipe.send(None)
        latencies: dict[str, list[float]] = {}
        for pipe, _ in self._readers:
            for name, more in _received(pipe).items():
                latencies.setdefault(name, []).extend(more)
        return latencies

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for _, process in self._readers:
            process.terminate()
            process.join()


def read_in_turn(address: tuple[str, int], path: str, headers: Mapping[str, str], *, count: int) -> list[float]:
    """Ask for one path so often, without a pause; milliseconds of each answer, in their order."""
    with closing(http.client.HTTPConnection(*address, timeout=_ANSWER_WITHIN_S)) as link:
        return [_ask(link, path, dict(headers)) for _ in range(count)]


def _received(pipe: Connection) -> dict[str, list[float]]:
    received: dict[str, list[float]] | str = pipe.recv()
    if isinstance(received, str):
        raise SystemExit(received)
    return received


def _read(
    pipe: Connection, address: tuple[str, int], paths: Sequence[tuple[str, str]], headers: dict[str, str]
) -> None:
    """Every path once before the clock runs, then all in a cycle until the pipe says to stop, each at least once."""
    link = http.client.HTTPConnection(*address, timeout=_ANSWER_WITHIN_S)
    latencies: dict[str, list[float]] = {name: [] for name, _ in paths}
    try:
        for _, path in paths:
            _ask(link, path, headers)
        pipe.send({})
        for name, path in cycle(paths):
            latencies[name].append(_ask(link, path, headers))
            if pipe.poll(PAUSE_S) and all(latencies.values()):
                break
        pipe.send(latencies)
    except (OSError, http.client.HTTPException, ValueError) as error:
        pipe.send(f"A reader ended: {error}")


def _ask(link: http.client.HTTPConnection, path: str, headers: dict[str, str]) -> float:
    began = time.perf_counter()
    link.request("GET", path, headers=headers)
    answer = link.getresponse()
    body = answer.read()
    if answer.status != _OK:
        raise ValueError(f"{path} was answered {answer.status}: {body[:300]!r}")
    return 1_000 * (time.perf_counter() - began)
