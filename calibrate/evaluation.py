"""What scores are worth on labels: rankings at volumes, bands, chances, stability, paired decisions.

Null    an unscored transfer is ranked behind all others, and is no alert; a bad one is missed
Source  risk-domain conventions: precision and recall over ROC, Wilson intervals, a stability index for drift
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import average_precision_score, brier_score_loss

from clearhold.calibrate.report import (
    BandShare,
    BandTable,
    ChancePart,
    Decile,
    Move,
    PairedPart,
    Ranking,
    RankingAt,
    StabilityPart,
    WeekPart,
)
from clearhold.calibrate.samples import BAD, OK, UNSCORED, Column, Samples
from clearhold.features.core.instants import week_of
from clearhold.features.core.measured import measured, rounded
from clearhold.features.core.scorecards import ACT, LAST_TEN, LOOK, SCORE_CLASSES, UNSCORED_CLASS, stability_index
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM, Band, band_word

VOLUMES: Final = (5, 10, 20, 35)
"""Alerts per 1,000 transfers."""

RESAMPLES: Final = 100
CURVE: Final = tuple(range(0, 101, 5))
FEWEST_BAD_FOR_CHANCES: Final = 50
DECILES: Final = 10
BANDS: Final = (Band.CLEAR, Band.REVIEW, Band.HOLD)
_SEED: Final = 18


class Windows(NamedTuple):
    """Which samples are of the time that was fitted, and which of the time after it."""

    fit: Column
    later: Column


def ranking(name: str, samples: Samples, worth: Column) -> Ranking:
    """Samples by what a ranking gives them, the most first; ties are broken by key, the same for all.

    Alerts are counted among all samples, and their value on the labelled ones.
    """
    order = np.lexsort((samples.key, -worth))
    label = samples.label[order]
    bad, ranks = label[label >= OK] == BAD, worth[order][label >= OK]
    precision = np.cumsum(bad) / np.arange(1, len(bad) + 1)
    recall = np.cumsum(bad) / max(1, np.count_nonzero(bad))
    curve = [float(np.max(precision[recall >= percent / 100 - 1e-12], initial=0.0)) for percent in CURVE]
    low, high = _interval(bad, ranks)
    return Ranking(
        name=name,
        average_precision=rounded(float(average_precision_score(bad, ranks))),
        low=low,
        high=high,
        at=tuple(_at(label, per_thousand) for per_thousand in VOLUMES),
        curve=tuple(rounded(each) for each in curve),
    )


def _at(label_in_order: Column, per_thousand: int) -> RankingAt:
    alerts = round(len(label_in_order) * per_thousand / 1000)
    alerted = label_in_order[:alerts]
    caught = int(np.count_nonzero(alerted == BAD))
    return RankingAt(
        per_thousand=per_thousand,
        alerts=alerts,
        precision=measured(caught, int(np.count_nonzero(alerted >= OK))),
        recall=measured(caught, int(np.count_nonzero(label_in_order == BAD))),
    )


def _interval(bad: Column, ranks: Column) -> tuple[float | None, float | None]:
    """The 95 % interval of the average precision of samples in the order of a ranking, by drawing them again, always
    the same draws.
    """
    draws, ends = np.random.default_rng(_SEED), np.flatnonzero(np.diff(ranks, append=ranks[-1] - 1))
    values = []
    for _ in range(RESAMPLES):
        count = np.bincount(draws.integers(0, len(bad), len(bad)), minlength=len(bad))
        caught = np.cumsum(count * bad)[ends]
        if caught[-1]:
            drawn = np.maximum(np.cumsum(count)[ends], 1)
            values.append(float(np.sum(np.diff(caught, prepend=0) / caught[-1] * caught / drawn)))
    if not values:
        return None, None
    low, high = np.quantile(values, (0.025, 0.975))
    return rounded(float(low)), rounded(float(high))


def bands_of(card: str, window: str, samples: Samples, scores: Column) -> BandTable:
    """How often each band is bad. ``rises`` is null while a band has no labelled transfer."""
    words = np.array([band_word(None if score == UNSCORED else score) for score in scores.tolist()], np.str_)
    shares = []
    for band in (*BANDS, Band.UNSCORED):
        within = words == band.value
        labelled = samples.label[within & samples.is_labelled]
        share = measured(int(np.count_nonzero(labelled == BAD)), len(labelled))
        shares.append(BandShare(band=band.value, transfers=int(np.count_nonzero(within)), bad_share=share))
    clear, review, hold = (each.bad_share for each in shares[: len(BANDS)])
    rises = apart = None
    if clear.value is not None and review.value is not None and hold.value is not None:
        rises = clear.value < review.value < hold.value
        apart = (clear.high or 0) < (review.low or 0) and (review.high or 0) < (hold.low or 0)
    return BandTable(card=card, window=window, bands=tuple(shares), rises=rises, apart=apart)


def chances(samples: Samples, scores: Column, windows: Windows) -> ChancePart | None:
    """Null where fewer than 50 bad transfers were fitted, or none is left to judge: the band table stands alone."""
    usable = samples.is_labelled & (scores != UNSCORED)
    before, after = usable & windows.fit, usable & windows.later
    if np.count_nonzero(samples.label[before] == BAD) < FEWEST_BAD_FOR_CHANCES or not after.any():
        return None
    curve = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    curve.fit(scores[before], samples.label[before] == BAD)
    chance, bad = curve.predict(scores[after]), samples.label[after] == BAD
    base = float(np.mean(bad))
    brier = float(brier_score_loss(bad, chance))
    deciles = list(_deciles(chance, bad))
    gap = sum(each.bad_share.n * abs(each.mean_chance - (each.bad_share.value or 0)) for each in deciles)
    grid = np.arange(0, 101, 10)
    return ChancePart(
        brier=rounded(brier),
        skill=rounded(1 - brier / (base * (1 - base))) if 0 < base < 1 else None,
        ece=rounded(gap / len(bad)),
        deciles=tuple(deciles),
        points=tuple((int(at), rounded(float(each))) for at, each in zip(grid, curve.predict(grid), strict=True)),
    )


def _deciles(chance: Column, bad: Column) -> Iterator[Decile]:
    """By chance, equal ones together: many transfers have the least one."""
    edges = np.unique(np.linspace(0, 1, DECILES + 1))
    place = np.clip(np.digitize(chance, edges) - 1, 0, DECILES - 1)
    for each in range(DECILES):
        within = place == each
        if within.any():
            share = measured(int(np.count_nonzero(bad[within])), int(np.count_nonzero(within)))
            yield Decile(mean_chance=rounded(float(np.mean(chance[within]))), bad_share=share)


def psi(before: Column, after: Column) -> float:
    """The population stability index of two counts of the same classes."""
    return rounded(stability_index(before.tolist(), after.tolist()))


def stability(samples: Samples, scores: Column, windows: Windows) -> StabilityPart:
    """Every transfer counts, labelled or not."""
    reference = _classes(scores[windows.fit])
    index = psi(reference, _classes(scores[windows.later]))
    weeks = np.array([str(week_of(at)) for at in samples.at.tolist()], np.str_)
    rows = []
    for week in np.unique(weeks):
        within = weeks == week
        of_week = scores[within]
        counts = {band: int(np.count_nonzero(_is_in(of_week, band))) for band in Band}
        rows.append(
            WeekPart(
                week=str(week),
                transfers=len(of_week),
                clear=counts[Band.CLEAR],
                review=counts[Band.REVIEW],
                hold=counts[Band.HOLD],
                unscored=counts[Band.UNSCORED],
                bad=int(np.count_nonzero(samples.label[within] == BAD)),
                psi=psi(reference, _classes(of_week)) if len(of_week) else None,
                in_fit=bool(windows.fit[within].all()),
            )
        )
    return StabilityPart(psi=index, verdict=verdict_of(index), weeks=tuple(rows))


def verdict_of(index: float) -> str:
    return "act" if index >= ACT else "look" if index >= LOOK else "stable"


def migration(samples: Samples, scores: Column) -> tuple[Move, ...]:
    """From the champion's band to the card's."""
    moves = []
    for before in Band:
        for after in Band:
            within = _is_in(samples.score, before) & _is_in(scores, after)
            if within.any():
                label = samples.label[within]
                moves.append(
                    Move(
                        champion=before.value,
                        card=after.value,
                        transfers=int(np.count_nonzero(within)),
                        bad=int(np.count_nonzero(label == BAD)),
                        ok=int(np.count_nonzero(label == OK)),
                    )
                )
    return tuple(moves)


def paired(samples: Samples, scores: Column) -> PairedPart:
    """Of labelled samples: which of the two alone was right to alert, or not to."""
    bad = samples.label == BAD
    card, champion = (scores >= REVIEW_FROM) == bad, (samples.score >= REVIEW_FROM) == bad
    only_card = int(np.count_nonzero(card & ~champion))
    only_champion = int(np.count_nonzero(champion & ~card))
    total = only_card + only_champion
    p_value = float(binomtest(only_card, total).pvalue) if total else 1.0
    return PairedPart(only_card_right=only_card, only_champion_right=only_champion, p_value=rounded(p_value))


def _is_in(scores: Column, band: Band) -> Any:
    if band is Band.UNSCORED:
        return scores == UNSCORED
    start, end = {Band.CLEAR: (0, REVIEW_FROM), Band.REVIEW: (REVIEW_FROM, HOLD_FROM), Band.HOLD: (HOLD_FROM, 101)}[
        band
    ]
    return (scores >= start) & (scores < end)


def _classes(scores: Column) -> Column:
    classes = np.where(scores == UNSCORED, UNSCORED_CLASS, np.minimum(scores // 10, LAST_TEN))
    return np.bincount(classes, minlength=SCORE_CLASSES)
