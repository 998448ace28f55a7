"""Random thresholds that come into force: lines of which zones overlap, lists of countries, and a program's caps."""

from random import Random
from typing import Any, Final

from clearhold.features.core.entries.actions import CapKind

LINES: Final = (100, 250_000, 300_000, 500_000, 950_000, 1_000_000, 2_400_000)
CAPS: Final = (0, 100_000, 300_000, 600_000, 1_000_000)
LISTS: Final = ("callForAction", "comprehensivelySanctioned", "increasedMonitoring")
COUNTRIES: Final = ("DE", "IR", "MM", "US", "VE")
PEOPLE: Final = ("ann", "bob", "BOB ")


def other_thresholds(chance: Random, number: int) -> dict[str, Any]:
    """The body of the entry that brings them into force; the versions that a tenant writes are numbered from 2 on."""
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
        "ofProgram": chance.random() < 0.25,
    }


def cap_change(chance: Random, program_id: str, number: int, at: int) -> dict[str, Any]:
    """The body of the entry that requests another cap, or none."""
    cap = chance.choice((*CAPS, None))
    return {
        "id": f"act_cap_{number}",
        "tenantId": "ten_1",
        "alertId": None,
        "alertSha256": None,
        "type": "set_limit",
        "targetType": "program",
        "targetId": program_id,
        "operator": "bob",
        "operatorKind": "person",
        "principalId": "operator",
        "change": {"kind": chance.choice(list(CapKind)), "to": None if cap is None else str(cap), "note": None},
        "at": at,
    }


def approval(chance: Random, action_id: str, number: int, at: int) -> dict[str, Any]:
    """The body of the entry that approves it, or tries to."""
    who = chance.choice(PEOPLE)
    return {
        "id": f"app_{number}",
        "actionId": action_id,
        "approver": who,
        "operator": who,
        "principalId": "operator",
        "at": at,
    }
