"""The reading of one indicator from the state, before it is compared with its lines."""

from typing import Final, NamedTuple


class Reading(NamedTuple):
    """``value`` is None and ``n`` 0 when nothing was measured."""

    value: float | None
    n: int
    note: str | None = None


UNMEASURED: Final = Reading(None, 0)


def ratio(numerator: float, denominator: float, n: int, note: str | None = None) -> Reading:
    """A raw ratio; not measured without a denominator."""
    return Reading(numerator / denominator, n, note) if n and denominator else Reading(None, 0, note)
