"""Numbers of accounts and of banks, read as their letters and digits: print forms of one number are one number."""

import re
from typing import Final

from clearhold.features.core.plain_text import letters_and_digits

LAST: Final = 4
_ROUTING_DIGITS: Final = 9
_BIC: Final = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?", re.ASCII)
_HEAD_OFFICE: Final = "XXX"
_BIC_OF_BRANCH: Final = 11


def last_four(number: str) -> str | None:
    """The last four letters and digits of an account number, or all of a shorter one; None without any.

    >>> last_four("744-5678-99"), last_four("DE89 3704 0044 0532 0130 00"), last_four(" - ")
    ('7899', '3000', None)
    """
    return letters_and_digits(number)[-LAST:] or None


def routing_number(number: str) -> str | None:
    """A routing number of nine digits, or a BIC; None for anything else.

    The BIC of a head office has eight characters, or eleven that end in XXX (ISO 9362).

    >>> routing_number("021-000-021"), routing_number("DEUT DE FF XXX"), routing_number("21000021")
    ('021000021', 'DEUTDEFF', None)
    """
    code = letters_and_digits(number)
    if len(code) == _ROUTING_DIGITS and code.isascii() and code.isdigit():
        return code
    if not _BIC.fullmatch(code):
        return None
    return code.removesuffix(_HEAD_OFFICE) if len(code) == _BIC_OF_BRANCH else code
