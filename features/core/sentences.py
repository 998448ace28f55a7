"""Figures in sentences."""

from typing import Final

from clearhold.features.core.money import UNREADABLE_CURRENCY

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
