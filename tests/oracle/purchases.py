"""Card purchases: what the bank says of merchant and card, and what the holder, the card and the program did before."""

from typing import Any, Final

from clearhold.features.core.instants import DAY_US
from tests.oracle.view import NEWEST, Other, Subject, within

LEAST: Final = 5
MINUTE_US: Final = 60_000_000
STATED: Final = ("cardPresent", "entryMode", "merchantCategory", "merchantState")
OF_CATEGORY: Final = (
    *("entity.categoryCount90d", "entity.newCategoryAfter90d"),
    *("entity.categoryMedianCents90d", "program.categoryMedianCents90d"),
)
OF_CARD: Final = ("card.otherCountryMinutes24h", "card.otherStateMinutes24h", "card.notPresentMerchants24h")

Fields = dict[str, Any]


def purchase_fields(subject: Subject, attempts: list[Other]) -> Fields:
    """``attempts`` are all other transfers, moved or not."""
    nothing: Fields = dict.fromkeys((*STATED, *OF_CATEGORY, *OF_CARD))
    if subject.rail != "card":
        return nothing
    words = subject.purchase
    fields = nothing | {
        "cardPresent": words.present,
        "entryMode": words.entry_mode,
        "merchantCategory": words.category,
        "merchantState": _state(subject),
    }
    if subject.direction == "incoming":
        return fields
    if words.category is not None:
        fields |= _category_fields(subject, attempts)
    if subject.card is not None and words.present is not None:
        fields |= _place_fields(subject, attempts) if words.present else _merchant_fields(subject, attempts)
    return fields


def _state(transfer: Other | Subject) -> str | None:
    return transfer.purchase.state if transfer.country == "US" else None


def _category_fields(subject: Subject, attempts: list[Other]) -> Fields:
    quarter = [each for each in within(attempts, subject, 90 * DAY_US) if _is_purchase(each) and each.moved]
    stated = [each for each in quarter if each.purchase.category is not None]
    alike = [each for each in stated if each.purchase.category == subject.purchase.category]
    amounts = sorted(each.cents for each in alike if each.cents is not None)
    n = len(amounts)
    fields: Fields = {"program.categoryMedianCents90d": amounts[-(-n // 2) - 1] if n >= LEAST else None}
    if subject.actor is None:
        return fields
    mine = [each for each in alike if each.actor == subject.actor]
    newest = sorted((each.own, -1 if each.cents is None else each.cents) for each in mine)[-NEWEST:]
    known = sorted(cents for _, cents in newest if cents >= 0)
    others = sum(each.actor == subject.actor for each in stated)
    return fields | {
        "entity.categoryCount90d": len(mine),
        "entity.newCategoryAfter90d": None if mine else others,
        "entity.categoryMedianCents90d": known[(len(known) - 1) // 2] if len(known) >= LEAST else None,
    }


def _is_purchase(other: Other) -> bool:
    return (other.rail, other.direction) == ("card", "outgoing")


def _of_card(subject: Subject, attempts: list[Other]) -> list[Other]:
    """The purchases among the card's newest attempts of a day, the newest first."""
    day = [each for each in within(attempts, subject, DAY_US) if each.card == subject.card]
    newest = sorted(day, key=lambda each: each.own)[-NEWEST:]
    return [each for each in reversed(newest) if _is_purchase(each)]


def _place_fields(subject: Subject, attempts: list[Other]) -> Fields:
    there = [each for each in _of_card(subject, attempts) if each.purchase.present and each.country is not None]
    abroad = [each for each in there if subject.country is not None and each.country != subject.country]
    own = _state(subject)
    states = [each for each in there if own is not None and _state(each) not in (None, own)]
    values = [(subject.at - each[0].own) // MINUTE_US if each else None for each in (abroad, states)]
    return dict(zip(OF_CARD[:2], values, strict=True))


def _merchant_fields(subject: Subject, attempts: list[Other]) -> Fields:
    parties = {each.party for each in _of_card(subject, attempts) if each.purchase.present is False}
    return {OF_CARD[2]: len({*parties, subject.party} - {None})}
