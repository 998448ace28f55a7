"""The report put together: data, fit, evaluation on later time, every reason, and what a reader has to know first."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import sklearn

from api.cli.calibration.evaluation import (
    PSI_LOOK,
    Windows,
    bands_of,
    chances,
    migration,
    paired,
    psi,
    ranking,
    stability,
    verdict_of,
)
from api.cli.calibration.fitting import LEARNING_RATE, Fit
from api.cli.calibration.report import (
    BandTable,
    BinPart,
    CalibrationReport,
    DataPart,
    Exclusion,
    Finding,
    FitPart,
    Ranking,
    ReasonPart,
    SourceCount,
    StabilityPart,
    Window,
)
from api.cli.calibration.samples import BAD, NO_LABEL, OK, PROVISIONAL, Column, Samples
from features.catalogue.vector import FEATURE_VERSION, FeatureVector
from features.core.instants import format_instant
from features.core.measured import measured, rounded
from features.core.scorecards import Bin, Scorecard, scorecard_sha256
from features.scorers.engine import CompiledCard

METHOD: Final = "additive boosted stumps on the log-odds of bad, monotone where more is worse, read out as bins"
CARD: Final = "card"
CHAMPION: Final = "champion"
AMOUNT: Final = "amount"
FIRST_PAIR: Final = "first payment of a pair, larger first"
FIT: Final = "fit"
LATER: Final = "later"
FITTED: Final = "fitted to labels"
KEPT: Final = "kept from the champion"
GIVEN: Final = "given"
WARNING: Final = "warning"
NOTE: Final = "note"
_FEW_BAD: Final = 50
_OFTEN_LABELLED: Final = 0.9
_MANY_UNSCORED: Final = 0.02


class About(NamedTuple):
    """What the run was given. ``cut`` parts the fit window from later time."""

    now: int
    cut: int
    command: str
    source: str
    programs: tuple[str, ...]
    left_out: tuple[str, ...]
    exclusions: tuple[Exclusion, ...]


def report_of(
    about: About,
    samples: Samples,
    card: Scorecard,
    fit: Fit | None,
    champion: CompiledCard[FeatureVector],
    scores: Column,
) -> CalibrationReport:
    """``scores`` are those that the card gives to the samples, by the engine; ``fit`` None is a card that was given."""
    windows = Windows(samples.at < about.cut, samples.at >= about.cut)
    later, later_scores = samples.where(windows.later), scores[windows.later]
    labelled = later.is_labelled
    data = _data(about, samples, windows)
    rankings = _rankings(later, later_scores)
    bands = tuple(_bands(samples, scores, windows))
    steady = stability(samples, scores, windows)
    reasons = tuple(_reasons(samples, card, fit, champion, windows))
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
        reasons=reasons,
        migration=migration(later, later_scores),
        paired=paired(later.where(labelled), later_scores[labelled]),
        findings=(*_warnings(data, rankings, bands, steady, reasons), *_notes(data, fit)),
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
    labelled = samples.label != NO_LABEL
    for source in np.unique(samples.source[labelled]):
        label = samples.label[labelled & (samples.source == source)]
        yield SourceCount(
            source=str(source),
            bad=int(np.count_nonzero(label == BAD)),
            ok=int(np.count_nonzero(label == OK)),
            provisional=int(np.count_nonzero(label == PROVISIONAL)),
        )


def _fit(about: About, fit: Fit) -> FitPart:
    return FitPart(
        method=METHOD,
        library=f"scikit-learn {sklearn.__version__}",
        rounds=fit.rounds,
        learning_rate=LEARNING_RATE,
        base_log_odds=rounded(fit.base_log_odds),
        points_a_log_odd=rounded(fit.points_a_log_odd),
        hold_chance=rounded(fit.hold_chance),
        fitted=fit.fitted,
        kept=fit.kept,
        without_points=fit.without_points,
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


def _reasons(
    samples: Samples, card: Scorecard, fit: Fit | None, champion: CompiledCard[FeatureVector], windows: Windows
) -> Iterator[ReasonPart]:
    usable = samples.is_labelled & samples.is_scored
    base = float(np.mean(samples.label[usable] == BAD))
    base_later = float(np.mean(samples.label[usable & windows.later] == BAD))
    for each in card.signals:
        signal = champion.scorer.signals[each.id]
        column = samples.measures[:, samples.signal_ids.index(each.id)]
        places = [_within(column, part) & samples.is_scored for part in each.bins]
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
            origin=GIVEN if fit is None else FITTED if each.id in fit.fitted else KEPT,
            champion_points=max((part.points for part in usual), default=0),
            firing_fit=rounded(float(np.mean(fires[windows.fit]))),
            firing_later=rounded(float(np.mean(fires[windows.later]))),
            psi=psi(*counts),
            lift_later=_lift(samples, fires & usable & windows.later, base_later),
            bins=tuple(_bin(samples, part, place, usable, base) for part, place in zip(each.bins, places, strict=True)),
        )


def _within(column: Column, part: Bin) -> Column:
    below = np.inf if part.below is None else part.below
    return np.asarray((column >= part.at_least) & (column < below))


def _bin(samples: Samples, part: Bin, place: Column, usable: Column, base: float) -> BinPart:
    labelled = samples.label[place & usable]
    return BinPart(
        at_least=part.at_least,
        below=part.below,
        points=part.points,
        transfers=int(np.count_nonzero(place)),
        bad_share=measured(int(np.count_nonzero(labelled == BAD)), len(labelled)),
        lift=_lift(samples, place & usable, base),
    )


def _lift(samples: Samples, within: Column, base: float) -> float | None:
    labelled = samples.label[within]
    if not len(labelled) or not base:
        return None
    return rounded(float(np.mean(labelled == BAD)) / base)


def _warnings(
    data: DataPart,
    rankings: Sequence[Ranking],
    bands: Sequence[BandTable],
    steady: StabilityPart,
    reasons: Sequence[ReasonPart],
) -> Iterator[Finding]:
    by_name = {each.name: each for each in rankings}
    for name, rival in by_name.items():
        if name != CARD and by_name[CARD].average_precision <= rival.average_precision:
            yield _warning(f"The card ranks later time no better than the {name} does.")
    yield from _band_warnings(bands)
    if steady.verdict != "stable":
        yield _warning(
            f"Scores drift: their PSI from the fit window to later time is {steady.psi:.2f} ({steady.verdict})."
        )
    yield from _reason_warnings(reasons)
    if data.later.bad < _FEW_BAD or data.fit.bad < _FEW_BAD:
        few = f"{data.fit.bad:,} bad transfers in the fit window and {data.later.bad:,} after it"
        yield _warning(f"Few labels: {few}. Intervals are wide.")
    if data.later.unscored > _MANY_UNSCORED * data.later.transfers:
        yield _warning(f"{data.later.unscored:,} of {data.later.transfers:,} later transfers are unscored.")


def _band_warnings(bands: Sequence[BandTable]) -> Iterator[Finding]:
    table = next(each for each in bands if each.card == CARD and each.window == LATER)
    if table.rises is None:
        yield _warning("A band has no labelled transfer of later time: what it means is not proved.")
    elif not table.rises:
        yield _warning(
            "On later time the bands do not rise: clear, review and hold are not in the order of bad shares."
        )
    elif not table.apart:
        yield _warning("The bands rise, but their 95 % intervals on later time overlap.")


def _reason_warnings(reasons: Sequence[ReasonPart]) -> Iterator[Finding]:
    for reason in reasons:
        if reason.psi >= PSI_LOOK:
            yield _warning(f"{reason.id} drifts: its PSI is {reason.psi:.2f} ({verdict_of(reason.psi)}).")
    for reason in reasons:
        if reason.lift_later is not None and reason.lift_later <= 1 and any(part.points > 0 for part in reason.bins):
            yield _warning(
                f"{reason.id} has points, but on later time its firings are no more often bad than the rest."
            )


def _notes(data: DataPart, fit: Fit | None) -> Iterator[Finding]:
    total = data.fit.transfers + data.later.transfers
    labelled = data.fit.bad + data.fit.ok + data.later.bad + data.later.ok
    if labelled < _OFTEN_LABELLED * total:
        share = f"{labelled:,} of {total:,} transfers have a label that counts"
        yield _note(
            f"Labels are selective: {share}. Those that were looked at are more often bad, so recall is optimistic "
            "unless a random sample of the clear band is reviewed."
        )
    if data.matured.value is not None and data.matured.value < 1:
        share = f"{100 * data.matured.value:.1f} % of labels are matured"
        yield _note(f"{share}; those of younger transfers, bad or ok, count for nothing yet.")
    if fit is None:
        yield _note("The card was given: what it was fitted to is not known here, and may have been of later time.")
    else:
        yield from _fit_notes(fit)
    yield _note("The score is a sum of points, not a chance; the chances beside it are fitted to the fit window alone.")
    yield _note("One split by time is one experiment: fit again when labels, products or volumes change.")


def _fit_notes(fit: Fit) -> Iterator[Finding]:
    if fit.kept:
        yield _note(
            f"{len(fit.kept)} signals fired too rarely in the fit window to be fitted, and keep the champion's points: "
            f"{', '.join(fit.kept)}."
        )
    if fit.without_points:
        yield _note(f"Not in the card: {', '.join(fit.without_points)}.")
    if fit.hold_chance < 0.5:  # noqa: PLR2004 - even odds
        yield _note(
            f"Nothing reaches even odds often enough: the hold band begins where the fit says "
            f"{100 * fit.hold_chance:.0f} % bad."
        )


def _warning(sentence: str) -> Finding:
    return Finding(level=WARNING, sentence=sentence)


def _note(sentence: str) -> Finding:
    return Finding(level=NOTE, sentence=sentence)
