"""What one bank event says of a transfer, read as the bank's reference describes its objects."""

from typing import Any, Final, NamedTuple
from unicodedata import category, normalize

from clearhold.features.bank.event_types import RAIL_OF_FAMILY, TRANSFER_ID_PREFIXES, TRANSFER_RESOURCES
from clearhold.features.bank.statuses import (
    STATUS_OF_BOOK_SUFFIX,
    STATUS_OF_CARD_SUFFIX,
    SUFFIXES_WITHOUT_STATUS,
)
from clearhold.features.core.instants import parse_instant
from tests.oracle.card_words import normal_reason
from tests.oracle.status_order import RETURN_UNDONE
from tests.oracle.texts import country, is_us_dollars, last_four, routing_number

INVISIBLE_MARKS: Final = "\ufe0f"
LOOK_ALIKES: Final = {"\u0410": "A", "\u0435": "e"}  # those of the streams
INTERBANK: Final = range(61, 78)
DISHONOUR: Final = range(61, 71)
STATES: Final = {"TX", "OR", "PR"}  # those of the streams

Data = dict[str, Any]


class Return(NamedTuple):
    """An ACH return; ``undone`` when it was dishonoured and nobody contested that."""

    code: str
    undone: bool


class Purchase(NamedTuple):
    """What the bank says of a card's purchase; None where it says nothing that can be used."""

    category: str | None = None
    state: str | None = None
    entry_mode: str | None = None
    present: bool | None = None


class Said(NamedTuple):
    """What one event says of a transfer; ``cents`` are US cents, None where the bank states none.

    ``no_country``: the bank states one, and it is none; then the country is unknown, whatever is on file.
    ``has_object``: it brings the counterparty's own object, and not only the words of the transfer.
    """

    id: str
    rail: str
    direction: str
    type: str | None
    amount: int
    currency: str
    cents: int | None
    status: str | None
    created_at: int | None
    updated_at: int | None
    entity_id: str | None
    account_id: str | None
    card_id: str | None
    counterparty_id: str | None
    name: str | None
    routing: str | None
    last4: str | None
    country: str | None
    no_country: bool
    has_object: bool
    returned: Return | None
    returned_at: int | None
    card_reason: str | None
    purchase: Purchase


def instant(text: str) -> int:
    at = parse_instant(text)
    assert at is not None
    return at


def maybe_instant(text: str | None) -> int | None:
    return None if text is None else instant(text)


def normal_name(name: str | None) -> str:
    """Names are equal if they differ only in case, white space, punctuation and invisible characters."""
    folded = normalize("NFKC", name or "").casefold()
    blank = "".join(" " if letter.isspace() else letter for letter in folded)
    seen = "".join(letter for letter in blank if category(letter)[0] not in "CP" and letter not in INVISIBLE_MARKS)
    return " ".join(normalize("NFKC", seen).split())


def look_of(name: str | None) -> str:
    """The name with look-alike letters of other scripts replaced by the Latin ones."""
    return normal_name("".join(LOOK_ALIKES.get(letter, letter) for letter in name or ""))


def is_transfer(kind: str, data: Data) -> bool:
    """Return requests, drawdowns, disputes and the states of cards have objects of their own."""
    family, _, rest = kind.partition(".")
    if family not in RAIL_OF_FAMILY:
        return False
    listed = f"{family}.{rest.split('.')[0]}" in TRANSFER_RESOURCES
    return listed or (str(data.get("id", "")).startswith(TRANSFER_ID_PREFIXES) and "amount" in data)


def read_said(kind: str, data: Data, event_at: int) -> Said:
    family, middle, *suffixes = kind.split(".")
    rail = RAIL_OF_FAMILY[family].value
    direction = _direction(rail, middle, suffixes, data)
    side = _other_side(rail, data, outgoing=direction == "outgoing")
    return Said(
        id=data["id"],
        rail=rail,
        direction=direction,
        type=data["type"].upper() if rail == "ach" and data.get("type") else None,
        amount=_amount(rail, data),
        currency=_currency(data),
        cents=_us_cents(rail, data),
        status=_status(rail, suffixes, data),
        created_at=maybe_instant(data.get("created_at") or data.get("initiated_at")),
        updated_at=maybe_instant(data.get("updated_at")),
        entity_id=data.get("entity_id"),
        account_id=data.get("sender_bank_account_id") if rail == "book" else data.get("bank_account_id"),
        card_id=data.get("card_id") if rail == "card" else None,
        counterparty_id=side.get("id"),
        name=side.get("name"),
        routing=routing_number(side.get("routing_number")),
        last4=last_four(side.get("account_number")),
        country=country(side.get("country")),
        no_country=side.get("country") not in (None, "") and country(side.get("country")) is None,
        has_object=rail not in ("book", "card") and bool(data.get("counterparty")),
        returned=_returned(data) if rail == "ach" else None,
        returned_at=_returned_at(kind, data, event_at),
        card_reason=normal_reason(data.get("decision_reason") or data.get("processor_reason"))
        if rail == "card"
        else None,
        purchase=_purchase(data) if rail == "card" else Purchase(),
    )


def _purchase(data: Data) -> Purchase:
    merchant = data.get("merchant") or {}
    category, mode = str(merchant.get("category_code") or ""), str(data.get("entry_mode") or "")
    state = str(merchant.get("state") or "").upper()
    return Purchase(
        category if len(category) == len("5816") and category.isdigit() else None,
        state if state in STATES else None,
        "_".join(mode.upper().replace("-", " ").split()) if mode[:1].isalpha() else None,
        next((word for word in (True, False) if word is data.get("card_present")), None),
    )


def _direction(rail: str, middle: str, suffixes: list[str], data: Data) -> str:
    if rail == "check":
        return "outgoing" if middle == "incoming_debit" else "incoming"
    if rail == "book":
        return "outgoing"
    if rail == "card":
        is_refund = suffixes == ["refunded"] or str(data.get("status")).upper() == "REFUNDED"
        return "incoming" if is_refund else "outgoing"
    if isinstance(data.get("is_incoming"), bool):
        return "incoming" if data["is_incoming"] else "outgoing"
    return "incoming" if middle.startswith("incoming_") else "outgoing"


def _status(rail: str, suffixes: list[str], data: Data) -> str | None:
    """None where the event says nothing of the status."""
    if data.get("status"):
        return str(data["status"]).upper()
    last = suffixes[-1]
    if rail == "book" and last in STATUS_OF_BOOK_SUFFIX:
        return STATUS_OF_BOOK_SUFFIX[last]
    if len(suffixes) > 1 or last in SUFFIXES_WITHOUT_STATUS:
        return None
    return STATUS_OF_CARD_SUFFIX.get(last) if rail == "card" else last.upper()


def _amount(rail: str, data: Data) -> int:
    names = ("deposited_amount", "positive_pay_amount", "amount") if rail == "check" else ("amount",)
    return int(next(data[name] for name in names if data.get(name) is not None))


def _currency(data: Data) -> str:
    code = data.get("currency_code")
    return "USD" if is_us_dollars(code) else str(code).strip().upper()


def _us_cents(rail: str, data: Data) -> int | None:
    if _currency(data) == "USD":
        return counted(_amount(rail, data))
    for which in ("settled", "instructed"):
        code, amount = data.get(f"{which}_currency_code"), data.get(f"{which}_amount")
        if code is not None and is_us_dollars(code) and amount is not None:
            return counted(int(amount))
    return None


def counted(cents: int) -> int:
    """A transfer counts with ten billion dollars at most (``docs/decisions/0030``)."""
    return min(cents, 1_000_000_000_000)


def _other_side(rail: str, data: Data, *, outgoing: bool) -> Data:
    if rail == "book":
        return {"id": data.get("receiver_bank_account_id")}
    if rail == "card":
        merchant = data.get("merchant") or {}
        return {"id": merchant.get("id"), "name": merchant.get("name"), "country": merchant.get("country_code")}
    side: Data = {"id": data.get("counterparty_id")}
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
    told = _embedded(data.get("counterparty") or {})
    if country(told.get("country")) is None and country(side.get("country")) is not None:
        told.pop("country", None)
    return side | told


def _embedded(told: Data) -> Data:
    """What a counterparty object within the transfer says; it goes before the transfer's own words, except that a
    country that cannot be read does not.
    """
    country = (told.get("address") or {}).get("country_code")
    said = {name: told.get(name) for name in ("id", "name", "routing_number", "account_number")}
    return {name: value for name, value in (said | {"country": country}).items() if value}


def _details(data: Data) -> list[Data]:
    """The steps of a return that are returns, not what banks say to each other about one."""
    told = data.get("return_details") or []
    steps = [told] if isinstance(told, dict) else told
    return [step for step in steps if int(step["return_code"][1:]) not in INTERBANK]


def _returned(data: Data) -> Return | None:
    own = _details(data)
    if not own:
        return None
    told = data["return_details"]
    last = str((told if isinstance(told, dict) else told[-1])["return_code"])
    status = str(data.get("status")).upper()
    dishonoured = int(last[1:]) in DISHONOUR and status != "RETURN_CONTESTED"
    return Return(str(own[-1]["return_code"]), dishonoured or status in RETURN_UNDONE)


def _returned_at(kind: str, data: Data, event_at: int) -> int | None:
    """As the transfer shows it; what counts in windows is when a return was delivered."""
    own = _details(data)
    told = data.get("returned_at") or (own[-1].get("created_at") if own else None)
    if told:
        return instant(told)
    return event_at if kind.endswith(".returned") else None
