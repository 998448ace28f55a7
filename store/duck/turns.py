"""Threads that read for answers: each waits before a statement, so that work which counts more has the processor first,
and takes the answers that are in memory.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local

_OF_THREAD = local()


@contextmanager
def each_after(wait: Callable[[], object]) -> Iterator[None]:
    """This thread reads for an answer within the block; its statements begin after ``wait`` has returned."""
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


def reads_for_answer() -> bool:
    return getattr(_OF_THREAD, "wait", None) is not None
