"""The bank's objects, in ``data`` of its events and in its API: shapes without times and reasons.

Transfers carry no entity and no counterparty: a receiver queries the API for the account and the counterparty.
"""

from typing import Any, Final

from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.sandbox.parties import COMPANY_LETTERS, Ending, EventFamily, Other, Party, PlannedTransfer

BANK_ROUTING: Final = "121145307"
PREFIX_OF: Final = {
    EventFamily.ACH: "acht",
    EventFamily.WIRE: "wire",
    EventFamily.SWIFT: "swft",
    EventFamily.REALTIME: "rttr",
    EventFamily.BOOK: "book",
    EventFamily.CHECK: "chkt",
    EventFamily.CARD: "ctxn",
}
REVIEW_REASONS: Final = {"DENIED": ("name_mismatch",), "MANUAL_REVIEW": ("address_mismatch", "name_mismatch")}
RETURN_WORDS: Final = {
    "R01": "Not sufficient funds",
    "R02": "Account closed",
    "R03": "No account or unable to locate account",
    "R07": "Authorization revoked by customer",
    "R08": "Payment stopped",
    "R10": "Originator not known or not authorized",
    "R29": "Corporate customer advises not authorized",
}
ONLINE: Final = "5816"  # digital goods: games
CATEGORY_OF_TRADE: Final = {
    "Bakery": "5462",
    "Books": "5942",
    "Cycles": "5940",
    "Dental": "8021",
    "Grocery": "5411",
    "Hardware": "5251",
    "Market": "5499",
    "Motors": "5533",
    "Paper": "5943",
    "Tools": "5251",
}
"""Merchant category codes of ISO 18245; a merchant of no such trade sells online."""

_NOT_OF_CHECKS: Final = ("is_incoming", "is_on_us", "amount")


def entity(
    party: Party, *, status: str, created_at: int, updated_at: int, is_high_risk: bool = False
) -> dict[str, Any]:
    address = {"line_1": "5 Elm St", "city": party.city, "state": party.state, "postal_code": "83702"}
    address["country_code"] = party.country
    common: dict[str, Any] = {
        "id": party.id,
        "type": "BUSINESS" if party.business else "PERSON",
        "is_root": False,
        "verification_status": status,
        "review_reasons": list(REVIEW_REASONS.get(status, ())),
        "verification_tags": [],
        "is_high_risk": is_high_risk,
        "documents": [],
        "created_at": format_instant(created_at),
        "updated_at": format_instant(updated_at),
    }
    if party.business:
        details = {"business_name": party.name, "legal_type": "llc", "industry": "services", "address": address}
        return {
            **common,
            "business_details": {**details, "country_of_incorporation": party.country, "beneficial_owners": []},
        }
    first, _, last = party.name.partition(" ")
    person = {"first_name": first, "last_name": last, "pep_status": "not_checked", "address": address}
    return {**common, "person_details": person}


def account(party: Party, *, at: int, status: str = "open") -> dict[str, Any]:
    return {
        "id": party.account_id,
        "type": "CHECKING",
        "description": "Operating",
        "currency_code": "USD",
        "owners": [party.id],
        "status": status,
        "routing_number": BANK_ROUTING,
        "balances": {"available_amount": 0, "pending_amount": 0, "holding_amount": 0, "locked_amount": 0},
        "is_overdraftable": False,
        "created_at": format_instant(at),
    }


def return_detail(code: str, at: int) -> dict[str, Any]:
    """One element of ``return_details``."""
    detail = {"return_code": code, "description": RETURN_WORDS.get(code, ""), "addenda": ""}
    return {**detail, "created_at": format_instant(at), "updated_at": format_instant(at)}


def overdraft(party: Party, reserve_account_id: str, transfer_id: str, *, cents: int) -> dict[str, Any]:
    """The alert on an account that a transfer overdrew by ``cents``; it has no id."""
    return {
        "bank_account_id": party.account_id,
        "reserve_account_id": reserve_account_id,
        "transfer_id": transfer_id,
        "overdraft_amount": {"cents": cents, "currency_code": "USD"},
        "available_balance": {"cents": -cents, "currency_code": "USD"},
    }


def released(overdrawn: dict[str, Any]) -> dict[str, Any]:
    """The same alert once the account was credited."""
    nothing = {"cents": 0, "currency_code": "USD"}
    return {**overdrawn, "overdraft_amount": nothing, "available_balance": nothing}


def counterparty(other: Other, *, at: int) -> dict[str, Any]:
    return {
        "id": other.id,
        "name": other.name,
        "routing_number": other.routing,
        "routing_number_type": "aba" if other.country == "US" else "bic",
        "account_number": other.account_number,
        "account_type": "checking",
        "address": _address(other),
        "legal_type": "business" if other.business else "individual",
        "is_column_account": False,
        "wire_drawdown_allowed": False,
        "created_at": format_instant(at),
        "updated_at": format_instant(at),
    }


def transfer(planned: PlannedTransfer, transfer_id: str, *, status: str, times: dict[str, int]) -> dict[str, Any]:
    """The object of a planned transfer at the newest of ``times``."""
    fields = {"id": transfer_id, "status": status, **_OBJECT_OF[planned.family](planned, times)}
    for name, at in times.items():
        fields[name] = format_instant(at)
    fields["updated_at"] = format_instant(max(times.values()))
    return fields


def _address(other: Other) -> dict[str, str]:
    return {"line_1": "1 Main St", "city": other.city, "postal_code": "00000", "country_code": other.country}


def _common(planned: PlannedTransfer) -> dict[str, Any]:
    return {
        "is_incoming": planned.incoming,
        "is_on_us": False,
        "amount": planned.cents,
        "currency_code": "USD",
        "bank_account_id": planned.party.account_id,
        "account_number_id": planned.party.account_id.replace("bacc_", "acno_"),
        "counterparty_id": planned.other.id,
        "description": planned.note,
        "allow_overdraft": False,
    }


def _ach(planned: PlannedTransfer, times: dict[str, int]) -> dict[str, Any]:
    returned_at = times.get("returned_at")
    other, party = planned.other, planned.party
    company, receiver = (other.short_name or other.name, party) if planned.incoming else (party.name, other)
    return {
        **_common(planned),
        "type": "DEBIT" if planned.debit else "CREDIT",
        "same_day": False,
        "entry_class_code": planned.sec_code,
        "company_name": company.upper()[:COMPANY_LETTERS],
        "company_entry_description": planned.note.upper()[:10],
        "receiver_name": receiver.name,
        "odfi_routing_number": planned.other.routing if planned.incoming else BANK_ROUTING,
        "effective_on": format_instant(times["created_at"])[:10],
        "settled_at": None,
        "returned_at": None,
        "completed_at": None,
        "nsf_deadline": format_instant(planned.at + DAY_US) if planned.ending is Ending.UNFUNDED else None,
        "return_details": [] if returned_at is None else [return_detail(planned.code, returned_at)],
        "notification_of_changes": None,
    }


def _wire(planned: PlannedTransfer, _times: dict[str, int]) -> dict[str, Any]:
    sender, receiver = (planned.other, planned.party) if planned.incoming else (planned.party, planned.other)
    fields = {
        **_common(planned),
        "originator_name": sender.name,
        "beneficiary_name": receiver.name,
        "business_function_code": "CTR",
        "completed_at": None,
    }
    if planned.incoming:
        return {**fields, "originator_account_number": planned.other.account_number}
    return {
        **fields,
        "beneficiary_account_number": planned.other.account_number,
        "creditor_agent_routing_number": planned.other.routing,
    }


def _swift(planned: PlannedTransfer, times: dict[str, int]) -> dict[str, Any]:
    ours = {"city": planned.party.city, "state": planned.party.state, "country_code": planned.party.country}
    sides = (planned.other.name, _address(planned.other)), (planned.party.name, ours)
    (receiver, receives_at), (sender, sends_from) = reversed(sides) if planned.incoming else sides
    account = "originator_account_number" if planned.incoming else "beneficiary_account_number"
    return {
        **_common(planned),
        "instructed_amount": planned.cents,
        "instructed_currency_code": "USD",
        account: planned.other.account_number,
        "originator_fi" if planned.incoming else "beneficiary_fi": planned.other.routing,
        "beneficiary_name": receiver,
        "beneficiary_address": receives_at,
        "originator_name": sender,
        "originator_address": sends_from,
        "charge_bearer": "SHAR",
        "charges": [],
        "settlement_date": format_instant(times["created_at"])[:10],
        "completed_at": None,
        "returned_at": None,
        "return_reason": None,
    }


def _realtime(planned: PlannedTransfer, _times: dict[str, int]) -> dict[str, Any]:
    rejected = planned.ending is Ending.REJECTED
    return {**_common(planned), "rejection_code": planned.code if rejected else None, "completed_at": None}


def _book(planned: PlannedTransfer, _times: dict[str, int]) -> dict[str, Any]:
    return {
        "amount": planned.cents,
        "currency_code": "USD",
        "sender_bank_account_id": planned.party.account_id,
        "receiver_bank_account_id": planned.other.id.replace("cpty_", "bacc_"),
        "description": planned.note,
        "allow_overdraft": False,
        "details": {"sender_name": planned.party.name, "internal_transfer_type": "sweep"},
    }


def _check(planned: PlannedTransfer, _times: dict[str, int]) -> dict[str, Any]:
    amount = {"deposited_amount": planned.cents} if planned.incoming else {"positive_pay_amount": planned.cents}
    common = {name: value for name, value in _common(planned).items() if name not in _NOT_OF_CHECKS}
    return {**common, **amount, "check_number": 1000 + planned.cents % 9000, "payee_name": planned.other.name}


def _card(planned: PlannedTransfer, times: dict[str, int]) -> dict[str, Any]:
    declined = planned.ending is Ending.DECLINED
    short = planned.party.id.removeprefix("enti_")
    words = planned.other.name.split()
    category = next((CATEGORY_OF_TRADE[word] for word in words if word in CATEGORY_OF_TRADE), ONLINE)
    return {
        "card_id": f"card_{short}",
        "card_account_id": f"cacc_{short}",
        "bank_account_id": planned.party.account_id,
        "decision": "DECLINED" if declined else "APPROVED",
        "decision_reason": planned.code if declined else "APPROVED",
        "processor_reason": planned.code if declined else "APPROVED",
        "amount": planned.cents,
        "currency_code": "USD",
        "category": "refund" if planned.incoming else "purchase",
        "network": "VISA",
        "network_risk_score": 80 if declined else 20,
        "entry_mode": "ecommerce" if category == ONLINE else "contactless",
        "card_present": category != ONLINE,
        "merchant": {
            "id": planned.other.id.replace("cpty_", "mrch_"),
            "name": planned.other.name.upper(),
            "category_code": category,
            "city": planned.other.city,
            "country_code": planned.other.country,
        },
        "book_transfer_id": None,
        "settled_at": format_instant(times["settled_at"]) if "settled_at" in times else None,
    }


_OBJECT_OF: Final = {
    EventFamily.ACH: _ach,
    EventFamily.WIRE: _wire,
    EventFamily.SWIFT: _swift,
    EventFamily.REALTIME: _realtime,
    EventFamily.BOOK: _book,
    EventFamily.CHECK: _check,
    EventFamily.CARD: _card,
}
