"""The ids of a program's events, each with the checksum of the newest event under it and whether one took effect.

An entry is the checksum without its last bit, in whose place stands 1 once an event under the id took effect.
"""

from typing import Final

from clearhold.features.core.event_results import TAKES_EFFECT, EventResult

_EFFECT: Final = 1


def entry_of(checksum: int, result: EventResult) -> int:
    """What is stored of an event that had this result."""
    return checksum | _EFFECT if result in TAKES_EFFECT else checksum & ~_EFFECT


def earlier_result(stored: int | None, checksum: int) -> EventResult | None:
    """What becomes of an event because of those under its id before; None when it is new, or corrects them."""
    if stored is None:
        return None
    if stored | _EFFECT == checksum | _EFFECT:
        return EventResult.DUPLICATE
    return EventResult.CONFLICTING if stored & _EFFECT else None
