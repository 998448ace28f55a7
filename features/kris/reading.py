"""What one indicator reads from the state, before it is held against its lines."""

from typing import Final, NamedTuple


class Reading(NamedTuple):
    """``value`` is None, and ``n`` 0, for what was not measured."""

    value: float | None
    n: int
    note: str | None = None


UNMEASURED: Final = Reading(None, 0)


def ratio(numerator: float, denominator: float, n: int, note: str | None = None) -> Reading:
    """A raw ratio; not measured without a denominator."""
    return Reading(numerator / denominator, n, note) if n and denominator else Reading(None, 0, note)
