"""A map from 80-bit keys to small integers that keeps every key for good in about 15 bytes, and in 12 to 14 when many.

New keys go into a dict; when that is full they are sealed into a sorted run, and runs of similar size are merged, so
each key is moved a handful of times ever. A run is searched through a directory of its keys' leading bits, which
costs about the same for a thousand keys and for ten million. The directory of a large run has an entry for each value
of its keys' upper 16 bits, and so the run does without those bits.

Errors  none; keys are hashes, taken as unique: of a billion ids any two share 80 bits with a chance below 10^-6
"""

from array import array
from bisect import bisect_right
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_SEAL_AT: Final = 1_024
_MERGE_RATIO: Final = 4
_KEYS_PER_SLOT: Final = 8
_KEY_BYTES: Final = 10
_HIGH_BITS: Final = 64
_LOW_BITS: Final = 16
_LOW_MASK: Final = 2**_LOW_BITS - 1
_KEY: Final = np.dtype([("high", ">u8"), ("low", ">u2")])
_LARGE: Final = 2**17  # keys of a run whose directory takes less than the bits that it saves
_SLOTS: Final = 2**16
_REST_BITS: Final = 64
_REST_MASK: Final = 2**_REST_BITS - 1
_UPPER_BITS: Final = 48  # of the rest, which are the lower ones of the high part

Columns = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint16], npt.NDArray[np.uint32]]
"""High part, low part and value of each key of a run."""


def key_of(text: str) -> int:
    """The key of a bank id."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest(), "big")


class _Run:
    """Sorted, immutable keys with their values. Of a large run ``rest`` has the keys without their upper 16 bits, else
    ``high`` and ``low`` have them whole.

    >>> run = _Run.of((np.array([5, 3], np.uint64), np.array([0, 1], np.uint16), np.array([7, 8], np.uint32)))
    >>> list(run.high), list(run.values)
    ([3, 5], [8, 7])
    """

    __slots__ = ("directory", "high", "low", "rest", "shift", "values")

    def __init__(self) -> None:
        self.shift = 0  # what leaves of the high part its slot; 0 for a large run
        self.directory = array("I")
        self.high = array("Q")
        self.low = array("H")
        self.rest = array("Q")
        self.values = array("I")

    @classmethod
    def of(cls, columns: Columns) -> "_Run":
        """Sort keys. Of equal ones the last stays last."""
        run = cls()
        high, low, values = columns
        if len(high) < _LARGE:
            order = np.argsort(high, kind="stable")
            high, low = high[order], low[order]
            run.high = array("Q", high.tobytes())
            run.low = array("H", low.tobytes())
            run._index()
        else:
            order = np.lexsort((low, high))
            high, low = high[order], low[order]
            run.rest = array("Q", (high << np.uint64(_LOW_BITS) | low).tobytes())
            starts = np.searchsorted(high >> np.uint64(_UPPER_BITS), np.arange(_SLOTS + 1, dtype=np.uint64))
            run.directory = array("I", starts.astype(np.uint32).tobytes())
        run.values = array("I", values[order].tobytes())
        return run

    def _index(self) -> None:
        """Make the directory of a run that is not large."""
        high = np.frombuffer(self.high, np.uint64)
        slots_log2 = max(1, (len(high) // _KEYS_PER_SLOT).bit_length())
        self.shift = _HIGH_BITS - slots_log2
        edges = np.arange((1 << slots_log2) + 1, dtype=np.uint64)
        starts = np.searchsorted(high >> np.uint64(self.shift), edges)
        self.directory = array("I", starts.astype(np.uint32).tobytes())

    def __len__(self) -> int:
        return len(self.values)

    def columns(self) -> Columns:
        values = np.frombuffer(self.values, np.uint32)
        if self.shift:
            return np.frombuffer(self.high, np.uint64), np.frombuffer(self.low, np.uint16), values
        rest = np.frombuffer(self.rest, np.uint64)
        starts = np.frombuffer(self.directory, np.uint32)
        upper = np.repeat(np.arange(_SLOTS, dtype=np.uint64), starts[1:] - starts[:-1])
        high = upper << np.uint64(_UPPER_BITS) | rest >> np.uint64(_LOW_BITS)
        return high, rest.astype(np.uint16), values

    def as_bytes(self) -> tuple[int, list[bytes]]:
        return self.shift, [part.tobytes() for part in self._parts()]

    @classmethod
    def loaded(cls, shift: int, parts: list[bytes]) -> "_Run":
        run = cls()
        run.shift = shift
        for part, content in zip(run._parts(), parts, strict=True):
            part.frombytes(content)
        if shift:
            run._index()
        return run

    def _parts(self) -> "tuple[array[int], ...]":
        """What a dump has: the directory is made anew where that costs little."""
        return (self.high, self.low, self.values) if self.shift else (self.rest, self.directory, self.values)


class IdIndex:
    """A key may be put again, which gives it another value; the old one goes on taking its 15 bytes. A value has 32
    bits and no sign.

    >>> index = IdIndex()
    >>> index.put(key_of("acht_1"), 0)
    >>> index.get(key_of("acht_1")), index.get(key_of("acht_2"))
    (0, None)
    """

    __slots__ = ("_new", "_runs")

    def __init__(self) -> None:
        self._new: dict[int, int] = {}
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return len(self._new) + sum(len(run) for run in self._runs)

    def get(self, key: int) -> int | None:
        value = self._new.get(key)
        if value is None and self._runs:
            high, low = key >> _LOW_BITS, key & _LOW_MASK
            for run in reversed(self._runs):  # written out here: each transfer looks up three keys
                directory = run.directory
                if not run.shift:
                    slot, rest, rests = high >> _UPPER_BITS, key & _REST_MASK, run.rest
                    index = bisect_right(rests, rest, directory[slot], directory[slot + 1]) - 1
                    if index >= directory[slot] and rests[index] == rest:
                        return run.values[index]
                    continue
                slot, highs = high >> run.shift, run.high
                first = directory[slot]
                index = bisect_right(highs, high, first, directory[slot + 1]) - 1  # the newest entry of a key is last
                while index >= first and highs[index] == high:
                    if run.low[index] == low:
                        return run.values[index]
                    index -= 1
        return value

    def put(self, key: int, value: int) -> None:
        self._new[key] = value
        if len(self._new) >= _SEAL_AT:
            self._seal()

    def _seal(self) -> None:
        keys = np.frombuffer(b"".join(key.to_bytes(_KEY_BYTES, "big") for key in self._new), dtype=_KEY)
        values = np.fromiter(self._new.values(), dtype=np.uint32, count=len(self._new))
        columns: list[Columns] = [(keys["high"].astype(np.uint64), keys["low"].astype(np.uint16), values)]
        count = len(self._new)
        self._new = {}
        while self._runs and len(self._runs[-1]) < _MERGE_RATIO * count:
            run = self._runs.pop()
            count += len(run)
            columns.insert(0, run.columns())
        high, low, values = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        self._runs.append(_Run.of((high, low, values)))

    def dump(self) -> tuple[Any, ...]:
        new = b"".join(key.to_bytes(_KEY_BYTES, "big") for key in self._new)
        return (new, list(self._new.values()), [run.as_bytes() for run in self._runs])

    def load(self, dumped: Any) -> None:
        new, values, runs = dumped
        keys = (int.from_bytes(new[at : at + _KEY_BYTES], "big") for at in range(0, len(new), _KEY_BYTES))
        self._new = dict(zip(keys, values, strict=True))
        self._runs = [_Run.loaded(shift, parts) for shift, parts in runs]
