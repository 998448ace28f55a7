"""The fields that are read of the bank's objects, with their kinds and meanings; all others are stored and not read.

The tables describe the readers (``transfers.py``, ``parties.py``), and tests hold the two equal.
``faults.py`` checks objects by them; ``docs/events.md`` and the OpenAPI document are made from them.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from clearhold.features.bank.fields import (
    ACCOUNT,
    ACH_TYPE,
    CATEGORY,
    CENTS,
    COUNTRY,
    CURRENCY,
    EFFECT_INSTANT,
    ENTITY_TYPE,
    ENTRY_MODE,
    FLAG,
    INSTANT,
    NAME,
    OBJECT,
    OBJECTS,
    PEP_STATUS,
    RETURN_CODE,
    ROUTING,
    SIGNED_CENTS,
    TEXT,
    TEXTS,
    UPDATE_INSTANT,
    VERIFICATION_STATUS,
    BankFieldKind,
)
from clearhold.features.core.vocabulary import Rail


class EventField(msgspec.Struct, frozen=True):
    """One field, ``inside`` an object or list. Without any field of one ``needed`` text an event has no effect."""

    name: str
    kind: BankFieldKind
    meaning: str
    inside: tuple["EventField", ...] = ()
    rails: frozenset[Rail] | None = None  # of a transfer: the rails on which it is read; None is all
    needed: str | None = None


TO_NAME_IT: Final = "to know what the event is about"
FOR_ITS_AMOUNT: Final = "in the first event on a transfer"


def _on(*rails: Rail) -> frozenset[Rail]:
    return frozenset(rails)


_ACH, _WIRE, _INTL = Rail.ACH, Rail.WIRE, Rail.INTL_WIRE
_REALTIME, _BOOK, _CHECK, _CARD = Rail.REALTIME, Rail.BOOK, Rail.CHECK, Rail.CARD
_WIRES: Final = _on(_WIRE, _INTL, _REALTIME)
_TO_PARTY: Final = _on(_ACH, _WIRE, _INTL, _REALTIME, _CHECK)
_NOT_ACH: Final = _on(_WIRE, _INTL, _REALTIME, _BOOK, _CHECK, _CARD)
_NOT_CHECK: Final = _on(_ACH, _WIRE, _INTL, _REALTIME, _BOOK, _CARD)
_NOT_BOOK: Final = _on(_ACH, _WIRE, _INTL, _REALTIME, _CHECK, _CARD)

ADDRESS_FIELDS: Final = (
    EventField("country_code", COUNTRY, "ISO 3166-1, of two or three letters; UK and EL are read as GB and GR."),
)
WIRE_DETAILS: Final = EventField(
    "wire",
    OBJECT,
    "Details for wires.",
    (EventField("beneficiary_address", OBJECT, "Where its wires go to.", ADDRESS_FIELDS),),
)
_IN_COUNTERPARTY: Final = (
    EventField("name", NAME, "Its name."),
    EventField("routing_number", ROUTING, "Of its bank, or the BIC."),
    EventField("account_number", ACCOUNT, "Only its last four letters and digits are stored."),
    EventField("address", OBJECT, "Its address.", ADDRESS_FIELDS),
    EventField("local_bank_country_code", COUNTRY, "Its country where its address states none readably."),
    WIRE_DETAILS,
)
EMBEDDED_COUNTERPARTY_FIELDS: Final = (
    EventField("id", TEXT, "Its id."),
    *_IN_COUNTERPARTY,
    EventField("updated_at", UPDATE_INSTANT, "Orders the bank's objects of it; one without it is the oldest."),
)
_WHEN_RETURNED: Final = EventField("created_at", INSTANT, "When it was returned.")
_IN_ACH_RETURN: Final = (
    EventField("return_code", RETURN_CODE, "R61 to R77 dispute a return; they are not returns."),
    EventField("code", RETURN_CODE, "The same under another name."),
    _WHEN_RETURNED,
)
_IN_RETURN: Final = (
    EventField("return_code", TEXT, "Stored, and not read."),
    EventField("code", TEXT, "The same under another name."),
    _WHEN_RETURNED,
)
_IN_MERCHANT: Final = (
    EventField("id", TEXT, "The counterparty of a card transfer.", needed=TO_NAME_IT),
    EventField("name", NAME, "Its name."),
    EventField("country_code", COUNTRY, "Its country."),
    EventField("state", TEXT, "Its state or territory where the country is US, of two letters; others are not read."),
    EventField("category_code", CATEGORY, "Its category, of ISO 18245."),
)

TRANSFER_FIELDS: Final = (
    EventField("id", TEXT, "The transfer's id.", needed=TO_NAME_IT),
    EventField("type", ACH_TYPE, "A CREDIT pays the counterparty; a DEBIT pulls money from it.", rails=_on(_ACH)),
    EventField("amount", CENTS, "In `currency_code`.", needed=FOR_ITS_AMOUNT),
    EventField(
        "deposited_amount",
        CENTS,
        "Of a deposited check; it goes before the two others.",
        rails=_on(_CHECK),
        needed=FOR_ITS_AMOUNT,
    ),
    EventField(
        "positive_pay_amount",
        CENTS,
        "Of an issued check; it goes before `amount`.",
        rails=_on(_CHECK),
        needed=FOR_ITS_AMOUNT,
    ),
    EventField("currency_code", CURRENCY, "USD where it is absent, and not known where it cannot be read."),
    EventField("settled_amount", CENTS, "With `settled_currency_code` USD: the amount in US cents."),
    EventField("settled_currency_code", CURRENCY, "The currency of `settled_amount`."),
    EventField("instructed_amount", CENTS, "The amount in US cents, used where the settled one is not USD."),
    EventField("instructed_currency_code", CURRENCY, "The currency of `instructed_amount`."),
    EventField("status", TEXT, "The bank's word, upper-cased; else it follows from the event's type."),
    EventField("is_incoming", FLAG, "Who originated it; else it follows from the type.", rails=_NOT_CHECK),
    EventField("entity_id", TEXT, "The entity that moves the money; else the owner of the account."),
    EventField("bank_account_id", TEXT, "The program's account.", rails=_NOT_BOOK),
    EventField("sender_bank_account_id", TEXT, "The account that pays.", rails=_on(_BOOK)),
    EventField("receiver_bank_account_id", TEXT, "The account that is paid, its counterparty.", rails=_on(_BOOK)),
    EventField("counterparty_id", TEXT, "The other side.", rails=_TO_PARTY),
    EventField(
        "counterparty",
        OBJECT,
        "The other side in full.",
        EMBEDDED_COUNTERPARTY_FIELDS,
        _TO_PARTY,
    ),
    EventField("merchant", OBJECT, "The other side.", _IN_MERCHANT, _on(_CARD)),
    EventField("card_present", FLAG, "Whether the card was at the merchant.", rails=_on(_CARD)),
    EventField("entry_mode", ENTRY_MODE, "How the card's number was entered, in the issuer's word.", rails=_on(_CARD)),
    EventField("card_id", TEXT, "The card; attempts are counted by it.", rails=_on(_CARD)),
    EventField("decision_reason", TEXT, "Why the card was approved or declined.", rails=_on(_CARD)),
    EventField("processor_reason", TEXT, "The same, in the processor's words.", rails=_on(_CARD)),
    EventField("receiver_name", NAME, "The other side of an outgoing transfer.", rails=_on(_ACH)),
    EventField("company_name", NAME, "The other side of an incoming transfer.", rails=_on(_ACH)),
    EventField("odfi_routing_number", ROUTING, "The other side's bank, of an incoming transfer.", rails=_on(_ACH)),
    EventField("payee_name", NAME, "The other side.", rails=_on(_CHECK)),
    EventField("beneficiary_name", NAME, "The other side of an outgoing transfer.", rails=_WIRES),
    EventField(
        "beneficiary_account_number", ACCOUNT, "Its account; its last four letters and digits are read.", rails=_WIRES
    ),
    EventField("creditor_agent_routing_number", ROUTING, "Its bank.", rails=_WIRES),
    EventField("beneficiary_address", OBJECT, "Its address.", ADDRESS_FIELDS, _TO_PARTY),
    EventField("originator_name", NAME, "The other side of an incoming transfer.", rails=_WIRES),
    EventField(
        "originator_account_number", ACCOUNT, "Its account; its last four letters and digits are read.", rails=_WIRES
    ),
    EventField("originator_address", OBJECT, "Its address.", ADDRESS_FIELDS, _TO_PARTY),
    msgspec.structs.replace(WIRE_DETAILS, rails=_TO_PARTY),
    EventField("entry_class_code", TEXT, "The SEC code, such as PPD or CCD.", rails=_on(_ACH)),
    EventField("sec_code", TEXT, "The same under another name.", rails=_on(_ACH)),
    EventField("return_details", OBJECTS, "Its returns; the last one counts.", _IN_ACH_RETURN, _on(_ACH)),
    EventField("return_details", OBJECTS, "Its returns; the last one counts.", _IN_RETURN, _NOT_ACH),
    EventField("returned_at", INSTANT, "When it was returned."),
    EventField("effective_on", EFFECT_INSTANT, "When it takes effect."),
    EventField("settlement_date", EFFECT_INSTANT, "The same under another name."),
    EventField("created_at", INSTANT, "The transfer's own time; else `initiated_at`, else the event's `created_at`."),
    EventField("initiated_at", INSTANT, "The transfer's own time where `created_at` is absent."),
    EventField("updated_at", UPDATE_INSTANT, "Orders the snapshots of a transfer; else the event's `created_at` does."),
)
"""Of a transfer, on any rail."""

ENTITY_FIELDS: Final = (
    EventField("id", TEXT, "The entity's id; else `entity_id`.", needed=TO_NAME_IT),
    EventField("entity_id", TEXT, "The same under another name.", needed=TO_NAME_IT),
    EventField("type", ENTITY_TYPE, "A person or a business."),
    EventField("verification_status", VERIFICATION_STATUS, "Else it follows from the event's type."),
    EventField("is_high_risk", FLAG, "Whether the bank rates it so."),
    EventField("pep_status", PEP_STATUS, "Whether it is a politically exposed person."),
    EventField("requires_screening", FLAG, "Whether it must be screened against lists."),
    EventField(
        "review_reasons",
        TEXTS,
        "Why it is or was in review, such as `fraud_risk`, or a word with `sanction`, `ofac`, `sdn` or `watchlist`.",
    ),
    EventField("last_screened_at", INSTANT, "When it was last screened."),
    EventField("name", NAME, "Its name where its details state none."),
    EventField("address", OBJECT, "Its address where its details state none.", ADDRESS_FIELDS),
    EventField(
        "person_details",
        OBJECT,
        "Of a person.",
        (
            EventField("first_name", NAME, "First name."),
            EventField("last_name", NAME, "Last name."),
            EventField("pep_status", PEP_STATUS, "As above."),
            EventField("address", OBJECT, "Where the person lives.", ADDRESS_FIELDS),
        ),
    ),
    EventField(
        "business_details",
        OBJECT,
        "Of a business.",
        (
            EventField("business_name", NAME, "Its name."),
            EventField("address", OBJECT, "Where it is.", ADDRESS_FIELDS),
            EventField("country_of_incorporation", COUNTRY, "Its country where no address states one readably."),
            EventField("legal_type", TEXT, "Such as `llc`."),
            EventField("expected_payment_rails", TEXTS, "The rails that it said it would use."),
        ),
    ),
    EventField("created_at", INSTANT, "When the bank created it."),
    EventField("updated_at", UPDATE_INSTANT, "Orders the snapshots of an entity; else the event's `created_at` does."),
)
"""Of an ``identity.*`` event."""

COUNTERPARTY_FIELDS: Final = (
    EventField("id", TEXT, "The counterparty's id; else `counterparty_id`."),
    EventField("counterparty_id", TEXT, "The same under another name.", needed=TO_NAME_IT),
    *_IN_COUNTERPARTY,
    EventField(
        "updated_at", UPDATE_INSTANT, "Orders the snapshots of a counterparty; else the event's `created_at` does."
    ),
)
"""Of a ``counterparty.*`` event."""

ACCOUNT_FIELDS: Final = (
    EventField("bank_account_id", TEXT, "The account's id; else `id`.", needed=TO_NAME_IT),
    EventField("id", TEXT, "The same under another name.", needed=TO_NAME_IT),
    EventField("owners", TEXTS, "The ids of its owners; the first one is the entity that acts."),
    EventField("entity_id", TEXT, "Its owner where `owners` is absent."),
    EventField("type", TEXT, "Such as CHECKING."),
    EventField("status", TEXT, "OPEN, FROZEN or CLOSED; else it follows from the event's type."),
    EventField("currency_code", CURRENCY, "Of its balances; USD where it is absent. Other currencies are not counted."),
    EventField(
        "balances",
        OBJECT,
        "The balance of a reserve account is the available plus the locked amount; one of them alone is no balance.",
        (
            EventField("available_amount", SIGNED_CENTS, "The amount that can be paid out."),
            EventField("available_balance", SIGNED_CENTS, "The same under another name."),
            EventField("locked_amount", SIGNED_CENTS, "The amount locked by overdrafts."),
            EventField("locked_balance", SIGNED_CENTS, "The same under another name."),
        ),
    ),
    EventField("updated_at", UPDATE_INSTANT, "Orders the snapshots of an account; else the event's `created_at` does."),
)
"""Of an ``account.*`` event."""

DISPUTE_FIELDS: Final = (
    EventField("transfer_id", TEXT, "The disputed card transfer."),
    EventField("transaction_id", TEXT, "The same under another name."),
    EventField("card_transaction_id", TEXT, "The same under another name."),
    EventField("transaction", OBJECT, "The disputed card transfer.", (EventField("id", TEXT, "Its id."),)),
    EventField("outcome", TEXT, "`won`: the cardholder won; `lost`: the cardholder lost."),
    EventField("resolution", TEXT, "The same under another name."),
    EventField("status", TEXT, "The same under another name."),
)
"""Of a ``card.dispute.*`` event."""

FIELDS_OF_PARTY: Final[Mapping[str, tuple[EventField, ...]]] = {
    "identity": ENTITY_FIELDS,
    "counterparty": COUNTERPARTY_FIELDS,
    "account": ACCOUNT_FIELDS,
}
"""By the family of the event."""


def transfer_fields(rail: Rail) -> tuple[EventField, ...]:
    """The fields that are read of a transfer on one rail."""
    return tuple(each for each in TRANSFER_FIELDS if each.rails is None or rail in each.rails)
