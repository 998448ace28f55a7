"""The reason catalogue: every reason that a scorer can give, from which ``docs/reasons.md`` is made.

A scorer's signals are written where they are measured, and its default card beside them: the page shows both.
"""

from typing import Any, Final

from clearhold.features.catalogue.thresholds import COMMON_FROM_PERMILLE
from clearhold.features.core.scorecards import Bin
from clearhold.features.core.vocabulary import Rail
from clearhold.features.scorers.cards import DEFAULTS
from clearhold.features.scorers.engine import CEILING, CompiledCard
from clearhold.features.scorers.signal import ANY_RAIL, COMMON, PROPOSED, Common, Family, Signal
from docs.pages.wrapping import paragraph

TITLES: Final = {
    "trs": "Transaction Risk Score",
    "ers": "Entity Risk Score",
    "crs": "Counterparty Risk Score",
    "ars": "Agent Risk Score",
    "prs": "Program Risk Score",
}


def markdown() -> str:
    """The catalogue as a page."""
    head = (
        "# Reasons\n\n"
        "Every reason that a score can carry, with the points of the default cards. A score is the sum of its\n"
        "reasons' weights; a cap is a reason that subtracts the points above it. A hard reason always goes to a\n"
        "person, whatever the score is. A signal with a unit is measured, and has the points of the range that its\n"
        "measure falls in; a bank's own card may have other ranges and points. Once the program has 200 transfers of\n"
        "earlier days, its usual is known (`commonSignals` is not null): a fixed count or span then has at most\n"
        "the points in brackets, and none where it is common.\n"
        "[P] marks a proposal without a public source, to be tuned on labels.\n"
        "Made from `docs/pages/reasons.py`; a test keeps the two equal.\n"
    )
    return head + "".join(_section(name, default) for name, default in DEFAULTS.items())


def _section(name: str, default: CompiledCard[Any]) -> str:
    head = (
        f"\n## {TITLES[name]}, {default.version}\n\n"
        f"{_floors(default)}\n\n"
        "| id | signal | meaning | points | family (cap) | hard | rails | source |\n|---|---|---|---|---|---|---|---|\n"
    )
    rows = (
        f"| {signal.id} | `{signal.name}` | {signal.meaning} | {_points(default, signal)} "
        f"| {_family(signal.family, default)} | {'hard' if signal.hard else ''} | {_rails(signal)} "
        f"| {signal.source} |\n"
        for signal in default.scorer.signals.values()
    )
    return head + "".join(rows) + "".join(_taking_rows(default))


def _floors(default: CompiledCard[Any]) -> str:
    card = default.card
    program = "" if card.program_floor is None else f", or {card.program_floor} of the program"
    return paragraph(f"Scored from n = {card.floor}{program}. The default card's digest: `{default.sha256}`.")


def _points(default: CompiledCard[Any], signal: Signal[Any]) -> str:
    if signal.worked_out:
        return "worked out"
    bins, most = default.bins_of(signal.id), default.most_known(signal.id)
    if not bins:
        return "none"
    known = "" if most is None else f" ({most} at most where known)"
    if not signal.unit:
        return f"{', '.join(str(each.points) for each in bins)}{known}"
    return f"{', '.join(map(_stretch, bins))} {signal.unit}{known}"


def _stretch(each: Bin) -> str:
    if each.below is None:
        return f"{each.points} from {each.at_least}"
    return f"{each.points} from {each.at_least} to {each.below - 1}"


def _family(family: Family | None, default: CompiledCard[Any]) -> str:
    if family is None:
        return ""
    return f"{family.value} ({default.caps[family]})" if family in default.caps else family.value


def _taking_rows(default: CompiledCard[Any]) -> list[str]:
    """The reasons that take points away, or give those back that are under 0."""
    scorer = default.scorer
    caps = [
        (scorer.cap_id(family), f"cap_{family}", f"Signals of the family count for at most {points} points.", family)
        for family, points in default.caps.items()
    ]
    facts = [
        (
            scorer.cap_id(fact.name),
            f"cap_{fact.name}",
            f"{', '.join(sorted(fact.signals))} {fact.meaning}: they count for at most {points} points together.",
            fact.family,
        )
        for fact, points in default.facts.items()
    ]
    common = [] if scorer.common is None else [_common_row(scorer.cap_id(COMMON), scorer.common, default)]
    overlaps = [(each.id, each.name, each.meaning, each.family) for each in scorer.overlaps]
    limits = [
        (f"{scorer.prefix}-CAP-99", "ceiling", f"Points above {CEILING} are cut.", None),
        (f"{scorer.prefix}-CAP-00", "floor", "Points below 0 are raised to 0.", None),
    ]
    return [
        f"| {reason_id} | `{name}` | {meaning} | worked out | {_family(family, default)} |  |  | {PROPOSED} |\n"
        for reason_id, name, meaning, family in (*caps, *facts, *common, *overlaps, *limits)
    ]


def _common_row(reason_id: str, common: Common[Any], default: CompiledCard[Any]) -> tuple[str, str, str, None]:
    meaning = (
        f"{', '.join(sorted(common.signals))}: those by which more than {COMMON_FROM_PERMILLE - 1} of 1,000 of the "
        f"program's transfers of 90 days have points count for at most {default.common_points} points together."
    )
    return reason_id, f"cap_{COMMON}", meaning, None


def _rails(signal: Signal[Any]) -> str:
    """The rails it looks at, or all but those it does not, whichever is shorter; empty for every rail."""
    if signal.rails == ANY_RAIL:
        return ""
    named = [rail.value for rail in Rail if rail.value in signal.rails]
    others = [rail.value for rail in Rail if rail.value not in signal.rails]
    return ", ".join(named) if len(named) <= len(others) + 1 else f"not {', '.join(others)}"
