"""Random amounts: cents at the edges of thresholds, and what each rail's object says of its amount and currency."""

from random import Random
from typing import Any, Final

from tests.oracle.random_scenes import Plan

CENTS: Final = (
    *(12_500, 12_500, 42_000, 11_250, 13_750, 13_751, 50, 99, 100, 499, 500, 95_000, 99_999, 100_000, 250_000),
    *(239_999, 240_000, 269_999, 270_000, 299_999, 300_000, 799_999, 800_000, 899_999, 900_000, 950_000, 999_999),
    *(1_000_000, 500_000, 600_000, 600_001, 2_000_000, 0, 1),
)
MONEY: Final = (  # currency, settled, instructed: what an international wire says besides its amount
    *(("USD", None, None), ("EUR", "USD", "EUR"), ("EUR", "USD", "EUR"), ("JPY", "USD", None), ("GBP", "GBP", "USD")),
    *(("EUR", "EUR", "EUR"), ("JPY", None, None), ("JPY", "JPY", None)),
)

Data = dict[str, Any]


def set_amount(data: Data, plan: Plan) -> None:
    if plan.rail != "check":
        data["amount"] = plan.cents
    elif plan.direction == "incoming":
        data["deposited_amount"] = plan.cents
        del data["positive_pay_amount"]
    else:
        data["positive_pay_amount"] = plan.cents
    if plan.rail == "intl_wire":
        data |= _in_dollars(plan.cents)


def _in_dollars(cents: int) -> Data:
    return {
        "currency_code": "USD",
        "instructed_amount": cents,
        "instructed_currency_code": "USD",
        "settled_amount": cents,
        "settled_currency_code": "USD",
    }


def money(chance: Random, cents: int) -> Data:
    """An amount in its currency, with what it was settled for and what was asked for where the bank says so."""
    currency, settled, instructed = chance.choice(MONEY)
    other = chance.choice(CENTS)
    return {
        "currency_code": currency,
        "settled_currency_code": settled,
        "settled_amount": None if settled is None else other if settled != currency else cents,
        "instructed_currency_code": instructed,
        "instructed_amount": None if instructed is None else other if instructed != currency else cents,
    }
