"""Card attempts, moved or not: of one card (else its account, else its entity), and of the program."""

from typing import Any, Final

from clearhold.features.core.instants import DAY_US, HOUR_US
from tests.oracle.card_words import FRAUD_OR_AUTHENTICATION
from tests.oracle.view import Other, Subject, within

SMALL_CENTS: Final = 500
OF_CARD: Final = ("card.declines1h", "card.smallAuthorizations1h")
OF_PROGRAM: Final = (
    *("program.cardAttempts1h", "program.cardDeclines1h", "program.cardSmall1h", "program.cardAttempts24h"),
    *("program.cardFraudDeclines24h", "program.cardAttempts30d", "program.cardFraudDeclines30d"),
)

Fields = dict[str, Any]
Attempt = Other | Subject


def card_fields(subject: Subject, attempts: list[Other]) -> Fields:
    """``attempts`` are all other transfers, moved or not; this one is an attempt too."""
    if subject.rail != "card":
        return dict.fromkeys((*OF_CARD, *OF_PROGRAM), 0)
    cards = [other for other in attempts if other.rail == "card"]
    hour: list[Attempt] = [*within(cards, subject, HOUR_US), subject]
    day: list[Attempt] = [*within(cards, subject, DAY_US), subject]
    month: list[Attempt] = [*within(cards, subject, 30 * DAY_US), subject]
    mine = [each for each in hour if each.card == subject.card]
    of_card = (_declines(mine), sum(1 for each in mine if each.cents is not None and each.cents < SMALL_CENTS))
    of_program = (
        len(hour),
        _declines(hour),
        sum(1 for each in hour if each.cents is not None and each.cents <= SMALL_CENTS),
        len(day),
        _frauds(day),
        len(month),
        _frauds(month),
    )
    known = dict(zip(OF_CARD, of_card, strict=True)) if subject.card is not None else dict.fromkeys(OF_CARD)
    return known | dict(zip(OF_PROGRAM, of_program, strict=True))


def _declines(attempts: list[Attempt]) -> int:
    return sum(each.decline.declined for each in attempts)


def _frauds(attempts: list[Attempt]) -> int:
    return sum(1 for each in attempts if each.decline.reason in FRAUD_OR_AUTHENTICATION)
