"""What an approval in the console says about its two names: which were typed, and where both were used."""

from collections.abc import Mapping
from typing import Final

from clearhold.api.actions.schemas import Action
from clearhold.api.console.visit import Visit
from clearhold.features.core.principal import OperatorIdentity, is_key_operator
from clearhold.store.sessions import Shared

BOTH_TYPED: Final = "Both names were typed, and neither was proven."
REQUESTER_TYPED: Final = "The requester's name was typed, and not proven."
IN_ONE_BROWSER: Final = "Within an hour, both names were used in the same browser."
_SHARED: Final[Mapping[Shared | None, str]] = {
    None: "",
    Shared.BROWSER: f" {IN_ONE_BROWSER}",
    Shared.ADDRESS: " Within an hour, both names were used at the same address.",
}


async def approval_note(visit: Visit, action: Action) -> str | None:
    """For the record of the approval. Where both names are proven, only one browser for both is worth a note."""
    if is_key_operator(action.requested_by):
        return None
    shared = await visit.services.sessions.shared(visit.signed_in.session, action.requested_by)
    if visit.principal.identity is OperatorIdentity.CLAIMED:
        return BOTH_TYPED + _SHARED[shared]
    if action.requested_identity is not OperatorIdentity.PERSON:
        return REQUESTER_TYPED + _SHARED[shared]
    return IN_ONE_BROWSER if shared is Shared.BROWSER else None
