"""What the default card has to hold in a labelled world, and whether it does, as lines of figures.

Baseline  the better of the amount, larger first, and of first payments of a pair, larger first
Apart     the Wilson intervals of the shares of bad transfers in two bands do not touch
Pointless a signal that is worth points, fired on enough transfers and was no more often bad on them than on all others:
          the whole interval of its share of bad ones lies at or below the share of all others
"""

from collections.abc import Iterator
from typing import Final

from bench.detection.data import Case
from bench.detection.measures import Share, in_hold, in_review_or_hold, per_thousand
from bench.detection.report import (
    AFTER_DAYS,
    AMOUNT,
    CARD,
    LARGER_FIRST,
    SCORE,
    TREES,
    VOLUMES_PER_THOUSAND,
    Findings,
    innocents_in,
)
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM, Band, band_of
from clearhold.features.scorers.trs_v1.scorer import DEFAULT_CARD, SCORER

LEAST_PER_THOUSAND: Final = 10
MOST_UNSCORED: Final = 0.02
TIMES_THE_BASELINE: Final = 1.5
OF_TREES: Final = 0.9
MOST_INNOCENT: Final = 20
LEAST_HELD_BAD: Final = 0.6
YES, NO = "yes", "no"

Line = tuple[str, str, str]


def holds_of(findings: Findings, target: float) -> Iterator[Line]:
    """What, figures, and yes, no or why it is neither."""
    yield from _precision(findings)
    yield from _recall(findings)
    yield from _bands(findings)
    innocent = Share(innocents_in(findings.alerted), innocents_in(findings.cases))
    what = f"not bad, in review or hold: at most {MOST_INNOCENT} per 1,000"
    yield what, str(innocent), _word((innocent.value or 0.0) * 1000 <= MOST_INNOCENT)
    yield from _lookalikes(findings)
    unscored = findings.unscored_after.value or 0.0
    yield f"unscored after {AFTER_DAYS} days: below 2 %", str(findings.unscored_after), _word(unscored < MOST_UNSCORED)
    pointless = list(pointless_of(findings))
    yield "signals with points that are no more often bad", ", ".join(pointless) or "none", _word(not pointless)
    fitted = findings.average_precision.get(CARD)
    if fitted is not None:
        yield f"fitted card: average precision of {target:.2f}", f"{fitted:.3f}", _word(fitted >= target)
        yield from _fitted(findings, fitted)


def _precision(findings: Findings) -> Iterator[Line]:
    """Of the default card, against one and a half of the better baseline, or what trees reach where that is less."""
    mine = findings.average_precision[SCORE] or 0.0
    best = max(findings.average_precision[name] or 0.0 for name in (AMOUNT, LARGER_FIRST))
    trees = findings.average_precision.get(TREES)
    needed = TIMES_THE_BASELINE * best if trees is None else min(TIMES_THE_BASELINE * best, OF_TREES * trees)
    figures = f"{mine:.3f} against a baseline of {best:.3f}" + ("" if trees is None else f" and trees of {trees:.3f}")
    yield "average precision: 1.5 times the better baseline's, or 0.9 of trees'", figures, _word(mine >= needed)


def _fitted(findings: Findings, fitted: float) -> Iterator[Line]:
    trees = findings.average_precision.get(TREES)
    if trees is not None:
        what = f"fitted card: {OF_TREES} of the average precision of trees over vectors"
        yield what, f"{fitted:.3f} against {trees:.3f}", _word(fitted >= OF_TREES * trees)
    scored = [(case, case.answer.by_card or 0) for case in findings.cases]
    held = [case for case, score in scored if score >= HOLD_FROM]
    alerted, hold = sum(score >= REVIEW_FROM for _, score in scored), Share(_bad_in(held), len(held))
    volume = per_thousand(alerted, len(scored)) or 0.0
    yield (
        f"fitted card: at most {MOST_INNOCENT} per 1,000 in review and hold",
        f"{volume:.1f}",
        _word(volume <= MOST_INNOCENT),
    )
    word = _word((hold.value or 0.0) >= LEAST_HELD_BAD) if hold.n >= LEAST_PER_THOUSAND else "too few"
    yield f"fitted card: hold at least {100 * LEAST_HELD_BAD:.0f} % bad", str(hold), word


def _bad_in(cases: list[Case]) -> int:
    return sum(case.label.bad for case in cases)


def _recall(findings: Findings) -> Iterator[Line]:
    for place, volume in enumerate(VOLUMES_PER_THOUSAND, start=1):
        if volume < LEAST_PER_THOUSAND:
            continue
        mine = findings.at_volumes[SCORE][place].scenarios
        best = max((findings.at_volumes[name][place].scenarios for name in (AMOUNT, LARGER_FIRST)), key=_value)
        what = f"bad scenarios at {volume} per 1,000: at least the better baseline's"
        yield what, f"{_percent(mine)} against {_percent(best)}", _word(_value(mine) >= _value(best))


def _bands(findings: Findings) -> Iterator[Line]:
    in_band: dict[Band, list[Case]] = {band: [] for band in (Band.CLEAR, Band.REVIEW, Band.HOLD)}
    for case in findings.cases:
        if case.answer.score is not None:
            in_band[band_of(case.answer.score)].append(case)
    clear, review, hold = (Share(sum(case.label.bad for case in some), len(some)) for some in in_band.values())
    for name, low, high in (("review", clear, review), ("hold", review, hold)):
        other = "clear" if name == "review" else "review"
        yield f"{name} more often bad than {other}, intervals apart", f"{high} against {low}", _apart(low, high)


def _apart(low: Share, high: Share) -> str:
    """Only where both have a say: a band of a few transfers has an interval that touches everything."""
    if low.interval is None or high.interval is None or high.n < LEAST_PER_THOUSAND:
        return "too few"
    return _word(low.interval[1] < high.interval[0])


def _lookalikes(findings: Findings) -> Iterator[Line]:
    alike = Share(*_alerted([case for case in findings.cases if case.label.lookalike]))
    bad = Share(*_alerted([case for case in findings.cases if case.label.bad]))
    among, each = (
        "look-alikes among alerts: at most half as many as bad",
        "a look-alike is alerted at most half as often",
    )
    if alike.value is None or bad.value is None:
        yield among, "no look-alikes", "not measured"
        return
    yield among, f"{alike.hits:,} against {bad.hits:,}", _word(2 * alike.hits <= bad.hits)
    yield each, f"{alike} against {bad}", _word(2 * alike.value <= bad.value)


def _alerted(cases: list[Case]) -> tuple[int, int]:
    return sum(in_review_or_hold(case) or in_hold(case) for case in cases), len(cases)


def pointless_of(findings: Findings) -> Iterator[str]:
    with_points = {
        SCORER.signals[each.id].name
        for each in DEFAULT_CARD.signals
        if each.most_known != 0 and any(part.points > 0 for part in each.bins)
    }
    fired: dict[str, Share] = {}
    for case in findings.cases:
        for signal in case.answer.signals or ():
            if signal in with_points:
                share = fired.get(signal, Share(0, 0))
                fired[signal] = Share(share.hits + case.label.bad, share.n + 1)
    bad, n = sum(case.label.bad for case in findings.cases), len(findings.cases)
    for signal, share in sorted(fired.items()):
        rest = Share(bad - share.hits, n - share.n)
        if share.interval is not None and rest.value is not None and share.interval[1] <= rest.value:
            yield signal


def _value(share: Share) -> float:
    return share.value or 0.0


def _percent(share: Share) -> str:
    return "not measured" if share.value is None else f"{100 * share.value:.1f} %"


def _word(is_so: bool) -> str:  # noqa: FBT001 - a word for it
    return YES if is_so else NO
