"""The stream of links in memory, with the faults of a Redis whose answers get lost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class SharedStream:
    """What all nodes share: the entries by number, and the state behind which they begin."""

    entries: dict[int, bytes] = field(default_factory=dict)
    begun: tuple[int, dict[str, str]] | None = None
    epoch: int = 0

    @property
    def last(self) -> int:
        return max(self.entries, default=0 if self.begun is None else self.begun[0])


class FencedError(Exception):
    """A write of a former owner."""


class LostAnswerError(ConnectionError):
    """Redis was told, and its answer did not come; or it was not told."""


class MemoryStream:
    """One node's access. ``fault`` is asked at each append: "before" or "after" it the answer is lost; None: it is not.
    ``on_wait`` is called instead of waiting.
    """

    def __init__(
        self,
        shared: SharedStream,
        epoch: Callable[[], int],
        *,
        fault: Callable[[], str | None] = lambda: None,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        self._shared, self._epoch, self._fault, self._on_wait = shared, epoch, fault, on_wait
        self.appends = 0

    def base(self) -> tuple[int, dict[str, str]] | None:
        return self._shared.begun

    def read(self, after: int, count: int) -> list[tuple[int, bytes]]:
        numbers = sorted(number for number in self._shared.entries if number > after)
        return [(number, self._shared.entries[number]) for number in numbers[:count]]

    def wait(self, after: int, within_s: float) -> None:
        del after, within_s
        self._on_wait()

    def append(self, after: int | None, entries: Sequence[bytes]) -> bool:
        self._require_owner()
        fault = self._fault()
        if fault == "before":
            raise LostAnswerError("before")
        if after is None:
            after = self._shared.last
        elif self._shared.last == after:
            self.appends += 1
        else:
            return False
        for number, entry in enumerate(entries, after + 1):
            self._shared.entries[number] = entry
        if fault == "after":
            raise LostAnswerError("after")
        return True

    def trim(self, upto: int, heads: Mapping[str, str]) -> None:
        self._require_owner()
        _, former = self._shared.begun or (0, {})
        self._shared.begun = (upto, {**former, **heads})
        self._shared.entries = {number: each for number, each in self._shared.entries.items() if number > upto}

    def _require_owner(self) -> None:
        if self._epoch() != self._shared.epoch:
            raise FencedError
