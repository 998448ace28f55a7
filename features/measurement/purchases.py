"""The part of the vector on card purchases: first uses of a merchant category, its usual amounts, places too far apart
for the time between them, and merchants paid without the card.

Window  90 days for categories, of purchases that moved money; 24 hours for a card, with attempts that did not. The
        purchase itself counts in the merchants alone
Bounds  the newest 64 purchases of the entity in the category, and the newest 64 attempts on the card
Cost    nothing on other rails; a first use of a category counts in each of the entity's categories once
"""

from collections.abc import Iterator
from typing import Final

from clearhold.features.bank.purchases import US, Purchase
from clearhold.features.catalogue.purchases import Purchases
from clearhold.features.core.instants import DAY_US, DAYS_90, MINUTE_US
from clearhold.features.core.money import PURCHASE_CLASS
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.measurement.activity import MEDIAN_FLOOR, NEWEST
from clearhold.features.measurement.subject import Subject
from clearhold.features.state.parties import coded_cents
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.edges import NOBODY

_CARD: Final = Rail.CARD.value
_INCOMING: Final = Direction.INCOMING.value
_NO_PURCHASE: Final = Purchases(None, None, None, None, None, None, None, None, None, None, None)
_Attempt = tuple[int, Purchase, str | None, int]  # minutes ago, purchase, country, merchant
_CategoryFigures = tuple[int | None, int | None, int | None, int | None]
_PlaceFigures = tuple[int | None, int | None, int | None]
_NO_CATEGORY: Final[_CategoryFigures] = (None, None, None, None)
_NO_PLACES: Final[_PlaceFigures] = (None, None, None)


def purchases_of(subject: Subject, program: ProgramSeries, at: int) -> Purchases:
    if subject.rail != _CARD:
        return _NO_PURCHASE
    purchase, is_refund = subject.purchase, subject.direction == _INCOMING
    state = purchase.state if subject.country == US else None
    count, after, median, of_program = _of_category(subject, program, at) if not is_refund else _NO_CATEGORY
    country_minutes, state_minutes, merchants = _of_card(subject, program, state, at) if not is_refund else _NO_PLACES
    return Purchases(
        card_present=purchase.present,
        entry_mode=purchase.entry_mode,
        merchant_category=purchase.category,
        merchant_state=state,
        entity_category_count_90d=count,
        entity_new_category_after_90d=after,
        entity_category_median_cents_90d=median,
        program_category_median_cents_90d=of_program,
        card_other_country_minutes_24h=country_minutes,
        card_other_state_minutes_24h=state_minutes,
        card_not_present_merchants_24h=merchants,
    )


def _of_category(subject: Subject, program: ProgramSeries, at: int) -> _CategoryFigures:
    category, own = subject.purchase.category, subject.own
    if category is None:
        return _NO_CATEGORY
    but = own.cents if own.category == category else None
    return *_of_entity(subject, category, at), program.categories.median_cents(category, at, but=but)


def _of_card(subject: Subject, program: ProgramSeries, state: str | None, at: int) -> _PlaceFigures:
    present = subject.purchase.present
    if present is None or subject.card == NOBODY:
        return _NO_PLACES
    attempts = _attempts(subject, program, at)
    if present:
        return *_elsewhere(subject.country, state, attempts), None
    return None, None, _merchants(subject, attempts)


def _of_entity(subject: Subject, category: str, at: int) -> tuple[int | None, int | None, int | None]:
    """The entity's purchases in the category; without any, those in others; and the category's median."""
    actor, own, since = subject.actor, subject.own, at - DAYS_90
    if actor is None:
        return None, None, None
    own_category = own.category if own.actor is actor else None
    by_category = actor.categories or {}
    series = by_category.get(category)
    count = 0 if series is None else series.count(since, at) - (own_category == category)
    if series is None or not count:
        others = sum(each.count(since, at) for name, each in by_category.items() if name != category)
        return 0, others - (own_category not in {None, category}), None
    but = (at, coded_cents(own.cents)) if own_category == category else None
    newest = sorted(coded - 1 for coded in series.newest(since, at, most=NEWEST, but=but) if coded)
    return count, None, newest[(len(newest) - 1) // 2] if len(newest) >= MEDIAN_FLOOR else None


def _attempts(subject: Subject, program: ProgramSeries, at: int) -> Iterator[_Attempt]:
    """The other purchases on the card in a day, moved or not, the newest first."""
    edges = program.attempts.get(subject.card)
    if edges is None:
        return
    near = edges.near(at - DAY_US, at, but=subject.own.row, as_of=at)
    for instant, row in zip(reversed(near.times), reversed(near.rows), strict=True):
        if program.transfers.glance(row).class_id == PURCHASE_CLASS:
            yield (at - instant) // MINUTE_US, *program.purchase_of(row, at)


def _elsewhere(country: str | None, state: str | None, attempts: Iterator[_Attempt]) -> tuple[int | None, int | None]:
    """Minutes since the newest attempt with the card present in another country, and in another state of the US."""
    other_country = other_state = None
    for minutes, purchase, place, _ in attempts:
        if not purchase.present or place is None or country is None:
            continue
        if place != country:
            other_country = minutes if other_country is None else other_country
        elif state is not None and purchase.state not in {None, state}:
            other_state = minutes if other_state is None else other_state
    return other_country, other_state


def _merchants(subject: Subject, attempts: Iterator[_Attempt]) -> int:
    merchants = {merchant for _, purchase, _, merchant in attempts if purchase.present is False}
    if subject.counterparty is not None:
        merchants.add(subject.counterparty.index)
    merchants.discard(NOBODY)
    return len(merchants) + (subject.counterparty is None and subject.counterparty_named)
