"""What policy holds a transfer against: reporting thresholds and lists of countries, each since it is in force."""

import json
from typing import Any, Final

from tests.oracle.facts import Thresholds
from tests.oracle.view import Subject

Fields = dict[str, Any]
_NAMES: Final = {
    "call_for_action": "callForAction",
    "comprehensively_sanctioned": "comprehensivelySanctioned",
    "increased_monitoring": "increasedMonitoring",
}


def read_policy(entry: bytes, appended_at: int) -> Thresholds | None:
    """The thresholds that an entry brings into force; None for another kind of policy."""
    policy = json.loads(entry)
    if not policy["version"].startswith("thresholds-"):
        return None
    body = policy["body"]
    return Thresholds(
        appended_at,
        policy["version"],
        tuple(sorted(int(line) for line in body["structuringThresholdsCents"])),
        {name: set(body[wire]["countries"]) for name, wire in _NAMES.items()},
    )


def policy_fields(subject: Subject, thresholds: Thresholds) -> Fields:
    on = [name for name, countries in thresholds.lists.items() if subject.country in countries]
    return {
        "counterparty.countryLists": None if subject.country is None else ",".join(on),
        "policy.structuringThresholds": ",".join(map(str, thresholds.lines)),
        "policy.thresholdsVersion": thresholds.version,
    }
