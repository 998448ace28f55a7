"""Masking of the bank's objects before they are stored: no check images, messages or secrets, only last four digits.

A key is known by its letters or by its last word, whichever way it is spelt: the numbers of accounts and cards, and
those by which a state knows a person or a business. Routing, trace and check numbers and the bank's own ids stay. In
free text a long run of digits is masked where it stands.

Errors  none: data that is not a JSON object comes back as an empty one
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import msgspec

LAST: Final = 4
_DEPTH_LIMIT: Final = 32
_KEYS_REMEMBERED: Final = 4_096
_KEY_LENGTH_REMEMBERED: Final = 64

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NUMBER_WORDS: Final = frozenset({"number", "numbers", "num", "nbr", "no", "id", "value"})
_MASKED_WORDS: Final = frozenset({"pan", "ein", "fein", "tin", "itin", "micr"})
_MASKED_LETTERS: Final = re.compile(
    r"(?:(?:accounts?|accts?|acc|cards?|licen[cs]es?)(?:number|num|nbr|no)s?"
    r"|(?:tax|taxpayer|legal|national|socialsecurity)(?:id|identification|identity)?(?:number|num|nbr|no)"
    r"|(?:tax|taxpayer|legal|national)(?:id|identification|identity)"
    r"|(?:iban|bban|clabe|cardpan|ssn|micrline|passport|socialsecurity|drivers?licen[cs]e)(?:number|num|nbr|no)?s?)$"
)
_ACCOUNT_WORDS: Final = frozenset({"account", "accounts", "acct", "card", "cards"})
_TEXT_WORDS: Final = frozenset(
    {"addenda", "comment", "comments", "data", "description", "details", "info", "information", "instructions", "memo"}
    | {"message", "name", "names", "narrative", "note", "notes", "purpose", "reason", "reasons", "reference", "remarks"}
    | {"remittance", "text"}
)
_SECRET_WORDS: Final = frozenset(
    {"cvc", "cvv", "passphrase", "password", "passwords", "pin", "secret", "secrets", "token", "tokens"}
)
_SECRET_KEY: Final = re.compile(r"(?:(?:api|access|private|signing)keys?|securitycode)$")
_BARE_NUMBER: Final = re.compile(r"[A-Za-z]{0,4}\d[\d -]{3,}\d")
_LONG_NUMBER: Final = 10**8
_NUMBER_IN_TEXT: Final = re.compile(r"\d{9,}|\b\d{3}-\d{2}-\d{4}\b|\b\d{4}(?:[ -]\d{4}){2,}(?:[ -]\d{1,4})?\b")


class _Treatment(StrEnum):
    """How the value of a key is treated."""

    KEPT = "kept"
    MASKED = "masked"
    MASKED_IF_BARE = "masked if bare"  # an account may be named by its number or by the bank's id
    TEXT = "text"
    DROPPED = "dropped"


def _treatment(parent: str, key: str) -> _Treatment:
    """``parent`` is the key of the object around it: the number of an account may be ``account: {number}``."""
    if len(parent) + len(key) > _KEY_LENGTH_REMEMBERED:
        return _new_treatment(parent, key)
    return _remembered_treatment(parent, key)


def _new_treatment(parent: str, key: str) -> _Treatment:
    letters = _letters(key)
    words = [word.casefold() for word in _WORDS.findall(key)]
    last = words[-1] if words else ""
    while len(words) > 1 and words[-1] in _NUMBER_WORDS:
        words.pop()
    if "image" in letters or letters == "rawmessage":  # The text of a payment message holds whole account numbers.
        return _Treatment.DROPPED
    if (words and words[-1] in _SECRET_WORDS) or _SECRET_KEY.search(letters):
        return _Treatment.DROPPED
    if _MASKED_LETTERS.search(_letters(parent) + letters) or (words and words[-1] in _MASKED_WORDS):
        return _Treatment.MASKED
    if last in _ACCOUNT_WORDS:
        return _Treatment.MASKED_IF_BARE
    return _Treatment.TEXT if last in _TEXT_WORDS else _Treatment.KEPT


_remembered_treatment = lru_cache(maxsize=_KEYS_REMEMBERED)(_new_treatment)


def _letters(key: str) -> str:
    return "".join(filter(str.isalnum, key)).casefold()


def masked_raw(data: bytes | None) -> dict[str, Any]:
    """Decode the bank's object and mask it."""
    try:
        value = msgspec.json.decode(data or b"{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return _masked_object(value, "", 0) if isinstance(value, dict) else {}


def masked_text(data: bytes) -> str:
    """The masked object as JSON text."""
    return msgspec.json.encode(masked_raw(data)).decode()


def last_four(number: object) -> str | None:
    """The last four characters of an account number, or None when there is none."""
    return number.strip()[-LAST:] or None if isinstance(number, str) else None


def _masked_object(value: dict[str, Any], parent: str, depth: int) -> dict[str, Any]:
    treated = ((key, item, _treatment(parent, key)) for key, item in value.items())
    return {
        key: _masked(item, key, treatment, depth)
        for key, item, treatment in treated
        if treatment is not _Treatment.DROPPED
    }


def _masked(value: Any, key: str, treatment: _Treatment, depth: int) -> Any:
    """A list's items are treated as it is; an object in the place of a number becomes None."""
    if isinstance(value, dict | list) and depth >= _DEPTH_LIMIT:
        return None
    if isinstance(value, dict):
        return None if treatment is _Treatment.MASKED else _masked_object(value, key, depth + 1)
    if isinstance(value, list):
        return [_masked(item, key, treatment, depth + 1) for item in value]
    if treatment is _Treatment.MASKED:
        return last_four(value)
    if treatment is _Treatment.TEXT and isinstance(value, int) and abs(value) >= _LONG_NUMBER:
        value = str(value)
    return _masked_string(value, treatment) if isinstance(value, str) else value


def _masked_string(text: str, treatment: _Treatment) -> str | None:
    if treatment is _Treatment.MASKED_IF_BARE:
        return last_four(text) if _BARE_NUMBER.fullmatch(text.strip()) else text
    return _NUMBER_IN_TEXT.sub(_as_last_four, text) if treatment is _Treatment.TEXT else text


def _as_last_four(number: re.Match[str]) -> str:
    return f"****{number[0][-LAST:]}"
