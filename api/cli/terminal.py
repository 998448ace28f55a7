"""A terminal for a command that answers to single keys: text that is shown inert, keys, and lines that are typed.

Nothing of a service's answer reaches the terminal as a control sequence: characters without a picture, such as escapes
and changes of the writing direction, are shown as their code. The output is plain lines without colours or movements of
the cursor, which a screen reader reads as they come.
"""

import os
import select
import sys
import termios
import tty
from typing import Final
from unicodedata import category

_WITHOUT_PICTURE: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_ESCAPE: Final = b"\x1b"
_INTRODUCERS: Final = (b"[", b"O")
_FIRST_FINAL: Final = b"@"
_SEQUENCE_BYTES: Final = 16
_SEQUENCE_WITHIN_S: Final = 0.05


def inert(text: str) -> str:
    r"""The text on one line, with characters that have no picture as their code.

    >>> inert("a\x1b[2Jb\u202ec")
    'a\\x1b[2Jb\\u202ec'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each.encode("unicode_escape").decode() if category(each) in _WITHOUT_PICTURE else each for each in text
    )


class Terminal:
    """Standard input and output, when both are a terminal."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()

    @staticmethod
    def is_there() -> bool:
        return sys.stdin.isatty() and sys.stdout.isatty()

    def say(self, line: str = "") -> None:
        print(inert(line), flush=True)

    def key(self) -> str:
        """The next key, without waiting for the end of a line; empty at the end of the input.

        A key that sends a sequence, as arrows do, is one key: the rest of it is read too, and it means nothing.
        """
        before = termios.tcgetattr(self._input)
        try:
            tty.setcbreak(self._input, termios.TCSADRAIN)
            pressed = os.read(self._input, 1)
            if pressed == _ESCAPE and select.select([self._input], [], [], _SEQUENCE_WITHIN_S)[0]:
                self._skip_sequence()
        finally:
            termios.tcsetattr(self._input, termios.TCSADRAIN, before)
        return pressed.decode("ascii", "replace")

    def _skip_sequence(self) -> None:
        """Read the rest of an escape sequence, and no key after it."""
        if os.read(self._input, 1) in _INTRODUCERS:
            for _ in range(_SEQUENCE_BYTES):
                if os.read(self._input, 1) >= _FIRST_FINAL:
                    return

    def line(self, prompt: str) -> str:
        """A line that is typed after the prompt. Keys from before the prompt do not count."""
        termios.tcflush(self._input, termios.TCIFLUSH)
        print(inert(prompt), end=" ", flush=True)
        return sys.stdin.readline().rstrip("\n")
