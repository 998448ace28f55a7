"""What a calibration is given and gives, apart from what fits: the command knows these before it loads the extra."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.scorers.engine import CompiledCard

DEFAULT_VOLUME: Final = 20.0
"""Of 1,000 transfers, those in review and hold together."""


class NoCardError(Exception):
    """No card can be made of the labels; one sentence a reason."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(" ".join(reasons))
        self.reasons = tuple(reasons)


class UnknownSignalError(Exception):
    """A signal is to be left out that the scorer does not have, or that is hard."""


class Request(NamedTuple):
    """The first ``split`` of the labelled time up to ``now`` is fitted, unless a card is given. Without a name the card
    is named after its end. ``options`` name the inputs and the comparison, for a repeat of the run. ``volume`` is the
    most transfers of 1,000 that review and hold may have together.
    """

    champion: CompiledCard[FeatureVector]
    card: Scorecard | None
    name: str | None
    split: float
    leave_out: tuple[str, ...]
    now: int
    programs: tuple[str, ...]
    source: str
    options: tuple[str, ...]
    volume: float = DEFAULT_VOLUME


class CalibrationOutcome(NamedTuple):
    """The files' content, and the printed text."""

    card_json: bytes
    report_json: bytes
    page: bytes
    summary: tuple[str, ...]
