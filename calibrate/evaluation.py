"""What scores are worth on labels: rankings at volumes, bands, chances, stability, paired decisions.

Null    an unscored transfer is ranked behind all others, and is no alert; a bad one is missed
Source  risk-domain conventions: precision and recall over ROC, Wilson intervals, a stability index for drift
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import polars as pl
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
from clearhold.features.core.measured import measured, rounded
from clearhold.features.core.scorecards import ACT, LAST_TEN, LOOK, SCORE_CLASSES, UNSCORED_CLASS, stability_index
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM, Band

VOLUMES: Final = (5, 10, 20, 35)
"""Alerts per 1,000 transfers."""

RESAMPLES: Final = 100
CURVE: Final = tuple(range(0, 101, 5))
FEWEST_BAD_FOR_CHANCES: Final = 50
DECILES: Final = 10
BANDS: Final = (Band.CLEAR, Band.REVIEW, Band.HOLD)
_ISO_WEEK: Final = "%G-W%V"
_SEED: Final = 18
_COUNTS: Final = (
    pl.len().alias("transfers"),
    (pl.col("label") == BAD).sum().alias("bad"),
    (pl.col("label") == OK).sum().alias("ok"),
)


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
    frame = pl.DataFrame({"score": scores, "label": samples.label}).group_by(_band("score")).agg(*_COUNTS)
    counts = {band: rest for band, *rest in frame.iter_rows()}
    shares = []
    for band in (*BANDS, Band.UNSCORED):
        transfers, bad, ok = counts.get(band.value, (0, 0, 0))
        volume = rounded(1_000 * transfers / len(scores)) if len(scores) else None
        shares.append(
            BandShare(band=band.value, transfers=transfers, per_thousand=volume, bad_share=measured(bad, bad + ok))
        )
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
    frame = pl.DataFrame({"at": samples.at, "score": scores, "label": samples.label, "in_fit": windows.fit})
    week_of_each = pl.col("at").cast(pl.Datetime("us")).dt.strftime(_ISO_WEEK)
    by_week = frame.sort("at").group_by(week_of_each.alias("week"), maintain_order=True)
    rows = []
    for (week,), part in by_week:
        counts = dict(part.select(_band("score")).to_series().value_counts().iter_rows())
        rows.append(
            WeekPart(
                week=str(week),
                transfers=len(part),
                clear=counts.get(Band.CLEAR.value, 0),
                review=counts.get(Band.REVIEW.value, 0),
                hold=counts.get(Band.HOLD.value, 0),
                unscored=counts.get(Band.UNSCORED.value, 0),
                bad=int((part["label"] == BAD).sum()),
                psi=psi(reference, _classes(part["score"].to_numpy())),
                in_fit=bool(part["in_fit"].all()),
            )
        )
    return StabilityPart(psi=index, verdict=verdict_of(index), weeks=tuple(rows))


def verdict_of(index: float) -> str:
    return "act" if index >= ACT else "look" if index >= LOOK else "stable"


def migration(samples: Samples, scores: Column) -> tuple[Move, ...]:
    """From the champion's band to the card's."""
    frame = pl.DataFrame({"champion": samples.score, "card": scores, "label": samples.label})
    moves = frame.group_by(_band("champion"), _band("card")).agg(*_COUNTS)
    order = [band.value for band in Band]
    return tuple(
        Move(champion=champion, card=card, transfers=transfers, bad=bad, ok=ok)
        for champion, card, transfers, bad, ok in sorted(
            moves.iter_rows(), key=lambda move: (order.index(move[0]), order.index(move[1]))
        )
    )


def paired(samples: Samples, scores: Column) -> PairedPart:
    """Of labelled samples: which of the two alone was right to alert, or not to."""
    bad = samples.label == BAD
    card, champion = (scores >= REVIEW_FROM) == bad, (samples.score >= REVIEW_FROM) == bad
    only_card = int(np.count_nonzero(card & ~champion))
    only_champion = int(np.count_nonzero(champion & ~card))
    total = only_card + only_champion
    p_value = float(binomtest(only_card, total).pvalue) if total else 1.0
    return PairedPart(only_card_right=only_card, only_champion_right=only_champion, p_value=rounded(p_value))


def _band(score: str) -> pl.Expr:
    """The word of the band of a column of scores."""
    return (
        pl.when(pl.col(score) >= HOLD_FROM)
        .then(pl.lit(Band.HOLD.value))
        .when(pl.col(score) >= REVIEW_FROM)
        .then(pl.lit(Band.REVIEW.value))
        .when(pl.col(score) == UNSCORED)
        .then(pl.lit(Band.UNSCORED.value))
        .otherwise(pl.lit(Band.CLEAR.value))
        .alias(score)
    )


def _classes(scores: Column) -> Column:
    classes = np.where(scores == UNSCORED, UNSCORED_CLASS, np.minimum(scores // 10, LAST_TEN))
    return np.bincount(classes, minlength=SCORE_CLASSES)
