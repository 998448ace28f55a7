"""How texts of the bank are read: account and routing numbers, countries, currencies and times."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = datetime(1990, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_MOST_AHEAD: Final = timedelta(days=1)
_COUNTRIES: Final = (
    *(("US", "USA"), ("GB", "GBR"), ("GB", "UK"), ("DE", "DEU"), ("GR", "GRC"), ("GR", "EL"), ("IR", "IRN")),
    *(("KP", "PRK"), ("MM", "MMR"), ("CU", "CUB"), ("FR", "FRA"), ("CH", "CHE"), ("MX", "MEX"), ("VE", "VEN")),
    *(("JP", "JPN"), ("CA", "CAN")),
)
_BY_CODE: Final = {code: pair[0] for pair in _COUNTRIES for code in pair}


def letters_and_digits(number: str | None) -> str:
    return "".join(letter for letter in number or "" if letter.isalnum())


def last_four(number: str | None) -> str | None:
    return letters_and_digits(number)[-4:] or None


def routing_number(number: str | None) -> str | None:
    """Nine digits, or a BIC; None for anything else."""
    bare = letters_and_digits(number)
    is_bic = len(bare) in (8, 11) and bare[:6].isalpha() and not bare.isdigit()
    return bare if is_bic or (len(bare) == 9 and bare.isdigit()) else None


def country(code: Any) -> str | None:
    """None if missing or no country. Only the codes of the random streams are known here."""
    return _BY_CODE.get(code.strip().upper()) if isinstance(code, str) else None


def is_us_dollars(code: Any) -> bool:
    """A missing currency is US dollars; an unreadable one is not."""
    return code is None or (isinstance(code, str) and code.strip().upper() in ("", "USD"))


def usable_times(data: Any, appended_at: int) -> Any:
    """The object without impossible times; a leap second is the second after it."""
    if isinstance(data, list):
        return [usable_times(each, appended_at) for each in data]
    if not isinstance(data, dict):
        return data
    return {
        name: _usable_time(value, appended_at) if name.endswith(("_at", "_on")) else usable_times(value, appended_at)
        for name, value in data.items()
    }


def _usable_time(text: Any, appended_at: int) -> Any:
    if not isinstance(text, str) or "T" not in text:
        return text  # a date, or nothing
    leaps = text[17:19] == "60"
    at = datetime.fromisoformat(f"{text[:17]}59{text[19:]}" if leaps else text)
    if at.tzinfo is None:
        return None
    at = at.astimezone(UTC) + leaps * _SECOND
    if at < _FIRST or at > _EPOCH + timedelta(microseconds=appended_at) + _MOST_AHEAD:
        return None
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
