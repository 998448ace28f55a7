"""Bank events that carry an entity, a counterparty or a bank account.

Errors  none: an object without a usable id is None; any other field of an odd type counts as absent
"""

from typing import Any, Final

from clearhold.features.bank.events import AccountSnapshot, CounterpartySnapshot, EntitySnapshot
from clearhold.features.bank.fields import (
    STATED_AHEAD_US,
    UPDATE_AHEAD_US,
    account_last4,
    country,
    country_in,
    currency,
    first_country,
    flag,
    instant,
    mapping,
    name,
    routing,
    signed_cents,
    text,
    texts,
    word,
)
from clearhold.features.bank.transfers import country_of_counterparty
from clearhold.features.core.money import USD
from clearhold.features.core.vocabulary import EntityType, PepStatus, VerificationStatus

_ENTITY_TYPES: Final = frozenset(EntityType)
_VERIFICATION_STATUSES: Final = frozenset(VerificationStatus)
_PEP_STATUSES: Final = frozenset(PepStatus)
_STATUS_OF_SUFFIX: Final = {
    "verification.pending": VerificationStatus.PENDING.value,
    "verification.manual_review": VerificationStatus.MANUAL_REVIEW.value,
    "verification.verified": VerificationStatus.VERIFIED.value,
    "verification.denied": VerificationStatus.DENIED.value,
}


def entity_id_of(data: dict[str, Any]) -> str | None:
    return text(data.get("id")) or text(data.get("entity_id"))


def counterparty_id_of(data: dict[str, Any]) -> str | None:
    return text(data.get("id")) or text(data.get("counterparty_id"))


def account_id_of(data: dict[str, Any]) -> str | None:
    """The id of a bank account, or of the one that an overdraft alert names."""
    return text(data.get("bank_account_id")) or text(data.get("id"))


def read_entity(suffix: str, data: dict[str, Any], *, appended_at: int) -> EntitySnapshot | None:
    """An ``identity.*`` event; None for every field that the event does not carry."""
    entity_id, latest = entity_id_of(data), appended_at + STATED_AHEAD_US
    if entity_id is None:
        return None
    person, business = mapping(data.get("person_details")), mapping(data.get("business_details"))
    status = word(data.get("verification_status"))
    kind = word(data.get("type"))
    pep = word(data.get("pep_status")) or word(person.get("pep_status"))
    return EntitySnapshot(
        id=entity_id,
        type=kind if kind in _ENTITY_TYPES else (EntityType.BUSINESS.value if business else None),
        name=name(business.get("business_name"))
        or name(" ".join(filter(None, (name(person.get("first_name")), name(person.get("last_name"))))))
        or name(data.get("name")),
        verification_status=status if status in _VERIFICATION_STATUSES else _STATUS_OF_SUFFIX.get(suffix),
        is_high_risk=flag(data.get("is_high_risk")),
        pep_status=pep.lower() if pep and pep.lower() in _PEP_STATUSES else None,
        requires_screening=flag(data.get("requires_screening")),
        review_reasons=texts(data.get("review_reasons")),
        last_screened_at=instant(data.get("last_screened_at"), latest),
        country=first_country(
            country_in(person.get("address")),
            country_in(business.get("address")),
            country_in(data.get("address")),
            country(business.get("country_of_incorporation")),
        )
        or None,
        legal_type=text(business.get("legal_type")),
        expected_rails=texts(business.get("expected_payment_rails")),
        created_at=instant(data.get("created_at"), latest),
        updated_at=instant(data.get("updated_at"), appended_at + UPDATE_AHEAD_US),
    )


def read_counterparty(data: dict[str, Any], *, appended_at: int) -> CounterpartySnapshot | None:
    """A ``counterparty.*`` event's object."""
    counterparty_id = counterparty_id_of(data)
    if counterparty_id is None:
        return None
    return CounterpartySnapshot(
        id=counterparty_id,
        name=name(data.get("name")),
        routing=routing(data.get("routing_number")),
        last4=account_last4(data.get("account_number")),
        country=country_of_counterparty(data),
        updated_at=instant(data.get("updated_at"), appended_at + UPDATE_AHEAD_US),
    )


def read_account(suffix: str, data: dict[str, Any], *, appended_at: int) -> AccountSnapshot | None:
    """An ``account.*`` event's object: a bank account, or an overdraft alert that names one."""
    account_id = account_id_of(data)
    if account_id is None:
        return None
    owners = texts(data.get("owners")) or ()
    status = word(data.get("status")) or {"frozen": "FROZEN", "unfrozen": "OPEN"}.get(suffix)
    return AccountSnapshot(
        id=account_id,
        owner_id=text(owners[0]) if owners else text(data.get("entity_id")),
        type=word(data.get("type")),
        status=status,
        balance_cents=_balance_cents(data),
        updated_at=instant(data.get("updated_at"), appended_at + UPDATE_AHEAD_US),
    )


def _balance_cents(data: dict[str, Any]) -> int | None:
    """Available and locked together; None when the object does not state both of them in US dollars."""
    balances, is_in_dollars = mapping(data.get("balances")), (currency(data.get("currency_code")) or USD) == USD
    available, locked = _part(balances, "available"), _part(balances, "locked")
    return available + locked if is_in_dollars and available is not None and locked is not None else None


def _part(balances: dict[str, Any], part: str) -> int | None:
    """Older objects of the bank end the names of amounts in ``_balance``."""
    amount = signed_cents(balances.get(f"{part}_amount"))
    return signed_cents(balances.get(f"{part}_balance")) if amount is None else amount
