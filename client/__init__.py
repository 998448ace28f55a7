"""The client for programs and banks: typed, synchronous, and all that this package promises to keep stable.

A program sends its bank's events and asks before it moves money::

    >>> import msgspec
    >>> from clearhold.client import ClearholdClient, RefusedError, sign
    >>> event = {
    ...     "id": "evnt_1",
    ...     "created_at": "2026-03-02T15:04:05Z",
    ...     "type": "wire.outgoing_transfer.initiated",
    ...     "data": {"id": "wire_1", "amount": 985_000, "beneficiary_name": "New Vendor"},
    ... }
    >>> with ClearholdClient(URL, token=TOKEN, operator="ops@payroll.example") as client:
    ...     posted = client.post_event(PROGRAM_ID, SECRET, msgspec.json.encode(event))
    ...     answer = client.preflight(
    ...         {
    ...             "programId": PROGRAM_ID,
    ...             "idempotencyKey": "invoice-4711",
    ...             "transfer": {"rail": "wire", "direction": "outgoing", "amountCents": "985000"},
    ...         }
    ...     )
    >>> posted.received, posted.duplicate
    (True, False)
    >>> answer["decision"], answer["band"]
    ('review', 'unscored')

An answer outside 2xx is a ``RefusedError`` with the status, a stable code and one sentence::

    >>> with ClearholdClient(URL, token="wrong") as client:
    ...     try:
    ...         client.transfer("wire_1")
    ...     except RefusedError as refused:
    ...         print(refused.status, refused.code)
    401 token_unknown

With another HTTP library, sign the exact bytes of the body for the header ``Bank-Signature``::

    >>> sign("whsec_example", b'{"id":"evnt_1"}')
    '68b8a73650229066c414cb990824b99a0a8a4138d29e07b653155456219d1a20'

Unit    amounts are strings of cents; times are RFC 3339 texts
Errors  ``RefusedError`` is an answer outside 2xx, ``UnreachableError`` is no answer; both say why in one sentence
Retries events, reads, and pre-flights with an ``idempotencyKey``, on 503 and lost connections; nothing else
"""

from clearhold.client.answers import (
    ENDPOINT_HEADER,
    SIGNATURE_HEADER,
    Delivery,
    Posted,
    RefusedError,
    RegisteredEndpoint,
    UnreachableError,
    ingest_path,
    sign,
)
from clearhold.client.client import ClearholdClient
from clearhold.features.core.rules import Backtest, Rule

__all__ = [
    "ENDPOINT_HEADER",
    "SIGNATURE_HEADER",
    "Backtest",
    "ClearholdClient",
    "Delivery",
    "Posted",
    "RefusedError",
    "RegisteredEndpoint",
    "Rule",
    "UnreachableError",
    "ingest_path",
    "sign",
]
