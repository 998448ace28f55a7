"""What the platform may close alone on a program: the steps, the one in force, and the ways up and down."""

from collections.abc import Iterable, Mapping
from typing import Final

import htpy as h

from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import NO_VALUE, count, moment, outsider_prose
from clearhold.features.core.entries.actions import TIERS, AutonomyTier
from clearhold.features.core.vocabulary import words
from clearhold.features.policy.autonomy import Objection
from clearhold.features.policy.program_autonomy import AutonomyRecord, DetectorEligibility, ProgramAutonomy

_VERSIONS: Final = 12
OBJECTIONS: Final[Mapping[Objection, str]] = {
    Objection.ALWAYS_REVIEWED: "always decided by a person",
    Objection.BAD_RATE_BOUND: "too few labels, or more than 2 % may be bad",
    Objection.REVIEWED_TOO_FEW: "fewer than 50 were decided by persons",
    Objection.OVERTURN_RATE: "persons held or escalated more than 2 %",
    Objection.OVERTURNED_RECENTLY: "persons held or escalated more than 5 % in the last 30 days",
}
STEPS: Final[Mapping[AutonomyTier, str]] = {
    AutonomyTier.SUPERVISED: "A person decides every alert.",
    AutonomyTier.STANDARD: "The platform closes the alerts that the policy lists.",
    AutonomyTier.TRUSTED: "It also closes those of detectors whose evidence suffices.",
}


def ladder(autonomy: ProgramAutonomy, now: str) -> h.Element:
    """The steps from the narrowest to the widest; the present one is marked."""
    return h.section("#ladder")[
        h.h3["The step in force"],
        h.ol(".steps")[
            (
                h.li(aria_current="step" if tier is autonomy.tier else None)[
                    h.b[tier.value], ", in force: " if tier is autonomy.tier else ": ", STEPS[tier]
                ]
                for tier in TIERS
            )
        ],
        h.h3["Ways up and down"],
        h.ul(".plain")[(h.li[each] for each in _moves(autonomy, now))],
    ]


def _moves(autonomy: ProgramAutonomy, now: str) -> Iterable[h.Node]:
    waits = autonomy.next_change_allowed_at
    waiting = waits is not None and waits > now
    could = [each for each in autonomy.eligibility if each.eligible and not each.closable]
    if autonomy.tier is not AutonomyTier.SUPERVISED:
        yield "Down: one person narrows it, at once. It narrows by itself where a detector's evidence no longer holds."
    if autonomy.tier is AutonomyTier.TRUSTED and not could:
        yield "Up: it is at the widest step, and no other detector has the evidence."
    elif autonomy.tier is AutonomyTier.SUPERVISED:
        yield "Up to standard: a request, and the approval of a second person."
    elif could:
        names = ", ".join(each.detector.replace("_", " ") for each in could)
        yield f"Up: a request and a second person's approval. The evidence suffices for {names}."
    else:
        yield "Up to trusted: one more detector needs the evidence; the objections to each are below."
    if waiting:
        yield ["It was widened less than 7 days ago: not before ", moment(waits), "."]
    if autonomy.last_change_at is not None:
        yield ["Last changed ", moment(autonomy.last_change_at), "."]


def evidence_table(autonomy: ProgramAutonomy) -> h.Node:
    """Each detector with the evidence, and the objections to closing its alerts alone."""
    if not autonomy.eligibility:
        return h.p["The platform can close alerts of no detector of this program alone."]
    figures = ("Alerts", "Decided by persons", "Of those overturned", "Labelled", "Bad at most")
    heads = ("Detector", "Closed alone", *figures, "Against it")
    rows = (_evidence(each) for each in autonomy.eligibility)
    return wide_table("Evidence on detectors", heads, rows, figures=figures)


def _evidence(row: DetectorEligibility) -> h.Element:
    bound = "not measured" if row.bad_rate_bound is None else f"{row.bad_rate_bound:.1%}"
    rate = NO_VALUE if row.overturn_rate is None else f" ({row.overturn_rate:.1%})"
    return h.tr[
        h.th(scope="row")[words(row.detector)],
        h.td["yes" if row.closable else "no"],
        h.td(".number")[f"{row.alerts:,}"],
        h.td(".number")[f"{row.reviewed:,}"],
        h.td(".number")[f"{row.overturned:,}{rate}" if row.reviewed else rate],
        h.td(".number")[f"{row.labelled:,}"],
        h.td(".number")[bound],
        h.td(".words")["; ".join(OBJECTIONS[each] for each in row.objections) or "nothing"],
    ]


def autonomy_versions(autonomy: ProgramAutonomy) -> h.Node:
    """Each version with what it granted and withdrew, and why; the newest first."""
    if not autonomy.history:
        return h.p(".small")["Nothing was changed on this program: the policy holds as it stands."]
    return h.ul("#autonomy-versions.plain")[(_version(each) for each in autonomy.history[:_VERSIONS])]


def _version(record: AutonomyRecord) -> h.Element:
    body = record.body
    listed = (("granted", body.granted), ("withdrawn", body.withdrawn))
    parts = [f"{word}: {', '.join(map(words, names))}" for word, names in listed if names]
    return h.li[
        moment(record.created_at),
        " ",
        h.b[body.tier.value],
        ", in force" if record.active else None,
        "".join(f"; {each}" for each in parts),
        ". ",
        outsider_prose(body.note),
    ]


def autonomy_summary(autonomy: ProgramAutonomy) -> h.Element:
    closed = sum(1 for each in autonomy.eligibility if each.closable)
    return h.p[f"{count(closed, 'detector')} closed alone. ", " ".join(autonomy.warnings)]
