"""Masking of the bank's objects before they are stored: no check images, messages or secrets, only last four digits.

A key is recognised by its letters or its last word, in any spelling: the numbers of accounts and cards, and the numbers
by which a state knows a person or a business. Routing, trace and check numbers and the bank's ids stay. In all other
text, numbers of accounts, cards and people and keys and tokens are masked in place.

Errors  none: data that is not a JSON object comes back as an empty one
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import msgspec

from clearhold.features.core.plain_text import last_four

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
_NUMBERS: Final = (
    r"\b(?:[a-z]{1,8}_)?(?:op|whsec|adm|live|test|sk|pk|rk|key|token|secret)_[A-Za-z0-9_-]{12,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?",
    r"\b[A-Z]{2}[0-9]{2}[A-Z0-9]{7,26}([A-Z0-9]{4})\b",  # IBAN, and in groups
    r"\b[A-Z]{2}[0-9]{2}(?:[ -][A-Z0-9]{4}){2,7}(?:[ -]([A-Z0-9]{1,3}))?\b",
    r"[0-9]{5,}([0-9]{4})",
    r"\b[0-9]{3}[ -][0-9]{2}[ -]([0-9]{4})\b",  # SSN and ITIN
    r"\b[0-9]{2}-[0-9]{3}([0-9]{4})\b",  # EIN
    r"\b[0-9]{4}[ -][0-9]{6}[ -][0-9]([0-9]{4})\b",
    r"\b[0-9]{4}(?:[ -][0-9]{4})+[ -]([0-9]{1,4})\b",
)
NUMBER_IN_TEXT: Final = "|".join(_NUMBERS)
"""Secrets in text, in a pattern that Python and RE2 read alike; the groups are the digits that may stay."""

_NUMBER_IN_TEXT: Final = re.compile(NUMBER_IN_TEXT)
_STAYING_WORDS: Final = frozenset(
    {"id", "ids", "number", "numbers", "num", "nbr", "no", "value", "values", "key", "keys", "cents", "sha", "hash"}
    | {"imad", "omad", "uetr", "phone", "at", "url", "version"}
)
_PLAIN: Final = re.compile(r"[A-Za-z0-9+().:/_#-]{1,128}|[+(]?[0-9][0-9 ().+-]{4,20}")  # no prose
_ROUTING: Final = re.compile(r"[0-9]{9}|[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")
_ID: Final = re.compile(
    r"(?!(?:op|whsec|adm|live|test|sk|pk|rk|key|token|secret)_)[a-z]{2,12}_[A-Za-z0-9]{1,64}"
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|0x[0-9A-Fa-f]{8,128}"  # an address or a hash of a chain, where everybody may read it
)


class _Treatment(StrEnum):
    """How the value of a key is treated."""

    KEPT = "kept"
    ROUTING = "routing"  # a bank's number, if it has the form of one
    TEXT_OR_ID = "text or id"
    MASKED = "masked"
    MASKED_IF_BARE = "masked if bare"  # an account may be named by its number or by the bank's id
    TEXT = "text"
    DROPPED = "dropped"


_OF_LAST_WORD: Final = dict.fromkeys(_TEXT_WORDS, _Treatment.TEXT) | dict.fromkeys(_STAYING_WORDS, _Treatment.KEPT)
_STAYS: Final = {_Treatment.KEPT: _PLAIN, _Treatment.ROUTING: _ROUTING, _Treatment.TEXT_OR_ID: _ID}
"""By treatment, the form of a text that stays unmasked."""


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
    if words and words[-1] == "routing":
        return _Treatment.ROUTING
    return _OF_LAST_WORD.get(last, _Treatment.TEXT_OR_ID)


_remembered_treatment = lru_cache(maxsize=_KEYS_REMEMBERED)(_new_treatment)


def _letters(key: str) -> str:
    return "".join(filter(str.isalnum, key)).casefold()


class _SentEvent(msgspec.Struct, frozen=True):
    data: msgspec.Raw = msgspec.Raw(b"{}")


_SENT_EVENT: Final = msgspec.json.Decoder(_SentEvent)


def object_in(event: bytes) -> bytes:
    """The bank's object in an event that was taken in, as JSON."""
    return bytes(_SENT_EVENT.decode(event).data)


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


def masked_prose(text: str) -> str:
    """A person's text with at most the last four of each number, and no key or token."""
    return _NUMBER_IN_TEXT.sub(lambda number: f"****{number[number.lastindex] if number.lastindex else ''}", text)


def _masked_object(value: dict[str, Any], parent: str, depth: int) -> dict[str, Any]:
    treated = ((key, item, _treatment(parent, key)) for key, item in value.items())
    return {
        key: _masked(item, key, treatment, depth)
        for key, item, treatment in treated
        if treatment is not _Treatment.DROPPED
    }


def _masked(value: Any, key: str, treatment: _Treatment, depth: int) -> Any:
    """A list's items are treated like the list; an object in the place of a number becomes None."""
    if isinstance(value, dict | list) and depth >= _DEPTH_LIMIT:
        return None
    if isinstance(value, dict):
        return None if treatment is _Treatment.MASKED else _masked_object(value, key, depth + 1)
    if isinstance(value, list):
        return [_masked(item, key, treatment, depth + 1) for item in value]
    if treatment is _Treatment.MASKED:
        return last_four(value) if isinstance(value, str) else None
    if treatment is _Treatment.TEXT and isinstance(value, int) and abs(value) >= _LONG_NUMBER:
        value = str(value)
    return _masked_string(value, treatment) if isinstance(value, str) else value


def _masked_string(text: str, treatment: _Treatment) -> str | None:
    if treatment is _Treatment.MASKED_IF_BARE:
        return last_four(text) if _BARE_NUMBER.fullmatch(text.strip()) else text
    staying = _STAYS.get(treatment)
    return text if staying is not None and staying.fullmatch(text.strip()) else masked_prose(text)
