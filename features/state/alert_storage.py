"""Storage of alerts: packed texts, alerts at rest, and the windows that alerts cover.

An alert's texts are four kilobytes, most of it the same in every alert of its detector. Against a sample they take 600
bytes instead of 1,700, and less time. A decided alert whose window is over rests: it is packed and never changed in
place. One that the policy closed rests with its texts, because a person may still decide it, which writes them again.
The texts are packed separately, so that reading an alert does not unpack them. A woken alert leaves its packed bytes
behind; few alerts wake. Windows are never removed.

Unit    instants in microseconds; a closed alert at rest takes about 140 bytes and 15 of its index, one with texts 400
        more; a window takes 32: the instants that it lies between, both excluded, and its alert's id
"""

import zlib
from array import array
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from clearhold.features.core.canonical import number_of, with_number
from clearhold.features.state.alert_state import AlertState, Texts
from clearhold.features.windows.id_index import IdIndex, Slice, in_slices, key_of

A_BLOCK: Final = 16
_BLOCK_LEVEL: Final = 6
_BLOCK_WINDOW_BITS: Final = 15  # 32 kB
_BLOCK_MEMORY_LEVEL: Final = 8
_BLOCK_SAMPLE_BYTES: Final = 16_384
_DECODER: Final = msgspec.msgpack.Decoder(list[bytes])
_LEVEL: Final = 3
_WINDOW_BITS: Final = 13  # 8 kB: a sample and a text
_MEMORY_LEVEL: Final = 6
_SAMPLE_BYTES: Final = 6_144
_AWAKE: Final = 2**32 - 1
_ALERT_DECODER: Final = msgspec.msgpack.Decoder(AlertState)
_TEXTS_DECODER: Final = msgspec.msgpack.Decoder(Texts)
_ENCODE: Final = msgspec.msgpack.Encoder().encode
_WORDS: Final = 4  # after, until, and the two halves of an id
_HALF_BITS: Final = 64
_HALF: Final = 2**_HALF_BITS
_SIGN: Final = 2 ** (_HALF_BITS - 1)


class PackedBlocks:
    """Texts in the order of addition. Each block is packed against the first one.

    >>> blocks = PackedBlocks()
    >>> numbers = [blocks.add(b"text %d" % number) for number in range(40)]
    >>> blocks.get(numbers[7]), blocks.get(numbers[39]), len(blocks)
    (b'text 7', b'text 39', 40)
    """

    __slots__ = ("_blocks", "_open", "_sample")

    def __init__(self) -> None:
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
        unpacking = zlib.decompressobj(_BLOCK_WINDOW_BITS, self._sample if block else b"")
        return _DECODER.decode(unpacking.decompress(self._blocks[block]))

    def _pack(self, texts: bytes) -> bytes:
        packing = zlib.compressobj(
            _BLOCK_LEVEL, zlib.DEFLATED, _BLOCK_WINDOW_BITS, _BLOCK_MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, self._sample
        )
        return packing.compress(texts) + packing.flush()

    def _take_sample(self) -> None:
        if not self._sample:
            self._sample = b"".join(self._texts_of(0))[-_BLOCK_SAMPLE_BYTES:]

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


class TextPacker:
    """Samples by kind. Packed bytes name their sample by number, in the first byte.

    >>> packer = TextPacker()
    >>> packed = packer.pack("greeting", b"good morning")
    >>> packer.unpack(packed)
    b'good morning'
    """

    __slots__ = ("_numbers", "_samples")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._samples: list[bytes] = []

    def __contains__(self, kind: str) -> bool:
        return kind in self._numbers

    def add(self, kind: str, text: bytes) -> None:
        """Make a text the sample of a new kind; there are at most 256 kinds."""
        self._numbers[kind] = len(self._samples)
        self._samples.append(text[:_SAMPLE_BYTES])

    def pack(self, kind: str, text: bytes) -> bytes:
        """Pack a text; the first of a kind is its sample, unless another was added."""
        if kind not in self:
            self.add(kind, text)
        number = self._numbers[kind]
        packing = zlib.compressobj(
            _LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, self._samples[number]
        )
        return number.to_bytes() + packing.compress(text) + packing.flush()

    def unpack(self, packed: bytes) -> bytes:
        return zlib.decompressobj(_WINDOW_BITS, self._samples[packed[0]]).decompress(memoryview(packed)[1:])

    def dump(self) -> list[tuple[str, bytes]]:
        return list(zip(self._numbers, self._samples, strict=True))

    def load(self, dumped: Any) -> None:
        self._numbers = {kind: number for number, (kind, _) in enumerate(dumped)}
        self._samples = [sample for _, sample in dumped]


class RestingAlerts:
    """Alerts by id."""

    __slots__ = ("_alerts", "_numbers", "_texts", "count")

    def __init__(self) -> None:
        self._numbers = IdIndex()
        self._alerts = PackedBlocks()
        self._texts = PackedBlocks()
        self.count = 0

    def __contains__(self, alert_id: str) -> bool:
        return self._number(alert_id) is not None

    def get(self, alert_id: str) -> AlertState | None:
        """The alert with the number of its texts, if it rests."""
        number = self._number(alert_id)
        if number is None:
            return None
        alert = _ALERT_DECODER.decode(self._alerts.get(number))
        alert.id = alert_id
        return alert

    def texts(self, number: int) -> Texts:
        texts: Texts = _TEXTS_DECODER.decode(self._texts.get(number))
        return texts

    def lay(self, alert: AlertState, texts: Texts | None) -> None:
        """Store an alert at rest; its id is its key and not packed."""
        stored: bytes | int = b"" if texts is None else self._texts.add(_ENCODE(texts))
        number = self._alerts.add(_ENCODE(msgspec.structs.replace(alert, id="", stored_texts=stored)))
        self._numbers.put(key_of(alert.id), number)
        self.count += 1

    def wake(self, alert_id: str) -> None:
        """Wake an alert, if it rests."""
        if alert_id in self:
            self._numbers.put(key_of(alert_id), _AWAKE)
            self.count -= 1

    def _number(self, alert_id: str) -> int | None:
        number = self._numbers.get(key_of(alert_id)) if self.count else None
        return None if number == _AWAKE else number

    def dump(self) -> Iterator[tuple[str, Any]]:
        """In parts that ``load`` restores."""
        yield "numbers", (self._numbers.dump(), self.count)
        yield from (("alerts", part) for part in self._alerts.dump())
        yield from (("texts", part) for part in self._texts.dump())

    def load(self, dumped: Any) -> None:
        """Restore one part."""
        part, content = dumped
        if part == "numbers":
            self._numbers.load(content[0])
            self.count = content[1]
        else:
            (self._alerts if part == "alerts" else self._texts).load(content)


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
