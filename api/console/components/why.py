"""Why a transfer scored so: a bar for each family of reasons, the points taken by caps, how it would have cleared."""

from collections.abc import Iterable, Sequence
from typing import Final

import htpy as h

from clearhold.api.console.components.words import SENTENCE_LETTERS, SHAPES, count, outsider, outsider_prose
from clearhold.api.explain.service import TransferExplained
from clearhold.features.core.vocabulary import Band, Reason
from clearhold.features.measurement.explanation import NO_AMOUNT, FamilyExplained, LowerBand, ScoreExplained

OPEN_FAMILIES: Final = 5
_ALONE: Final = "by itself"
_WIDE: Final = 100
_rect: Final = h.Element("rect")


def why(explained: TransferExplained | None, sentence: str, reasons: Sequence[Reason]) -> h.Element:
    """The section; without a scored transfer it has the finding and the reasons that the alert kept."""
    if explained is None:
        kept = h.ul(".reasons")[(reason_line(each) for each in reasons)] if reasons else None
        return h.section("#why.why", tabindex="-1")[h.h2["Why"], h.div[outsider_prose(sentence)], kept]
    return h.section("#why.why", tabindex="-1")[
        h.h2[why_heading(explained)],
        by_family(explained),
        _unmeasured(explained),
        cleared(explained),
    ]


def why_heading(explained: ScoreExplained) -> str:
    return f"Why {'unscored' if explained.score is None else explained.score}"


def by_family(explained: ScoreExplained) -> h.Node:
    """The reasons of a score: hard ones, the families, and the deductions."""
    return h.fragment[_hard(explained), h.ol(".families")[_families(explained)], _deductions(explained)]


def _hard(explained: ScoreExplained) -> h.Node:
    """Hard reasons stand first, whatever their family counts."""
    if not explained.hard_reasons:
        return None
    return h.ul(".reasons.first")[(reason_line(each) for each in explained.hard_reasons)]


def _families(explained: ScoreExplained) -> Iterable[h.Element]:
    """The families with a hard reason first, then by the points that count."""
    families = sorted(explained.families, key=lambda each: (not any(r.hard for r in each.reasons), -each.counts))
    most = max((max(each.points, each.counts, each.cap or 0) for each in families if each.reasons), default=0) or 1
    return (_family(each, most, is_open=place < OPEN_FAMILIES) for place, each in enumerate(families))


def _family(family: FamilyExplained, most: int, *, is_open: bool) -> h.Element:
    is_hard = any(each.hard for each in family.reasons)
    name = (family.family or _ALONE).capitalize()
    capped = f"{family.points} points, {family.counts} count" if family.points != family.counts else "all points count"
    return h.li(class_="hard-family" if is_hard else None)[
        h.span(".points")[f"{family.counts:+d}"],
        _bar(family, most),
        h.details(open=is_open)[
            h.summary[
                h.span(".family")[name],
                h.span(".small")[f" {capped}" + (f", at most {family.cap}" if family.cap is not None else "")],
            ],
            h.ul(".reasons")[(reason_line(each) for each in family.reasons)],
        ],
    ]


def _bar(family: FamilyExplained, most: int) -> h.Element:
    """The points that count, the others behind them in a light colour, and a mark at the cap."""
    cap = family.cap
    return h.svg(".bar", viewBox=f"0 0 {_WIDE} 8", aria_hidden="true", preserveAspectRatio="none")[
        _rect(class_="all", width=_share(family.points, most), height="8"),
        _rect(class_="counts", width=_share(family.counts, most), height="8"),
        _rect(class_="cap", x=_share(cap, most, less=1), width="1", height="8") if cap is not None else None,
    ]


def _share(points: int, most: int, *, less: int = 0) -> str:
    return f"{max(0, min(_WIDE, _WIDE * points / most) - less):.1f}"


def reason_line(reason: Reason) -> h.Element:
    return h.li[
        h.span(".weight")[f"{reason.weight:+d}"],
        h.span[
            h.span(".hard")["hard"] if reason.hard else None,
            " " if reason.hard else None,
            outsider(reason.sentence, most=SENTENCE_LETTERS),
            " ",
        ],
        h.code(title=reason.signal.replace("_", " "))[reason.id],
    ]


def _deductions(explained: ScoreExplained) -> h.Node:
    taken = [*(each for family in explained.families for each in family.taken), *explained.taken]
    if not taken:
        return None
    points = sum(each.weight for each in taken)
    return h.details(".taken")[
        h.summary[f"{count(len(taken), 'deduction')} {'takes' if len(taken) == 1 else 'take'} {points} points"],
        h.ul(".reasons")[(reason_line(each) for each in taken)],
    ]


def _unmeasured(explained: TransferExplained) -> h.Node:
    names = explained.unmeasured
    if not names:
        return None
    return h.details(".taken")[
        h.summary[
            f"{count(len(names), 'input was', 'inputs were')} not measured"
            + (" (the confidence is halved)" if explained.degraded else "")
        ],
        h.ul(".names")[(h.li[h.code[each]] for each in names)],
    ]


def cleared(explained: TransferExplained) -> h.Element:
    """The smallest sets of reasons without which the band were lower, the nearest amount, and the check."""
    return h.div("#cleared.clears", tabindex="-1")[
        h.h3["How it would have cleared"],
        lower_bands(explained),
        h.p[NO_AMOUNT if explained.nearest_amount is None else explained.nearest_amount.sentence]
        if explained.score is not None
        else None,
        h.p[explained.goes_to_person] if explained.goes_to_person is not None else None,
        h.p(".small")["The card counts common signals in part, so there may be further sets."]
        if not explained.is_exact
        else None,
        _check(explained),
    ]


def lower_bands(explained: ScoreExplained) -> h.Element:
    """The smallest sets of reasons without which the band were lower."""
    lower = explained.would_be_lower
    return h.ul[(_lower(each) for each in lower)] if lower else h.p[_nothing_lower(explained)]


def _nothing_lower(explained: ScoreExplained) -> str:
    if explained.score is None:
        return "It has no score: there is too little history."
    if explained.band is Band.CLEAR:
        return "It is in the lowest band already."
    return "No set of its reasons alone lowers the band."


def _lower(lower: LowerBand) -> h.Element:
    clauses = ", and if ".join(each.negated for each in lower.reasons)
    return h.li[
        h.strong(class_=f"band {lower.band.value}")[
            h.span(aria_hidden="true")[f"{SHAPES[lower.band]} "], f"{lower.band.value.capitalize()} ({lower.score})"
        ],
        f" if {clauses}.",
        h.span(".small")[" Who or where a party is cannot be otherwise."]
        if not all(each.can_be_otherwise for each in lower.reasons)
        else None,
    ]


def _check(explained: TransferExplained) -> h.Element:
    if not explained.is_same:
        return h.p(".differs")[f"Recomputed from the stored inputs, and different. {explained.difference or ''}"]
    score = "unscored" if explained.recomputed.score is None else str(explained.recomputed.score)
    return h.p(".same")[f"✓ Recomputed from the stored inputs: {score}, the same."]
