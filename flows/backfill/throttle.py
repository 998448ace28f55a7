"""Slows down a long computation in a thread: the more other threads want to run, the longer it rests.

Elapsed time less running time is the time for which others had the interpreter or the processor. The thread rests for a
multiple of that, and not at all on an idle machine.

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
        """Rest for as long as is due, and measure again."""
        kept_waiting = (time.monotonic() - self._began) - (time.thread_time() - self._ran)
        time.sleep(min(max(0.0, kept_waiting), LONGEST_REST_S))
        self._began, self._ran = time.monotonic(), time.thread_time()
