"""Daily rates to the US dollar, as a bank states them, and amounts counted at them.

Unit    a rate is US dollars for one unit of the currency, a decimal string; an amount is in the currency's minor unit
Window  the rate of the transfer's own UTC day, else the newest of the seven days before
How     exact arithmetic; a cent and a half is rounded to the even cent
"""

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Final

import msgspec

from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.money import MOST_COUNTED_CENTS
from clearhold.features.core.sentences import decimals_of
from clearhold.features.core.words import about

RATE_PATTERN: Final = r"^(0|[1-9][0-9]{0,5})(\.[0-9]{1,12})?$(?!\n)"
OLDEST_DAYS: Final = 7
_CENTS: Final = 100
_DATE_LENGTH: Final = 10


class DailyRate(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """US dollars for one unit of a currency on one day."""

    currency: Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}$(?!\n)"), about("ISO 4217, as in EUR.")]
    day: Annotated[str, msgspec.Meta(extra_json_schema={"format": "date"}), about("A day, as in 2026-03-02.")]
    rate: Annotated[
        str,
        msgspec.Meta(pattern=RATE_PATTERN),
        about("US dollars for one unit, a decimal number above zero."),
    ]


class UsdRate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The rate of a policy that an amount was counted at."""

    currency: Annotated[str, about("ISO 4217.")]
    day: Annotated[str, about("The day of the rate, which is the transfer's own or at most seven days earlier.")]
    rate: Annotated[str, about("US dollars for one unit of the currency.")]
    version: Annotated[str, about("The version of the policy, as in fx-v1.")]


class RateTable:
    """The rates of one version, by currency and day."""

    def __init__(self, rates: Iterable[tuple[str, str, str]]) -> None:
        self._days: dict[str, list[str]] = {}
        self._rates: dict[str, list[str]] = {}
        for currency, day, rate in sorted(rates):
            self._days.setdefault(currency, []).append(day)
            self._rates.setdefault(currency, []).append(rate)

    def at(self, currency: str, instant: int, version: str) -> UsdRate | None:
        """The newest rate of the instant's day or of the seven days before; None without one."""
        days = self._days.get(currency)
        if days is None:
            return None
        place = bisect_right(days, _day_of(instant)) - 1
        if place < 0 or days[place] < _day_of(instant - OLDEST_DAYS * DAY_US):
            return None
        return UsdRate(currency=currency, day=days[place], rate=self._rates[currency][place], version=version)


def _day_of(instant: int) -> str:
    return format_instant(instant)[:_DATE_LENGTH]


def cents_at(amount: int, rate: UsdRate) -> int:
    """The US cents of an amount, rounded half to even, at most ``MOST_COUNTED_CENTS``.

    >>> cents_at(950_000, UsdRate(currency="JPY", day="2026-03-02", rate="0.0065", version="fx-v1"))
    617500
    >>> cents_at(1_250, UsdRate(currency="KWD", day="2026-03-02", rate="3.26", version="fx-v1"))
    408
    """
    minor_units: int = 10 ** decimals_of(rate.currency)
    return min(round(Fraction(rate.rate) * amount * _CENTS / minor_units), MOST_COUNTED_CENTS)


def rates_of(dumped: Iterable[tuple[int, object]]) -> dict[int, UsdRate]:
    """The rates of a stored state by row."""
    return {row: msgspec.convert(rate, UsdRate) for row, rate in dumped}
