"""Days as people choose them, as instants of the interface."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta


def day_bounds(query: Mapping[str, str]) -> list[tuple[str, str]]:
    """The days ``from`` and ``to``, both inclusive, as the half-open instants of the interface; a text that is no day
    goes to its check as it is.
    """
    bounds = []
    for name, days in (("from", 0), ("to", 1)):
        text = query.get(name, "").strip()
        if text:
            bounds.append((name, _instant_of(text, days)))
    return bounds


def _instant_of(text: str, days: int) -> str:
    try:
        day = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC) + timedelta(days=days)
    except (ValueError, OverflowError):
        return text
    return day.isoformat(timespec="milliseconds").replace("+00:00", "Z")
