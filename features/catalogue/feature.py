"""One row of the feature catalogue."""

from typing import Final, NamedTuple

THE_TRANSFER: Final = "the transfer itself"
ALL_HISTORY: Final = "all history"


class Feature(NamedTuple):
    """The names of a feature, its type, unit and window, and its meaning."""

    name: str
    column: str
    type: str
    unit: str
    window: str
    meaning: str
