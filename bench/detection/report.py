"""The figures of detection as Markdown: what a terminal shows, and what docs/detection.md takes over."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from statistics import median_low
from typing import Final

import msgspec

from bench.detection.data import Case, Half
from bench.detection.measures import (
    NOTHING,
    AtVolume,
    Kind,
    Share,
    Touched,
    at_volume,
    average_precision,
    by_amount,
    by_card,
    by_cents,
    by_first_and_cents,
    by_first_of_pair,
    by_lot,
    by_oddness,
    by_over_own,
    by_score,
    by_signal_trees,
    by_trees,
    days_word,
    densest,
    in_hold,
    in_review_or_hold,
    per_thousand,
    span_days,
    times,
    touched,
    volume_of,
)
from bench.detection.trees import Field
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.vocabulary import Band, band_of

VOLUMES_PER_THOUSAND: Final = (5, 10, 20, 35)
SPAN_DAYS: Final = (7, 30, 90)
AGE_DAYS: Final = (29, 89)
VOLUMES: Final = ("the volume of review and hold", *(f"{volume} per 1,000" for volume in VOLUMES_PER_THOUSAND))
SCORE, FIRST_PAIR = "default card", "first-time pair"
CARD, FOREST, OVER_OWN = "fitted card", "isolation forest", "amount against own past"
TREES, SIGNAL_TREES = "trees over vectors", "trees over signals"
AMOUNT, LARGER_FIRST, LOT = "amount", "first-time pair, larger first", "by lot"
RANKINGS: Final = (SCORE, AMOUNT, "amount percentile", OVER_OWN, LARGER_FIRST, FIRST_PAIR, LOT)
AFTER_DAYS: Final = 30
MOST_FIELDS: Final = 15


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """All that the report is made of; the first of a ranking's ``at_volumes`` is at the volume of review and hold."""

    half: Half
    cases: list[Case]
    alerted: list[Case]
    held: list[Case]
    unscored: Share
    unscored_first: Share  # of the first 30 days of the whole data, whatever the half
    unscored_after: Share
    at_volumes: dict[str, list[AtVolume]]
    average_precision: dict[str, float | None]
    first_pairs: AtVolume
    alone: Sequence[Field] = ()


def findings_of(cases: list[Case], every: Sequence[Case], half: Half, alone: Sequence[Field] = ()) -> Findings:
    """Of one half; ``every`` are the cases of both, ``alone`` what each field tells."""
    alerted = [case for case in cases if in_review_or_hold(case)]
    ranked = (by_score, by_cents, by_amount, by_over_own, by_first_and_cents, by_first_of_pair, by_lot)
    rankings = {name: ranking(cases) for name, ranking in zip(RANKINGS, ranked, strict=True)}
    if any(case.answer.by_card is not None for case in cases):
        rankings[CARD] = by_card(cases)
    if any(case.answer.oddness is not None for case in cases):
        rankings[FOREST] = by_oddness(cases)
    if any(case.answer.by_trees is not None for case in cases):
        rankings |= {TREES: by_trees(cases), SIGNAL_TREES: by_signal_trees(cases)}
    volumes = (len(alerted), *(volume_of(cases, each) for each in VOLUMES_PER_THOUSAND))
    first, after = _unscored(every)
    return Findings(
        half=half,
        cases=cases,
        alerted=alerted,
        held=[case for case in cases if in_hold(case)],
        unscored=Share(sum(case.answer.score is None for case in cases), len(cases)),
        unscored_first=first,
        unscored_after=after,
        at_volumes={name: [at_volume(ranking, volume) for volume in volumes] for name, ranking in rankings.items()},
        average_precision={name: average_precision(ranking) for name, ranking in rankings.items()},
        first_pairs=at_volume(rankings[FIRST_PAIR], sum(case.first_of_pair for case in cases)),
        alone=alone,
    )


def _unscored(every: Sequence[Case]) -> tuple[Share, Share]:
    first_at = min((case.at for case in every), default=0)
    parts: tuple[list[bool], list[bool]] = ([], [])
    for case in every:
        parts[case.at >= first_at + AFTER_DAYS * DAY_US].append(case.answer.score is None)
    first, after = (Share(sum(part), len(part)) for part in parts)
    return first, after


def markdown(findings: Findings) -> str:
    parts = (
        summary(findings),
        bands(findings),
        _precision(findings),
        typologies(findings),
        lookalikes(findings),
        rankings_of(findings, findings.at_volumes),
        per_typology(findings),
    )
    return (
        "\n\n".join(
            (*parts, signals(findings), fields_alone(findings), _by_age(findings), _pace(findings), _by_span(findings))
        )
        + "\n"
    )


def scenarios_of(kind: Kind, some: Mapping[Kind, Touched], population: Mapping[Kind, Touched]) -> Share:
    return Share(len(some.get(kind, NOTHING).scenarios), len(population[kind].scenarios))


def _rows_of(kind: Kind, some: Mapping[Kind, Touched], population: Mapping[Kind, Touched]) -> Share:
    return Share(len(some.get(kind, NOTHING).rows), len(population[kind].rows))


def summary(findings: Findings) -> str:
    count, bad = len(findings.cases), sum(case.label.bad for case in findings.cases)
    innocent = innocents_in(findings.alerted)
    hard = [case.answer.hard and not in_hold(case) for case in findings.cases if case.answer.hard is not None]
    return table(
        "The last 40 % of the time" if findings.half is Half.LAST else f"Half: {findings.half.value}",
        ("", "transfers", "per 1,000"),
        [
            ("all", f"{count:,}", ""),
            ("of bad rows", f"{bad:,}", _per(bad, count)),
            ("in review or hold", f"{len(findings.alerted):,}", _per(len(findings.alerted), count)),
            ("not bad, in review or hold", f"{innocent:,}", _per(innocent, count - bad)),
            ("in hold", f"{len(findings.held):,}", _per(len(findings.held), count)),
            ("with a hard signal, not in hold", f"{sum(hard):,}" if hard else "", _per(sum(hard), len(hard))),
            ("unscored", f"{findings.unscored.hits:,}", _per(findings.unscored.hits, count)),
            (f"unscored in the first {AFTER_DAYS} days", *_unscored_line(findings.unscored_first)),
            (f"unscored after the first {AFTER_DAYS} days", *_unscored_line(findings.unscored_after)),
        ],
    )


def innocents_in(cases: Sequence[Case]) -> int:
    return sum(not case.label.bad for case in cases)


def _unscored_line(share: Share) -> tuple[str, str]:
    return f"{share.hits:,}", _per(share.hits, share.n)


def bands(findings: Findings) -> str:
    """What each band holds, with the look-alikes beside the bad ones."""
    return _bands("Bands", findings.cases, lambda case: case.answer.score)


def fitted_bands(findings: Findings) -> str:
    """The same, had the other card scored."""
    return _bands("Bands of the fitted card", findings.cases, lambda case: case.answer.by_card)


def _bands(title: str, cases: Sequence[Case], score_of: Callable[[Case], int | None]) -> str:
    in_band: dict[str, list[Case]] = {band.value: [] for band in Band}
    for case in cases:
        in_band[band_of(score_of(case)).value].append(case)
    alike = sum(case.label.lookalike for case in cases)
    return table(
        title,
        ("band", "transfers per 1,000", "bad in it", "of all look-alikes"),
        [
            (band, _per(len(some), len(cases)), str(_bad(some)), str(Share(_alike(some), alike)))
            for band, some in in_band.items()
        ],
    )


def _alike(cases: Sequence[Case]) -> int:
    return sum(case.label.lookalike for case in cases)


def _precision(findings: Findings) -> str:
    lines = [(name, decimal(value)) for name, value in findings.average_precision.items()]
    return table("Average precision", ("ranked by", "average precision"), lines)


def decimal(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def typologies(findings: Findings) -> str:
    population, alerted, held = touched(findings.cases), touched(findings.alerted), touched(findings.held)
    return table(
        "Bad scenarios",
        ("typology", "scenarios touched in review or hold", "in hold", "rows touched in review or hold", "in hold"),
        [
            (
                kind.typology,
                str(scenarios_of(kind, alerted, population)),
                str(scenarios_of(kind, held, population)),
                str(_rows_of(kind, alerted, population)),
                str(_rows_of(kind, held, population)),
            )
            for kind in population
            if kind.bad
        ],
    )


def lookalikes(findings: Findings) -> str:
    population, alerted, held = touched(findings.cases), touched(findings.alerted), touched(findings.held)
    return table(
        "Innocent look-alikes",
        ("kind", "look-alikes touched in review or hold", "in hold", "rows touched in review or hold"),
        [
            (
                kind.typology,
                str(scenarios_of(kind, alerted, population)),
                str(scenarios_of(kind, held, population)),
                str(_rows_of(kind, alerted, population)),
            )
            for kind in population
            if not kind.bad
        ],
    )


def rankings_of(findings: Findings, names: Collection[str]) -> str:
    count = len(findings.cases)
    lines = [
        (_per(each.volume, count), f"{each.volume:,}", name, str(each.precision), str(each.recall), str(each.scenarios))
        for place in range(len(VOLUMES))
        for name, each in ((name, findings.at_volumes[name][place]) for name in names)
    ]
    every, name = findings.first_pairs, "every first-time pair"
    lines.append(
        (
            _per(every.volume, count),
            f"{every.volume:,}",
            name,
            str(every.precision),
            str(every.recall),
            str(every.scenarios),
        )
    )
    headings = ("per 1,000", "transfers", "ranked by", "precision", "recall of bad rows", "bad scenarios touched")
    return table("At equal volume (the first is that of review and hold)", headings, lines)


def per_typology(findings: Findings) -> str:
    population = touched(findings.cases)
    return table(
        "Bad scenarios touched at the volume of review and hold",
        ("typology", *findings.at_volumes),
        [
            (
                kind.typology,
                *(str(scenarios_of(kind, each[0].touched, population)) for each in findings.at_volumes.values()),
            )
            for kind in population
            if kind.bad
        ],
    )


def signals(findings: Findings) -> str:
    fired: dict[str, list[Case]] = {}
    for case in findings.cases:
        for signal in case.answer.signals or ():
            fired.setdefault(signal, []).append(case)
    if all(case.answer.signals is None for case in findings.cases):
        return "### Signals\n\nNot measured: the export has no reasons."
    count, lines, whole = len(findings.cases), [], _bad(findings.cases)
    for signal, cases in sorted(fired.items(), key=lambda item: (-len(item[1]), item[0])):
        alerts = [case for case in cases if in_review_or_hold(case)]
        bad, alike = _bad(cases), sum(bool(case.label.scenario) and not case.label.bad for case in cases)
        volumes = (
            _per(len(cases), count),
            _per(bad.hits, whole.hits),
            _per(bad.n - bad.hits, whole.n - whole.hits),
            _per(len(alerts), count),
        )
        lines.append((signal, *volumes, str(bad), f"{alike:,}", lift(bad, whole), str(_bad(alerts))))
    headings = (
        "signal",
        "fires per 1,000",
        "of bad ones",
        "of others",
        "in review or hold per 1,000",
        "bad among those it fires on",
        "look-alikes among them",
        "times the base",
        "bad among alerts with it",
    )
    return table("Signals", headings, lines)


def fields_alone(findings: Findings, most: int | None = None) -> str:
    """The fields that tell most alone, or all: one near 1 or 0 is more likely the generator's than the fraud's."""
    return table(
        "The fields that tell most alone",
        ("field", "area under its curve", "area of whether it is measured"),
        [(each.name, decimal(each.area), decimal(each.measured)) for each in findings.alone[:most]],
    )


def _bad(cases: Sequence[Case]) -> Share:
    return Share(sum(case.label.bad for case in cases), len(cases))


def lift(bad: Share, base: Share) -> str:
    return f"{bad.value / base.value:.1f}" if base.value and bad.value is not None else "not measured"


def _by_age(findings: Findings) -> str:
    """What a service that has just begun says, apart from what it says later."""
    began_at, alerted = min((case.at for case in findings.cases), default=0), set(map(id, findings.alerted))
    ages: dict[str, list[Case]] = {}
    for case in sorted(findings.cases, key=lambda case: case.at):
        ages.setdefault(days_word((case.at - began_at) // DAY_US, AGE_DAYS), []).append(case)
    lines = []
    for word, cases in ages.items():
        alerts = [case for case in cases if id(case) in alerted]
        bad = (sum(case.label.bad for case in some) for some in (cases, alerts))
        lines.append(
            (
                word,
                f"{len(cases):,}",
                _per(len(alerts), len(cases)),
                _per(next(bad), len(cases)),
                str(Share(next(bad), len(alerts))),
            )
        )
    headings = ("since the first row", "transfers", "in review or hold per 1,000", "bad per 1,000", "precision")
    return table("Review and hold by the age of the data", headings, lines)


def _pace(findings: Findings) -> str:
    headings = ("typology", "days from first to last row", "most rows in 24 h", "most rows in 7 days")
    lines = []
    for kind, scenarios in times(findings.cases).items():
        if kind.bad:
            days = [span_days(ordered) for ordered in scenarios.values()]
            windows = ([densest(ordered, window) for ordered in scenarios.values()] for window in (DAY_US, 7 * DAY_US))
            lines.append(
                (kind.typology, *(f"{median_low(some)} ({min(some)}-{max(some)})" for some in (days, *windows)))
            )
    return table("How fast the bad scenarios are: median (least-most) of a scenario", headings, lines)


def _by_span(findings: Findings) -> str:
    alerted = touched(findings.alerted)
    classes: dict[str, list[bool]] = {}
    paced = [
        (span_days(ordered), scenario in alerted.get(kind, NOTHING).scenarios)
        for kind, scenarios in times(findings.cases).items()
        if kind.bad
        for scenario, ordered in scenarios.items()
    ]
    for days, is_touched in sorted(paced):
        classes.setdefault(days_word(days, SPAN_DAYS), []).append(is_touched)
    return table(
        "Bad scenarios by the days from their first row to their last",
        ("span", "touched in review or hold"),
        [(word, str(Share(sum(some), len(some)))) for word, some in classes.items()],
    )


def _per(count: int, n: int) -> str:
    value = per_thousand(count, n)
    return "not measured" if value is None else f"{value:.2f}"


def table(title: str, headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(_lines(title, headings, lines))


def _lines(title: str, headings: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"### {title}\n"
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for line in lines:
        yield f"| {' | '.join(line)} |"
