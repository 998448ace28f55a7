"""The report put together: data, fit, evaluation on later time, every reason, and what a reader has to know first."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import scipy

from clearhold.calibrate.checks import leaks_in
from clearhold.calibrate.evaluation import (
    Windows,
    bands_of,
    chances,
    migration,
    paired,
    psi,
    ranking,
    stability,
)
from clearhold.calibrate.findings import findings_of
from clearhold.calibrate.fitting import Fit
from clearhold.calibrate.points import is_in_bin
from clearhold.calibrate.report import (
    AMOUNT,
    CARD,
    CHAMPION,
    FIRST_PAIR,
    FIT,
    FITTED,
    GIVEN,
    HARD,
    KEPT,
    LATER,
    BandTable,
    BinPart,
    CalibrationReport,
    CapPart,
    DataPart,
    Exclusion,
    FitPart,
    Ranking,
    ReasonPart,
    RefusedReason,
    SourceCount,
    Window,
)
from clearhold.calibrate.samples import BAD, NO_LABEL, OK, PROVISIONAL, UNSCORED, Column, Samples
from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector
from clearhold.features.core.instants import format_instant
from clearhold.features.core.measured import Measured, measured, rounded
from clearhold.features.core.scorecards import Bin, Scorecard, scorecard_sha256
from clearhold.features.scorers.engine import CompiledCard

METHOD: Final = "a logistic regression on steps of all signals together, none of which goes down where more is worse"


class About(NamedTuple):
    """What the run was given. ``cut`` parts the fit window from later time."""

    now: int
    cut: int
    command: str
    source: str
    programs: tuple[str, ...]
    left_out: tuple[str, ...]
    volume: float
    exclusions: tuple[Exclusion, ...]


def report_of(
    about: About,
    samples: Samples,
    card: Scorecard,
    fit: Fit | None,
    champion: CompiledCard[FeatureVector],
    scores: Column,
) -> CalibrationReport:
    """``scores`` are the card's for the samples, by the engine; ``fit`` None is a given card."""
    windows = Windows(samples.at < about.cut, samples.at >= about.cut)
    later, later_scores = samples.where(windows.later), scores[windows.later]
    labelled = later.is_labelled
    data = _data(about, samples, windows)
    rankings = _rankings(later, later_scores)
    bands = tuple(_bands(samples, scores, windows))
    decisions = paired(later.where(labelled), later_scores[labelled])
    steady = stability(samples, scores, windows)
    reasons = tuple(_reasons(samples, scores, card, fit, champion, windows))
    leaks = leaks_in(_fitted(samples, windows), champion.scorer.signals) if fit is None else ()
    return CalibrationReport(
        generated_at=format_instant(about.now),
        scorer=card.scorer,
        card_name=card.name,
        card_sha256=scorecard_sha256(card),
        champion=champion.version,
        champion_sha256=scorecard_sha256(champion.card),
        command=about.command,
        data=data,
        fit=None if fit is None else _fit(about, fit),
        rankings=rankings,
        bands=bands,
        chance=chances(samples, scores, windows),
        stability=steady,
        floor=card.floor,
        program_floor=card.program_floor,
        caps=tuple(_caps(card, champion.card)),
        reasons=reasons,
        migration=migration(later, later_scores),
        paired=decisions,
        findings=tuple(findings_of(data, rankings, bands, steady, reasons, fit, leaks, decisions, about.volume)),
    )


def _data(about: About, samples: Samples, windows: Windows) -> DataPart:
    given = samples.label != NO_LABEL
    provisional = int(np.count_nonzero(samples.label == PROVISIONAL))
    total = int(np.count_nonzero(given))
    unlabelled = Exclusion(
        why="no label: counts for stability and volume alone", transfers=int(np.count_nonzero(~given))
    )
    young = Exclusion(why="label of a transfer younger than 60 days: provisional", transfers=provisional)
    return DataPart(
        source=about.source,
        programs=about.programs,
        feature_version=FEATURE_VERSION,
        fit=_window(samples, windows.fit, None, about.cut),
        later=_window(samples, windows.later, about.cut, None),
        labels_by_source=tuple(_sources(samples)),
        matured=measured(total - provisional, total),
        exclusions=(*about.exclusions, unlabelled, young),
        sha256=samples.sha256,
    )


def _window(samples: Samples, within: Column, start: int | None, end: int | None) -> Window:
    """One end is the cut, the other that of the samples."""
    some = samples.where(within)
    return Window(
        from_=format_instant(int(some.at[0]) if start is None else start),
        to=format_instant(int(some.at[-1]) + 1 if end is None else end),
        transfers=len(some.at),
        bad=int(np.count_nonzero(some.label == BAD)),
        ok=int(np.count_nonzero(some.label == OK)),
        unscored=int(np.count_nonzero(~some.is_scored)),
    )


def _sources(samples: Samples) -> Iterator[SourceCount]:
    counts = {"bad": BAD, "ok": OK, "provisional": PROVISIONAL}
    frame = pl.DataFrame({"source": samples.source, "label": samples.label}).filter(pl.col("label") != NO_LABEL)
    sources = frame.group_by("source").agg(**{name: (pl.col("label") == label).sum() for name, label in counts.items()})
    for row in sources.sort("source").iter_rows(named=True):
        yield SourceCount(**row)


def _fit(about: About, fit: Fit) -> FitPart:
    return FitPart(
        method=METHOD,
        library=f"SciPy {scipy.__version__}",
        base_log_odds=rounded(fit.base_log_odds),
        points_a_log_odd=rounded(fit.points_a_log_odd),
        hold_chance=rounded(fit.hold_chance),
        volume=about.volume,
        review_per_thousand=rounded(fit.volume.review),
        hold_per_thousand=rounded(fit.volume.hold),
        fitted=fit.fitted,
        kept=fit.kept,
        without_points=fit.without_points,
        refused=tuple(RefusedReason(id=each.signal_id, firing=rounded(each.firing)) for each in fit.refused),
        left_out=about.left_out,
    )


def _rankings(later: Samples, scores: Column) -> tuple[Ranking, ...]:
    pairs = np.where(later.is_first_pair, later.cents, -1)
    worths = ((CARD, scores), (CHAMPION, later.score), (AMOUNT, later.cents), (FIRST_PAIR, pairs))
    return tuple(ranking(name, later, worth) for name, worth in worths)


def _bands(samples: Samples, scores: Column, windows: Windows) -> Iterator[BandTable]:
    for card, column in ((CARD, scores), (CHAMPION, samples.score)):
        for window, within in ((FIT, windows.fit), (LATER, windows.later)):
            yield bands_of(card, window, samples.where(within), column[within])


def _fitted(samples: Samples, windows: Windows) -> Samples:
    """What a fit would look at."""
    return samples.where(samples.is_labelled & samples.is_scored & windows.fit)


def _caps(card: Scorecard, champion: Scorecard) -> Iterator[CapPart]:
    own, usual = ({cap.family: cap.points for cap in each.caps} for each in (card, champion))
    for family in {**usual, **own}:
        yield CapPart(family=family, points=own.get(family), champion_points=usual.get(family))


def _reasons(
    samples: Samples,
    scores: Column,
    card: Scorecard,
    fit: Fit | None,
    champion: CompiledCard[FeatureVector],
    windows: Windows,
) -> Iterator[ReasonPart]:
    scored = scores != UNSCORED
    usable = samples.is_labelled & scored
    before, after = usable & windows.fit, usable & windows.later
    base = _bad_share(samples, after)
    for each in card.signals:
        signal = champion.scorer.signals[each.id]
        column = samples.measures[:, samples.signal_ids.index(each.id)]
        places = [is_in_bin(column, part) & scored for part in each.bins]
        fires = np.any(places, axis=0)
        counts = [
            np.array([np.count_nonzero(place & window) for place in (*places, ~fires)])
            for window in (windows.fit, windows.later)
        ]
        usual = champion.bins_of(each.id)
        yield ReasonPart(
            id=each.id,
            name=signal.name,
            family=None if signal.family is None else signal.family.value,
            meaning=signal.meaning,
            unit=signal.unit,
            hard=signal.hard,
            origin=_origin(each.id, fit),
            champion_points=max((part.points for part in usual), default=0),
            firing_fit=rounded(float(np.mean(fires[windows.fit]))),
            firing_later=rounded(float(np.mean(fires[windows.later]))),
            psi=psi(*counts),
            later=_bad_share(samples, fires & after),
            lift_later=_lift(_bad_share(samples, fires & after), base),
            bins=tuple(
                _bin(part, place, _bad_share(samples, place & before), _bad_share(samples, place & after), base)
                for part, place in zip(each.bins, places, strict=True)
            ),
        )


def _origin(signal_id: str, fit: Fit | None) -> str:
    if fit is None:
        return GIVEN
    return FITTED if signal_id in fit.fitted else KEPT if signal_id in fit.kept else HARD


def _bin(part: Bin, place: Column, fit: Measured, later: Measured, base: Measured) -> BinPart:
    return BinPart(
        at_least=part.at_least,
        below=part.below,
        points=part.points,
        transfers=int(np.count_nonzero(place)),
        fit=fit,
        later=later,
        lift_later=_lift(later, base),
    )


def _bad_share(samples: Samples, within: Column) -> Measured:
    label = samples.label[within]
    return measured(int(np.count_nonzero(label == BAD)), len(label))


def _lift(share: Measured, base: Measured) -> float | None:
    return None if share.value is None or not base.value else rounded(share.value / base.value)
