"""What a reader of a report has to know first: warnings, and what the data cannot say.

None of it forbids a card. An approver has read them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearhold.calibrate.checks import Leak
from clearhold.calibrate.evaluation import verdict_of
from clearhold.calibrate.fitting import Fit
from clearhold.calibrate.report import (
    CARD,
    CHAMPION,
    LATER,
    NOTE,
    WARNING,
    BandTable,
    CalibrationFinding,
    DataPart,
    PairedPart,
    Ranking,
    ReasonPart,
    StabilityPart,
)
from clearhold.calibrate.steps import MOST_FIRING
from clearhold.features.core.scorecards import LOOK
from clearhold.features.core.vocabulary import Band

_FEW_BAD: Final = 50
_OFTEN_LABELLED: Final = 0.9
_MANY_UNSCORED: Final = 0.02
_FEW_FIRINGS: Final = 30
_NEARLY_ALL: Final = 0.95
_LEAST_P: Final = 0.05


def findings_of(
    data: DataPart,
    rankings: Sequence[Ranking],
    bands: Sequence[BandTable],
    steady: StabilityPart,
    reasons: Sequence[ReasonPart],
    fit: Fit | None,
    leaks: Sequence[Leak],
    paired: PairedPart,
    volume: float,
) -> Iterator[CalibrationFinding]:
    """Warnings first. ``leaks`` are those of the signals of a given card: a fit would have taken none."""
    yield from _warnings(data, rankings, bands, steady)
    if (sent := _sent(bands)) > volume:
        yield _warning(
            f"The card sends {sent:.1f} of 1,000 later transfers to review and hold; {volume:g} were asked for."
        )
    if paired.only_champion_right > paired.only_card_right and paired.p_value < _LEAST_P:
        yield _warning(
            f"At the line of review the champion alone is right {paired.only_champion_right:,} times, the card alone "
            f"{paired.only_card_right:,} times: it alerts on more good transfers, or misses bad ones."
        )
    yield from _reason_warnings(reasons)
    weighed = {reason.id for reason in reasons if any(part.points for part in reason.bins)}
    yield from (_warning(leak.sentence) for leak in leaks if leak.signal_id in weighed)
    yield from _notes(data, fit)


def _warnings(
    data: DataPart, rankings: Sequence[Ranking], bands: Sequence[BandTable], steady: StabilityPart
) -> Iterator[CalibrationFinding]:
    by_name = {each.name: each for each in rankings}
    for name, rival in by_name.items():
        if name != CARD and by_name[CARD].average_precision <= rival.average_precision:
            yield _warning(f"The card ranks later time no better than the {name} does.")
    pairs = zip(by_name[CARD].at, by_name[CHAMPION].at, strict=True)
    fewer = [str(own.per_thousand) for own, usual in pairs if (own.recall.value or 0) < (usual.recall.value or 0)]
    if fewer:
        yield _warning(
            f"At {' and '.join(fewer)} alerts per 1,000 the card catches fewer bad transfers than the champion."
        )
    yield from _band_warnings(bands)
    if steady.verdict != "stable":
        yield _warning(
            f"Scores drift: their PSI from the fit window to later time is {steady.psi:.2f} ({steady.verdict})."
        )
    if data.later.bad < _FEW_BAD or data.fit.bad < _FEW_BAD:
        few = f"{data.fit.bad:,} bad transfers in the fit window and {data.later.bad:,} after it"
        yield _warning(f"Few labels: {few}. Intervals are wide.")
    if data.later.unscored > _MANY_UNSCORED * data.later.transfers:
        yield _warning(f"{data.later.unscored:,} of {data.later.transfers:,} later transfers are unscored.")


def _later(bands: Sequence[BandTable]) -> BandTable:
    return next(each for each in bands if each.card == CARD and each.window == LATER)


def _sent(bands: Sequence[BandTable]) -> float:
    """Later transfers of 1,000 in review and hold."""
    return sum(each.per_thousand or 0 for each in _later(bands).bands if each.band in {Band.REVIEW, Band.HOLD})


def _band_warnings(bands: Sequence[BandTable]) -> Iterator[CalibrationFinding]:
    table = _later(bands)
    if table.rises is None:
        yield _warning("A band has no labelled transfer of later time: what it means is not proved.")
    elif not table.rises:
        yield _warning(
            "On later time the bands do not rise: clear, review and hold are not in the order of bad shares."
        )
    elif not table.apart:
        yield _warning("The bands rise, but their 95 % intervals on later time overlap.")


def _reason_warnings(reasons: Sequence[ReasonPart]) -> Iterator[CalibrationFinding]:
    for reason in reasons:
        if reason.psi >= LOOK:
            yield _warning(f"{reason.id} drifts: its PSI is {reason.psi:.2f} ({verdict_of(reason.psi)}).")
    for reason in reasons:
        has_points = any(part.points > 0 for part in reason.bins)
        if has_points and reason.later.n >= _FEW_FIRINGS and reason.lift_later is not None and reason.lift_later <= 1:
            yield _warning(
                f"{reason.id} has points, but its {reason.later.n:,} firings of later time are no more often bad than "
                "all transfers."
            )
    for reason in reasons:
        if any(part.points > 0 for part in reason.bins) and max(reason.firing_fit, reason.firing_later) > MOST_FIRING:
            share = max(reason.firing_fit, reason.firing_later)
            yield _warning(f"{reason.id} fires on {100 * share:.1f} % of the transfers: points for usual transfers.")
        if (reason.later.low or 0) >= _NEARLY_ALL:
            fired = f"{reason.id} fired on {reason.later.n:,} labelled transfers of later time, and nearly all are bad"
            yield _warning(f"{fired}: make sure that its inputs do not include their outcome.")


def _notes(data: DataPart, fit: Fit | None) -> Iterator[CalibrationFinding]:
    total = data.fit.transfers + data.later.transfers
    labelled = data.fit.bad + data.fit.ok + data.later.bad + data.later.ok
    if labelled < _OFTEN_LABELLED * total:
        share = f"{labelled:,} of {total:,} transfers have a label that counts"
        yield _note(
            f"Labels are selective: {share}. Reviewed transfers are more often bad, so recall is optimistic "
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
    yield _note(
        "Intervals take transfers as independent. Bad ones come in schemes, of one party or one chain, so the true "
        "intervals are wider."
    )
    yield _note("One split by time is one experiment: fit again when labels, products or volumes change.")


def _fit_notes(fit: Fit) -> Iterator[CalibrationFinding]:
    if fit.kept:
        yield _note(
            f"{len(fit.kept)} signals fired too rarely in the fit window to be fitted, and keep the champion's points: "
            f"{', '.join(fit.kept)}."
        )
    for each in fit.refused:
        yield _note(f"Refused: {each.signal_id} would have points on {100 * each.firing:.1f} % of the transfers.")
    if fit.without_points:
        yield _note(f"Not in the card: {', '.join(fit.without_points)}.")


def _warning(sentence: str) -> CalibrationFinding:
    return CalibrationFinding(level=WARNING, sentence=sentence)


def _note(sentence: str) -> CalibrationFinding:
    return CalibrationFinding(level=NOTE, sentence=sentence)
