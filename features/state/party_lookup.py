"""The counterparties of an account or a name, by the key of its text: 20 bytes each, never removed."""

from array import array
from collections.abc import Sequence
from typing import Any, Final

from clearhold.features.windows.id_index import IdIndex, key_of

_SEVERAL: Final = -1


class PartyLookup:
    """Indexes of counterparties by text, in order of arrival. Nearly every text has one.

    >>> lookup = PartyLookup()
    >>> lookup.put("acme supplies", [7])
    >>> lookup.put("harbor goods", [3, 9])
    >>> list(lookup.get("acme supplies")), list(lookup.get("harbor goods")), list(lookup.get("unknown"))
    ([7], [3, 9], [])
    """

    __slots__ = ("_numbers", "_only", "_several")

    def __init__(self) -> None:
        self._numbers = IdIndex()  # by text: its number in the array
        self._only = array("i")  # ``_SEVERAL`` for a text without exactly one index
        self._several: dict[int, list[int]] = {}

    def get(self, text: str) -> Sequence[int]:
        number = self._numbers.get(key_of(text))
        if number is None:
            return ()
        only = self._only[number]
        return self._several[number] if only == _SEVERAL else (only,)

    def put(self, text: str, indexes: list[int]) -> None:
        """Replace the indexes of a text."""
        key = key_of(text)
        number = self._numbers.get(key)
        if number is None:
            number = len(self._only)
            self._numbers.put(key, number)
            self._only.append(_SEVERAL)
        if len(indexes) == 1:
            self._only[number] = indexes[0]
            self._several.pop(number, None)
        else:
            self._only[number] = _SEVERAL
            self._several[number] = indexes

    def dump(self) -> tuple[Any, ...]:
        return (self._numbers.dump(), self._only.tobytes(), list(self._several.items()))

    def load(self, dumped: Any) -> None:
        self._numbers.load(dumped[0])
        self._only.frombytes(dumped[1])
        self._several.update((number, list(indexes)) for number, indexes in dumped[2])
