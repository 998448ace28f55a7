"""The dry run of a policy by the letter of docs/policies.md, one alert after the other, without the code of routing.

An alert is a dictionary of the inputs of its routing and of its stored answer; policies are the bodies as JSON has
them; a program's autonomy is a list of versions with the log offsets from which they are in force.
"""

from collections import Counter
from typing import Any, Final

Fields = dict[str, Any]
SAME: Final = "same"
OTHERWISE: Final = "otherwise"


def closable(policy: Fields, autonomy: Fields | None) -> tuple[str, list[str]]:
    """The version that holds on the program, and the detectors that it may close there."""
    listed = sorted(policy["autoClosableDetectors"])
    if autonomy is None:
        return policy["version"], listed
    left = [name for name in listed if name not in autonomy["withdrawn"]]
    left += [name for name in autonomy["granted"] if name not in policy["alwaysReviewed"] and name not in left]
    left = [] if autonomy["tier"] == "supervised" else sorted(left)
    if left == listed:
        return policy["version"], listed
    return f"{policy['version']}.{autonomy['version']}", left


def routed(alert: Fields, policy: Fields, detectors: list[str]) -> tuple[str, str, bool, str]:
    """Route, tier, whether it opens as held, and the reason: the first of the list under "Routing" that applies."""
    if alert["detector"].startswith("rule:"):
        reason = "rule"
    elif alert["hard"]:
        reason = "hard_signal"
    elif alert["detector"] in policy["alwaysReviewed"]:
        reason = "always_reviewed"
    elif alert["detector"] not in detectors:
        reason = "detector_not_auto_closable"
    elif alert["subject"] == "program" or alert["score"] is None:
        reason = "unscored"
    elif alert["band"] not in policy["autoCloseBands"]:
        reason = "band_not_auto_closable"
    elif alert["programN"] is None or alert["programN"] < policy["minProgramN"]:
        reason = "thin_history"
    elif alert["degraded"]:
        reason = "degraded_inputs"
    else:
        return "automated", "auto", False, "policy_allows"
    tier = "complex" if alert["severity"] == "high" and not alert["hard"] else "standard"
    held = policy["holdBandAutoHold"] and alert["subject"] != "program" and alert["band"] == "hold"
    return "reviewed", tier, held, reason


def verdict(alert: Fields, draft: Fields, versions: dict[str, Fields], autonomies: dict[str, list[Fields]]) -> Any:
    """Where the alert went and would go, or the word for saying nothing."""
    own = versions.get(alert["policyVersion"].split(".")[0])
    autonomy = None
    for each in autonomies.get(alert["program"], []):
        if each["offset"] < alert["offset"]:
            autonomy = each
    version, detectors = ("", list[str]()) if own is None else closable(own["body"], autonomy)
    if alert["appeal"]:
        word = "appeal"
    elif own is None:
        word = "unknown_policy"
    elif own["programId"] is not None and draft["programId"] is None:
        word = "own_policy"
    elif version != alert["policyVersion"]:
        word = "unknown_policy"
    elif alert["degraded"] is None:
        word = "incomplete_evidence"
    elif routed(alert, own["body"], detectors) != alert["stored"]:
        word = "not_reproduced"
    else:
        return alert["stored"][:3], routed(alert, draft["body"], closable(draft["body"], autonomy)[1])[:3]
    return word


def run(
    alerts: list[Fields], draft: Fields, versions: dict[str, Fields], autonomies: dict[str, list[Fields]]
) -> tuple[Counter[Any], list[str]]:
    """How many alerts by verdict, and the ids of those that go otherwise."""
    counts, otherwise = Counter[Any](), list[str]()
    for alert in alerts:
        says = verdict(alert, draft, versions, autonomies)
        if isinstance(says, str):
            counts[says] += 1
        elif says[0] == says[1]:
            counts[SAME] += 1
        else:
            counts[says] += 1
            otherwise.append(alert["id"])
    return counts, otherwise
