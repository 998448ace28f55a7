"""Examples of autonomy for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID

_BODY: Final[dict[str, Any]] = {
    "version": "autonomy-v1",
    "tier": "trusted",
    "granted": ["country_outside_declared"],
    "withdrawn": [],
    "note": "A quarter without a bad one; the program pays its suppliers abroad.",
}
AUTONOMY: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "tier": "trusted",
    "version": "autonomy-v1",
    "granted": ["country_outside_declared"],
    "effective": {
        "version": "policy-v1.autonomy-v1",
        "autoClosableDetectors": ["country_outside_declared", "round_amount"],
        "autoCloseBands": ["clear"],
        "minProgramN": 200,
        "alwaysReviewed": ["structuring_pattern"],
        "twoApproverActions": ["freeze_account"],
        "holdBandAutoHold": True,
    },
    "eligibility": [
        {
            "detector": "country_outside_declared",
            "closable": True,
            "eligible": True,
            "objections": [],
            "alerts": 212,
            "labelled": 150,
            "bad": 0,
            "badRateBound": 0.0198,
            "reviewed": 64,
            "overturned": 1,
            "overturnRate": 0.0156,
            "recentlyReviewed": 8,
            "recentlyOverturned": 0,
        },
        {
            "detector": "fan_out",
            "closable": False,
            "eligible": False,
            "objections": ["bad_rate_bound", "reviewed_too_few"],
            "alerts": 3,
            "labelled": 0,
            "bad": 0,
            "badRateBound": None,
            "reviewed": 0,
            "overturned": 0,
            "overturnRate": None,
            "recentlyReviewed": 0,
            "recentlyOverturned": 0,
        },
    ],
    "lastChangeAt": "2026-06-01T10:00:00.000Z",
    "nextChangeAllowedAt": "2026-06-08T10:00:00.000Z",
    "history": [
        {"version": "autonomy-v1", "createdAt": "2026-06-01T10:00:00.000Z", "body": _BODY, "active": True},
    ],
    "warnings": [],
}
TIER_REQUEST: Final = {"tier": "standard", "note": "The supplier changed; we look at each payment for a while."}
