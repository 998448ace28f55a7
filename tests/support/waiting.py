"""Waiting for what another thread or process does: look again until a deadline, never sleep for luck."""

import time
from collections.abc import Callable

LOOK_EVERY_S = 0.005
WITHIN_S = 60.0
"""No claim about speed: what comes true costs nothing more, however long it may take on a busy machine."""


def eventually(holds: Callable[[], object], *, within_s: float = WITHIN_S) -> None:
    """Return once ``holds()`` is true; fail the test when it is not in time."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"{holds!r} did not come true within {within_s} s"
        time.sleep(LOOK_EVERY_S)
