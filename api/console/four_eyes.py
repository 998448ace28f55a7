"""What an approval in the console says about its two names, where both are claims under the tenant's one token."""

from collections.abc import Mapping
from typing import Final

from clearhold.api.actions.schemas import Action
from clearhold.api.console.visit import Visit
from clearhold.features.core.principal import OperatorIdentity, is_key_operator
from clearhold.store.sessions import Shared

BOTH_TYPED: Final = "Both names were typed under one token."
_SHARED: Final[Mapping[Shared | None, str]] = {
    None: "",
    Shared.BROWSER: " Within an hour, both were used in the same browser.",
    Shared.ADDRESS: " Within an hour, both were used at the same address.",
}


async def approval_note(visit: Visit, action: Action) -> str | None:
    """For the record of the approval; None where a credential of a person proves one of the two names."""
    if is_key_operator(action.requested_by) or visit.principal.identity is not OperatorIdentity.CLAIMED:
        return None
    if action.requested_identity is not OperatorIdentity.CLAIMED:
        return None
    shared = await visit.services.sessions.shared(visit.signed_in.session, action.requested_by)
    return BOTH_TYPED + _SHARED[shared]
