"""The summary of a weekly report: plain sentences from a template, at least one for every part, with ids and numbers
only. Unmeasured figures are named as such, never guessed.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearhold.api.reports.parts import detector_totals
from clearhold.api.reports.schemas import DetectorCount, EnteredHold, WeeklyReport, WeeklyScore
from clearhold.features.catalogue.kris import KriStatus
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.money import counted, money
from clearhold.features.core.vocabulary import WAITING
from clearhold.features.scorers.prs_v1 import MEASURED_FLOOR

_NAMED: Final = 5


def weekly_paragraphs(report: WeeklyReport, *, entered: int, now: int) -> tuple[str, ...]:
    """``entered`` counts all actors that entered the hold band; the report lists the first of them."""
    paragraphs = (
        (*_opening(report, now), _score(report.program_score, has_snapshot=bool(report.kris))),
        _kris(report),
        _transfers(report),
        (*_alerts(report), _entered_hold(entered, report.entered_hold)),
        (*_dispositions(report), _hours(report)),
    )
    return tuple(" ".join(sentences) for sentences in paragraphs)


def _opening(report: WeeklyReport, now: int) -> Iterator[str]:
    yield (
        f"Week {report.iso_week} of program {report.program_id} runs from Monday {report.from_[:10]} 00:00 UTC to "
        f"Monday {report.to[:10]} 00:00 UTC."
    )
    end = parse_instant(report.to)
    if end is not None and now < end:
        yield f"It is not over: all figures are as of {report.generated_at}."


def _score(score: WeeklyScore, *, has_snapshot: bool) -> str:
    if not has_snapshot:
        return "No snapshot of the program's indicators had been taken by its end, so its score is not measured."
    if score.current is None:
        prior = "it was not measured the week before either"
        if score.prior is not None:
            prior = f"it was {score.prior} at the end of the week before"
        return (
            f"The Program Risk Score is not measured: it has {counted(score.n, 'indicator')} of the {MEASURED_FLOOR} "
            f"that it needs; {prior}."
        )
    stood = f"The Program Risk Score stood at {score.current} ({score.band}, n = {score.n})"
    if score.prior is None:
        return f"{stood}; it was not measured at the end of the week before."
    if score.prior == score.current:
        return f"{stood}, as at the end of the week before."
    change = abs(score.current - score.prior)
    way = "higher" if score.current > score.prior else "lower"
    return f"{stood}, {counted(change, 'point')} {way} than at the end of the week before ({score.prior})."


def _kris(report: WeeklyReport) -> Iterator[str]:
    if not report.kris:
        yield "No key risk indicator is measured."
        return
    names = {status: [kri.name for kri in report.kris if kri.status is status] for status in KriStatus}
    measured = len(report.kris) - len(names[KriStatus.UNMEASURED])
    parts = [
        f"{len(names[status])} {words}{_in_brackets(names[status])}"
        for status, words in ((KriStatus.BREACH, "in breach"), (KriStatus.WATCH, "at watch"))
    ]
    yield (
        f"Of {counted(len(report.kris), 'key risk indicator')}, {measured} {_was(measured)} measured: "
        f"{', '.join(parts)}, {len(names[KriStatus.OK])} ok."
    )
    if all(kri.prior_status is KriStatus.UNMEASURED for kri in report.kris):
        yield "None was measured before this week, so there is no change of status to report."
        return
    changed = [
        f"{kri.name} from {kri.prior_status} to {kri.status}" for kri in report.kris if kri.status != kri.prior_status
    ]
    yield (f"Status changes: {_first(changed, len(changed))}." if changed else "No status changed during the week.")


def _transfers(report: WeeklyReport) -> Iterator[str]:
    transfers = report.transfers
    if not transfers.count:
        yield "The bank created no transfers in the week."
        return
    bands, returns = transfers.bands, transfers.returns
    yield (
        f"The bank created {counted(transfers.count, 'transfer')}, which moved {money(int(transfers.volume_cents))}."
    )
    yield (
        f"{bands.clear:,} {_was(bands.clear)} scored clear, {bands.review:,} review and {bands.hold:,} hold; "
        f"{bands.unscored:,} {_was(bands.unscored)} not scored."
    )
    if not returns.any:
        yield "None of them was returned."
    else:
        yield f"{returns.any:,} of them {_was(returns.any)} returned, {returns.unauthorized:,} as unauthorized."


def _alerts(report: WeeklyReport) -> Iterator[str]:
    alerts = report.alerts
    if not alerts.total:
        yield "No alert opened."
        return
    waiting = sum(alerts.by_status[status] for status in WAITING)
    yield f"{counted(alerts.total, 'alert')} opened: {_detectors(alerts.by_detector)}."
    if waiting == alerts.total:
        yield "None has been decided yet."
    else:
        yield f"{waiting or 'None'} of them {_wait(waiting)} for a decision."


def _detectors(counts: Sequence[DetectorCount]) -> str:
    """Most alerts first, routes together."""
    ordered = detector_totals(counts)
    parts = [f"{count:,} by {detector}" for detector, count in ordered[:_NAMED]]
    rest = sum(count for _, count in ordered[_NAMED:])
    return _listed([*parts, *([f"{rest:,} by other detectors"] if rest else [])])


def _entered_hold(entered: int, listed: Sequence[EnteredHold]) -> str:
    if not entered:
        return "No entity, counterparty or agent entered the hold band, nor did the program."
    named = [f"{each.type} {each.id} with {each.score} (n = {each.n})" for each in listed]
    return f"Entered the hold band: {_first(named, entered)}."


def _dispositions(report: WeeklyReport) -> Iterator[str]:
    decisions = report.dispositions
    platform, persons, against = decisions.by_platform, decisions.by_person, decisions.overturned
    if not decisions.total:
        yield "No decision was made."
        return
    yield (
        f"{counted(decisions.total, 'decision')} {_was(decisions.total)} made, {platform:,} by the platform under its "
        f"policy and {persons:,} by persons; {against or 'none'} went against a draft or an earlier automatic close."
    )


def _hours(report: WeeklyReport) -> str:
    hours = report.time_to_decision_hours
    if hours.median is None or hours.p90 is None:
        return "No person decided an alert for the first time, so the time to a decision is not measured."
    return (
        f"Persons took a median of {hours.median:,.1f} hours from an alert's opening to its first decision, and "
        f"{hours.p90:,.1f} hours at the 90th percentile (n = {hours.n})."
    )


def _first(parts: Sequence[str], total: int) -> str:
    """The first few, and the number of the others."""
    first = parts[:_NAMED]
    rest = total - len(first)
    return _listed([*first, *([counted(rest, "other")] if rest else [])])


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _in_brackets(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _wait(number: int) -> str:
    return "waits" if number in {0, 1} else "wait"
