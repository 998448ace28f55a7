"""The autonomy of a program as the interface shows it, with the evidence on each detector."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final

import msgspec

from clearhold.features.core.entries.actions import AutonomyBody, AutonomyTier, DetectorTally
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import copied
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import about
from clearhold.features.policy.autonomy import (
    AutonomyBook,
    Objection,
    as_left_by,
    bad_rate_bound,
    closable_but_for_tier,
    closable_detectors,
    objections,
    tier_under,
)
from clearhold.features.policy.bodies import PolicyBody


class DetectorEligibility(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A detector on a program: whether its alerts may be closed there alone, and the evidence on that.

    Counts are of alerts that were closed alone, or could have been if the detector were closable. ``labelled`` are
    those with a matured label; ``badRateBound`` is the upper 95 % bound on the share of bad ones among them, rounded
    up; ``objections`` are empty for an eligible detector.
    """

    detector: Annotated[str, about("The detector.")]
    closable: Annotated[bool, about("Whether its alerts may be closed alone on the program now.")]
    eligible: Annotated[bool, about("Whether its evidence lets its alerts be closed alone.")]
    objections: Annotated[
        tuple[Objection, ...],
        about(
            "The reasons against that: always_reviewed; bad_rate_bound (over 2 %, or too few labels); "
            "reviewed_too_few (under 50); overturn_rate (over 2 %); overturned_recently (over 5 % of 20 or more "
            "in 30 days)."
        ),
    ]
    alerts: Annotated[int, about("Its alerts that were closed alone, or could have been but for the detector or tier.")]
    labelled: Annotated[int, about("How many of them have a label: bad counts at once, ok 60 days after the transfer.")]
    bad: Annotated[int, about("How many of those have a transfer that is labelled bad.")]
    bad_rate_bound: Annotated[
        float | None,
        about("Upper end of the one-sided 95 % interval of the share of bad ones, rounded up; null without labels."),
    ]
    reviewed: Annotated[int, about("How many of the alerts a person decided.")]
    overturned: Annotated[int, about("How many of those the person held or escalated at first.")]
    overturn_rate: Annotated[float | None, about("The share of those; null without reviews.")]
    recently_reviewed: Annotated[int, about("How many were reviewed in the last 30 days.")]
    recently_overturned: Annotated[int, about("How many of those were overturned.")]


class AutonomyRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A version of a program's autonomy; the newest is active."""

    version: Annotated[str, about("The version, counted by program.")]
    created_at: str
    body: Annotated[AutonomyBody, about("What the version says.")]
    active: bool


class ProgramAutonomy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the platform may close alone on a program, why, and since when.

    ``version`` is null while the policy is in force as it stands. ``history`` has the newest version first.
    """

    program_id: str
    tier: AutonomyTier
    version: Annotated[str | None, about("The version in force; null while the policy holds as it stands.")]
    granted: tuple[str, ...]
    effective: Annotated[PolicyBody, about("The policy in force on the program: the alerts it may close alone.")]
    eligibility: Annotated[tuple[DetectorEligibility, ...], about("The evidence on each detector, by its id.")]
    last_change_at: Annotated[str | None, about("When the autonomy last changed; null when it never did.")]
    next_change_allowed_at: Annotated[
        str | None, about("When it may be widened again, 7 days after the last time; null if never widened.")
    ]
    history: Annotated[tuple[AutonomyRecord, ...], about("Every version, the newest first.")]
    warnings: Annotated[
        tuple[str, ...], about("What the version in force no longer closes alone, and the way back, in sentences.")
    ]
    simulated: Simulated = msgspec.UNSET


_SUPERVISED: Final = (
    "Nothing is closed without a person on this program. The way back to standard needs a second person and no "
    "evidence, at most one widening in 7 days."
)
_NOTHING_LEFT: Final = (
    "Nothing is closed without a person on this program: each detector that the policy lists is withdrawn, or it lists "
    "none. The way out is a policy that lists another, or evidence."
)
_WITHDRAWN: Final = "Withdrawn until the evidence on them suffices again: {}."
_NO_LONGER_GRANTED: Final = "No longer granted: {}. A grant needs evidence and a second person."


def program_autonomy(
    program_id: str, autonomy: AutonomyBook, tallies: Mapping[str, DetectorTally], policy: PolicyBody
) -> ProgramAutonomy:
    """The autonomy of a program under the policy of its tenant."""
    body, versions = autonomy.body, autonomy.versions
    closable = closable_detectors(policy, body)
    detectors = sorted({*policy.auto_closable_detectors, *body.granted, *body.withdrawn, *tallies})
    next_at = autonomy.next_widening_at
    return ProgramAutonomy(
        program_id=program_id,
        tier=tier_under(policy, body),
        version=autonomy.version,
        granted=body.granted,
        effective=as_left_by(body, policy),
        eligibility=tuple(
            _eligibility(name, tallies.get(name) or DetectorTally(), policy, is_closable=name in closable)
            for name in detectors
        ),
        last_change_at=format_instant(versions[-1].created_at) if versions else None,
        next_change_allowed_at=None if next_at is None else format_instant(next_at),
        history=tuple(
            AutonomyRecord(
                version=each.body.version,
                created_at=format_instant(each.created_at),
                body=each.body,
                active=each is versions[-1],
            )
            for each in reversed(versions)
        ),
        warnings=tuple(_warnings(autonomy, policy)),
    )


def _warnings(autonomy: AutonomyBook, policy: PolicyBody) -> Iterator[str]:
    body, before = autonomy.body, autonomy.versions[-2:-1]
    if not closable_but_for_tier(policy, body):
        yield _NOTHING_LEFT
    elif body.tier is AutonomyTier.SUPERVISED:
        yield _SUPERVISED
    if body.withdrawn:
        yield _WITHDRAWN.format(", ".join(body.withdrawn))
    ended = [name for each in before for name in each.body.granted if name not in body.granted]
    if ended:
        yield _NO_LONGER_GRANTED.format(", ".join(ended))


def _eligibility(detector: str, tally: DetectorTally, policy: PolicyBody, *, is_closable: bool) -> DetectorEligibility:
    standing = objections(detector, tally, policy)
    bound = bad_rate_bound(tally.bad, tally.labelled)
    return copied(
        DetectorEligibility,
        tally,
        detector=detector,
        closable=is_closable,
        eligible=not standing,
        objections=standing,
        bad_rate_bound=None if bound is None else float(bound),
        overturn_rate=round(tally.overturned / tally.reviewed, 4) if tally.reviewed else None,
        recently_reviewed=tally.recent_reviewed,
        recently_overturned=tally.recent_overturned,
    )
