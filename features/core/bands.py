"""Score bands: clear 0-29, review 30-69, hold 70-100; a score that was not measured is unscored, never clear."""

from typing import Final

from clearhold.features.core.vocabulary import Band

REVIEW_FROM: Final = 30
HOLD_FROM: Final = 70


def band_of(score: int | None) -> Band:
    return _UNSCORED if score is None else _BANDS[(score >= REVIEW_FROM) + (score >= HOLD_FROM)]


def band_word(score: int | None) -> str:
    """The same as the word in rows."""
    return _UNSCORED_WORD if score is None else _BAND_WORDS[(score >= REVIEW_FROM) + (score >= HOLD_FROM)]


_BANDS: Final = (Band.CLEAR, Band.REVIEW, Band.HOLD)
_UNSCORED: Final = Band.UNSCORED
_BAND_WORDS: Final = tuple(band.value for band in _BANDS)
_UNSCORED_WORD: Final = Band.UNSCORED.value
