"""The operations that read the state of keys, a part of ``tests/support/operations.py``."""

from typing import Final

from tests.support.operation import Access, Operation

KEY_STATE_OPERATIONS: Final = (
    Operation(method="GET", path="/api/bank-keys", access=Access.OPERATOR),
    Operation(method="GET", path="/api/signing-keys", access=Access.BEARER, scope="record"),
)
