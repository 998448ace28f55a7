"""The short strings of a program by number: words of the bank that many transfers share."""

from typing import Final


class StringTable:
    """Short strings by number, in the order in which they were first seen; 0 stands for None.

    A program may use at most 65,535 different strings; later ones are read as None.

    >>> words = StringTable()
    >>> words.number("ach"), words.number("wire"), words.number("ach"), words.number(None)
    (1, 2, 1, 0)
    >>> words.text(2)
    'wire'
    """

    LIMIT: Final = 65_535

    __slots__ = ("_numbers", "texts")

    def __init__(self) -> None:
        self.texts: list[str | None] = [None]
        self._numbers: dict[str | None, int] = {None: 0}

    def number(self, text: str | None) -> int:
        number = self._numbers.get(text)
        if number is None:
            if len(self.texts) > self.LIMIT:
                return 0
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def text(self, number: int) -> str | None:
        return self.texts[number]

    def dump(self) -> list[str | None]:
        return self.texts

    def load(self, dumped: list[str | None]) -> None:
        self.texts = dumped
        self._numbers = {text: number for number, text in enumerate(dumped)}
