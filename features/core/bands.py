"""Score bands: clear 0-29, review 30-69, hold 70-100; a score that was not measured is unscored, never clear."""

from typing import Final

from features.core.vocabulary import Band

REVIEW_FROM: Final = 30
HOLD_FROM: Final = 70


def band_of(score: int | None) -> Band:
    """Clear 0-29, review 30-69, hold 70-100; a score that was not measured is unscored, never clear."""
    return _BANDS[_place(score)]


def band_word(score: int | None) -> str:
    """The same as the word that rows keep."""
    return _BAND_WORDS[_place(score)]


_BANDS: Final = (Band.CLEAR, Band.REVIEW, Band.HOLD, Band.UNSCORED)
_BAND_WORDS: Final = tuple(band.value for band in _BANDS)


def _place(score: int | None) -> int:
    if score is None:
        return 3
    return (score >= REVIEW_FROM) + (score >= HOLD_FROM)
