"""Texts by number, packed sixteen at a time, because similar texts take less together than alone.

Cost    reading a text unpacks its block
"""

import zlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from clearhold.features.windows.slices import Slice, in_slices

A_BLOCK: Final = 16
_LEVEL: Final = 6
_WINDOW_BITS: Final = 15  # 32 kB
_MEMORY_LEVEL: Final = 8
_SAMPLE_BYTES: Final = 16_384
_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODER: Final = msgspec.msgpack.Decoder(list[bytes])


class PackedBlocks:
    """Texts in the order of addition. Each block is packed against the first one, if ``against_first``.

    >>> blocks = PackedBlocks(against_first=False)
    >>> numbers = [blocks.add(b"text %d" % number) for number in range(40)]
    >>> blocks.get(numbers[7]), blocks.get(numbers[39]), len(blocks)
    (b'text 7', b'text 39', 40)
    """

    __slots__ = ("_against_first", "_blocks", "_open", "_sample")

    def __init__(self, *, against_first: bool) -> None:
        self._against_first = against_first
        self._blocks: list[bytes] = []
        self._open: list[bytes] = []  # fewer than a block
        self._sample = b""  # the end of the first block

    def __len__(self) -> int:
        return A_BLOCK * len(self._blocks) + len(self._open)

    def add(self, text: bytes) -> int:
        """Store a text, and return its number."""
        number = len(self)
        self._open.append(text)
        if len(self._open) == A_BLOCK:
            self._blocks.append(self._pack(_ENCODE(self._open)))
            self._open = []
            self._take_sample()
        return number

    def get(self, number: int) -> bytes:
        block, place = divmod(number, A_BLOCK)
        return self._texts_of(block)[place] if block < len(self._blocks) else self._open[place]

    def _texts_of(self, block: int) -> list[bytes]:
        unpacking = zlib.decompressobj(_WINDOW_BITS, self._sample if block else b"")
        return _DECODER.decode(unpacking.decompress(self._blocks[block]))

    def _pack(self, texts: bytes) -> bytes:
        packing = zlib.compressobj(
            _LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, self._sample
        )
        return packing.compress(texts) + packing.flush()

    def _take_sample(self) -> None:
        if self._against_first and not self._sample:
            self._sample = b"".join(self._texts_of(0))[-_SAMPLE_BYTES:]

    def dump(self) -> Iterator[Slice]:
        yield from in_slices("blocks", self._blocks)
        yield from in_slices("open", self._open)

    def load(self, dumped: Any) -> None:
        """Restore one slice of a dump."""
        part, content = dumped
        if part == "open":
            self._open += content
        else:
            self._blocks += content
            self._take_sample()
