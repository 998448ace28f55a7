"""Detectors of the bands: a transfer with a score in review or hold that is in no other alert.

Window  none: an alert on the transfer
Source  the promise of the bands: a person looks at every transfer in review or hold
"""

from collections.abc import Mapping
from typing import Final

from clearhold.features.core.vocabulary import Band
from clearhold.features.detectors.detector import HIGH, LOW, Detector, Grade, ReviewQuestion

BAND_REVIEW: Final = "band_review"
BAND_HOLD: Final = "band_hold"
DETECTOR_OF_BAND: Final[Mapping[Band, str]] = {Band.REVIEW: BAND_REVIEW, Band.HOLD: BAND_HOLD}
GRADE_OF_BAND: Final[Mapping[Band, Grade]] = {Band.REVIEW: LOW, Band.HOLD: HIGH}

DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id=BAND_REVIEW,
        opens_when="A score in the review band, and no other alert on the transfer or its parties names the transfer.",
        triggers=(),
        features=(),
        thresholds={},
        subjects=("transfer",),
        severities=(LOW.severity,),
        window="for good",
        review=ReviewQuestion(
            unexplained="what the signals of the score mean together; none of them opens an alert alone",
            next_step="look at the signals one by one and at the other transfers of the same parties",
        ),
    ),
    Detector(
        id=BAND_HOLD,
        opens_when="A score in the hold band, and no other alert on the transfer or its parties names it in that band.",
        triggers=(),
        features=(),
        thresholds={},
        subjects=("transfer",),
        severities=(HIGH.severity,),
        window="for good",
        review=ReviewQuestion(
            unexplained="what the signals of the score mean together; none of them opens an alert alone",
            next_step="keep the money where it is and ask the program for the purpose of the transfer",
        ),
    ),
)
