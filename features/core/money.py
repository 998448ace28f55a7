"""Money: an integer number of cents in memory, a string of digits on the wire; figures in sentences; daily rates to the
US dollar; and where the money of a transfer goes.

``direction`` says who originated a transfer, which for an ACH debit is not the way of the money. Baselines and
snapshots contain the numbers of rail classes and ACH types: a new rail is added at the end of ``Rail``, and no rail is
moved.

Unit    cents of the transfer's currency, 0 to 10^18 - 1 (18 digits fit a signed 64-bit column); a rate is US dollars
        for one unit of the currency, a decimal string, and its amount is in the currency's minor unit
Window  the rate of the transfer's own UTC day, else the newest of the seven days before
Errors  ``parse_cents`` answers None for anything else, so that the caller words the refusal; KeyError for words outside
        of ``Rail``, ``Direction`` and ``AchType``
Source  the bank's public event pages: an outgoing ACH debit pulls money in, an incoming one takes it out. Directions of
        checks are inverted by their reader (``features/bank/transfers.py``): here they are our own.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Annotated, Final, NewType

import msgspec

from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.vocabulary import AchType, Direction, Rail, about

Cents = NewType("Cents", int)

MAX_CENTS: Final = 10**18 - 1
MOST_COUNTED_CENTS: Final = 10**12
"""One transfer counts with at most ten billion dollars, the limit of Fedwire, so that sums fit into 64 bits up to nine
million transfers in a window. Its own amount stays as the bank stated it.
"""

USD: Final = "USD"
UNREADABLE_CURRENCY: Final = "XXX"
"""ISO 4217's code for no currency: the bank states one that cannot be read, so the amount is not known to be in USD."""

_DIGITS: Final = re.compile(r"(0|[1-9][0-9]{0,17})", re.ASCII)


def parse_cents(text: str) -> Cents | None:
    """Read a canonical string of digits; ``int()`` alone takes other scripts' digits, "1_000", " 12 " and "+5"."""
    return Cents(int(text)) if _DIGITS.fullmatch(text) else None


def usd_cents_of(amount_cents: int, currency: str | None, stated_usd_cents: int | None) -> int | None:
    """The US cents with which a transfer counts, at most ``MOST_COUNTED_CENTS``: its own amount where the currency is
    USD or not stated, else as the bank states it.

    >>> usd_cents_of(950_000, None, None), usd_cents_of(950_000, "JPY", 6_500), usd_cents_of(950_000, "JPY", None)
    (950000, 6500, None)
    >>> usd_cents_of(MAX_CENTS, "USD", None)
    1000000000000
    """
    cents = amount_cents if currency is None or currency == USD else stated_usd_cents
    return MOST_COUNTED_CENTS if cents is not None and cents > MOST_COUNTED_CENTS else cents


RAIL_CLASSES: Final = tuple((rail.value, direction.value) for rail in Rail for direction in Direction)
ACH_TYPES: Final = (None, AchType.CREDIT.value, AchType.DEBIT.value)

OUTGOING_CLASSES: Final = frozenset(
    number for number, (_, direction) in enumerate(RAIL_CLASSES) if direction == Direction.OUTGOING
)
CARD_CLASSES: Final = frozenset(number for number, (rail, _) in enumerate(RAIL_CLASSES) if rail == Rail.CARD)
BOOK_CLASSES: Final = frozenset(number for number, (rail, _) in enumerate(RAIL_CLASSES) if rail == Rail.BOOK)
ACH_CLASSES: Final = frozenset(number for number, (rail, _) in enumerate(RAIL_CLASSES) if rail == Rail.ACH)
ORIGINATED_CLASS: Final = RAIL_CLASSES.index((Rail.ACH.value, Direction.OUTGOING.value))
PURCHASE_CLASS: Final = RAIL_CLASSES.index((Rail.CARD.value, Direction.OUTGOING.value))
ACH_DEBIT: Final = ACH_TYPES.index(AchType.DEBIT.value)
ACH_CREDIT: Final = ACH_TYPES.index(AchType.CREDIT.value)

_NUMBERS: Final = {rail_class: number for number, rail_class in enumerate(RAIL_CLASSES)}


def class_of(rail: str, direction: str) -> int:
    """The number of a rail and direction, 0 to 13."""
    return _NUMBERS[rail, direction]


def _leaves(rail: Rail, direction: Direction, ach_type: AchType | None) -> bool:
    against = rail is Rail.ACH and ach_type is AchType.DEBIT
    return (direction is Direction.OUTGOING) is not against


_LEAVES: Final = {
    (rail.value, direction.value, None if ach_type is None else ach_type.value): _leaves(rail, direction, ach_type)
    for rail, direction, ach_type in product(Rail, Direction, (None, *AchType))
}


def money_leaves(rail: str, direction: str, ach_type: str | None) -> bool:
    """True when the program's own side pays, False when it is paid; the type matters on ach alone."""
    return _LEAVES[rail, direction, ach_type]


def originates_debit(rail: str, direction: str, ach_type: str | None) -> bool:
    """True for an ACH debit that the program's own side originated."""
    return (rail, direction, ach_type) == _ORIGINATED_DEBIT


_ORIGINATED_DEBIT: Final = (Rail.ACH.value, Direction.OUTGOING.value, AchType.DEBIT.value)


_TWO_DIGITS: Final = 2
_DIGITS_OF: Final = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV"), 0),
    **dict.fromkeys(("UYI", "XAF", "XOF", "XPF", UNREADABLE_CURRENCY), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
}
"""Digits after the point, for currencies without two (ISO 4217)."""


def money(cents: int) -> str:
    """US cents, the unit of windows, baselines and thresholds, with their currency.

    >>> money(985_000)
    'USD 9,850.00'
    """
    return f"USD {cents // 100:,}.{cents % 100:02d}"


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "transfer"), counted(1_200, "transfer"), counted(2, "ACH entry"), counted(3, "day")
    ('1 transfer', '1,200 transfers', '2 ACH entries', '3 days')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith(("ty", "ry")) else f"{count:,} {noun}s"


def tenths(numerator: int, denominator: int) -> str:
    """A ratio with one digit behind the point, cut and never rounded up."""
    whole = numerator * 10 // denominator
    return f"{whole // 10}.{whole % 10}"


def decimals_of(currency: str) -> int:
    """The digits of a currency after the point."""
    return _DIGITS_OF.get(currency, _TWO_DIGITS)


def money_in(currency: str, amount: int) -> str:
    """An amount in the smallest unit of its currency.

    >>> money_in("JPY", 950_000), money_in("EUR", 950_000), money_in("KWD", 1_250), money_in("CLF", 12_345)
    ('JPY 950,000', 'EUR 9,500.00', 'KWD 1.250', 'CLF 1.2345')
    """
    digits = decimals_of(currency)
    whole, part = divmod(amount, 10**digits)
    return f"{currency} {whole:,}.{part:0{digits}d}" if digits else f"{currency} {whole:,}"


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
