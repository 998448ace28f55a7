"""The autonomy of a program as the interface shows it, with the evidence on each detector."""

from collections.abc import Mapping

import msgspec

from clearhold.features.core.entries.autonomy import AutonomyBody, AutonomyTier, DetectorTally
from clearhold.features.core.instants import format_instant
from clearhold.features.policy.autonomy import as_left_by, closable_detectors
from clearhold.features.policy.autonomy_book import AutonomyBook
from clearhold.features.policy.bodies import PolicyBody
from clearhold.features.policy.eligibility import Objection, bad_rate_bound, objections


class DetectorEligibility(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A detector on a program: whether its alerts may be closed there alone, and the evidence on that.

    Counts are of alerts that were closed alone, or could have been if the detector were closable. ``labelled`` are
    those with a matured label; ``badRateBound`` is the upper 95 % bound on the share of bad ones among them, rounded
    up; ``objections`` are empty for an eligible detector.
    """

    detector: str
    closable: bool
    eligible: bool
    objections: tuple[Objection, ...]
    alerts: int
    labelled: int
    bad: int
    bad_rate_bound: float | None
    reviewed: int
    overturned: int
    overturn_rate: float | None
    recently_reviewed: int
    recently_overturned: int


class AutonomyRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A version of a program's autonomy; the newest is active."""

    version: str
    created_at: str
    body: AutonomyBody
    active: bool


class ProgramAutonomy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the platform may close alone on a program, why, and since when.

    ``version`` is null while the policy is in force as it stands. ``history`` has the newest version first.
    """

    program_id: str
    tier: AutonomyTier
    version: str | None
    granted: tuple[str, ...]
    effective: PolicyBody
    eligibility: tuple[DetectorEligibility, ...]
    last_change_at: str | None
    next_change_allowed_at: str | None
    history: tuple[AutonomyRecord, ...]


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
        tier=body.tier,
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
    )


def _eligibility(detector: str, tally: DetectorTally, policy: PolicyBody, *, is_closable: bool) -> DetectorEligibility:
    standing = objections(detector, tally, policy)
    bound = bad_rate_bound(tally.bad, tally.labelled)
    return DetectorEligibility(
        detector=detector,
        closable=is_closable,
        eligible=not standing,
        objections=standing,
        alerts=tally.alerts,
        labelled=tally.labelled,
        bad=tally.bad,
        bad_rate_bound=None if bound is None else float(bound),
        reviewed=tally.reviewed,
        overturned=tally.overturned,
        overturn_rate=round(tally.overturned / tally.reviewed, 4) if tally.reviewed else None,
        recently_reviewed=tally.recent_reviewed,
        recently_overturned=tally.recent_overturned,
    )
