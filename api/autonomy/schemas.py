"""A request for another tier. The autonomy in answers is the Struct of ``features/policy/program_autonomy.py``."""

from typing import Annotated

import msgspec

from clearhold.api.http.fields import Prose
from clearhold.features.core.entries.actions import AutonomyTier
from clearhold.features.core.vocabulary import about


class TierRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``note`` says why, for the record and for the second approver."""

    tier: AutonomyTier
    note: Annotated[Prose, about("Why, for the record and for the second approver.")]
