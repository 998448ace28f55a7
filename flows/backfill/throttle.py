"""Slows down a long computation in a thread: the more other threads want to run, the longer it rests.

How long others kept it from running, for the interpreter or for a processor, is the time that passed less the time in
which it ran. It rests for a multiple of that; while nobody else has anything to do, it does not rest at all.

Unit    seconds
"""

import time
from typing import Final

LONGEST_REST_S: Final = 0.02


class Throttle:
    """Belongs to one thread, which calls ``rest`` every few milliseconds."""

    def __init__(self) -> None:
        self._began, self._ran = time.monotonic(), time.thread_time()

    def rest(self) -> None:
        """Rest for as long as is due, and begin anew."""
        kept_waiting = (time.monotonic() - self._began) - (time.thread_time() - self._ran)
        time.sleep(min(max(0.0, kept_waiting), LONGEST_REST_S))
        self._began, self._ran = time.monotonic(), time.thread_time()
