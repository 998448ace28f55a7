"""Counts the instructions that an event costs: decoding, applying, scoring and the making of its rows.

``perf`` runs a separate program where the machine counts instructions, else valgrind does so slowly; once with no
event, so that start and loading are subtracted. Other load on the machine changes no count.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import msgspec

from bench.apply_events import entry_of
from bench.harness import Run
from bench.stream_events import Traffic
from bench.workbench import PREFIX
from clearhold.features.core.log_entry import no_rows
from clearhold.features.shard.shard import ShardState

_PERF: Final = ("perf", "stat", "-x,", "-e", "instructions:u")
_VALGRIND: Final = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_PERF_COUNT: Final = re.compile(r"^(\d+),.*instructions", re.MULTILINE)
_VALGRIND_COUNT: Final = re.compile(r"I\s+refs:\s+([\d,]+)")


class Counter(NamedTuple):
    """A command that counts the instructions of the one behind it, and how the count is found in what it prints."""

    name: str
    command: tuple[str, ...]
    pattern: re.Pattern[str]


def find_counter() -> Counter | None:
    """The tool that counts instructions on this machine; None without one."""
    for each in (Counter("perf", _PERF, _PERF_COUNT), Counter("valgrind", _VALGRIND, _VALGRIND_COUNT)):
        if shutil.which(each.command[0]) and _counted(each, ["true"]) is not None:
            return each
    return None


def instructions_an_event(run: Run, counter: Counter, traffic: Traffic) -> float:
    """The mean of some events behind many others of the same traffic."""
    events, state = traffic.events(), ShardState(0)
    for offset, event in enumerate(islice(events, run.size(20_000, 4_000)), 1):
        state.apply(entry_of(offset, event.body), no_rows)
    with TemporaryDirectory(prefix=PREFIX) as folder:
        states, bodies = Path(folder) / "state", Path(folder) / "events"
        states.write_bytes(msgspec.msgpack.encode(list(state.dump())))
        count = run.size(2_000, 300)
        bodies.write_bytes(b"\n".join(event.body for event in islice(events, count)))
        program = [sys.executable, "-m", "bench.apply_events", str(states), str(bodies)]
        without, with_all = (_counted(counter, [*program, str(applied)]) for applied in (0, count))
    if without is None or with_all is None:
        raise SystemExit(f"{counter.name} counted nothing.")
    return (with_all - without) / count


def _counted(counter: Counter, program: Sequence[str]) -> int | None:
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}  # waiting threads count too
    ended = subprocess.run([*counter.command, *program], env=environment, capture_output=True, text=True, check=False)
    match = counter.pattern.search(ended.stderr)
    return None if ended.returncode or match is None else int(match.group(1).replace(",", ""))
