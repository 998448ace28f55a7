"""The ids of a program's events, each with the checksum of its newest event and whether one took effect.

An entry is the checksum with its last bit replaced: 1 once an event under the id took effect.
"""

from typing import Final

from clearhold.features.core.event_results import TAKES_EFFECT, EventResult

_EFFECT: Final = 1


def entry_of(checksum: int, result: EventResult) -> int:
    """The stored entry of an event with this result."""
    return checksum | _EFFECT if result in TAKES_EFFECT else checksum & ~_EFFECT


def earlier_result(stored: int | None, checksum: int) -> EventResult | None:
    """The result of an event, given the stored entry of its id; None when it is new, or corrects earlier ones."""
    if stored is None:
        return None
    if stored | _EFFECT == checksum | _EFFECT:
        return EventResult.DUPLICATE
    return EventResult.CONFLICTING if stored & _EFFECT else None
