"""Who may write for a shard: each owner has an epoch, and only the newest counts.

A larger epoch gives a shard to a new owner. Rows of the former owner carry the older epoch and are refused, so two
owners do no harm: both read the same log, and the rows of one are written. Each commit writes the epochs beside its
offsets, so they survive a restart and a loss of Redis.
"""

from collections.abc import Mapping


class Epochs:
    """The present epoch of every shard, 0 for the first owner. Written by one thread, read by any."""

    def __init__(self, shards: int, committed: Mapping[int, int]) -> None:
        """``committed`` holds the epochs in the tables."""
        self._of = [committed.get(shard, 0) for shard in range(shards)]

    def of(self, shard: int) -> int:
        return self._of[shard]

    def set(self, shard: int, epoch: int) -> None:
        """Give the shard to the owner of that epoch; ValueError unless it is newer than the present one."""
        if epoch <= self._of[shard]:
            raise ValueError(f"Epoch {epoch} of shard {shard} is not newer than {self._of[shard]}.")
        self._of[shard] = epoch

    def are_current(self, epochs: Mapping[int, int]) -> bool:
        """Whether a batch of these shards and epochs comes from their present owners."""
        return all(self._of[shard] == epoch for shard, epoch in epochs.items())
