"""One row of the feature catalogue."""

from typing import Final, NamedTuple

THE_TRANSFER: Final = "the transfer itself"
ALL_HISTORY: Final = "all history"


class Feature(NamedTuple):
    """What a feature is called, what it is measured in, over which window, and how."""

    name: str
    column: str
    type: str
    unit: str
    window: str
    meaning: str
