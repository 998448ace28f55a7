"""How long a scorer may be silent: one that hangs is replaced soon, one at work gets much longer.

On an overloaded machine, with a stalled disk or during one long entry a healthy scorer is silent, and replacing it
would add the work of a start. The kernel shows the difference: a working process uses or awaits a processor or a disk.
"""

from pathlib import Path
from typing import Final, NamedTuple

AT_WORK: Final = frozenset("RD")  # runs or could run; waits for a disk


class Usage(NamedTuple):
    """The kernel's account of a process: the letter of its state, and its processor time in ticks."""

    state: str
    ticks: int


def usage_of(pid: int) -> Usage:
    """From ``/proc/<pid>/stat``: Linux, where scorers run. A name may hold blanks and brackets; none follows it."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return Usage(fields[0], int(fields[11]) + int(fields[12]))


class Silence:
    """The silence of one scorer, checked every ``step_s`` without a message."""

    def __init__(self, pid: int, *, step_s: float, hung_after_s: float, longest_s: float) -> None:
        self._pid, self._step_s = pid, step_s
        self._hung_after_s, self._longest_s = hung_after_s, longest_s
        self._lasts_s = self._idle_s = 0.0
        self._ticks = 0

    def ended(self) -> None:
        self._lasts_s = self._idle_s = 0.0

    def goes_on(self) -> None:
        """One more silent step; ``TimeoutError`` at the limit."""
        state, ticks = usage_of(self._pid)
        worked = state in AT_WORK or (self._lasts_s > 0 and ticks > self._ticks)
        self._lasts_s += self._step_s
        self._idle_s = 0.0 if worked else self._idle_s + self._step_s
        self._ticks = ticks
        if self._idle_s >= self._hung_after_s:
            raise TimeoutError(f"It has been silent and without work for {self._idle_s:.0f} s.")
        if self._lasts_s >= self._longest_s:
            raise TimeoutError(f"It has been silent for {self._lasts_s:.0f} s.")
