"""What the reference says a bank event looks like, as a checker: every complaint is one line."""

import re
from collections.abc import Callable
from typing import Any, Final

INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
TYPES: Final = {
    "ach.outgoing_transfer": {"initiated", "submitted", "settled", "completed", "returned"},
    "ach.incoming_transfer": {"scheduled", "settled", "completed", "returned"},
    "wire.outgoing_transfer": {"initiated", "completed", "rejected"},
    "wire.incoming_transfer": {"completed"},
    "swift.outgoing_transfer": {"initiated", "submitted", "completed", "returned"},
    "realtime.outgoing_transfer": {"initiated", "completed", "rejected"},
    "realtime.incoming_transfer": {"completed"},
    "book.transfer": {"completed", "hold_created", "canceled"},
    "check.incoming_debit": {"initiated", "issued", "settled"},
    "check.outgoing_debit": {"initiated", "deposited", "settled", "returned"},
    "card.authorization": {"approved", "declined"},
    "card.transaction": {"settled"},
    "identity": {"created"},
    "identity.verification": {"verified", "denied", "manual_review", "pending"},
}
PREFIXES: Final = {
    "ach": "acht_",
    "wire": "wire_",
    "swift": "swft_",
    "realtime": "rttr_",
    "book": "book_",
    "check": "chkt_",
    "card": "ctxn_",
    "identity": "enti_",
}
STATUS_OF_SUFFIX: Final = {"approved": "PENDING", "created": None, "verified": "VERIFIED", "denied": "DENIED"}
MONEY: Final = ("ach", "wire", "swift", "realtime")
RETURN_CODES: Final = {f"R{number:02d}" for number in range(1, 86)}


def complaints(event: dict[str, Any]) -> list[str]:
    found, need = _complaining(f"{event.get('type')} {event.get('id')}")

    need(set(event) == {"id", "created_at", "type", "data"}, "the envelope has its four fields")
    need(event["id"].startswith("evnt_"), "the event id has its prefix")
    need(INSTANT.fullmatch(event["created_at"]), "created_at is RFC 3339 in UTC")
    stem, _, suffix = event["type"].rpartition(".")
    need(suffix in TYPES.get(stem, ()), "the type is one the bank sends")
    family, data = event["type"].split(".")[0], event["data"]
    need(data["id"].startswith(PREFIXES[family]), "the object's id has its prefix")
    for name, value in data.items():
        if name.endswith("_at") and value is not None:
            need(INSTANT.fullmatch(value), f"{name} is RFC 3339 in UTC")
    _CHECK_OF[family](data, suffix, need)
    if family != "identity":
        need("entity_id" not in data, "a transfer names no entity")
        need("counterparty" not in data, "a transfer carries no counterparty")
    return found


def complaints_of_object(kind: str, data: dict[str, Any]) -> list[str]:
    """The same for an object of the bank's API: ``account``, ``counterparty`` or ``entity``."""
    found, need = _complaining(f"{kind} {data.get('id')}")
    need(data["id"].startswith({"account": "bacc_", "counterparty": "cpty_", "entity": "enti_"}[kind]), "its prefix")
    for name in ("created_at", "updated_at"):
        need(data.get(name) is None or INSTANT.fullmatch(data[name]), f"{name} is RFC 3339 in UTC")
    _CHECK_OF_OBJECT[kind](data, need)
    return found


def _complaining(about: str) -> tuple[list[str], "Need"]:
    found: list[str] = []

    def need(holds: object, sentence: str) -> None:
        if not holds:
            found.append(f"{about}: {sentence}")

    return found, need


Need = Callable[[object, str], None]


def _transfer(data: dict[str, Any], suffix: str, need: Need) -> None:
    status = STATUS_OF_SUFFIX.get(suffix, suffix.upper())
    need(data["status"].upper() == status, f"the status follows from the type, and is {data['status']}")
    need(data["currency_code"] == "USD", "the currency is named")
    need(data["created_at"] <= data["updated_at"], "it was not updated before it was created")


def _amount(data: dict[str, Any], name: str, need: Need) -> None:
    need(type(data.get(name)) is int and data[name] > 0, f"{name} is an integer number of cents")


def _bank_money(data: dict[str, Any], suffix: str, need: Need) -> None:
    _transfer(data, suffix, need)
    _amount(data, "amount", need)
    need(isinstance(data["is_incoming"], bool), "is_incoming is a boolean")
    need(data["bank_account_id"].startswith("bacc_"), "it names the account")
    need(data["counterparty_id"].startswith("cpty_"), "it names the counterparty")


def _ach(data: dict[str, Any], suffix: str, need: Need) -> None:
    _bank_money(data, suffix, need)
    need(data["type"] in ("CREDIT", "DEBIT"), "an ACH transfer is a credit or a debit")
    need(data["entry_class_code"] in ("PPD", "WEB", "CCD"), "it has an SEC code")
    need(DAY.fullmatch(data["effective_on"]), "effective_on is a date")
    details = data["return_details"]
    need(isinstance(details, list), "return_details is an array")
    need(bool(details) == (suffix == "returned"), "it is empty until a return")
    need(all(detail["return_code"] in RETURN_CODES for detail in details), "the return code is one of the network's")
    need((data["returned_at"] is not None) == (suffix == "returned"), "returned_at comes with the return")


def _wire(data: dict[str, Any], suffix: str, need: Need) -> None:
    _bank_money(data, suffix, need)
    need(data["originator_name"] and data["beneficiary_name"], "a wire names both sides")


def _swift(data: dict[str, Any], suffix: str, need: Need) -> None:
    _wire(data, suffix, need)
    need(re.fullmatch("[A-Z]{2}", data["beneficiary_address"]["country_code"]), "it names the beneficiary's country")
    need(DAY.fullmatch(data["settlement_date"]), "settlement_date is a date")


def _realtime(data: dict[str, Any], suffix: str, need: Need) -> None:
    _bank_money(data, suffix, need)
    need(data["status"].islower(), "the source writes realtime statuses in lower case")
    need((suffix == "rejected") <= bool(data["rejection_code"]), "a rejection has its code")


def _book(data: dict[str, Any], suffix: str, need: Need) -> None:
    _transfer(data, suffix, need)
    _amount(data, "amount", need)
    need("is_incoming" not in data and "counterparty_id" not in data, "a book transfer has neither")
    need(data["sender_bank_account_id"] != data["receiver_bank_account_id"], "it goes somewhere")


def _check(data: dict[str, Any], suffix: str, need: Need) -> None:
    _transfer(data, suffix, need)
    _amount(data, "deposited_amount" if "deposited_amount" in data else "positive_pay_amount", need)
    need(data["status"].islower() and "is_incoming" not in data, "the source writes check statuses in lower case")


def _card(data: dict[str, Any], suffix: str, need: Need) -> None:
    _transfer(data, suffix, need)
    _amount(data, "amount", need)
    need(data["card_id"].startswith("card_"), "it names the card")
    need((data["decision"] == "DECLINED") == (suffix == "declined"), "the decision follows from the type")
    need(data["merchant"]["id"].startswith("mrch_"), "it names the merchant")


def _entity(data: dict[str, Any], suffix: str, need: Need) -> None:
    expected = STATUS_OF_SUFFIX.get(suffix) or "PENDING"
    need(data["verification_status"] == expected, "the verification status follows from the type")
    _party(data, need)


def _party(data: dict[str, Any], need: Need) -> None:
    need(data["type"] in ("PERSON", "BUSINESS"), "an entity is a person or a business")
    need(not {"requires_screening", "last_screened_at"} & set(data), "the bank says nothing of screening")
    need(("person_details" in data) == (data["type"] == "PERSON"), "a person has person_details")
    need(("business_details" in data) == (data["type"] == "BUSINESS"), "a business has business_details")


def _account(data: dict[str, Any], need: Need) -> None:
    need(data["owners"] and all(owner.startswith("enti_") for owner in data["owners"]), "an account has owners")
    need(set(data["balances"]) >= {"available_amount", "pending_amount"}, "an account has balances")


def _counterparty(data: dict[str, Any], need: Need) -> None:
    need(data["name"] and data["account_number"], "a counterparty has a name and an account")
    need(data["address"]["country_code"], "a counterparty has a country")


_CHECK_OF: Final[dict[str, Callable[[dict[str, Any], str, Need], None]]] = {
    "ach": _ach,
    "wire": _wire,
    "swift": _swift,
    "realtime": _realtime,
    "book": _book,
    "check": _check,
    "card": _card,
    "identity": _entity,
}
_CHECK_OF_OBJECT: Final[dict[str, Callable[[dict[str, Any], Need], None]]] = {
    "account": _account,
    "counterparty": _counterparty,
    "entity": _party,
}
