"""The windows of a program's alerts by subject: the alert that a finding belongs to. Windows are never removed.

Unit    instants in microseconds; a window takes 32 bytes: the instants that it lies between, both excluded, and its
        alert's id
"""

from array import array
from collections.abc import Iterator
from typing import Any, Final

from clearhold.features.core.canonical import number_of, with_number
from clearhold.features.windows.slices import Slice, in_slices

_WORDS: Final = 4  # after, until, and the two halves of an id
_HALF_BITS: Final = 64
_HALF: Final = 2**_HALF_BITS
_SIGN: Final = 2 ** (_HALF_BITS - 1)


class AlertWindows:
    """Windows by subject, in the order in which they were opened.

    >>> windows, alert_id = AlertWindows(), "8b5a7292-935c-5449-9007-d3908c04fe62"
    >>> windows.open("velocity", 10, 20, alert_id)
    >>> windows.newest_over("velocity", 15) == windows.newest("velocity") == alert_id
    True
    >>> windows.newest_over("velocity", 20), windows.count("velocity")
    (None, 1)
    """

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        self._windows: dict[str, array[int]] = {}

    def open(self, subject: str, after: int, until: int, alert_id: str) -> None:
        upper, lower = divmod(number_of(alert_id), _HALF)
        windows = self._windows.get(subject)
        if windows is None:
            windows = self._windows[subject] = array("q")
        windows.extend((after, until, upper - _SIGN, lower - _SIGN))

    def newest_over(self, subject: str, at: int) -> str | None:
        """The newest of the alerts whose windows cover an instant."""
        windows = self._windows.get(subject)
        if windows is not None:
            for place in range(len(windows) - _WORDS, -1, -_WORDS):
                if windows[place] < at < windows[place + 1]:
                    return _alert_id(windows, place)
        return None

    def newest(self, subject: str) -> str | None:
        """The alert with the newest window."""
        windows = self._windows.get(subject)
        return None if windows is None else _alert_id(windows, len(windows) - _WORDS)

    def count(self, subject: str) -> int:
        """How many windows were opened on the subject."""
        windows = self._windows.get(subject)
        return 0 if windows is None else len(windows) // _WORDS

    def dump(self) -> Iterator[Slice]:
        yield from in_slices("windows", ((subject, windows.tobytes()) for subject, windows in self._windows.items()))

    def load(self, dumped: Any) -> None:
        """Restore one slice of a dump."""
        self._windows.update((subject, array("q", windows)) for subject, windows in dumped)


def _alert_id(windows: "array[int]", place: int) -> str:
    return with_number((windows[place + 2] + _SIGN) * _HALF + windows[place + 3] + _SIGN)
