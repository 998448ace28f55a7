"""Time and ids that a test sets itself."""

from typing import Final

from clearhold.features.core.instants import parse_instant

_T0 = parse_instant("2026-03-02T15:00:00Z")
assert _T0 is not None
T0: Final[int] = _T0
"""The instant at which tests begin unless they say otherwise: a Monday, in the afternoon UTC."""


class FrozenClock:
    """Stands still until a test moves it."""

    is_doubtful, ahead_s = False, 0.0

    def __init__(self, at: int = T0) -> None:
        self.at = at

    def now(self) -> int:
        return self.at

    def compare(self, newest: int) -> None:
        """Never doubtful."""

    def advance(self, microseconds: int) -> None:
        self.at += microseconds


class SequentialIds:
    """Ids in the form of a UUID, counted up from one."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"00000000-0000-4000-8000-{self.count:012d}"
