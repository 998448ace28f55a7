"""One transfer of a caller's choice, as the bank reports it from beginning to end.

Like the bank's sandbox, this one settles at once: the steps of a life are a millisecond apart. Receivers with a
magic name send an ACH entry back after it settled, as in the bank's sandbox.

Source  the bank's public pages on its sandbox, and its clients
"""

from itertools import count
from typing import Any, Final

import msgspec

from clearhold.features.core.entries.directory import ACCOUNT_PREFIX
from clearhold.features.core.program import Program
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.sandbox import objects
from clearhold.features.sandbox.feed import ComposedEvents, compose_events
from clearhold.features.sandbox.lives import STEP_US, life_of, reports_of
from clearhold.features.sandbox.parties import FAMILY_OF_RAIL, Ending, Other, Party, PlannedTransfer
from clearhold.features.sandbox.returning import is_returnable_as
from clearhold.features.sandbox.scenario import home_of, tag_of

MAGIC_NAMES: Final = {
    "RETURN_NSF": "R01",
    "RETURN_ACCOUNT_CLOSED": "R02",
    "RETURN_STOP_PAYMENT": "R08",
    "RETURN_UNAUTH": "R10",
}
_TO_PARTY: Final = frozenset({Rail.ACH, Rail.WIRE, Rail.INTL_WIRE, Rail.REALTIME, Rail.CHECK})


class OrderedCounterparty(msgspec.Struct, frozen=True, kw_only=True):
    """The other side; equal details are the same counterparty."""

    name: str
    routing_number: str = ""
    account_last4: str = ""
    country: str = ""


class TransferOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A transfer to simulate. ``entity_id`` may also name an account."""

    rail: Rail
    direction: Direction
    type: AchType | None
    cents: int
    entity_id: str | None
    counterparty: OrderedCounterparty


def compose_transfer(program: Program, order: TransferOrder, *, run: str, at: int) -> ComposedEvents:
    """Its events, the last one ``at`` an instant; before them the owner of the account, where the entity is named."""
    tag = tag_of(program.id, "transfer", run)
    party, other = _party(program, order), _other(program, order)
    planned = _planned(order, party, other, at)
    began = at - (len(life_of(planned)) - 1) * STEP_US
    transfer_id = f"{objects.PREFIX_OF[planned.family]}_{tag}0001"
    events: list[tuple[int, str, dict[str, Any]]] = []
    if party.id:
        events.append((began, "account.unfrozen", objects.account(party, at=began)))
    to_party = {"counterparty": _embedded(other)} if order.rail in _TO_PARTY else {}
    for reported_at, event_type, data in reports_of(planned, transfer_id, count(began, STEP_US)):
        events.append((reported_at, event_type, _stated(data | to_party)))
    return compose_events(tag, events, transfer_id)


def _planned(order: TransferOrder, party: Party, other: Other, at: int) -> PlannedTransfer:
    planned = PlannedTransfer(
        at=at,
        family=FAMILY_OF_RAIL[order.rail],
        party=party,
        other=other,
        cents=order.cents,
        incoming=order.direction is Direction.INCOMING,
        debit=order.type is AchType.DEBIT,
        sec_code="WEB" if order.type is AchType.DEBIT else "PPD",
        note="sandbox",
    )
    code = MAGIC_NAMES.get(order.counterparty.name)
    if code is None or planned.incoming or not is_returnable_as(code, order.rail, order.type):
        return planned
    return msgspec.structs.replace(planned, ending=Ending.RETURNED, code=code)


def _party(program: Program, order: TransferOrder) -> Party:
    """The program's side: the named account, an account of the named entity, or the sandbox's own account."""
    named = order.entity_id or ""
    is_account = named.startswith(ACCOUNT_PREFIX)
    return Party(
        id="" if is_account else named,
        name="Sandbox Customer",
        business=False,
        account_id=named if is_account else f"{ACCOUNT_PREFIX}{tag_of(program.id, 'account', named)}",
        city="Boise",
        state="ID",
        country=home_of(program),
    )


def _other(program: Program, order: TransferOrder) -> Other:
    sought = order.counterparty
    details = (sought.name, sought.routing_number, sought.account_last4, sought.country)
    return Other(
        id=f"cpty_{tag_of(program.id, 'counterparty', *details)}",
        name=sought.name,
        business=False,
        routing=sought.routing_number,
        account_number=f"000000{sought.account_last4}" if sought.account_last4 else "",
        city="",
        country=sought.country,
    )


def _embedded(other: Other) -> dict[str, Any]:
    """The counterparty as the bank's object."""
    details = {"id": other.id, "name": other.name, "routing_number": other.routing}
    return {**details, "account_number": other.account_number, "address": {"country_code": other.country}}


def _stated(data: dict[str, Any]) -> dict[str, Any]:
    """Without open fields: for example, no country is stated if the order names no country."""
    cleaned = {name: _stated(value) if isinstance(value, dict) else value for name, value in data.items()}
    return {name: value for name, value in cleaned.items() if value not in ("", {})}
