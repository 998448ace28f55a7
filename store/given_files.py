"""Small files that a person names: cards, rules, keys, queries. Whatever their names lead to, little of it is read.

Errors  OSError; TooLargeError, one of these, with a sentence in ``strerror``
"""

import errno
from pathlib import Path
from typing import Final

MOST_GIVEN_BYTES: Final = 1 << 20


class TooLargeError(OSError):
    """A device or a pipe can go on without end, and has no size to look at first."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EFBIG, f"it is over {MOST_GIVEN_BYTES:,} bytes", str(path))


def read_given(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(MOST_GIVEN_BYTES + 1)
    if len(content) > MOST_GIVEN_BYTES:
        raise TooLargeError(path)
    return content
