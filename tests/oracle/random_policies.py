"""Random thresholds that come into force: lines of which zones overlap, and lists of countries."""

from random import Random
from typing import Any, Final

LINES: Final = (100, 250_000, 300_000, 500_000, 950_000, 1_000_000, 2_400_000)
LISTS: Final = ("callForAction", "comprehensivelySanctioned", "increasedMonitoring")
COUNTRIES: Final = ("DE", "IR", "MM", "US", "VE")


def other_thresholds(chance: Random, number: int) -> dict[str, Any]:
    """The body of the entry that brings them into force."""
    lines = [str(line) for line in chance.sample(LINES, chance.randint(1, 4))]
    lists = {
        name: {"asOf": "2026-06-19", "source": "FATF", "countries": chance.sample(COUNTRIES, chance.randint(0, 3))}
        for name in LISTS
    }
    return {
        "tenantId": "ten_1",
        "version": f"thresholds-v{number}",
        "body": {"structuringThresholdsCents": lines} | lists,
        "actionId": f"act_{number}",
        "ofProgram": False,
    }
