"""The state of the keys that a bank and this service share: that of the bank's API, and the secrets of its webhooks.

No answer has a key or a secret. Setting and replacing them is the platform's administration.
"""

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.operation import Access, Operation
from clearhold.api.lists.handlers import answer_route
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal, Program, Simulated
from clearhold.features.core.vocabulary import about
from clearhold.store.control.entries import BankKeyEntry

_TAG: Final = "bank_keys"


class SharedKeyState(StrEnum):
    """Whether there is a key to the bank's API."""

    NEVER_SET = "never_set"
    SET = "set"
    REMOVED = "removed"


class BankApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """The tenant's key to the bank's API."""

    state: Annotated[
        SharedKeyState, about("set: it is used; removed: it was set before; never_set: nothing is asked of the bank.")
    ]
    since: Annotated[str | None, about("When it was set or removed; null: never.")]
    by: Annotated[str | None, about("The name of the administrator; null: never.")]


class WebhookSecretState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The secret under which the bank signs a program's events."""

    program_id: str
    signature_header: Annotated[str, about("The header that has the signature.")]
    webhook_endpoint_id: Annotated[str | None, about("The endpoint's id that each delivery has to name; null: none.")]
    replaced_until: Annotated[
        str | None, about("Until when the replaced secret counts beside the present one; null: it does not.")
    ]
    simulated: Simulated = msgspec.UNSET


class BankKeyStates(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The keys that the bank and this service share, without their values."""

    bank_api: Annotated[BankApiKey, about("The key to the bank's API.")]
    webhooks: Annotated[tuple[WebhookSecretState, ...], about("The secret of each program, newest program first.")]


class BankKeyService:
    def __init__(self, resources: Resources) -> None:
        self._programs, self._tenancy = resources.programs, resources.stores.registry.tenancy
        self._clock = resources.stores.clock

    async def read(self, principal: Principal) -> BankKeyStates:
        programs = self._programs.list(principal, source=None)
        return BankKeyStates(bank_api=self._of_api(principal), webhooks=tuple(map(self._of_program, programs)))

    def _of_api(self, principal: Principal) -> BankApiKey:
        last = self._tenancy.bank_keys.last_change(principal.tenant_id)
        if last is None:
            return BankApiKey(state=SharedKeyState.NEVER_SET, since=None, by=None)
        if isinstance(last, BankKeyEntry):
            return BankApiKey(state=SharedKeyState.SET, since=last.set_at, by=last.set_by)
        return BankApiKey(state=SharedKeyState.REMOVED, since=last.removed_at, by=last.removed_by)

    def _of_program(self, program: Program) -> WebhookSecretState:
        target, now = self._tenancy.ingest_targets.find(program.id), self._clock.now()
        assert target is not None, "every program has a target"
        until = [each.until for each in target.secrets[1:] if each.until is not None and each.is_valid(now)]
        state = WebhookSecretState(
            program_id=program.id,
            signature_header=program.signature_header,
            webhook_endpoint_id=program.webhook_endpoint_id,
            replaced_until=format_instant(until[0]) if until else None,
        )
        return self._programs.marked(state, program.id)


BANK_KEYS: Final[dict[str, Any]] = {
    "bankApi": {"state": "set", "since": "2026-03-02T09:00:00.000Z", "by": "platform@bank.example"},
    "webhooks": [
        {
            "programId": PROGRAM_ID,
            "signatureHeader": "Bank-Signature",
            "webhookEndpointId": None,
            "replacedUntil": "2026-03-03T09:00:00.000Z",
        }
    ],
}
_READ: Final = Operation(
    id="getBankKeys",
    tag="keys",
    summary="The state of the key to the bank's API and of the secrets of its webhooks, without their values.",
    access=Access.OPERATOR,
    answers={200: BankKeyStates},
    answer_example=BANK_KEYS,
)


AREA: Final = Area(
    routes=(answer_route("/api/bank-keys", _READ, _TAG, BankKeyService.read),), provide={_TAG: BankKeyService}
)
