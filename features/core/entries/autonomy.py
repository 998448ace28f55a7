"""How far the platform may close a program's alerts alone: tiers, versions, and the evidence; a policy in force.

``supervised`` closes nothing alone, ``standard`` is the policy unchanged, ``trusted`` adds the granted detectors.
"""

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from clearhold.features.core.words import about


class AutonomyTier(StrEnum):
    """From the narrowest to the widest."""

    SUPERVISED = "supervised"
    STANDARD = "standard"
    TRUSTED = "trusted"


TIERS: Final = tuple(AutonomyTier)


class AutonomyBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One version of a program's autonomy.

    ``granted`` detectors are closable beside those of the policy; ``withdrawn`` ones are not closable here, although
    the policy has them or they were granted. ``note`` is the person's text, or the rule that narrowed the autonomy.
    """

    version: Annotated[str, about("The version, counted by program.")]
    tier: AutonomyTier
    granted: tuple[str, ...]
    withdrawn: Annotated[
        tuple[str, ...],
        about("Detectors that may not be closed alone here, although the policy has them or they were granted."),
    ]
    note: Annotated[str, about("Why: in the words of the person, or by which rule it narrowed by itself.")]


class AutonomyVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version with the instant from which it is in force."""

    body: AutonomyBody
    created_at: int


class AutonomyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The change that a person requests."""

    tier: AutonomyTier
    note: str


class AutonomyChange(msgspec.Struct, frozen=True, kw_only=True, rename={"replaced": "from"}):
    """The change as recorded in its action: the replaced version, None for the first, and the new body."""

    replaced: str | None
    body: AutonomyBody


class DetectorTally(msgspec.Struct, kw_only=True):
    """Counts over a detector's closable alerts on one program; ``recent`` ones are of the last 30 days."""

    alerts: int = 0
    labelled: int = 0  # by matured labels
    bad: int = 0
    reviewed: int = 0
    overturned: int = 0
    recent_reviewed: int = 0
    recent_overturned: int = 0


def autonomy_version(number: int) -> str:
    return f"autonomy-v{number}"


class PolicyEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A version brought into force by an approved action; the same ``action_id`` applied again changes nothing.

    ``from_start`` is for the policies that a new program begins with, which count for all its history.
    """

    tenant_id: str
    version: str
    body: dict[str, Any]
    action_id: str
    of_program: bool  # activated for the program alone, not for the whole tenant
    from_start: bool = False
