"""Counterparties as the interface shows them: the other sides of a program's transfers."""

from typing import Annotated, Any

import msgspec

from clearhold.api.http.fields import BankId
from clearhold.api.lists.lists import shown
from clearhold.features.bank.masking import masked_raw
from clearhold.features.core.program import Simulated
from clearhold.features.core.rows.parties import CounterpartyRow
from clearhold.features.core.words import about


class CounterpartyQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have a counterparty of that id."""

    program_id: BankId | None = None


class Counterparty(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Details as the bank delivered them; ``raw`` is its newest object, masked; empty without one.

    ``firstSeenAt`` is the time of the program's first transfer with it, null before it.
    """

    id: str
    tenant_id: str
    program_id: str
    name: str | None
    routing_number: Annotated[str | None, about("Routing number of the counterparty's bank; null when unknown.")]
    account_last4: Annotated[str | None, about("Last four of the account number; null when unknown.")]
    country_code: str | None
    raw: dict[str, Any]
    first_seen_at: Annotated[str | None, about("Time of the program's first transfer with it; null before that.")]
    simulated: Simulated = msgspec.UNSET


def to_counterparty(row: CounterpartyRow, *, raw: str) -> Counterparty:
    return shown(row, Counterparty, raw=masked_raw(raw.encode()))
