"""Examples of the record for the OpenAPI document; their chain does not exist."""

from typing import Any, Final

from clearhold.api.dispositions.examples import DISPOSITION
from clearhold.features.core.canonical import Chain, LineKind, canonical, link_hash, record_line

_ORIGIN: Final = "risk.bank.example/first-bank/dispositions"
_ROOT: Final = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
CHECKPOINT: Final = (
    f"{_ORIGIN}\n2\n{_ROOT}\n\n\N{EM DASH} {_ORIGIN} "
    "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
)

_BODY: Final = canonical(
    {name: value for name, value in DISPOSITION.items() if name not in {"prevHash", "hash"}}
    | dict.fromkeys(("alertSha256", "policySha256"), "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752")
)
RECORD_LINE: Final = record_line(
    LineKind.DISPOSITION, _BODY, (Chain.DISPOSITIONS.value, 0, None, link_hash(None, _BODY))
).decode()

CHAIN_REPORT: Final[dict[str, Any]] = {
    "ok": False,
    "checked": 42,
    "firstBreakAt": {
        "chain": "dispositions",
        "seq": 41,
        "id": "5d0b5c0a-6f0f-4a2e-9a57-0d3b6f1f7f11",
        "expected": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "found": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
        "createdAt": "2026-03-02T15:04:05.000Z",
    },
    "chains": {"dispositions": {"ok": False, "checked": 41}, "actions": {"ok": True, "checked": 1}},
    "rows": {
        "ok": False,
        "checked": 60,
        "differences": [
            {
                "table": "dispositions",
                "id": "5d0b5c0a-6f0f-4a2e-9a57-0d3b6f1f7f11",
                "columns": ["decision", "narrative"],
            }
        ],
    },
}
CHECKPOINT_PAGE: Final[dict[str, Any]] = {
    "data": [
        {
            "chain": "dispositions",
            "size": 2,
            "root": _ROOT,
            "note": CHECKPOINT,
            "createdAt": "2026-03-02T16:00:00.000Z",
        }
    ],
    "hasMore": False,
    "nextCursor": None,
}
RECORD_PROOF: Final[dict[str, Any]] = {"leafIndex": 0, "treeSize": 2, "hashes": [_ROOT], "checkpoint": CHECKPOINT}
