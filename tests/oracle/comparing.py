"""What somebody else says of a scored transfer, held against the oracle: one line for each feature that differs."""

from collections.abc import Mapping
from typing import Any, Final

from tests.oracle.oracle import Expected

QUANTILES: Final = frozenset({"program.medianCents", "program.p95Cents"})
BOUNDED: Final = "entity.newCounterparties24h"
BOUND: Final = 32  # of the newest 64 edges that the search looks at, transfers of others to the actor take up some
WITHIN: Final = 200  # one part in so many: quantiles are within half a percent


def differences(told: Mapping[str, Any], expected: Expected) -> list[str]:
    """``told`` has the features by their wire names; one that it lacks differs from every value."""
    return [
        f"{expected.transfer_id}.{name}: {told.get(name, 'absent')} is not {value}"
        for name, value in expected.features.items()
        if name not in told or not _same(name, told[name], value)
    ]


def _same(name: str, told: Any, exact: Any) -> bool:
    if told is None or exact is None or isinstance(told, bool) != isinstance(exact, bool):
        return told is exact
    if name in QUANTILES:
        return bool(abs(told - exact) * WITHIN <= exact)
    if name == BOUNDED:
        return bool(min(told, BOUND) == min(exact, BOUND))
    return bool(told == exact)
