"""Masking of the bank's objects before they are stored: no check images or payment messages, only last four digits.

Errors  none: data that is not a JSON object comes back as an empty one
"""

from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import msgspec

LAST: Final = 4
_DEPTH_LIMIT: Final = 32
_KEYS_REMEMBERED: Final = 4_096
_MASKED_KEYS: Final = frozenset({"iban", "ssn", "ein", "micrline", "pan", "passport", "driverslicense", "nationalid"})
_MASKED_ENDINGS: Final = ("accountnumber", "accountnumbers", "cardnumber")
_SENSITIVE: Final = (
    b"number",
    b"image",
    b"iban",
    b"ssn",
    b"ein",
    b"micr",
    b"pan",
    b"passport",
    b"license",
    b"national",
    b"message",
    b"\\u",
)


class _Treatment(StrEnum):
    """How the value of a key is treated."""

    KEPT = "kept"
    MASKED = "masked"
    DROPPED = "dropped"


@lru_cache(maxsize=_KEYS_REMEMBERED)
def _treatment(key: str) -> _Treatment:
    """By the key's letters alone, so that account_number, accountNumber and ACCOUNT-NUMBER are one."""
    letters = "".join(filter(str.isalnum, key)).casefold()
    if "image" in letters or letters == "rawmessage":  # The text of a payment message holds whole account numbers.
        return _Treatment.DROPPED
    if letters in _MASKED_KEYS or letters.endswith(_MASKED_ENDINGS):
        return _Treatment.MASKED
    return _Treatment.KEPT


def masked_raw(data: bytes | None) -> dict[str, Any]:
    """Decode the bank's object and mask it."""
    try:
        value = msgspec.json.decode(data or b"{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return _masked_object(value, 0) if isinstance(value, dict) else {}


def masked_text(data: bytes) -> str:
    """The masked object as JSON text; objects without sensitive keys are passed through as they are."""
    lower = data.lower()
    if any(word in lower for word in _SENSITIVE):
        return msgspec.json.encode(masked_raw(data)).decode()
    return data.decode()


def last_four(number: object) -> str | None:
    """The last four characters of an account number, or None when there is none."""
    return number.strip()[-LAST:] or None if isinstance(number, str) else None


def _masked_object(value: dict[str, Any], depth: int) -> dict[str, Any]:
    return {
        key: _masked(item, depth, masks=_treatment(key) is _Treatment.MASKED)
        for key, item in value.items()
        if _treatment(key) is not _Treatment.DROPPED
    }


def _masked(value: Any, depth: int, *, masks: bool) -> Any:
    """``masks`` holds for a list's items too; an object in the place of a number becomes None."""
    if isinstance(value, dict | list) and depth >= _DEPTH_LIMIT:
        return None
    if isinstance(value, dict):
        return None if masks else _masked_object(value, depth + 1)
    if isinstance(value, list):
        return [_masked(item, depth + 1, masks=masks) for item in value]
    return last_four(value) if masks else value
