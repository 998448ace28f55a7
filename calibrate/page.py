"""The report as a page for a model-risk reviewer, on the screen and on paper: one file, no scripts, nothing fetched.

Order   what to know first, purpose, data, method, the card, outcomes, stability, migration, limits, signing
Source  SR 26-2 (17 April 2026) carves simple arithmetic out of its definition of a model; monitoring, outcomes analysis
        and effective challenge remain what a reviewer looks for
"""

from collections.abc import Iterator, Sequence
from typing import Final

import htpy as h

from clearhold.api.html.page import about, columns, printed_page, section, table, tiles
from clearhold.calibrate.evaluation import VOLUMES
from clearhold.calibrate.plots import band_shares, percent, precision_and_recall, reliability, weeks
from clearhold.calibrate.report import (
    FITTED,
    GIVEN,
    LATER,
    WARNING,
    BandTable,
    BinPart,
    CalibrationReport,
    ReasonPart,
    Window,
)
from clearhold.features.core.measured import Measured

_NOTHING: Final = "\N{EN DASH}"
_LEAST_P: Final = 0.0001


def page_of(report: CalibrationReport) -> bytes:
    page = printed_page(
        f"Calibration of {report.card_name}",
        report.card_sha256[:16],
        h.header[_title_block(report)],
        section("Before anything else", _findings(report), _tiles(report)),
        section("Purpose and scope", _purpose(report)),
        section("Data", _data(report)),
        section("Method", _method(report)),
        section("The card", _card(report)),
        section("Outcomes on later time", _outcomes(report)),
        section("Stability", _stability(report)),
        section("From the champion's bands to the card's", _migration(report)),
        section("Limits", _notes(report)),
        section("Signatures", _signatures()),
        h.footer[f"sha256 {report.card_sha256}"],
    )
    return page.body


def _title_block(report: CalibrationReport) -> Iterator[h.Node]:
    yield h.p(".kicker")["Calibration report"]
    yield h.h1[h.bdi[report.card_name]]
    yield about(
        (
            ("Card", report.card_sha256),
            ("Scorer", report.scorer),
            ("Champion", report.champion),
            ("Generated", report.generated_at),
            ("Data", report.data.source),
            ("Programs", ", ".join(report.data.programs) or "all"),
            ("Features", report.data.feature_version),
            ("Report", report.report_version),
            ("Data digest", report.data.sha256),
        )
    )


def _tiles(report: CalibrationReport) -> h.Element:
    card, champion = report.rankings[0], report.rankings[1]
    hold = next(each for each in _later(report)[0].bands if each.band == "hold").bad_share
    at = card.at[VOLUMES.index(20)]
    interval = "" if card.low is None else f"{card.low:.3f} to {card.high:.3f}; "
    return tiles(
        (
            (
                "Average precision",
                f"{card.average_precision:.3f}",
                f"{interval}champion {champion.average_precision:.3f}",
            ),
            (
                "Caught at 20 per 1,000",
                percent(at.recall),
                f"precision {percent(at.precision)}, n = {at.precision.n:,}",
            ),
            ("Bad in the hold band", percent(hold), f"of {hold.n:,} labelled"),
            ("PSI of the score", f"{report.stability.psi:.2f}", report.stability.verdict),
        )
    )


def _findings(report: CalibrationReport) -> h.Node:
    warnings = [each for each in report.findings if each.level == WARNING]
    if not warnings:
        return h.p["No check of this report gave a warning."]
    return h.ul[(h.li(".warning")[each.sentence] for each in warnings)]


def _purpose(report: CalibrationReport) -> Iterator[h.Node]:
    yield h.p[
        f"The card gives integer points to signals of the {report.scorer} scorer. Their sum, from 0 to 100, is the "
        "score of a transfer, and its bands decide on review (from 30) and hold (from 70). It is proposed in "
        f"place of {report.champion}. The report is one of development and outcomes analysis; activation needs a "
        "second person, and a report of this exact card that is not older than seven days."
    ]
    yield h.p[
        "SR 26-2 leaves simple arithmetic outside of its definition of a model. Whether the bank treats the fitting as "
        "one is its own decision; the report is written so that it can."
    ]


def _data(report: CalibrationReport) -> Iterator[h.Node]:
    windows = (("fit", report.data.fit), ("later time", report.data.later))
    yield table(
        ("Window", "From", "To", "Transfers", "Bad", "Ok", "Unscored"),
        (_window(name, window) for name, window in windows),
        numbers=3,
    )
    yield table(
        ("Labels by source", "Bad", "Ok", "Provisional"),
        (
            (each.source, f"{each.bad:,}", f"{each.ok:,}", f"{each.provisional:,}")
            for each in report.data.labels_by_source
        ),
        numbers=1,
    )
    matured = report.data.matured
    yield h.p[f"Matured: {percent(matured)} of {matured.n:,} labels."]
    yield table(
        ("Left out", "Transfers"), ((each.why, f"{each.transfers:,}") for each in report.data.exclusions), numbers=1
    )


def _window(name: str, window: Window) -> tuple[str, ...]:
    counts = (window.transfers, window.bad, window.ok, window.unscored)
    return name, window.from_, window.to, *(f"{count:,}" for count in counts)


def _method(report: CalibrationReport) -> Iterator[h.Node]:
    fit = report.fit
    yield h.p["Each transfer counts with its first scoring, as stored when it was made."]
    if fit is None:
        yield h.p["The card was given: nothing was fitted, and the first window is there to compare with."]
    else:
        yield h.p[
            f"Fitted was {fit.method}, with {fit.library}. {fit.points_a_log_odd:.1f} points stand for one unit of "
            f"log-odds, so that the hold band begins where the fit says {100 * fit.hold_chance:.0f} % bad."
        ]
        yield h.p[
            f"At most {fit.volume:g} of 1,000 transfers were to come to review and hold; of the fit window "
            f"{fit.review_per_thousand:.1f} are in review and {fit.hold_per_thousand:.1f} in hold."
        ]
        if fit.left_out:
            yield h.p[f"Left out on request: {', '.join(fit.left_out)}."]
    yield h.p["Everything below is counted with the engine that scores."]
    yield h.p["Run again with ", h.code[report.command], "."]


def _card(report: CalibrationReport) -> Iterator[h.Node]:
    others = [each for each in report.reasons if each.origin in (FITTED, GIVEN)]
    kept = [each for each in report.reasons if each.origin not in (FITTED, GIVEN)]
    heads = ("Reason", "Measure", "Points", "Transfers", "Bad, fit window", "Bad, later time", "Lift")
    yield h.p[_floors(report)]
    yield h.p[
        f"{len(others)} signals, {GIVEN if report.fit is None else FITTED}. Lift is of later time: how many times as "
        "often bad as all. A reason's text may name the line of the default card; the bins beside it count."
    ]
    yield table(heads, (line for each in others for line in _bins(each)), numbers=2)
    if kept:
        yield h.p[f"{len(kept)} more signals keep the champion's points, or have none and stand here as hard."]
        lines = ((_reason(each), _points(each), _firing(each)) for each in kept)
        yield table(("Reason", "Points", "Fires, per 1,000, fit and later"), lines, numbers=1)


def _floors(report: CalibrationReport) -> Iterator[str]:
    floor = f"A transfer has a score where the entity has {report.floor:,} earlier ones"
    yield f"{floor}." if report.program_floor is None else f"{floor}, or the program {report.program_floor:,}. "
    caps = [f"{each.family} {_cap(each.points)} ({_cap(each.champion_points)})" for each in report.caps]
    if caps:
        yield f"The most points of a family, in brackets the champion's: {', '.join(caps)}."


def _cap(points: int | None) -> str:
    return "no limit" if points is None else str(points)


def _bins(reason: ReasonPart) -> Iterator[tuple[h.Node, ...]]:
    for place, each in enumerate(reason.bins):
        yield (
            _reason(reason) if not place else "",
            _measure(each, "" if place else reason.unit, is_check=not reason.unit),
            f"{each.points:+d}",
            f"{each.transfers:,}",
            _share(each.fit),
            _share(each.later),
            _NOTHING if each.lift_later is None else f"{each.lift_later:.1f}",
        )


def _reason(reason: ReasonPart) -> h.Node:
    hard = ", hard" if reason.hard else ""
    return (h.strong[f"{reason.id} {reason.name.replace('_', ' ')}{hard}"], f" {reason.meaning}")


def _measure(each: BinPart, unit: str, *, is_check: bool) -> str:
    """The unit stands beside the first bin alone."""
    if is_check and each.below is None:
        return "fires"
    end = "and more" if each.below is None else f"to under {each.below:,}"
    return f"{each.at_least:,} {end} {unit}".rstrip()


def _share(share: Measured) -> str:
    if share.low is None or share.high is None:
        return _NOTHING
    return f"{percent(share)} ({100 * share.low:.1f} to {100 * share.high:.1f})"


def _points(reason: ReasonPart) -> str:
    return ", ".join(f"{each.points:+d}" for each in reason.bins)


def _firing(reason: ReasonPart) -> str:
    return f"{1000 * reason.firing_fit:.2f}, {1000 * reason.firing_later:.2f}"


def _outcomes(report: CalibrationReport) -> Iterator[h.Node]:
    yield columns(precision_and_recall(report.rankings), band_shares(_later(report)))
    heads = ("Ranking", "Average precision", *(f"At {each}" for each in VOLUMES))
    lines = []
    for each in report.rankings:
        cells = [f"{percent(at.precision)}, {percent(at.recall)}" for at in each.at]
        interval = "" if each.low is None else f" ({each.low:.3f} to {each.high:.3f})"
        lines.append((each.name, f"{each.average_precision:.3f}{interval}", *cells))
    yield h.p[
        "Precision and recall at given alerts per 1,000 transfers, labelled or not. Equal scores stand in an order "
        "that is the same for all rankings."
    ]
    yield table(heads, lines, numbers=1)
    yield table(
        ("Card", "Window", "Clear", "Review", "Hold", "Unscored", "Rises", "Intervals apart"),
        (_band_line(each) for each in report.bands),
        numbers=2,
    )
    card, champion = map(_alerts, _later(report))
    paired = report.paired
    yield h.p[
        f"At 30 points the card alerts on {card} of 1,000 transfers, the champion on {champion}. The card alone was "
        f"right {paired.only_card_right:,} times, the champion alone {paired.only_champion_right:,} times (McNemar's "
        f"exact test, {_p_value(paired.p_value)})."
    ]
    if report.chance is None:
        yield h.p["Chances are not fitted: there are fewer than 50 bad transfers in the fit window."]
        return
    chance = report.chance
    yield columns(reliability(chance), _chance_table(report))
    skill = _NOTHING if chance.skill is None else f"{chance.skill:.3f}"
    yield h.p[f"Brier {chance.brier:.4f}, skill {skill}, expected calibration error {chance.ece:.4f}."]


def _alerts(table: BandTable) -> str:
    """Transfers of review and hold, per 1,000."""
    alerts = sum(each.transfers for each in table.bands if each.band in ("review", "hold"))
    return f"{1000 * alerts / sum(each.transfers for each in table.bands):.1f}"


def _p_value(p_value: float) -> str:
    return "p < 0.0001" if p_value < _LEAST_P else f"p = {p_value:.4f}"


def _chance_table(report: CalibrationReport) -> h.Node:
    assert report.chance is not None
    return table(
        ("Score", "Chance of bad"), ((str(at), f"{100 * each:.1f} %") for at, each in report.chance.points), numbers=0
    )


def _band_line(table: BandTable) -> tuple[str, ...]:
    shares = [
        f"{each.per_thousand or 0:.1f} of 1,000; {percent(each.bad_share)} bad of {each.bad_share.n:,}"
        for each in table.bands
    ]
    return table.card, table.window, *shares, _yes(table.rises), _yes(table.apart)


def _yes(fact: bool | None) -> str:  # noqa: FBT001 - a word for it
    return _NOTHING if fact is None else "yes" if fact else "no"


def _stability(report: CalibrationReport) -> Iterator[h.Node]:
    steady = report.stability
    yield h.p[f"PSI of the score from the fit window to later time: {steady.psi:.3f}, {steady.verdict}."]
    drifting = sorted(report.reasons, key=lambda each: (-each.psi, each.id))[:8]
    drift = table(
        ("Reason", "PSI", "Fires, per 1,000, fit and later"),
        ((each.id, f"{each.psi:.3f}", _firing(each)) for each in drifting),
        numbers=1,
    )
    yield columns(weeks(steady.weeks), drift)
    lines = (
        (
            each.week,
            f"{each.transfers:,}",
            f"{each.clear:,}",
            f"{each.review:,}",
            f"{each.hold:,}",
            f"{each.unscored:,}",
            f"{each.bad:,}",
            _NOTHING if each.psi is None else f"{each.psi:.2f}",
        )
        for each in steady.weeks
    )
    yield table(("Week", "Transfers", "Clear", "Review", "Hold", "Unscored", "Bad", "PSI"), lines, numbers=1)


def _migration(report: CalibrationReport) -> Iterator[h.Node]:
    lines = (
        (each.champion, each.card, f"{each.transfers:,}", f"{each.bad:,}", f"{each.ok:,}") for each in report.migration
    )
    yield table(("Champion", "Card", "Transfers", "Bad", "Ok"), lines, numbers=2)


def _notes(report: CalibrationReport) -> Iterator[h.Node]:
    notes = [each.sentence for each in report.findings if each.level != WARNING]
    yield h.ul[(h.li[sentence] for sentence in notes)]


def _signatures() -> h.Node:
    lines = table(
        ("Role", "Name", "Date", "Signature"),
        ((role, "", "", "") for role in ("Developed by", "Reviewed by (effective challenge)", "Approved by")),
        numbers=4,
    )
    return h.div(".sign")[lines]


def _later(report: CalibrationReport) -> Sequence[BandTable]:
    return [each for each in report.bands if each.window == LATER]
