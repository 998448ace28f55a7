"""A request for another tier. The autonomy itself is shown as ``features/policy/program_autonomy.py`` has it."""

import msgspec

from clearhold.api.http.fields import Prose
from clearhold.features.core.entries.autonomy import AutonomyTier


class TierRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``note`` says why, for the record and for the second approver."""

    tier: AutonomyTier
    note: Prose
