"""One case of a rule of trs-v1."""

from typing import Any, Final, NamedTuple

ALL_RAILS: Final = "ach wire realtime book intl_wire check card"
BUT_CARD: Final = "ach wire realtime book intl_wire check"
BUT_CHECK_AND_CARD: Final = "ach wire realtime book intl_wire"


class Case(NamedTuple):
    """What makes a reason appear on a quiet vector, and the nearest misses: each takes one condition away."""

    reason_id: str
    weight: int
    fires: dict[str, Any]
    misses: tuple[dict[str, Any], ...]
    rails: str = ALL_RAILS
    hard: bool = False
