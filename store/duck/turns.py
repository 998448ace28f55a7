"""A thread may wait before each statement, so that work which counts more has the processor first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local

_OF_THREAD = local()


@contextmanager
def each_after(wait: Callable[[], object]) -> Iterator[None]:
    """Statements of this thread within the block begin after ``wait`` has returned."""
    _OF_THREAD.wait = wait
    try:
        yield
    finally:
        _OF_THREAD.wait = None


def in_turn() -> None:
    """Called before a statement."""
    wait = getattr(_OF_THREAD, "wait", None)
    if wait is not None:
        wait()
