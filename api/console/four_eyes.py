"""What an approval in the console says about its two names: that both are claims, or were used in one browser."""

from collections.abc import Mapping
from typing import Final

from clearhold.api.actions.schemas import Action
from clearhold.api.console.visit import Visit
from clearhold.features.core.principal import OperatorIdentity, is_key_operator
from clearhold.store.sessions import Shared

BOTH_TYPED: Final = "Both names were typed under one token."
IN_ONE_BROWSER: Final = "Within an hour, both names were used in the same browser."
_SHARED: Final[Mapping[Shared | None, str]] = {
    None: "",
    Shared.BROWSER: " Within an hour, both were used in the same browser.",
    Shared.ADDRESS: " Within an hour, both were used at the same address.",
}


async def approval_note(visit: Visit, action: Action) -> str | None:
    """For the record of the approval. Where a credential of a person proves one of the two names, only one browser for
    both is worth a note.
    """
    if is_key_operator(action.requested_by):
        return None
    shared = await visit.services.sessions.shared(visit.signed_in.session, action.requested_by)
    if {visit.principal.identity, action.requested_identity} == {OperatorIdentity.CLAIMED}:
        return BOTH_TYPED + _SHARED[shared]
    return IN_ONE_BROWSER if shared is Shared.BROWSER else None
