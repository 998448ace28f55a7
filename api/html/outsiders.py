"""Letters and marks that show nothing, or change the order of the letters around them, in texts of outsiders."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control, formatting (zero width, bidi), surrogates, private use, unassigned, line and paragraph separators."""

BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that show nothing either: joiners, fillers and the variation selectors, which can spell a text."""

MOST_MARKS: Final = 4
"""Combining marks on one letter; more of them cover the lines around it."""

_LINES: Final = frozenset("\n\r\t")
_COMBINING: Final = frozenset({"Mn", "Me"})


def shows_nothing(letter: str) -> bool:
    return unicodedata.category(letter) in INVISIBLE or BLANK.match(letter) is not None


def runs(text: str) -> Iterator[tuple[str, str | None]]:
    r"""The text in parts: visible ones with None, and each invisible letter with its code point in words.

    >>> list(runs("a\u202eb"))
    [('a', None), ('\u202e', 'U+202E'), ('b', None)]
    """
    visible, marks = list[str](), 0
    for letter in text:
        if letter.isascii() and (letter.isprintable() or letter in _LINES):
            visible.append(letter)
            marks = 0
            continue
        marks = marks + 1 if unicodedata.category(letter) in _COMBINING else 0
        if not shows_nothing(letter) and marks <= MOST_MARKS:
            visible.append(letter)
            continue
        if visible:
            yield "".join(visible), None
            visible = []
        yield letter, f"U+{ord(letter):04X}"
    if visible:
        yield "".join(visible), None
