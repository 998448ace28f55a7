"""The oracle's own reading of a transfer object, for the shapes that ``bank_events`` builds."""

from typing import Any, Final, NamedTuple

from features.core.instants import parse_instant

INTERBANK: Final = range(61, 78)
DISHONOUR: Final = range(61, 71)
ISSUERS_WORDS: Final = {
    "INCORRECT_PIN": "PIN_OR_CVV",
    "verification_failed": "PIN_OR_CVV",
    "FRAUD_ADVICE": "SUSPECTED_FRAUD",
    "suspected_fraud": "SUSPECTED_FRAUD",
    "insufficient_funds": "INSUFFICIENT_FUNDS",
    "no such word": "OTHER",
}
UNDONE: Final = frozenset({"RETURN_DISHONORED", "RETURN_DISHONORED_FUNDS_UNLOCKED"})


class Return(NamedTuple):
    code: str
    undone: bool


class Reading(NamedTuple):
    """A transfer as one event reports it."""

    id: str
    rail: str
    direction: str
    type: str | None
    amount: int
    status: str
    sec_code: str | None
    created_at: int | None
    updated_at: int | None
    entity_id: str | None
    account_id: str | None
    counterparty_id: str | None
    name: str | None
    routing: str | None
    last4: str | None
    country: str | None
    returned: Return | None
    card_reason: str | None


def normal_name(name: str | None) -> str:
    """Names are the same when they differ in case and spaces only."""
    return " ".join((name or "").casefold().split())


def reading_of(kind: str, data: dict[str, Any]) -> Reading:
    family, middle, suffix = kind.split(".", 2)
    rail = "intl_wire" if family == "swift" else family
    direction = _direction(rail, middle, suffix, data)
    side = _other_side(rail, direction, data)
    return Reading(
        id=data["id"],
        rail=rail,
        direction=direction,
        type=data["type"].upper() if rail == "ach" else None,
        amount=_amount(rail, data),
        status=data["status"].upper(),
        sec_code=data.get("entry_class_code"),
        created_at=_instant(data.get("created_at") or data.get("initiated_at")),
        updated_at=_instant(data.get("updated_at")),
        entity_id=data.get("entity_id"),
        account_id=data.get("sender_bank_account_id") if rail == "book" else data.get("bank_account_id"),
        counterparty_id=side.get("id"),
        name=side.get("name"),
        routing=side.get("routing_number"),
        last4=(side.get("account_number") or "")[-4:] or None,
        country=side.get("country"),
        returned=_returned(data) if rail == "ach" else None,
        card_reason=_card_reason(data) if rail == "card" else None,
    )


def _card_reason(data: dict[str, Any]) -> str | None:
    reading = data.get("decision_reason") or data.get("processor_reason")
    return ISSUERS_WORDS.get(reading, reading) if reading is not None else None


def _instant(text: str | None) -> int | None:
    return None if text is None else parse_instant(text)


def _direction(rail: str, middle: str, suffix: str, data: dict[str, Any]) -> str:
    if rail == "check":
        return "outgoing" if middle == "incoming_debit" else "incoming"
    if rail == "book":
        return "outgoing"
    if rail == "card":
        return "incoming" if suffix == "refunded" else "outgoing"
    return "incoming" if data["is_incoming"] else "outgoing"


def _amount(rail: str, data: dict[str, Any]) -> int:
    if rail == "check":
        return int(data["deposited_amount"] if "deposited_amount" in data else data["positive_pay_amount"])
    return int(data["amount"])


def _other_side(rail: str, direction: str, data: dict[str, Any]) -> dict[str, Any]:
    outgoing = direction == "outgoing"
    if rail == "book":
        return {"id": data["receiver_bank_account_id"]}
    if rail == "card":
        merchant = data.get("merchant") or {}
        return {"id": merchant.get("id"), "name": merchant.get("name")}
    side: dict[str, Any] = {"id": data.get("counterparty_id")}
    embedded = data.get("counterparty") or {}
    if rail == "ach":
        side["name"] = data.get("receiver_name" if outgoing else "company_name")
        side["routing_number"] = None if outgoing else data.get("odfi_routing_number")
    elif rail in ("wire", "intl_wire"):
        who = "beneficiary" if outgoing else "originator"
        side["name"] = data.get(f"{who}_name")
        side["account_number"] = data.get(f"{who}_account_number")
        side["routing_number"] = data.get("creditor_agent_routing_number") if outgoing else None
        side["country"] = (data.get(f"{who}_address") or {}).get("country_code")
    elif rail == "check":
        side["name"] = data.get("payee_name")
    for name in ("id", "name", "routing_number", "account_number"):
        side[name] = embedded.get(name) or side.get(name)
    side["country"] = (embedded.get("address") or {}).get("country_code") or side.get("country")
    return side


def _returned(data: dict[str, Any]) -> Return | None:
    codes = [str(detail["return_code"]) for detail in data["return_details"]]
    reading = [code for code in codes if int(code[1:]) not in INTERBANK]
    if not reading:
        return None
    status = data["status"].upper()
    dishonoured = int(codes[-1][1:]) in DISHONOUR and status != "RETURN_CONTESTED"
    return Return(reading[-1], dishonoured or status in UNDONE)
