"""Analysts who read the console at a human pace, in one separate process; each has a session and the live line.

An analyst opens a stack, and a neighbour is read ahead, as a browser does; every fifth time it is rows of the queue.
Anything but a 200 ends the run.
"""

import http.client
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.connection import Connection
from random import Random
from threading import Event, Thread
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

STEP_S: Final = 4.0
QUEUE: Final = "/console/queue"
ROWS_EACH: Final = 5
PART: Final[dict[str, str]] = {"HX-Request": "true", "HX-Target": "section#preview"}
ROWS: Final[dict[str, str]] = {"HX-Request": "true", "HX-Target": "div#chunk-1"}
_ANSWER_WITHIN_S: Final = 60
_OK: Final = 200
_SEE_OTHER: Final = 303


def signed_in(address: tuple[str, int], token: str, name: str) -> dict[str, str]:
    """The headers of a new session."""
    with closing(http.client.HTTPConnection(*address, timeout=_ANSWER_WITHIN_S)) as link:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        link.request("POST", "/console/sign-in", urlencode({"token": token, "name": name}), form)
        answer = link.getresponse()
        answer.read()
        if answer.status != _SEE_OTHER:
            raise SystemExit(f"Signing in was answered {answer.status}.")
        cookies = [value.partition(";")[0] for key, value in answer.getheaders() if key.lower() == "set-cookie"]
    return {"Cookie": "; ".join(cookies)}


class Analysts:
    """They read while the block runs; ``stacks`` are ids."""

    def __init__(self, address: tuple[str, int], sessions: Sequence[Mapping[str, str]], stacks: Sequence[str]) -> None:
        context = get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(theirs, address, [dict(each) for each in sessions], [*stacks]), daemon=True
        )

    def __enter__(self) -> Self:
        self._process.start()
        self._received()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.join()

    def stop(self) -> list[float]:
        """End the reading; milliseconds of each answer, in ascending order."""
        self._ours.send(None)
        return sorted(self._received())

    def _received(self) -> list[float]:
        received: list[float] | str = self._ours.recv()
        if isinstance(received, str):
            raise SystemExit(received)
        return received


def _work(pipe: Connection, address: tuple[str, int], sessions: list[dict[str, str]], stacks: list[str]) -> None:
    ended, latencies, faults = Event(), list[float](), list[str]()

    def analyst(number: int, headers: dict[str, str]) -> None:
        chance, link = Random(number), http.client.HTTPConnection(*address, timeout=_ANSWER_WITHIN_S)
        ended.wait(chance.uniform(0, STEP_S))
        step = 0
        while not ended.is_set():
            step += 1
            began = time.monotonic()
            at = chance.randrange(len(stacks) - 1)
            opened = [(f"/console/stacks/{each}", PART) for each in stacks[at : at + 2]]
            for path, part in [(QUEUE, ROWS)] if step % ROWS_EACH == 0 else opened:
                try:
                    latencies.append(ask(link, path, headers | part)[0])
                except (OSError, http.client.HTTPException, ValueError) as error:
                    faults.append(f"An analyst ended: {error}")
                    return
            ended.wait(max(0.0, STEP_S * chance.uniform(0.5, 1.5) - (time.monotonic() - began)))

    for number, headers in enumerate(sessions):
        Thread(target=_follow, args=(address, headers), daemon=True).start()
        Thread(target=analyst, args=(number, headers), daemon=True).start()
    pipe.send([])
    pipe.recv()
    ended.set()
    pipe.send(faults[0] if faults else latencies)


def _follow(address: tuple[str, int], headers: dict[str, str]) -> None:
    """The live line of a browser, until the process ends."""
    link = http.client.HTTPConnection(*address)
    link.request("GET", "/console/live", headers=headers)
    answer: Any = link.getresponse()
    while answer.read1(65_536):
        pass


def ask(link: http.client.HTTPConnection, path: str, headers: Mapping[str, str]) -> tuple[float, bytes]:
    """Milliseconds until the whole answer was there, and its body."""
    began = time.perf_counter()
    link.request("GET", path, headers=dict(headers))
    answer = link.getresponse()
    body = answer.read()
    if answer.status != _OK:
        raise ValueError(f"{path} was answered {answer.status}: {body[:300]!r}")
    return 1_000 * (time.perf_counter() - began), body
