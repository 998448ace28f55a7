"""One calibration from scorings to files: measure, part by time, look for what forbids it, fit, score, report.

Errors  ``NoCardError`` when the labels do not allow a card, ``UnknownSignalError``
"""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from rich.progress import Progress

from clearhold.calibrate.checks import leaks_in, require_enough
from clearhold.calibrate.fitting import Fit, fit_card
from clearhold.calibrate.page import page_of
from clearhold.calibrate.report import CARD, LATER, WARNING, BandTable, CalibrationReport, Exclusion
from clearhold.calibrate.reporting import About, report_of
from clearhold.calibrate.request import DEFAULT_VOLUME, CalibrationOutcome, NoCardError, Request, UnknownSignalError
from clearhold.calibrate.samples import Samples, measure_all, scores_by
from clearhold.calibrate.steps import MOST_FIRING
from clearhold.features.catalogue.vector import FEATURE_VERSION
from clearhold.features.core.instants import format_instant
from clearhold.features.core.measured import Measured
from clearhold.features.scorers.cards import compile_card, faults_of
from clearhold.store.duck.scorings.labelled import MOST_SCORINGS, LabelledScorings

CHALLENGER: Final = "calibrated"
_DATE: Final = len("2026-09-09")
_INDENT: Final = 2


def calibrate(request: Request, scorings: LabelledScorings, progress: Progress) -> CalibrationOutcome:
    """Everything in one process, in two passes over the scorings."""
    champion = request.champion
    _check_left_out(request)
    if scorings.other_versions and not scorings.total:
        count = f"All {scorings.other_versions:,} scorings have features of another version than {FEATURE_VERSION}."
        raise NoCardError([f"{count} They lack what a card looks at: wait for new ones, or replay the log."])
    if not scorings.total:
        programs = " of these programs" if request.programs else ""
        raise NoCardError([f"There are no scorings{programs} up to {format_instant(request.now)}."])
    reading = progress.add_task("measure signals", total=scorings.total)
    samples = measure_all(scorings, champion, request.now, lambda count: progress.advance(reading, count))
    cut = _cut(samples, request.split)
    usable, earlier = samples.is_labelled & samples.is_scored, samples.at < cut
    require_enough(samples.where(usable & earlier), samples.where(usable & ~earlier))
    fitting = progress.add_task("fit points", total=1)
    fit = _fit(request, samples.where(earlier), cut) if request.card is None else None
    new = request.card if fit is None else fit.card
    assert new is not None
    progress.advance(fitting)
    scoring = progress.add_task("score with the card", total=scorings.total)
    card = compile_card(new, version=CHALLENGER)
    scores, shares = scores_by(card, scorings, samples, lambda count: progress.advance(scoring, count))
    if fit is None:
        _check_given(shares)
    report = report_of(_about(request, scorings, cut), samples, new, fit, champion, scores)
    return CalibrationOutcome(_json(new), _json(report), page_of(report), tuple(_summary(report)))


def _fit(request: Request, window: Samples, cut: int) -> Fit:
    """A card without faults."""
    to_fit = _without(window, request.leave_out)
    leaks = leaks_in(to_fit.where(to_fit.is_labelled & to_fit.is_scored), request.champion.scorer.signals)
    if leaks:
        raise NoCardError([f"{each.sentence} Leave it out with --leave-out {each.signal_id}." for each in leaks])
    name = request.name or f"Calibrated on labels up to {format_instant(cut)[:_DATE]}"
    fit = fit_card(to_fit, request.champion, name, request.leave_out, request.volume)
    faults = [f"{fault.path} {fault.sentence}." for fault in faults_of(fit.card)]
    if faults:
        raise NoCardError(faults)
    return fit


def _check_given(shares: Mapping[str, float]) -> None:
    """A card that was not fitted is refused where a reason has points on too many transfers."""
    usual = [
        f"{signal_id} has points on {100 * share:.1f} % of the scored transfers; at most {100 * MOST_FIRING:.0f} % may."
        for signal_id, share in sorted(shares.items())
        if share > MOST_FIRING
    ]
    if usual:
        raise NoCardError(usual)


def _check_left_out(request: Request) -> None:
    signals = request.champion.scorer.signals
    for signal_id in request.leave_out:
        if signal_id not in signals:
            raise UnknownSignalError(f"{signal_id} is no signal of {request.champion.scorer.name}.")
        if signals[signal_id].hard:
            raise UnknownSignalError(f"{signal_id} is hard: it stands in every card.")


def _cut(samples: Samples, split: float) -> int:
    """Where later time begins: so far into the time from the first label that counts to the last one."""
    labelled = samples.at[samples.is_labelled]
    if not len(labelled):
        raise NoCardError(["No scoring has a label that counts: bad or ok, of a transfer of 60 days and more."])
    first, last = int(labelled[0]), int(labelled[-1])
    return first + round(split * (last - first))


def _without(samples: Samples, left_out: tuple[str, ...]) -> Samples:
    """As if the signals had not been measured."""
    if not left_out:
        return samples
    measures = samples.measures.copy()
    for signal_id in left_out:
        measures[:, samples.signal_ids.index(signal_id)] = float("nan")
    return samples._replace(measures=measures)


def _about(request: Request, scorings: LabelledScorings, cut: int) -> About:
    words = ["clearhold", "calibrate", *request.options]
    words += ["--split", f"{request.split:g}", "--now", format_instant(request.now), "--out", "DIR"]
    words += [] if request.volume == DEFAULT_VOLUME else ["--volume", f"{request.volume:g}"]
    words += [] if request.name is None else ["--name", request.name]
    words += [word for program in request.programs for word in ("--program", program)]
    words += [word for signal_id in request.leave_out for word in ("--leave-out", signal_id)]
    return About(
        now=request.now,
        cut=cut,
        command=shlex.join(words),
        source=request.source,
        programs=request.programs,
        left_out=request.leave_out,
        volume=request.volume,
        exclusions=(
            Exclusion(why="features of another version", transfers=scorings.other_versions),
            Exclusion(why=f"older than the newest {MOST_SCORINGS:,}", transfers=scorings.older),
        ),
    )


def _json(body: Any) -> bytes:
    """Readable, since a person reviews it; the digest is of the canonical form."""
    return msgspec.json.format(msgspec.json.encode(body), indent=_INDENT) + b"\n"


def _summary(report: CalibrationReport) -> Iterator[str]:
    fit = report.fit
    origin = "given" if fit is None else f"{len(fit.fitted)} signals fitted, {len(fit.kept)} kept"
    yield f"{report.card_name}: {origin}"
    yield f"sha256 {report.card_sha256}"
    if fit is not None:
        sent = f"{fit.review_per_thousand:.1f} in review, {fit.hold_per_thousand:.1f} in hold"
        yield f"of 1,000 transfers of the fit window: {sent}; at most {fit.volume:g} were asked for"
    for refused in () if fit is None else fit.refused:
        yield f"refused: {refused.id} would have points on {100 * refused.firing:.1f} % of the transfers"
    for each in report.rankings:
        recalls = ", ".join(f"{_percent(at.recall)} at {at.per_thousand}" for at in each.at)
        yield f"{each.name}: average precision {each.average_precision:.3f}; recall {recalls} per 1,000"
    for table in report.bands:
        if table.window == LATER:
            yield f"{table.card}, later time: {_shares(table)}"
    warnings = [each.sentence for each in report.findings if each.level == WARNING]
    for sentence in warnings:
        yield f"warning: {sentence}"
    if not warnings:
        yield f"The {CARD} has no warnings."


def _shares(table: BandTable) -> str:
    return ", ".join(
        f"{each.band} {each.per_thousand or 0:.1f} of 1,000, {_percent(each.bad_share)} bad of {each.bad_share.n:,}"
        for each in table.bands
    )


def _percent(share: Measured) -> str:
    return "-" if share.value is None else f"{100 * share.value:.1f} %"
