"""The one place of the demo that reads the wall clock."""

import time


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1_000
