"""The bank's object as it may be kept and shown: no check images, account numbers cut to their last four.

Errors  none: data that is not a JSON object comes back as an empty one
"""

from typing import Any, Final

import msgspec

LAST: Final = 4
_DEPTH_LIMIT: Final = 32
_MASKED_KEYS: Final = frozenset({"iban", "ssn", "ein", "micr_line", "passport", "drivers_license", "national_id"})
_IMAGE_KEYS: Final = frozenset(
    {"image", "images", "image_front", "image_back", "front_image", "back_image", "check_image"}
)
_SENSITIVE: Final = (
    b"account_number",
    b"image",
    b"iban",
    b"ssn",
    b"ein",
    b"micr",
    b"passport",
    b"license",
    b"national_id",
)


def masked_raw(data: bytes | None) -> dict[str, Any]:
    """Decode the bank's object and mask it."""
    try:
        value = msgspec.json.decode(data or b"{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return _masked_object(value, 0) if isinstance(value, dict) else {}


def masked_text(data: bytes) -> str:
    """The masked object as JSON text; objects without sensitive keys are passed through as they are."""
    if any(word in data for word in _SENSITIVE):
        return msgspec.json.encode(masked_raw(data)).decode()
    return data.decode()


def last_four(number: object) -> str | None:
    """The last four characters of an account number, or None when there is none."""
    return number.strip()[-LAST:] or None if isinstance(number, str) else None


def _masked_object(value: dict[str, Any], depth: int) -> dict[str, Any]:
    return {key: _masked(key, item, depth) for key, item in value.items() if key not in _IMAGE_KEYS}


def _masked(key: str, value: Any, depth: int) -> Any:
    if key in _MASKED_KEYS or (key.endswith("account_number") and not isinstance(value, dict | list)):
        return last_four(value) if isinstance(value, str) else None
    if depth >= _DEPTH_LIMIT:
        return None
    if isinstance(value, dict):
        return _masked_object(value, depth + 1)
    if isinstance(value, list):
        return [_masked(key, item, depth + 1) for item in value]
    return value
