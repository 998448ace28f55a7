"""What policy holds a transfer against: reporting thresholds and lists of countries, each since it is in force."""

from typing import Any, Final

from tests.oracle.facts import Program, Thresholds
from tests.oracle.view import Subject

Fields = dict[str, Any]
_NAMES: Final = {
    "call_for_action": "callForAction",
    "comprehensively_sanctioned": "comprehensivelySanctioned",
    "increased_monitoring": "increasedMonitoring",
}


def learn_policy(program: Program, policy: Fields, appended_at: int) -> None:
    """Thresholds come into force; an activation that is told twice counts once."""
    if not policy["version"].startswith("thresholds-") or policy["actionId"] in program.activations:
        return
    program.activations.add(policy["actionId"])
    body = policy["body"]
    program.thresholds.append(
        Thresholds(
            appended_at,
            policy["version"],
            tuple(sorted(int(line) for line in body["structuringThresholdsCents"])),
            {name: set(body[wire]["countries"]) for name, wire in _NAMES.items()},
        )
    )


def policy_fields(subject: Subject, thresholds: Thresholds) -> Fields:
    on = [name for name, countries in thresholds.lists.items() if subject.country in countries]
    return {
        "counterparty.countryLists": None if subject.country is None else ",".join(on),
        "policy.structuringThresholds": ",".join(map(str, thresholds.lines)),
        "policy.thresholdsVersion": thresholds.version,
    }
