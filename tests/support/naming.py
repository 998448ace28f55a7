"""Several cases in one test: cheaper than a test each, where a test costs more than a case."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def naming(case: str) -> Iterator[None]:
    """A failure inside says which case it is."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"The case: {case}")
        raise
