"""How long a scorer may say nothing: one that hangs is replaced soon, one that is at work gets much longer.

A machine with more work than cores, a stalled disk or one long entry keep a scorer silent that is well, and to replace
it would add the work of a start. The kernel can tell: who is at work uses a processor, or waits for one or for a disk.
"""

from pathlib import Path
from typing import Final, NamedTuple

AT_WORK: Final = frozenset("RD")  # runs or could run; waits for a disk


class Usage(NamedTuple):
    """What the kernel says of a process: its state's letter, and its processor time in the kernel's ticks."""

    state: str
    ticks: int


def usage_of(pid: int) -> Usage:
    """From ``/proc/<pid>/stat``: Linux, where scorers run. A name may hold blanks and brackets; none follows it."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return Usage(fields[0], int(fields[11]) + int(fields[12]))


class Silence:
    """The silence of one scorer, looked at every ``step_s`` that nothing came."""

    def __init__(self, pid: int, *, step_s: float, hung_after_s: float, longest_s: float) -> None:
        self._pid, self._step_s = pid, step_s
        self._hung_after_s, self._longest_s = hung_after_s, longest_s
        self._lasts_s = self._idle_s = 0.0
        self._ticks = 0

    def ended(self) -> None:
        self._lasts_s = self._idle_s = 0.0

    def goes_on(self) -> None:
        """Another step without a word; ``TimeoutError`` when it was one too many."""
        state, ticks = usage_of(self._pid)
        worked = state in AT_WORK or (self._lasts_s > 0 and ticks > self._ticks)
        self._lasts_s += self._step_s
        self._idle_s = 0.0 if worked else self._idle_s + self._step_s
        self._ticks = ticks
        if self._idle_s >= self._hung_after_s:
            raise TimeoutError(f"It has been silent and without work for {self._idle_s:.0f} s.")
        if self._lasts_s >= self._longest_s:
            raise TimeoutError(f"It has been silent for {self._lasts_s:.0f} s.")
