"""What somebody else says of a scored transfer, held against the oracle: one line for each feature that differs."""

from collections.abc import Mapping
from typing import Any, Final

from tests.oracle.oracle import Expected
from tests.oracle.view import AtMost

QUANTILES: Final = frozenset({"program.medianCents", "program.p95Cents", "program.categoryMedianCents90d"})
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
    if isinstance(exact, AtMost):
        return bool(told <= exact)
    return bool(told == exact)
