"""The kinds of numbered versions, one row each, by the prefix of their versions.

A further kind of policy is a row here, its body in ``features/policy/bodies.py``, and its rules in
``api/policies/rules.py``. The caps and the autonomy of a program are versions too, but no rows here: the program's
shard numbers them as it decides their actions (``features/actions/changes.py``).
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from clearhold.features.policy.bodies import (
    CHALLENGER,
    CLOCK,
    FX,
    KRI,
    LADDER,
    POLICY,
    RETENTION,
    RULES,
    SCORECARD,
    SHADOW,
    THRESHOLDS,
    prefix_of,
)
from clearhold.store.control.entries import ControlKind

MOST_POLICIES: Final = 1_000
MOST_RULES_VERSIONS: Final = 1_000
MOST_SCORECARDS: Final = 200

TOO_MANY_POLICIES: Final = f"A tenant has at most {MOST_POLICIES} versions of policies, which are kept for good."
TOO_MANY_RULES_VERSIONS: Final = (
    f"A tenant has at most {MOST_RULES_VERSIONS} versions of its rules, which are kept for good. Rules can only be "
    "paused."
)
TOO_MANY_SCORECARDS: Final = f"A tenant has at most {MOST_SCORECARDS} versions of scorecards, which are kept for good."


class VersionKind(msgspec.Struct, frozen=True, kw_only=True):
    """``entry`` writes a version of the kind. Prefixes with one row are counted together.

    Versions in shadow have no limit: only the newest is kept.
    """

    entry: ControlKind
    most: int | None = None  # of a tenant: versions are kept for good, and listed without pages
    too_many: str = ""
    in_shadow: bool = False


_POLICIES: Final = VersionKind(entry=ControlKind.POLICY, most=MOST_POLICIES, too_many=TOO_MANY_POLICIES)
VERSION_KINDS: Final[Mapping[str, VersionKind]] = {
    POLICY: _POLICIES,
    CLOCK: _POLICIES,
    LADDER: _POLICIES,
    THRESHOLDS: _POLICIES,
    KRI: _POLICIES,
    RETENTION: _POLICIES,
    FX: _POLICIES,
    RULES: VersionKind(entry=ControlKind.RULE, most=MOST_RULES_VERSIONS, too_many=TOO_MANY_RULES_VERSIONS),
    SHADOW: VersionKind(entry=ControlKind.RULE, in_shadow=True),
    SCORECARD: VersionKind(entry=ControlKind.SCORECARD, most=MOST_SCORECARDS, too_many=TOO_MANY_SCORECARDS),
    CHALLENGER: VersionKind(entry=ControlKind.CHALLENGER, in_shadow=True),
}


def kind_of(version: str) -> VersionKind:
    return VERSION_KINDS[prefix_of(version)]


def is_policy(version: str) -> bool:
    """Whether a version is written and activated among the policies, and not by rules or scorecards."""
    return kind_of(version).entry is ControlKind.POLICY
