"""A program's memory of its snapshots: the requested ones, and when its indicators were over their lines.

A breach lasts as long as less than a day lies between two findings of its detector. An indicator that goes back
and forth over its line is therefore in one breach, and 180 days hold no more than 180 of them.

Unit    instants in microseconds
"""

from typing import Any, Final, NamedTuple

from clearhold.features.core.instants import DAY_US
from clearhold.features.windows.id_index import IdIndex, key_of

REMEMBERED_US: Final = 180 * DAY_US


class Breach(NamedTuple):
    """The present breach: whether it has just begun, and the starts of earlier ones in 180 days, oldest first."""

    is_new: bool
    earlier: tuple[int, ...]


class KriMemory:
    """The newest breach of each detector of the program with those before it, and the ids of requested snapshots."""

    __slots__ = ("_breaches", "_requested")

    def __init__(self) -> None:
        # By detector: when its newest breach was found last, when that breach began, and the earlier ones.
        self._breaches: dict[str, tuple[int, int, tuple[int, ...]]] = {}
        self._requested = IdIndex()

    def add_request(self, snapshot_id: str) -> bool:
        """Remember the id of a requested snapshot; False when it was taken before."""
        key = key_of(snapshot_id)
        if self._requested.get(key) is not None:
            return False
        self._requested.put(key, 1)
        return True

    def add_breach(self, detector: str, at: int) -> Breach:
        """Remember that the detector finds the program over its line; instants never go back."""
        last, began, earlier = self._breaches.get(detector, (at, at, ()))
        is_new = detector not in self._breaches or at - last >= DAY_US
        if is_new and began != at:
            earlier, began = (*earlier, began), at
        earlier = tuple(start for start in earlier if start > at - REMEMBERED_US)
        self._breaches[detector] = (at, began, earlier)
        return Breach(is_new, earlier)

    def dump(self) -> Any:
        return list(self._breaches.items()), self._requested.dump()

    def load(self, dumped: Any) -> None:
        breaches, requested = dumped
        self._breaches = {detector: (last, began, tuple(earlier)) for detector, (last, began, earlier) in breaches}
        self._requested.load(requested)
