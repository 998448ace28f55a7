"""How long the event loop of a service is held by one thing: by the CPU time of its thread, of each of its turns.

The service runs on asyncio's own loop, because the turns of uvloop cannot be timed.
"""

import asyncio
import json
import mmap
import struct
import threading
import time
from pathlib import Path
from typing import Final

import uvloop

from tests.support.running_service import COMMAND

WATCHED: Final = "from tests.support.turns import watch; watch({file!r}); " + COMMAND

_SECONDS: Final = struct.Struct("d")
_LIST: Final = b"[" + b"1," * 131_071 + b"1]"
_TRIES: Final = 5


def watch(file: str) -> None:
    """Note the longest turn of this process's main thread in a file that another process reads."""
    shared = _mapped(Path(file))
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        took = time.thread_time() - began
        if threading.current_thread() is threading.main_thread() and took > _SECONDS.unpack_from(shared)[0]:
            _SECONDS.pack_into(shared, 0, took)

    asyncio.Handle._run = timed  # type: ignore[method-assign, assignment]
    uvloop.run = asyncio.run  # type: ignore[assignment]


class LongestTurn:
    """Made before the service starts."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(_SECONDS.size))
        self._shared = _mapped(file)

    def forget(self) -> None:
        _SECONDS.pack_into(self._shared, 0, 0.0)

    @property
    def seconds(self) -> float:
        longest: float = _SECONDS.unpack_from(self._shared)[0]
        return longest


def reading_s() -> float:
    """What it takes on this machine, as busy as it is, to read one list of 256 KiB."""
    times: list[float] = []
    for _ in range(_TRIES):
        began = time.thread_time()
        json.loads(_LIST)
        times.append(time.thread_time() - began)
    return min(times)


def _mapped(file: Path) -> mmap.mmap:
    with file.open("r+b") as opened:
        return mmap.mmap(opened.fileno(), 0)
