"""Key risk indicators as people read them: the name, a value in its unit, the limit.

Unit    values as measured; None is not measured
"""

from typing import Final

from clearhold.features.catalogue.kris import KRIS, KriUnit
from clearhold.features.core.money import money

NOT_MEASURED: Final = "\N{EN DASH}"
_PERCENT_ENDS: Final = ("_rate", "_share", "_use", "_concentration")
_LOWER_LIMITS: Final = {kri.name.value for kri in KRIS if kri.is_lower}


def kri_name(name: str) -> str:
    words = name.replace("_", " ")
    return f"ACH{words[3:]}" if words.startswith("ach ") else words[:1].upper() + words[1:]


def measured(name: str, unit: KriUnit, value: float | None) -> str:
    if value is None:
        return NOT_MEASURED
    if unit is KriUnit.RATIO:
        return f"{value * 100:,.2f}\N{NO-BREAK SPACE}%" if name.endswith(_PERCENT_ENDS) else f"{value:,.2f}"
    if unit is KriUnit.CENTS:
        return money(round(value))
    if unit is KriUnit.COUNT:
        return f"{value:,.0f}"
    return f"{value:,.1f}\N{NO-BREAK SPACE}{unit}"


def limit_words(name: str, unit: KriUnit, threshold: float | None) -> str:
    """The line of a breach; of a coverage it is the least."""
    if threshold is None:
        return NOT_MEASURED
    return f"{'≥' if name in _LOWER_LIMITS else '≤'} {measured(name, unit, threshold)}"
