"""A caller's choice in the sandbox: one transfer, as the bank reports it from beginning to end; the return of a
transfer; or any one event, and the automatic verification of a created entity.

Like the bank's sandbox, this one settles at once: the steps of a life are a millisecond apart. Receivers with a magic
name send an ACH entry back after it settled, and entities are verified at once, but for two names, as in the bank's
sandbox.

Source  the bank's public pages on its sandbox and its events, and its clients; Nacha Operating Rules for the codes
"""

from collections.abc import Mapping
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.bank.statuses import UNAUTHORIZED_RETURN_CODES, UNMOVED_STATUSES
from clearhold.features.core.entries.directory import ACCOUNT_PREFIX
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Program
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.sandbox import objects
from clearhold.features.sandbox.feed import STEP_US, ComposedEvents, compose_events, life_of, reports_of
from clearhold.features.sandbox.parties import FAMILY_OF_RAIL, Ending, Other, Party, PlannedTransfer
from clearhold.features.sandbox.scenarios import home_of, tag_of

ACH_RETURN_CODE: Final = r"R(0[1-9]|[1-3][0-9]|4[0-7]|5[0-3]|8[0-5])"
"""Without R61 to R77, which are not returns but disputes of a return."""
CHECK_RETURN_REASON: Final = r"[ABCDEFNQ]"

_OF_DEBITS: Final = UNAUTHORIZED_RETURN_CODES | {"R01", "R08", "R09"}
_OF_CREDITS: Final = frozenset({"R23"})
_NOT_SENT: Final = frozenset({"INITIATED", "MANUAL_REVIEW", "MANUAL_REVIEW_APPROVED", "PENDING_SUBMISSION", "ISSUED"})
_RETURNED: Final = frozenset(
    {"RETURNED", "RETURN_CONTESTED", "FIRST_RETURN", "SECOND_RETURN", "USER_INITIATED_RETURNED"}
)
_NEVER: Final[Mapping[Rail, str]] = {
    Rail.WIRE: "A wire is final: its money comes back as another wire.",
    Rail.REALTIME: "A realtime payment is final: its money comes back as another payment.",
    Rail.BOOK: "A book transfer is final: its money comes back as another book transfer.",
    Rail.CARD: "A card transfer is not returned: the merchant refunds it, or the holder disputes it.",
}


class ReturnableTransfer(NamedTuple):
    """A transfer's state that decides whether it can come back, and the bank's object as last delivered."""

    id: str
    rail: Rail
    direction: Direction
    type: AchType | None
    status: str
    data: Mapping[str, Any]


def never_returned(transfer: ReturnableTransfer) -> str | None:
    """Why the bank cannot send the transfer back; None when it can."""
    if transfer.rail in _NEVER:
        return _NEVER[transfer.rail]
    if transfer.status in _RETURNED:
        return "This transfer was already returned."
    if transfer.status in UNMOVED_STATUSES:
        return "This transfer moved no money, so there is nothing to return."
    if transfer.direction is Direction.OUTGOING and transfer.status in _NOT_SENT:
        return "This transfer was not sent yet. First send the event that it was submitted or settled."
    return None


def is_returnable_as(code: str, rail: Rail, ach_type: AchType | None) -> bool:
    """Whether an entry of this kind can come back under a well-formed code."""
    if rail is not Rail.ACH:
        return False
    return code not in (_OF_CREDITS if ach_type is AchType.DEBIT else _OF_DEBITS)


def return_tag(program_id: str, run: str) -> str:
    return tag_of(program_id, "return", run)


def compose_return(
    program_id: str, transfer: ReturnableTransfer, code: str | None, *, run: str, at: int
) -> ComposedEvents:
    """The event of the return: the bank's object with the changed fields."""
    event_type, status = _EVENT_OF[transfer.rail, transfer.direction]
    now = format_instant(at)
    data = {**transfer.data, "id": transfer.id, "status": status, "returned_at": now, "updated_at": now}
    if transfer.rail is Rail.ACH:
        earlier = transfer.data.get("return_details")
        data["return_details"] = [
            *(earlier if isinstance(earlier, list) else ()),
            objects.return_detail(code or "", at),
        ]
    elif transfer.rail is Rail.CHECK:
        data["return_reason"] = code
    else:
        data["return_reason"] = "returned by the beneficiary's bank"
    return compose_events(return_tag(program_id, run), [(at, event_type, data)], transfer.id)


_EVENT_OF: Final = {
    (Rail.ACH, Direction.OUTGOING): ("ach.outgoing_transfer.returned", "RETURNED"),
    (Rail.ACH, Direction.INCOMING): ("ach.incoming_transfer.returned", "RETURNED"),
    (Rail.INTL_WIRE, Direction.OUTGOING): ("swift.outgoing_transfer.returned", "RETURNED"),
    (Rail.INTL_WIRE, Direction.INCOMING): ("swift.incoming_transfer.returned", "RETURNED"),
    (Rail.CHECK, Direction.OUTGOING): ("check.incoming_debit.first_return", "first_return"),
    (Rail.CHECK, Direction.INCOMING): ("check.outgoing_debit.returned", "returned"),
}


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


CREATED: Final = "identity.created"
STATUS_OF_NAME: Final = {"Review": "MANUAL_REVIEW", "Denied": "DENIED"}
"""By the last name of a person, or the name of a business."""
VERIFIED: Final = "VERIFIED"

_UNDECIDED: Final = (None, "UNVERIFIED", "PENDING")  # no set: the caller's value may be a list or an object


def compose_event(program_id: str, event_type: str, data: Mapping[str, Any], *, run: str, at: int) -> ComposedEvents:
    """The event with its data unchanged; one that creates an entity is followed by its verification."""
    events = [(at, event_type, dict(data))]
    is_undecided = isinstance(data.get("id"), str) and data.get("verification_status") in _UNDECIDED
    if event_type == CREATED and is_undecided:
        status = STATUS_OF_NAME.get(_name_of(data), VERIFIED)
        verified = {**data, "verification_status": status, "updated_at": format_instant(at)}
        verified["review_reasons"] = list(objects.REVIEW_REASONS.get(status, ()))
        events = [
            (at - STEP_US, event_type, {"updated_at": format_instant(at - STEP_US)} | dict(data)),
            (at, f"identity.verification.{status.lower()}", verified),
        ]
    return compose_events(tag_of(program_id, "event", run), events, None)


def _name_of(data: Mapping[str, Any]) -> str:
    person, business = data.get("person_details"), data.get("business_details")
    if isinstance(person, Mapping) and isinstance(name := person.get("last_name"), str):
        return name
    if isinstance(business, Mapping) and isinstance(name := business.get("business_name"), str):
        return name
    return ""
