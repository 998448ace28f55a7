"""The bank's objects, in ``data`` of its events and in its API: shapes, and nothing about when or why.

Transfers carry no entity and no counterparty: a receiver asks the API for the account and the counterparty they name.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from demo.cast import Other, Party
from demo.moves import Ending, Family, Move

BANK_ROUTING: Final = "121145307"
PREFIX_OF: Final = {
    Family.ACH: "acht",
    Family.WIRE: "wire",
    Family.SWIFT: "swft",
    Family.REALTIME: "rttr",
    Family.BOOK: "book",
    Family.CHECK: "chkt",
    Family.CARD: "ctxn",
}
RETURN_WORDS: Final = {
    "R01": "Not sufficient funds",
    "R03": "No account or unable to locate account",
    "R07": "Authorization revoked by customer",
    "R10": "Originator not known or not authorized",
    "R29": "Corporate customer advises not authorized",
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def stamp(at: int) -> str:
    """RFC 3339 in UTC, with milliseconds so that two snapshots within one second keep their order."""
    return (_EPOCH + timedelta(microseconds=at)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def entity(party: Party, *, status: str, created_at: int, updated_at: int) -> dict[str, Any]:
    address = {"line_1": "5 Elm St", "city": party.city, "state": party.state, "postal_code": "83702"}
    address["country_code"] = "US"
    common: dict[str, Any] = {
        "id": party.id,
        "type": "BUSINESS" if party.business else "PERSON",
        "is_root": False,
        "verification_status": status,
        "review_reasons": ["name_mismatch"] if status == "DENIED" else [],
        "verification_tags": [],
        "is_high_risk": status == "DENIED",
        "documents": [],
        "created_at": stamp(created_at),
        "updated_at": stamp(updated_at),
    }
    if party.business:
        details = {"business_name": party.name, "legal_type": "llc", "industry": "services", "address": address}
        return {**common, "business_details": {**details, "country_of_incorporation": "US", "beneficial_owners": []}}
    first, _, last = party.name.partition(" ")
    person = {"first_name": first, "last_name": last, "pep_status": "not_checked", "address": address}
    return {**common, "person_details": person}


def account(party: Party, *, at: int) -> dict[str, Any]:
    return {
        "id": party.account_id,
        "type": "CHECKING",
        "description": "Operating",
        "currency_code": "USD",
        "owners": [party.id],
        "status": "open",
        "routing_number": BANK_ROUTING,
        "balances": {"available_amount": 0, "pending_amount": 0, "holding_amount": 0, "locked_amount": 0},
        "is_overdraftable": False,
        "created_at": stamp(at),
    }


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
        "created_at": stamp(at),
        "updated_at": stamp(at),
    }


def transfer(move: Move, transfer_id: str, *, status: str, times: dict[str, int]) -> dict[str, Any]:
    """The object named by the move, as it stands when the newest of ``times`` has just come."""
    fields = {"id": transfer_id, "status": status, **_OBJECT_OF[move.family](move, times)}
    for name, at in times.items():
        fields[name] = stamp(at)
    fields["updated_at"] = stamp(max(times.values()))
    return fields


def _address(other: Other) -> dict[str, str]:
    return {"line_1": "1 Main St", "city": other.city, "postal_code": "00000", "country_code": other.country}


def _common(move: Move) -> dict[str, Any]:
    return {
        "is_incoming": move.incoming,
        "is_on_us": False,
        "amount": move.cents,
        "currency_code": "USD",
        "bank_account_id": move.party.account_id,
        "account_number_id": move.party.account_id.replace("bacc_", "acno_"),
        "counterparty_id": move.other.id,
        "description": move.note,
        "allow_overdraft": False,
    }


def _ach(move: Move, times: dict[str, int]) -> dict[str, Any]:
    returned_at = times.get("returned_at")
    detail = {"return_code": move.code, "description": RETURN_WORDS.get(move.code, ""), "addenda": ""}
    sender, receiver = (move.other, move.party) if move.incoming else (move.party, move.other)
    return {
        **_common(move),
        "type": "DEBIT" if move.debit else "CREDIT",
        "same_day": False,
        "entry_class_code": move.sec_code,
        "company_name": sender.name.upper()[:16],
        "company_entry_description": move.note.upper()[:10],
        "receiver_name": receiver.name,
        "odfi_routing_number": move.other.routing if move.incoming else BANK_ROUTING,
        "effective_on": stamp(times["created_at"])[:10],
        "settled_at": None,
        "returned_at": None,
        "completed_at": None,
        "return_details": [{**detail, "created_at": stamp(returned_at), "updated_at": stamp(returned_at)}]
        if returned_at is not None
        else [],
        "notification_of_changes": None,
    }


def _wire(move: Move, _times: dict[str, int]) -> dict[str, Any]:
    sender, receiver = (move.other, move.party) if move.incoming else (move.party, move.other)
    fields = {
        **_common(move),
        "originator_name": sender.name,
        "beneficiary_name": receiver.name,
        "business_function_code": "CTR",
        "completed_at": None,
    }
    if move.incoming:
        return {**fields, "originator_account_number": move.other.account_number}
    return {
        **fields,
        "beneficiary_account_number": move.other.account_number,
        "creditor_agent_routing_number": move.other.routing,
    }


def _swift(move: Move, times: dict[str, int]) -> dict[str, Any]:
    return {
        **_common(move),
        "instructed_amount": move.cents,
        "instructed_currency_code": "USD",
        "beneficiary_name": move.other.name,
        "beneficiary_account_number": move.other.account_number,
        "beneficiary_fi": move.other.routing,
        "beneficiary_address": _address(move.other),
        "originator_name": move.party.name,
        "originator_address": {"city": move.party.city, "state": move.party.state, "country_code": "US"},
        "charge_bearer": "SHAR",
        "charges": [],
        "settlement_date": stamp(times["created_at"])[:10],
        "completed_at": None,
        "returned_at": None,
        "return_reason": None,
    }


def _realtime(move: Move, _times: dict[str, int]) -> dict[str, Any]:
    rejected = move.ending is Ending.REJECTED
    return {**_common(move), "rejection_code": move.code if rejected else None, "completed_at": None}


def _book(move: Move, _times: dict[str, int]) -> dict[str, Any]:
    return {
        "amount": move.cents,
        "currency_code": "USD",
        "sender_bank_account_id": move.party.account_id,
        "receiver_bank_account_id": move.other.id.replace("cpty_", "bacc_"),
        "description": move.note,
        "allow_overdraft": False,
        "details": {"sender_name": move.party.name, "internal_transfer_type": "sweep"},
    }


def _check(move: Move, _times: dict[str, int]) -> dict[str, Any]:
    amount = {"deposited_amount": move.cents} if move.incoming else {"positive_pay_amount": move.cents}
    common = {name: value for name, value in _common(move).items() if name not in ("is_incoming", "is_on_us", "amount")}
    return {**common, **amount, "check_number": 1000 + move.cents % 9000, "payee_name": move.other.name}


def _card(move: Move, times: dict[str, int]) -> dict[str, Any]:
    declined = move.ending is Ending.DECLINED
    short = move.party.id.removeprefix("enti_")
    return {
        "card_id": f"card_{short}",
        "card_account_id": f"cacc_{short}",
        "bank_account_id": move.party.account_id,
        "decision": "DECLINED" if declined else "APPROVED",
        "decision_reason": move.code if declined else "APPROVED",
        "processor_reason": move.code if declined else "APPROVED",
        "amount": move.cents,
        "currency_code": "USD",
        "category": "purchase",
        "network": "VISA",
        "network_risk_score": 80 if declined else 20,
        "entry_mode": "ecommerce",
        "card_present": False,
        "merchant": {
            "id": move.other.id.replace("cpty_", "mrch_"),
            "name": move.other.name.upper(),
            "category_code": "5816",
            "city": move.other.city,
            "country_code": move.other.country,
        },
        "book_transfer_id": None,
        "settled_at": stamp(times["settled_at"]) if "settled_at" in times else None,
    }


_OBJECT_OF: Final = {
    Family.ACH: _ach,
    Family.WIRE: _wire,
    Family.SWIFT: _swift,
    Family.REALTIME: _realtime,
    Family.BOOK: _book,
    Family.CHECK: _check,
    Family.CARD: _card,
}
