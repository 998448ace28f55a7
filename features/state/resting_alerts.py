"""Alerts at rest: decided, with a window that is over. All of them are packed and never changed in place.

An alert that the policy closed rests with its texts, because a person may still decide it, which writes them again. The
texts are packed separately, so that reading an alert does not unpack them. A woken alert leaves its packed bytes
behind; few alerts wake.

Unit    a closed alert takes about 70 bytes and 15 of its index; one with texts 400 more
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from clearhold.features.state.alert_state import AlertState, Texts
from clearhold.features.windows.id_index import IdIndex, key_of
from clearhold.features.windows.packed_blocks import PackedBlocks

_AWAKE: Final = 2**32 - 1
_ALERT_DECODER: Final = msgspec.msgpack.Decoder(AlertState)
_TEXTS_DECODER: Final = msgspec.msgpack.Decoder(Texts)
_ENCODE: Final = msgspec.msgpack.Encoder().encode


class RestingAlerts:
    """Alerts by id."""

    __slots__ = ("_alerts", "_numbers", "_texts", "count")

    def __init__(self) -> None:
        self._numbers = IdIndex()
        self._alerts = PackedBlocks(against_first=False)
        self._texts = PackedBlocks(against_first=True)
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
