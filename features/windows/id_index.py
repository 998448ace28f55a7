"""A map from 80-bit keys to small integers that keeps every key for good in about 15 bytes.

New keys go into a dict; when that is full they are sealed into a sorted run, and runs of similar size are merged, so
each key is moved a handful of times ever. A run is searched through a directory of its keys' leading bits, which
costs the same for a thousand keys and for ten million.

Errors  none; keys are hashes, taken as unique: of a billion ids any two share 80 bits with a chance below 10^-6
"""

from array import array
from bisect import bisect_right
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_SEAL_AT: Final = 4_096
_MERGE_RATIO: Final = 4
_KEYS_PER_SLOT: Final = 8
_KEY_BYTES: Final = 10
_HIGH_BITS: Final = 64
_LOW_BITS: Final = 16
_LOW_MASK: Final = 2**_LOW_BITS - 1
_KEY: Final = np.dtype([("high", ">u8"), ("low", ">u2")])


def key_of(text: str) -> int:
    """The key of a bank id."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest(), "big")


class _Run:
    """Sorted, immutable keys with their values."""

    __slots__ = ("directory", "high", "low", "shift", "values")

    def __init__(
        self, high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint16], values: npt.NDArray[np.uint32]
    ) -> None:
        slots_log2 = max(1, (len(high) // _KEYS_PER_SLOT).bit_length())
        self.shift = _HIGH_BITS - slots_log2
        edges = np.arange((1 << slots_log2) + 1, dtype=np.uint64)
        starts = np.searchsorted(high >> np.uint64(self.shift), edges)
        self.directory = array("I", starts.astype(np.uint32).tobytes())
        self.high = array("Q", high.tobytes())
        self.low = array("H", low.tobytes())
        self.values = array("I", values.tobytes())

    def __len__(self) -> int:
        return len(self.high)


class IdIndex:
    """A key may be put again, which gives it another value; the old one goes on taking its 15 bytes.

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
                slot, highs, directory = high >> run.shift, run.high, run.directory
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
        high, low = keys["high"].astype(np.uint64), keys["low"].astype(np.uint16)
        values = np.fromiter(self._new.values(), dtype=np.uint32, count=len(self._new))
        self._new = {}
        while self._runs and len(self._runs[-1]) < _MERGE_RATIO * len(high):
            run = self._runs.pop()
            high = np.concatenate([np.frombuffer(run.high, dtype=np.uint64), high])
            low = np.concatenate([np.frombuffer(run.low, dtype=np.uint16), low])
            values = np.concatenate([np.frombuffer(run.values, dtype=np.uint32), values])
        order = np.argsort(high, kind="stable")
        self._runs.append(_Run(high[order], low[order], values[order]))

    def dump(self) -> tuple[Any, ...]:
        new = b"".join(key.to_bytes(_KEY_BYTES, "big") for key in self._new)
        runs = [(run.high.tobytes(), run.low.tobytes(), run.values.tobytes()) for run in self._runs]
        return (new, list(self._new.values()), runs)

    def load(self, dumped: Any) -> None:
        new, values, runs = dumped
        keys = (int.from_bytes(new[at : at + _KEY_BYTES], "big") for at in range(0, len(new), _KEY_BYTES))
        self._new = dict(zip(keys, values, strict=True))
        self._runs = [
            _Run(np.frombuffer(high, np.uint64), np.frombuffer(low, np.uint16), np.frombuffer(values, np.uint32))
            for high, low, values in runs
        ]
