"""Counterparties as the interface shows them, and reading them: the other sides of a program's transfers.

Errors  NotFoundError for a counterparty or program that is not this tenant's; InvalidRequestError for an id that
        several programs have while the request names none of them
"""

from typing import Annotated, Any, Final

import msgspec
from anyio import to_thread

from clearhold.api.http.fields import ProgramId
from clearhold.api.lists.lists import to_answer
from clearhold.api.program_service import ProgramService, several_programs
from clearhold.features.bank.masking import masked_raw
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.principal import Principal
from clearhold.features.core.program import Simulated
from clearhold.features.core.rows.parties import CounterpartyRow, EarlierAccount
from clearhold.features.core.vocabulary import about
from clearhold.store.duck.parties import Counterparties


class CounterpartyQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have a counterparty of that id."""

    program_id: ProgramId | None = None


class Counterparty(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Details as the bank delivered them.

    ``raw`` is the bank's newest object of it, from an event on it or in a transfer, masked; empty without one.

    ``firstSeenAt`` is the time of the program's first transfer with it; before that, of the bank's first event on it.
    """

    id: str
    tenant_id: str
    program_id: str
    name: str | None
    routing_number: Annotated[str | None, about("Routing number of the counterparty's bank; null when unknown.")]
    account_last4: Annotated[str | None, about("Last four of the account number; null when unknown.")]
    country_code: str | None
    earlier_accounts: Annotated[
        tuple[EarlierAccount, ...], about("Other accounts that it had before, the oldest first; at most 15.")
    ]
    raw: dict[str, Any]
    first_seen_at: Annotated[
        str, about("Time of the program's first transfer with it; before that, of the bank's first event on it.")
    ]
    simulated: Simulated = msgspec.UNSET


def to_counterparty(row: CounterpartyRow, *, raw: str) -> Counterparty:
    earlier = msgspec.json.decode(row.earlier_accounts or "[]", type=tuple[EarlierAccount, ...])
    return to_answer(row, Counterparty, raw=masked_raw(raw.encode()), earlier_accounts=earlier)


UNKNOWN_COUNTERPARTY: Final = "Unknown counterparty on this tenant."


class CounterpartyService:
    def __init__(self, *, programs: ProgramService, counterparties: Counterparties) -> None:
        self._programs, self._counterparties = programs, counterparties

    async def read(self, principal: Principal, counterparty_id: str, program_id: str | None) -> Counterparty:
        return await to_thread.run_sync(self._read, principal, counterparty_id, program_id)

    def _read(self, principal: Principal, counterparty_id: str, program_id: str | None) -> Counterparty:
        named = self._programs.filter_by(principal, None if program_id is None else [program_id])
        rows = self._counterparties.find(principal, counterparty_id, named)
        if not rows:
            raise NotFoundError(UNKNOWN_COUNTERPARTY, ErrorCode.COUNTERPARTY_NOT_FOUND)
        if len(rows) > 1:
            raise several_programs("a counterparty")
        (row,) = rows
        return self._programs.marked(to_counterparty(row, raw=self._counterparties.last_raw(row)), row.program_id)
