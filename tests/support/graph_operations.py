"""The graph around each type of subject, a part of ``tests/support/operations.py``."""

from typing import Final

import msgspec

from tests.support.operation import Access, Operation

_FILLED: Final = {
    "transfer": "transfer",
    "entity": "entity",
    "account": "known account",
    "counterparty": "counterparty",
    "alert": "alert",
}
_ANYWHERE: Final = tuple(
    Operation(
        method="GET",
        path=f"/api/graph?around={kind}:{{}}",
        template="/api/graph",
        access=Access.BEARER,
        scope="alerts:read",
        fills=(name,),
    )
    for kind, name in _FILLED.items()
)
GRAPH_OPERATIONS: Final = (
    *_ANYWHERE,
    *(
        msgspec.structs.replace(operation, query=(("programId", "program"),), names="a program")
        for operation in _ANYWHERE
    ),
)
