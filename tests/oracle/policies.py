"""What policy holds a transfer against: reporting thresholds, caps, lists of countries, each since it is in force."""

from typing import Any, Final

from tests.oracle.facts import ALWAYS, CapRequest, Caps, Program, Thresholds
from tests.oracle.view import Subject

Fields = dict[str, Any]
_NAMES: Final = {
    "call_for_action": "callForAction",
    "comprehensively_sanctioned": "comprehensivelySanctioned",
    "increased_monitoring": "increasedMonitoring",
}
_SPLIT: Final = {"per_transaction", "entity_daily"}  # caps that somebody's amounts can be split to stay under


def learn_policy(program: Program, policy: Fields, appended_at: int) -> None:
    """Thresholds come into force; an activation that is told twice counts once."""
    if not policy["version"].startswith("thresholds-") or policy["actionId"] in program.activations:
        return
    program.activations.add(policy["actionId"])
    body = policy["body"]
    (program.own_thresholds if policy["ofProgram"] else program.thresholds).append(
        Thresholds(
            ALWAYS if policy.get("fromStart") else appended_at,
            policy["version"],
            tuple(sorted(int(line) for line in body["structuringThresholdsCents"])),
            {name: set(body[wire]["countries"]) for name, wire in _NAMES.items()},
        )
    )


def learn_request(program: Program, action: Fields) -> None:
    """A change of a cap waits for its approver; one of a kind at a time, and none to what the cap is already."""
    if action["type"] != "set_limit" or action["id"] in program.requests:
        return
    kind, to = action["change"]["kind"], action["change"]["to"]
    waits = kind in {each.kind for each in program.requests.values() if each.waits}
    if not waits and to != program.caps[-1].by_kind.get(kind):
        program.requests[action["id"]] = CapRequest(kind, to, action["operator"])


def learn_approval(program: Program, approval: Fields, appended_at: int) -> None:
    """A second person's word brings the cap into force, the requester's own refuses it; a later word does nothing."""
    request = program.requests.get(approval["actionId"])
    if request is None or not request.waits:
        return
    request.waits = False
    if _folded(approval["approver"]) != _folded(request.by):
        program.caps.append(Caps(appended_at, program.caps[-1].by_kind | {request.kind: request.to}))


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def thresholds_at(program: Program, at: int) -> Thresholds:
    """The program's own above its tenant's, the newest that is in force by then, with the caps one can stay under."""
    versions = (*program.thresholds, *program.own_thresholds)
    thresholds = next(each for each in reversed(versions) if each.since <= at)
    number, caps = next(each for each in reversed(tuple(enumerate(program.caps))) if each[1].since <= at)
    if not number:
        return thresholds
    lines = {int(cap) for kind, cap in caps.by_kind.items() if kind in _SPLIT and cap is not None}
    return thresholds._replace(
        version=f"{thresholds.version}+limits-v{number}", lines=tuple(sorted(lines.union(thresholds.lines)))
    )


def policy_fields(subject: Subject, thresholds: Thresholds) -> Fields:
    on = [name for name, countries in thresholds.lists.items() if subject.country in countries]
    return {
        "counterparty.countryLists": None if subject.country is None else ",".join(on),
        "policy.structuringThresholds": ",".join(map(str, thresholds.lines)),
        "policy.thresholdsVersion": thresholds.version,
    }
