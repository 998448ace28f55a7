"""The order of the snapshots of one entity, counterparty or account: the newest one wins in any order of arrival.

Unit    instants in microseconds; a rank of ``features/bank/statuses.py``, 0 for a snapshot that states no status
"""

from typing import Final, NamedTuple

from clearhold.features.windows.series import ALWAYS


class SnapshotOrder(NamedTuple):
    """The object's own time of a snapshot, else its event's; its event's time; and the rank of its state."""

    updated_at: int
    event_at: int
    rank: int

    @classmethod
    def of(cls, updated_at: int | None, event_at: int, rank: int) -> "SnapshotOrder":
        return cls(event_at if updated_at is None else updated_at, event_at, rank)

    def is_before(self, stored: "SnapshotOrder") -> bool:
        """Whether the stored snapshot is newer; of two of one instant the one with the later state is."""
        if self[:2] != stored[:2]:
            return self[:2] < stored[:2]
        return 0 < self.rank < stored.rank


NEVER_STATED: Final = SnapshotOrder(ALWAYS, ALWAYS, 0)
